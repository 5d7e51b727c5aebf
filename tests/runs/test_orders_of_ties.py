"""Random orders of tied documents: their variance, and intervals over it."""

import tracemalloc

import numpy as np
import pytest
import run_cases
from numpy.testing import assert_array_equal

from sklearn_talr.inference import mean_interval
from sklearn_talr.runs import evaluate_run

ORACLES = ["AP", "nDCG@3", "RR", "P@5", "Rprec(rel=2)", "ERR", "Judged@2"]


def test_the_variance_is_that_over_all_orders():
    qrels, run = run_cases.random_run(3, n_queries=8, n_documents=8, n_scores=4)
    result = evaluate_run(qrels, run, ORACLES, n_orders=700)
    n_tied = 0
    for row, query in enumerate(result.queries):
        orders = list(run_cases.tie_orders(run[query]))
        n_tied += len(orders) > 1
        for column, measure in enumerate(ORACLES):
            oracle = run_cases.MEASURES[measure]
            values = [oracle(order, qrels[query]) for order in orders]
            variance = result.tie_variance[row, column]
            assert variance == pytest.approx(np.var(values), rel=0.15, abs=1e-12)
    assert n_tied >= 4
    assert (result.tie_variance > 0.001).any()


def test_orders_change_nothing_else_and_go_by_their_seed():
    qrels, run = run_cases.random_run(0, n_queries=5, n_scores=4)
    without = evaluate_run(qrels, run)
    assert without.tie_variance is None
    drawn = [evaluate_run(qrels, run, n_orders=20, random_state=s) for s in (0, 0, 1)]
    for column in ("expected", "worst", "best", "trec_eval"):
        assert_array_equal(getattr(drawn[0], column), getattr(without, column))
    assert_array_equal(drawn[0].tie_variance, drawn[1].tie_variance)
    assert (drawn[0].tie_variance != drawn[2].tie_variance).any()


def test_orders_are_kept_as_places_alone():
    """All orders of many queries would take gigabytes otherwise."""
    queries = [f"q{number}" for number in range(200)]
    qrels = {query: {f"d{number}": 1 for number in range(30)} for query in queries}
    run = {query: {f"d{d}": d % 3 for d in range(40)} for query in queries}
    tracemalloc.start()
    try:
        evaluate_run(qrels, run, "AP", n_orders=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 * 200 * 30 * 8 * 3  # three numbers for each document and order


def test_intervals_of_an_evaluation():
    qrels, run = run_cases.random_run(0, n_queries=25, n_scores=3)
    result = evaluate_run(qrels, run, ["AP", "RR"], n_orders=50)
    intervals = result.confidence_interval(confidence_level=0.9)
    low, high = mean_interval(result.expected, confidence_level=0.9)
    assert intervals == {
        "AP": pytest.approx((low[0], high[0])),
        "RR": pytest.approx((low[1], high[1])),
    }
    joint = result.confidence_interval(confidence_level=0.9, ties=True)
    for measure, (low, high) in intervals.items():
        assert joint[measure][0] < low < high < joint[measure][1]
    strata = np.arange(25) % 3
    of_strata = result.confidence_interval(stratify=strata)
    expected = mean_interval(result.expected[:, 0], stratify=strata)
    assert of_strata["AP"] == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"draw orders with evaluate_run"):
        evaluate_run(qrels, run).confidence_interval(ties=True)
    for option, value in (("confidence_level", 95), ("n_resamples", 0), ("ties", "yes")):
        with pytest.raises(ValueError, match=f"'{option}' parameter of RunEvaluation"):
            result.confidence_interval(**{option: value})
    with pytest.raises(ValueError, match="'n_orders' parameter of evaluate_run"):
        evaluate_run(qrels, run, n_orders=1)
