"""The provider for ir_measures."""

import runpy
import sys
import warnings

import pandas as pd
import pytest
import run_cases
from numpy.testing import assert_allclose

from sklearn_talr.runs import evaluate_run

ir_measures = pytest.importorskip("ir_measures")
from sklearn_talr.runs.ir_measures import TieAwareProvider, register  # noqa: E402

MEASURES = [
    ir_measures.AP,
    ir_measures.AP(rel=2) @ 10,
    ir_measures.nDCG @ 5,
    ir_measures.nDCG(dcg="exp-log2") @ 10,
    ir_measures.P @ 5,
    ir_measures.R @ 20,
    ir_measures.RR @ 3,
    ir_measures.Success @ 2,
    ir_measures.Rprec,
    ir_measures.RBP(p=0.5, rel=1),
    ir_measures.RBP,
    ir_measures.Judged @ 10,
    ir_measures.ERR @ 20,
]


@pytest.fixture(autouse=True)
def registered():
    """Our provider, registered for the time of a test."""
    known = dict(ir_measures.providers.registry)
    pipeline = list(ir_measures.DefaultPipeline.providers)
    yield register()
    ir_measures.providers.registry.clear()
    ir_measures.providers.registry.update(known)
    ir_measures.DefaultPipeline.providers[:] = pipeline


@pytest.fixture
def problem():
    qrels, run = run_cases.random_run(0, n_queries=12, n_scores=5)
    del run["q3"]
    return qrels, run


def frames(qrels, run):
    tables = []
    for data, column in ((qrels, "relevance"), (run, "score")):
        rows = [(q, d, value) for q, inner in data.items() for d, value in inner.items()]
        tables.append(pd.DataFrame(rows, columns=["query_id", "doc_id", column]))
    return tables


def test_aggregates_are_the_means_of_evaluate_run(problem):
    expected = evaluate_run(*problem, MEASURES).expected.mean(axis=0)
    for data in (problem, frames(*problem)):
        actual = ir_measures.calc_aggregate(MEASURES, *data)
        assert_allclose([actual[measure] for measure in MEASURES], expected, rtol=1e-12)


def test_values_of_queries_from_records(problem):
    result = evaluate_run(*problem, ["AP", "nDCG@5"])
    judged, found = frames(*problem)
    qrels = [ir_measures.Qrel(*row) for row in judged.itertuples(index=False)]
    run = (ir_measures.ScoredDoc(*row) for row in found.itertuples(index=False))
    measures = [ir_measures.AP, ir_measures.nDCG @ 5]
    metrics = list(ir_measures.iter_calc(measures, qrels, run))
    assert len(metrics) == 2 * 12
    for metric in metrics:
        row = result.queries.index(metric.query_id)
        column = result.measures.index(str(metric.measure))
        assert metric.value == result.expected[row, column]


def test_an_import_alone_changes_nothing(registered, monkeypatch):
    """The module runs once more, while the provider is not registered."""
    del ir_measures.providers.registry["tie_aware"]
    ir_measures.DefaultPipeline.providers.remove(registered)
    registry = dict(ir_measures.providers.registry)
    pipeline = list(ir_measures.DefaultPipeline.providers)
    names = set(vars(ir_measures))
    # runpy would warn of a module that is imported.
    monkeypatch.delitem(sys.modules, "sklearn_talr.runs.ir_measures")
    namespace = runpy.run_module("sklearn_talr.runs.ir_measures")
    namespace["TieAwareProvider"]()
    assert registry == dict(ir_measures.providers.registry)
    assert pipeline == list(ir_measures.DefaultPipeline.providers)
    assert names == set(vars(ir_measures))


def test_the_provider_comes_first_and_leaves_other_measures_to_others(problem, registered):
    assert ir_measures.providers.registry["tie_aware"] is registered
    assert ir_measures.DefaultPipeline.providers[0] is registered
    assert isinstance(registered, TieAwareProvider)
    for measure in MEASURES:
        assert registered.supports(measure)
    for measure in (
        ir_measures.infAP,
        ir_measures.SetP,
        ir_measures.AP(judged_only=True),
        ir_measures.nDCG(gains={1: 2}) @ 10,
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not registered.supports(measure)
    values = ir_measures.calc_aggregate([ir_measures.NumQ, ir_measures.AP], *problem)
    assert values[ir_measures.NumQ] == 11


def test_what_is_left_to_others_is_told_once(problem):
    asked = [ir_measures.AP, ir_measures.infAP]
    message = "tie_aware has no mean over orders of ties for infAP. Another provider"
    with pytest.warns(UserWarning, match=message) as caught:
        values = ir_measures.calc_aggregate(asked, *problem)
    assert len(caught) == 1
    alone = ir_measures.pytrec_eval.calc_aggregate([ir_measures.infAP], *problem)
    assert values[ir_measures.infAP] == alone[ir_measures.infAP]
    assert ir_measures.calc_aggregate(asked, *problem) == values  # and no warning
    with pytest.warns(UserWarning, match=r"for AP\(judged_only=True\)\. Another"):
        ir_measures.evaluator([ir_measures.AP(judged_only=True)], problem[0])
