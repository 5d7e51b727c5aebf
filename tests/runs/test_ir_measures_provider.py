"""The provider for ir_measures."""

import subprocess
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
    metrics = list(
        ir_measures.iter_calc([ir_measures.AP, ir_measures.nDCG @ 5], qrels, run)
    )
    assert len(metrics) == 2 * 12
    for metric in metrics:
        row = result.queries.index(metric.query_id)
        column = result.measures.index(str(metric.measure))
        assert metric.value == result.expected[row, column]


def test_an_import_alone_changes_nothing():
    """In a process of its own, as other tests register the provider."""
    code = """
import ir_measures
before = dict(ir_measures.providers.registry), list(ir_measures.DefaultPipeline.providers)
names = set(vars(ir_measures))
import sklearn_talr.runs.ir_measures as ours
ours.TieAwareProvider()
assert before == (
    dict(ir_measures.providers.registry), list(ir_measures.DefaultPipeline.providers)
)
assert names == set(vars(ir_measures))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_registering_again_changes_nothing(registered):
    pipeline = list(ir_measures.DefaultPipeline.providers)
    assert register() is registered
    assert ir_measures.DefaultPipeline.providers == pipeline
    assert pipeline.count(registered) == 1


def test_the_provider_answers_without_being_registered(problem):
    alone = TieAwareProvider().calc_aggregate(MEASURES, *problem)
    assert alone == ir_measures.calc_aggregate(MEASURES, *problem)


def test_the_provider_comes_first_and_leaves_other_measures_to_others(problem, registered):
    assert ir_measures.providers.registry["tie_aware"] is registered
    assert ir_measures.DefaultPipeline.providers[0] is registered
    assert isinstance(registered, TieAwareProvider)
    for measure in MEASURES:
        assert registered.supports(measure)
    for measure in (
        ir_measures.Bpref,
        ir_measures.SetP,
        ir_measures.AP(judged_only=True),
        ir_measures.nDCG(gains={1: 2}) @ 10,
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert not registered.supports(measure)
    values = ir_measures.calc_aggregate([ir_measures.NumQ, ir_measures.AP], *problem)
    assert values[ir_measures.NumQ] == 11


def test_runs_that_lack_different_queries_are_on_one_scale():
    qrels = {"q1": {"d": 1}, "q2": {"d": 2}}
    values = {
        metric.query_id: metric.value
        for query in qrels
        for metric in ir_measures.iter_calc([ir_measures.RBP], qrels, {query: {"d": 1.0}})
        if metric.query_id == query
    }
    assert values == pytest.approx({"q1": 0.1, "q2": 0.2})


def test_a_run_of_other_queries_counts_0():
    values = ir_measures.calc_aggregate(
        [ir_measures.AP], {"q": {"d": 1}}, {"r": {"d": 1.0}}
    )
    assert values == {ir_measures.AP: 0}
    assert ir_measures.calc_aggregate([ir_measures.AP], {"q": {"d": 1}}, {}) == values


def test_what_is_left_to_others_is_told_once(problem):
    asked = [ir_measures.AP, ir_measures.Bpref]
    message = "tie_aware has no mean over orders of ties for Bpref: another provider"
    with pytest.warns(UserWarning, match=message) as caught:
        values = ir_measures.calc_aggregate(asked, *problem)
    assert len(caught) == 1
    alone = ir_measures.pytrec_eval.calc_aggregate([ir_measures.Bpref], *problem)
    assert values[ir_measures.Bpref] == alone[ir_measures.Bpref]
    assert ir_measures.calc_aggregate(asked, *problem) == values  # and no warning
    with pytest.warns(UserWarning, match=r"for AP\(judged_only=True\): another"):
        ir_measures.evaluator([ir_measures.AP(judged_only=True)], problem[0])


def test_a_warning_that_is_an_error_is_raised_each_time(problem):
    for _ in range(2):
        with pytest.raises(UserWarning, match="for Bpref"):
            ir_measures.calc_aggregate([ir_measures.Bpref], *problem)


def test_nothing_is_told_of_sets_and_of_our_own_measures(problem):
    asked = [*MEASURES, ir_measures.SetP, ir_measures.SetF(beta=2.0), ir_measures.NumRet]
    assert set(ir_measures.calc_aggregate(asked, *problem)) == set(asked)
