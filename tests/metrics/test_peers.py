"""Another implementation of expectations over ties, written from another paper."""

import numpy as np
import pytest
from measure_cases import range_of
from numpy.testing import assert_allclose

from sklearn_talr import metrics
from sklearn_talr.histogram import RankingHistogram

trm = pytest.importorskip(
    "trm", reason="tie-aware-retrieval-metrics from PyPI is not installed"
)

# Their AP divides by all relevant items; "hits" counts items rather than queries.
NAMES = {
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "average_precision": "map",
    "reciprocal_rank": "mrr",
    "ndcg": "ndcg",
}
K = [1, 2, 5, 13, 30]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    shares = rng.uniform(0, 0.5, (60, 1))  # some queries have nothing relevant
    relevant = rng.binomial(1, shares, (60, 30))
    relevant[:3] = 0
    scores = rng.integers(0, rng.integers(1, 30, (60, 1)), relevant.shape)
    theirs = trm.evaluate(
        scores.tolist(), relevant.astype(bool).tolist(), [*NAMES.values(), "hits"], K
    )
    return relevant, scores, theirs


def per_query(theirs, name, value):
    results = theirs.per_query[name]
    return np.array([[getattr(result, value) for result in results[k]] for k in K]).T


@pytest.mark.parametrize("metric", NAMES)
def test_expectations_agree(metric, problem):
    relevant, scores, theirs = problem
    score = getattr(metrics, f"tie_aware_{metric}_score")
    actual = score(relevant, scores, k=K, average=False, zero_division=0.0)
    expected = per_query(theirs, NAMES[metric], "expected")
    assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)
    mean = score(relevant, scores, k=K, zero_division=0.0)
    theirs_mean = [theirs.metrics[NAMES[metric]][k].expected for k in K]
    assert_allclose(mean, theirs_mean, rtol=1e-12)


@pytest.mark.parametrize("metric", NAMES)
def test_extremes_agree(metric, problem):
    relevant, scores, theirs = problem
    counts = np.zeros((60, 2, 30), dtype=int)
    np.add.at(counts, (np.arange(60)[:, None], relevant, 29 - scores), 1)
    histogram = RankingHistogram(counts, np.array([0, 1]))
    measured = range_of(histogram, metric, K, zero_division=0.0)
    for actual, value in [(measured.worst, "minimum"), (measured.best, "maximum")]:
        expected = per_query(theirs, NAMES[metric], value)
        assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)


def test_their_hits_are_our_precision_times_k(problem):
    relevant, scores, theirs = problem
    precision = metrics.tie_aware_precision_score(
        relevant, scores, k=K, average=False, zero_division=0.0
    )
    expected = per_query(theirs, "hits", "expected")
    assert_allclose(precision * K, expected, rtol=1e-12, atol=1e-15)
