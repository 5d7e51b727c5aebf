"""Values of runs: oracles by enumeration, trec_eval's rules, queries that are missing."""

import re
from collections import namedtuple
from math import comb

import numpy as np
import pandas as pd
import pytest
import reference
import run_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_cases import named
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.measures import DCG, nDCG
from sklearn_talr.runs import Qrels, Run, compare_runs, evaluate_run

NAMES = list(run_cases.MEASURES)
COLUMNS = "expected", "worst", "best", "trec_eval"


def of_orders(scores, judged):
    """Mean, least and greatest value over all orders, and that of trec_eval's order."""
    orders = list(run_cases.tie_orders(scores))
    rows = []
    for oracle in run_cases.MEASURES.values():
        values = [oracle(order, judged) for order in orders]
        listed = oracle(run_cases.trec_order(scores), judged)
        rows.append([np.mean(values), min(values), max(values), listed])
    return rows


@st.composite
def small_queries(draw):
    documents = [f"d{i}" for i in range(draw(st.integers(1, 6)))]
    scores = {d: draw(st.integers(-1, 2)) / 2 for d in draw(st.permutations(documents))}
    judgeable = [*documents, "other1", "other2"]
    some = draw(st.lists(st.sampled_from(judgeable), unique=True, min_size=1))
    return scores, {d: draw(st.integers(-2, 3)) for d in some}


@settings(deadline=None, max_examples=60)
@given(queries=st.lists(small_queries(), min_size=1, max_size=3))
def test_values_equal_enumeration(queries):
    run = {f"q{i}": scores for i, (scores, _) in enumerate(queries)}
    qrels = {f"q{i}": judged for i, (_, judged) in enumerate(queries)}
    result = evaluate_run(qrels, run, NAMES)
    expected = [of_orders(*query) for query in queries]
    actual = np.stack([getattr(result, column) for column in COLUMNS], axis=-1)
    assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_files_and_dicts_equal_enumeration_whatever_the_runs_lack(seed, tmp_path):
    """Other identifiers, scores and lacks than those above, and the way through files."""
    rng = np.random.default_rng(seed)
    names = [f"{start}{i}" for start in ("d", "é-", "long-identifier-") for i in range(3)]
    scores = [-1e300, -1.5, 0.0, 5e-324, 0.1 + 0.2, 2.0**53, 2.0**53 + 2]
    qrels, run = {}, {"not judged": {"d0": 1.0}}
    for query in rng.permutation([f"q{i}" for i in range(7)]).tolist():
        judged = rng.permutation(names)[: rng.integers(1, 9)].tolist()
        qrels[query] = {d: int(rng.integers(-2, 4)) for d in judged}
        some = rng.choice(scores, rng.integers(1, 5))  # few, so that many are tied
        found = rng.permutation(names)[: rng.integers(1, 7)].tolist()
        run[query] = {d: float(rng.choice(some)) for d in found}
    del run[f"q{seed % 7}"]
    run_cases.write_qrels(tmp_path / "qrels", qrels)
    written = {q: r for q, r in run.items() if " " not in q}
    lines = run_cases.write_run(tmp_path / "run", written)
    (tmp_path / "run").write_text("".join(rng.permutation(lines)), encoding="utf-8")
    for data in (qrels, run), (tmp_path / "qrels", tmp_path / "run"):
        for missing in ("zero", "skip"):
            result = evaluate_run(*data, NAMES, missing_queries=missing)
            queries = [q for q in qrels if missing == "zero" or q in run]
            assert result.queries == queries
            expected = [of_orders(run.get(query, {}), qrels[query]) for query in queries]
            actual = np.stack([getattr(result, column) for column in COLUMNS], axis=-1)
            assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)


def test_what_is_tied_with_the_first_relevant_and_beyond():
    """A tie of many, of which no enumeration is at hand: ERR and RBP rank by rank."""
    n, stop = 1_000, 15 / 16
    run = {"q": {f"d{i}": 1.0 for i in range(n)}}
    result = evaluate_run({"q": {"d7": 4}}, run, ["ERR", "ERR@10", "RBP(rel=1)", "RR"])
    ranks = np.arange(1, n + 1)
    expected = [
        stop * np.mean(1 / ranks),
        stop * np.sum(1 / ranks[:10]) / n,
        np.mean(0.2 * 0.8 ** (ranks - 1)),
        np.mean(1 / ranks),
    ]
    assert_allclose(result.expected[0], expected, rtol=1e-12)


