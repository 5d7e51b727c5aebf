"""Runs against the tools that people use: trec_eval itself, cwl_eval, gdeval, others."""

import csv
import shutil
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import run_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_talr.runs import evaluate_run

ROOT = Path(__file__).parents[2]
pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")

# Our names, and those of trec_eval
NAMES = {
    "AP": "map",
    "AP@5": "map_cut_5",
    "AP@100": "map_cut_100",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "P@5": "P_5",
    "P@20": "P_20",
    "R@5": "recall_5",
    "R@30": "recall_30",
    "RR": "recip_rank",
    "Rprec": "Rprec",
    "Success@1": "success_1",
    "Success@10": "success_10",
}
ASKED = {"map", "map_cut.5,100", "ndcg", "ndcg_cut.10", "P.5,20", "recall.5,30"}
ASKED |= {"recip_rank", "Rprec", "success.1,10"}


def trec_eval(qrels, run, rel=1):
    judged = run_cases.without_negatives(qrels)
    evaluator = pytrec_eval.RelevanceEvaluator(judged, ASKED, relevance_level=rel)
    values = evaluator.evaluate(run)
    return np.array([[values[q][name] for name in NAMES.values()] for q in qrels])


def test_trec_eval_is_where_we_say_and_between_worst_and_best():
    for seed in range(200):
        tied = {"n_scores": 6, "prefix": "document-"} if seed % 4 == 0 else {}
        qrels, run = run_cases.random_run(seed, n_queries=1 + seed % 3, **tied)
        result = evaluate_run(qrels, run, list(NAMES))
        assert_allclose(result.trec_eval, trec_eval(qrels, run), rtol=0, atol=1e-9)
        for column in ("trec_eval", "expected"):
            value = getattr(result, column)
            for limit in (result.worst, result.best) if not tied else ():
                assert_allclose(limit, value, rtol=0, atol=1e-9)
            assert np.all(result.worst <= value + 1e-12)
            assert np.all(value <= result.best + 1e-12)


# ir-measures 0.4.3 parses names of measures with ast.Num, which Python 3.14 has removed
needs_ast_num = pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="ir-measures 0.4.3 does not run on Python 3.14"
)


@pytest.mark.parametrize(
    "name",
    [
        "pytrec_eval-terrier",
        pytest.param("ir-measures", marks=needs_ast_num),
        "scikit-learn",
    ],
)
def test_lines_of_the_page_give_the_numbers_of_other_tools(name, monkeypatch):
    """On random tied runs, each with the line that the page prints."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "other_tools")
    run_tools = import_module("run_tools")
    tool = run_tools.evaluation_tools.TOOLS[name]
    mean, (qrels, run) = tool(), run_tools.tied_runs()
    with open(run_tools.TABLES / "tools_lines.csv", newline="") as file:
        rows = [row for row in csv.reader(file) if row[0].split()[0] == name]
    printed = {
        measure: (line.strip("`").replace(", M)", f", '{measure}')"), agreement)
        for _, measures, line, agreement in rows
        for measure in measures.replace("\\", "").split(", ")
    }
    assert {measure: line for measure, (line, _) in printed.items()} == tool.lines
    for measure, (line, agreement) in printed.items():
        values = [mean(measure, {q: qrels[q]}, {q: run[q]}) for q in run]
        assert run_tools.agreement(line, values) == agreement == "equal in 200"


@st.composite
def wide_runs(draw):
    """Scores that 32 bits tie, or do not tell from infinity, and ties of 64 bits."""
    near = [1_700_000_001.0, 1_700_000_000.0, 0.99999999, 0.99999998, 1e300, 1e301]
    near += [-1e-300, 0.0, 5e-324, 16_777_217.0, 16_777_216.0]
    documents = draw(st.permutations([f"d{i}" for i in range(8)]))
    some = st.one_of(st.sampled_from(near), st.floats(-1e9, 1e9, width=64))
    return {d: draw(some) for d in documents[: draw(st.integers(1, 8))]}


@pytest.mark.filterwarnings("ignore:the documents of each query are stored")
@settings(deadline=None, max_examples=100)
@given(runs=st.lists(wide_runs(), min_size=1, max_size=3), data=st.data())
def test_scores_that_32_bits_do_not_tell_apart_are_trec_evals_ties(runs, data):
    run = {f"q{i}": scores for i, scores in enumerate(runs)}
    documents = st.sampled_from([f"d{i}" for i in range(9)])
    grades = st.dictionaries(documents, st.integers(0, 3))
    qrels = {query: {"d0": 1, **data.draw(grades)} for query in run}
    result = evaluate_run(qrels, run, list(NAMES))
    assert_allclose(result.trec_eval, trec_eval(qrels, run), rtol=0, atol=1e-9)
    differs = np.abs(result.trec_eval - result.expected) > 1e-9
    assert np.all(np.mean(differs, axis=0) <= np.array(list(result.affected.values())))


def calculated(ir_measures, provider, names, qrels, run):
    measures = [ir_measures.parse_measure(name) for name in names]
    judged = [ir_measures.Qrel(q, d, grade) for q, d, grade in triples(qrels)]
    found = [ir_measures.ScoredDoc(q, d, score) for q, d, score in triples(run)]
    values, provider = {}, ir_measures.providers.registry[provider]
    for metric in provider.iter_calc(measures, judged, found):
        values[metric.query_id, str(metric.measure)] = metric.value
    return np.array([[values[q, str(measure)] for measure in measures] for q in qrels])


def triples(nested):
    return [(q, d, value) for q, inner in nested.items() for d, value in inner.items()]


@needs_ast_num
@pytest.mark.parametrize(
    ("provider", "module", "names", "atol"),
    [
        ("cwl_eval", "cwl", ["RBP(rel=1)", "RBP(p=0.5,rel=2)", "RBP(p=0.95,rel=3)"], 1e-9),
        ("judged", "ir_measures", ["Judged@1", "Judged@10", "Judged@100", "Judged"], 1e-12),
        ("pytrec_eval", "pytrec_eval", ["Rprec(rel=2)", "AP(rel=3)@7"], 1e-9),
        ("pytrec_eval", "pytrec_eval", ["Bpref", "Bpref(rel=2)"], 1e-9),
        ("msmarco", "ir_measures", ["RR@3", "RR@10", "RR(rel=2)@20"], 1e-12),
        ("gdeval", "ir_measures", ["ERR@5", "ERR@20", "nDCG(dcg='exp-log2')@10"], 6e-6),
    ],
)
def test_measures_of_other_providers(provider, module, names, atol):
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip(module)
    if provider == "gdeval" and not shutil.which("perl"):
        pytest.skip("perl is not installed")
    qrels, run = run_cases.random_run(6, n_queries=40)
    qrels = {query[1:]: judged for query, judged in qrels.items()}  # gdeval wants numbers
    run = {query[1:]: scores for query, scores in run.items()}
    if provider != "judged":
        qrels = run_cases.without_negatives(qrels)
    result = evaluate_run(qrels, run, names)
    expected = calculated(ir_measures, provider, names, qrels, run)
    if provider == "gdeval":  # it says nothing of queries with nothing relevant
        some = np.array([max(judged.values()) > 0 for judged in qrels.values()])
        assert some.sum() > 30
        assert_allclose(result.expected[some], expected[some], rtol=0, atol=atol)
    else:
        assert_allclose(result.expected, expected, rtol=0, atol=atol)
