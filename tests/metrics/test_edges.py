"""Gains, queries with nothing relevant, tables with nothing in them, cutoffs, names."""

from functools import partial

import measure_cases
import numpy as np
import pytest
import reference
from measure_cases import range_of
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr import metrics
from sklearn_talr.histogram import RankingHistogram, hamming_histogram
from sklearn_talr.measures import DCG

METRICS = measure_cases.TABLES
SCORES = {name: getattr(metrics, f"tie_aware_{name}_score") for name in reference.METRICS}
each_metric = pytest.mark.parametrize("metric", sorted(METRICS))
BINARY = np.array([0, 1])


def make_histogram(distances, affinities):
    counts = reference.histogram([distances], [affinities], BINARY, n_distances=4)
    return RankingHistogram(counts, BINARY)


def forms(metric):
    """All public functions that evaluate a metric, on a problem of one query."""
    histogram = make_histogram([0, 1], [1, 0])
    return (
        partial(METRICS[metric], histogram),
        partial(SCORES[metric], [[0, 1]], [[0.0, 1.0]]),
        partial(range_of, histogram, metric),
    )


# Gains


def test_large_affinities_have_exact_gains():
    histogram = RankingHistogram([[[0], [0], [1]]], [0, 1, 10])
    assert DCG.of(histogram)[0] == 1023
    assert DCG(dcg="log2").of(histogram)[0] == 10


@pytest.mark.parametrize("largest", [1_024, 2**15])
def test_gains_beyond_float_are_refused_unless_linear(largest):
    histogram = RankingHistogram([[[1, 1], [0, 1], [0, 1]]], [0, 1, largest])
    for metric in ("dcg", "ndcg"):
        with pytest.raises(ValueError, match=rf"affinity {largest} .*dcg='log2'"):
            METRICS[metric](histogram)
        with pytest.raises(ValueError, match="dcg='log2'"):
            range_of(histogram, metric)
        orders = reference.tie_orders([0, 0, 1, largest], [1, 0, 0, 0])
        for k in (None, 2):
            expected = reference.over_orders(orders, metric, k, dcg="log2")
            actual = range_of(histogram, metric, k, dcg="log2")
            assert_allclose(np.ravel(actual), expected, rtol=1e-13)


def test_bad_parameters_of_a_metric_are_refused():
    cases = [("average_precision", "denominator", value) for value in ("k", None)]
    for metric in ("dcg", "ndcg"):
        cases += [(metric, "dcg", value) for value in ("quadratic", None)]
        cases += [(metric, "log_base", value) for value in (1, "2", True, np.nan)]
    for metric, name, value in cases:
        with pytest.raises(ValueError, match=f"'{name}' parameter of tie_.* must be"):
            SCORES[metric]([[0, 1]], [[0.0, 1.0]], **{name: value})


def test_levels_need_not_be_consecutive():
    levels = np.array([0, 1, 2, 5, 10])
    distances, affinities = [0, 0, 1, 1, 1, 2], [10, 0, 1, 5, 0, 2]
    histogram = RankingHistogram(
        reference.histogram([distances], [affinities], levels, n_distances=3), levels
    )
    scores = np.negative(distances)
    for metric, params in reference.VARIANTS:
        for k in (None, 1, 4):
            expected = reference.over_tie_orders(metric, affinities, scores, k, **params)
            actual = range_of(histogram, metric, k, **params)
            assert_allclose(np.ravel(actual), expected, rtol=1e-13, atol=1e-15)


# Queries with nothing relevant


@each_metric
def test_zero_division_fills_only_undefined_queries(metric):
    histogram = RankingHistogram([[[2], [0]], [[0], [2]]], BINARY)
    complete = METRICS[metric](histogram)[1]
    assert complete == (1 + 1 / np.log2(3) if metric == "dcg" else 1)
    assert np.isnan(METRICS[metric](histogram)[0])
    for stand_in in (np.nan, 0, 0.25, np.float32(1)):
        values = METRICS[metric](histogram, zero_division=stand_in)
        assert_array_equal(values, [stand_in, complete])
        measured = range_of(histogram, metric, [1, 2], zero_division=stand_in)
        assert_array_equal(np.stack(measured)[:, 0], np.full((3, 2), stand_in))


def test_zero_division_refuses_what_is_no_number():
    for metric in METRICS:
        for evaluate in forms(metric):
            for value in ("skip", None, True, [0.0]):
                with pytest.raises(ValueError, match=r"zero_division.* must be"):
                    evaluate(zero_division=value)


# Tables with little in them


@pytest.mark.parametrize("n_bits", [1, 4_096])
def test_shortest_and_longest_codes(n_bits):
    rng = np.random.default_rng(n_bits)
    codes = rng.integers(0, 2, (8, n_bits))
    queries, database = codes[:2], codes[2:]
    labels, database_labels = np.array([0, 1]), np.array([0, 0, 1, 1, 0, 2])
    histogram = hamming_histogram(queries, database, "auto", labels, database_labels)
    distances = reference.hamming_distances(queries, database)
    relevant = np.equal.outer(labels, database_labels).astype(int)
    for metric, params in reference.VARIANTS:
        expected = [
            reference.over_tie_orders(metric, a, -d, 3, **params)
            for a, d in zip(relevant.tolist(), distances)
        ]
        actual = range_of(histogram, metric, 3, **params)
        assert_allclose(np.transpose(actual), expected, rtol=1e-12, atol=1e-12)


# Cutoffs and names


@pytest.mark.parametrize(
    "k", [0, -1, 2.5, "3", True, [1, 0], [1.5], [[1, 2]], [True], [], 2**63, [1, 2**64]]
)
def test_cutoffs_must_be_positive_integers(k):
    for score in SCORES.values():
        with pytest.raises(
            ValueError, match=r"cutoff of \w+ must be|k must hold|'k' parameter of"
        ):
            score([[0, 1]], [[0.0, 1.0]], k=k)


def test_none_among_the_cutoffs_means_all_ranks():
    counts = [[[1, 1, 0], [1, 2, 1]], [[1, 0, 0], [1, 0, 0]]]  # 6 items, and 2
    histogram = RankingHistogram(counts, BINARY)
    for metric, params in reference.VARIANTS:
        several = range_of(histogram, metric, [2, None, 9], **params)
        for column, k in enumerate((2, None, 9)):
            alone = range_of(histogram, metric, k, **params)
            assert_array_equal(np.stack(several)[..., column], alone, err_msg=metric)


def test_only_a_histogram_is_evaluated():
    for metric in METRICS:
        with pytest.raises(TypeError, match=r"must be an instance of .*RankingHistogram"):
            METRICS[metric](np.zeros((1, 2, 3), int))