def test_err_of_ties_with_many_grades_equals_chance():
    """Sums over sets of documents, by exact recursion over multisets of grades."""
    rng = np.random.default_rng(3)
    grades = rng.integers(0, 5, 40).tolist()
    passed = [1 - (2**g - 1) / 16 for g in grades]
    chosen = np.zeros(41)  # elementary symmetric polynomials
    chosen[0] = 1
    for q in passed:
        chosen[1:] = chosen[1:] + q * chosen[:-1]
    mean = chosen / [comb(40, j) for j in range(41)]
    terms = (mean[:-1] - mean[1:]) / np.arange(1, 41)
    run = {"q": {f"d{i}": 0.0 for i in range(40)}}
    qrels = {"q": {f"d{i}": g for i, g in enumerate(grades)}}
    result = evaluate_run(qrels, run, ["ERR", "ERR@7"])
    assert_allclose(result.expected[0], [terms.sum(), terms[:7].sum()], rtol=1e-12)


def test_rules_of_trec_eval():
    run = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "not judged": {"d1": 1.0}}
    qrels = {"q1": {"d1": -1, "d2": 2, "far": 3, "away": 0}, "lacking": {"d1": 1}}
    names = ["P@5", "R@10", "AP", "nDCG", "Rprec", "Judged@2"]
    result = evaluate_run(qrels, run, names)
    assert result.queries == ["q1", "lacking"]
    ideal = 3 + 2 / np.log2(3)
    first = [1 / 5, 1 / 2, 1 / 2 / 2, 2 / np.log2(3) / ideal, 1 / 2, 1]
    assert_allclose(result.expected, [first, np.zeros(6)])
    skipped = evaluate_run(qrels, run, names, missing_queries="skip")
    assert skipped.queries == ["q1"]
    assert_array_equal(skipped.expected, result.expected[:1])


def test_a_bare_ndcg_of_runs_is_that_of_trec_eval():
    """And that of the same arrays is the exponential one; with a gain both are the same."""
    qrels = {"q": {"d1": 1, "d2": 2, "d3": 0}}
    run = {"q": {"d1": 3.0, "d2": 2.0, "d3": 2.0}}
    arrays = [[1, 2, 0]], [[3.0, 2.0, 2.0]]
    gains = [nDCG @ 2, nDCG(dcg="log2") @ 2, nDCG(dcg="exp-log2") @ 2]
    result = evaluate_run(qrels, run, gains)
    assert result.measures == list(map(str, gains))
    bare, linear, exponential = result.expected[0]
    of_arrays = [measure.score(*arrays) for measure in gains]
    assert bare == linear == of_arrays[1]
    assert exponential == of_arrays[0] == of_arrays[2]
    assert linear != exponential


def of_grades(metric, order, judged, k, **params):
    """A metric of a ranking, of which not all relevant documents need to be retrieved."""
    ranked = [max(judged.get(document, 0), 0) for document in order]
    if not any(ranked):
        return 0.0
    if params.get("denominator") != "min":
        return reference.METRICS[metric](ranked, k, **params)
    n_relevant = sum(grade > 0 for grade in judged.values())
    most = len(ranked) if k is None else k
    total = reference.average_precision(ranked, k) * sum(grade > 0 for grade in ranked)
    return total / min(most, n_relevant)


@settings(deadline=None, max_examples=40)
@given(query=small_queries(), k=st.none() | st.integers(1, 8))
def test_denominators_and_dcg_equal_enumeration(query, k):
    """Also the worst and the best order, where to retrieve less may be better."""
    scores, judged = query
    cases = [("average_precision", {"denominator": d}) for d in ("min", "retrieved")]
    cases += [("dcg", {"dcg": dcg}) for dcg in ("log2", "exp-log2")]
    measures = [named(metric, k, **params) for metric, params in cases]
    result = evaluate_run({"q": judged}, {"q": scores}, measures)
    orders = list(run_cases.tie_orders(scores))
    for place, (metric, params) in enumerate(cases):
        values = [of_grades(metric, order, judged, k, **params) for order in orders]
        expected = np.mean(values), min(values), max(values)
        actual = [getattr(result, column)[0, place] for column in COLUMNS[:3]]
        assert_allclose(actual, expected, rtol=1e-12, atol=1e-14, err_msg=metric)


@pytest.mark.parametrize(
    ("qrels", "run", "measures", "message"),
    [
        ({"q": {"d": 1}}, {"Q": {"d": 1.0}}, "AP", "no query of the run is judged: .*'Q'"),
        ({"q": {"d": 1}}, {}, "AP", "no query of the run is judged"),
        ({}, {"q": {"d": 1.0}}, "AP", "no query of the run is judged"),
        ({"q": {"d": 5}}, {"q": {"d": 1.0}}, "ERR", r"a relevance is 5.*ERR\(max_rel=5\)"),
        ({"q": {"e": 5, "d": 1}}, {"q": {"d": 1.0}}, "ERR", "ERR has max_rel=4"),
        ({"q": {"d": 5}}, {"q": {"d": 1.0}}, "RBP(max_rel=2)", "a relevance is 5"),
        (
            {"q": {"d": 1_023, "e": 1_023}},
            {"q": {"d": 1.0}},
            "nDCG(dcg='exp-log2')",
            "affinity 1023 overflows float64 when it is summed .* dcg='log2'",
        ),
        ({"q": {"d": 1}}, {"q": {"d": 1.0}}, "P", "P needs a cutoff, such as P@10"),
        ({"q": {"d": 1}}, {"q": {"d": 1.0}}, "Success", "Success needs a cutoff"),
        ({"q": {"d": 1}, "p": {"d": 5}}, {"q": {"d": 1.0}}, "ERR", "ERR has max_rel=4"),
        ({"q": {"d": 5}}, {"q": {"d": 1.0}}, "RBP(max_rel=2,rel=1)", "rel or max_rel"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(qrels, run, measures, message):
    with pytest.raises(ValueError, match=message):
        evaluate_run(qrels, run, measures)


def test_swapped_arguments_are_suspected(tmp_path):
    qrels = {"q1": {f"d{i}": i % 2 for i in range(6)}, "q2": {"d1": 1}}
    run = {"q1": {f"d{i}": 10 + 3 * i for i in range(6)}, "q2": {"d1": 7}}
    with pytest.warns(UserWarning, match="qrels.*run.*swapped"):
        evaluate_run(run, qrels)
    evaluate_run(qrels, run)
    evaluate_run(qrels, {query: dict.fromkeys(docs, 1) for query, docs in run.items()})
    message = r"AP takes integers as relevance, got 0\.5.*swapped"
    declared = Qrels({"q1": {"d1": 0.5}}), Run(qrels)
    with pytest.raises(ValueError, match=message):
        evaluate_run(*declared)
    with pytest.warns(UserWarning, match="qrels.*run.*swapped"):
        evaluate_run(*declared, "nDCG")
    paths = [tmp_path / name for name in ("qrels", "run")]
    paths[0].write_text("q1 0 d1 1\n")
    paths[1].write_text("q1 Q0 d1 1 2.5 system\n")
    with pytest.raises(ValueError, match=r"line 1.*swapped"):
        evaluate_run(*reversed(paths))


GAINS = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": np.float32(1), "d2": 0.0}}
GRADES = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": np.int64(0), "d2": True}}


def as_frame(data, column):
    rows = [
        {"query_id": query, "doc_id": document, column: float(value)}
        for query, values in data.items()
        for document, value in values.items()
    ]
    frame = pd.DataFrame(rows)
    return frame.astype({column: int}) if data is GRADES else frame


def test_floats_as_judgments_and_integers_as_scores_must_be_declared():
    """A run and judgments in the wrong order had an AP of 1."""
    frames = as_frame(GAINS, "score"), as_frame(GRADES, "score")
    for qrels, run in ((GAINS, GRADES), frames, (GAINS, frames[1])):
        with pytest.raises(ValueError, match="qrels has floats and run has int") as caught:
            evaluate_run(qrels, run)
        with pytest.raises(ValueError, match="qrels has floats and run has integers"):
            compare_runs(qrels, {"A": run, "B": run})
        lines = re.findall(r"write (evaluate_run\([^ ]*, [^ ]*\))", str(caught.value))
        names = {"evaluate_run": evaluate_run, "Qrels": Qrels, "Run": Run}
        swapped = eval(lines[0], names | {"qrels": run, "run": qrels})
        assert_allclose(swapped.expected[:, 0], [1, 0.5])
        kept = eval(lines[1], names | {"qrels": qrels, "run": run})
        assert_allclose(kept.expected[:, 0], [1, 0.5])
        assert_array_equal(evaluate_run(Qrels(qrels), run).expected, kept.expected)
        assert_array_equal(evaluate_run(qrels, Run(run)).expected, kept.expected)


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        (as_frame(GAINS, "relevance"), GRADES),
        (GAINS, GAINS),
        (GRADES, GRADES),
        (GAINS, {"q1": {"d1": 1, "d2": 0.5}}),
        ({"q1": {"d1": 1.0, "d2": 1}}, GRADES),
        ({"q1": {"d1"}}, GRADES),
    ],
    ids=["column", "floats", "integers", "floats and integers", "both types", "sets"],
)
def test_other_types_of_numbers_are_evaluated(qrels, run):
    assert evaluate_run(qrels, run, "nDCG").queries[0] == "q1"


def test_a_run_by_its_type_is_not_taken_for_judgments():
    table = as_frame(GAINS, "score").assign(rank=[1, 2, 1, 2])
    with pytest.raises(TypeError, match="'rank' and 'score' are those of a run"):
        evaluate_run(table, GAINS)
    as_judged = table.rename(columns={"score": "relevance"})
    assert_allclose(evaluate_run(as_judged, GRADES).expected[:, 0], [1, 0.5])
    scored = namedtuple("ScoredDoc", "query_id doc_id score")
    with pytest.raises(TypeError, match="no ScoredDoc, which is a document of a run"):
        evaluate_run([scored("q1", "d1", 2.0)], GRADES)
    for name, other in (("Run", "Qrels"), ("Qrels", "Run")):
        like_ranx = type(name, (), {"to_dict": lambda self: GAINS})()
        with pytest.raises(TypeError, match=f"{other} takes no {name}. Judgments come"):
            evaluate_run(*((like_ranx, GRADES) if name == "Run" else (GRADES, like_ranx)))


def test_real_gains_are_those_of_arrays():
    rng = np.random.default_rng(0)
    gains, scores = rng.beta(1, 1, (9, 6)), rng.integers(0, 4, (9, 6)) / 4
    gains[:, 0] = 0
    as_dicts = [
        {f"q{q}": dict(zip("abcdef", row)) for q, row in enumerate(table.tolist())}
        for table in (gains, scores)
    ]
    measures = [each @ k for each in (nDCG, DCG) for k in (3, 6)]
    found = evaluate_run(*as_dicts, measures).expected
    wanted = [m(dcg="log2").score(gains, scores, average=False) for m in measures]
    assert_allclose(found, np.transpose(wanted), rtol=1e-12)
    for name in ("P@3", "ERR", "RBP", "nDCG(dcg='exp-log2')"):
        with pytest.raises(ValueError, match="takes integers as relevance, got"):
            evaluate_run(*as_dicts, ["nDCG", name])


def test_a_run_without_queries_is_told_in_a_sentence():
    with pytest.raises(ValueError, match=r"of the run are none, those .* 'q1'\."):
        evaluate_run({"q1": {"d": 1}}, {})


def test_queries_that_find_themselves_are_told_of():
    qrels = {"a": {"b": 1}, "b": {"c": 1}, "c": {"a": 1}}
    run = {q: {d: float(q == d) for d in "abc"} for q in "abc"}
    remedy = "retrieves first .* pass ignore_identical_ids=True"
    with pytest.warns(UserWarning, match=remedy) as caught:
        evaluate_run(qrels, run)
    assert caught[0].filename == __file__
    kept = {q: {d: s for d, s in found.items() if d != q} for q, found in run.items()}
    assert evaluate_run(qrels, kept, "RR").means["RR"]["expected"] == 0.75
    asked = evaluate_run(qrels, run, "RR", ignore_identical_ids=True)
    assert asked.means["RR"]["expected"] == 0.75
    # Judged, only one, not the first of one query: nothing is told
    evaluate_run({q: {**judged, q: 1} for q, judged in qrels.items()}, run)
    evaluate_run(qrels, {"a": run["a"]})
    evaluate_run(qrels, {**run, "c": {"a": 2.0, "c": 1.0}})
    with pytest.warns(UserWarning, match="every query retrieves first"):  # tied for it
        evaluate_run(qrels, {**run, "c": {"a": 1.0, "c": 1.0}, "d": {}})


def test_scores_beyond_32_bits_are_tied_for_trec_eval_alone():
    run = {"q": {"a": 1_700_000_001.0, "b": 1_700_000_000.0, "c": 0.5}, "r": {"d": 1.0}}
    result = evaluate_run({"q": {"a": 1}, "r": {"d": 1}}, run, "RR")
    for column, value in zip(COLUMNS, (1, 1, 1, 0.5)):
        assert_array_equal(getattr(result, column)[:, 0], [value, 1])
    assert result.affected == {"RR": 0.5}


def test_a_name_takes_the_place_of_that_of_the_run(tmp_path):
    qrels, run = {"q": {"d": 1}}, Run({"q": {"d": 1.0}}, "of the run")
    run_cases.write_run(tmp_path / "run", run.to_dict(), "of_the_file")
    assert evaluate_run(qrels, run, "RR").name == "of the run"
    for form in (run, run.to_dict(), tmp_path / "run"):
        result = evaluate_run(qrels, form, "RR", name="mine")
        assert result.name == "mine"
        assert str(result).startswith("mine: 1 query")
    assert run.name == "of the run"
    with pytest.raises(ValueError, match="The 'name' parameter of evaluate_run"):
        evaluate_run(qrels, run, "RR", name=3)
