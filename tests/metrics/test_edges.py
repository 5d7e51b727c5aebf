"""Gains, queries with nothing relevant, tables with nothing in them, cutoffs, names."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr import metrics
from sklearn_talr.histogram import RankingHistogram, hamming_histogram
from sklearn_talr.metrics import (
    TieBreakingRange,
    tie_aware_average_precision,
    tie_aware_dcg,
    tie_aware_ndcg,
    tie_aware_recall,
    tie_breaking_range,
)

METRICS = {name: getattr(metrics, f"tie_aware_{name}") for name in reference.METRICS}
each_metric = pytest.mark.parametrize("metric", sorted(METRICS))
each_variant = pytest.mark.parametrize(("metric", "params"), reference.VARIANTS)
BINARY = np.array([0, 1])


def make_histogram(distances, affinities):
    counts = reference.histogram([distances], [affinities], BINARY, n_distances=4)
    return RankingHistogram(counts, BINARY)


# Gains


def test_large_affinities_have_exact_gains():
    histogram = RankingHistogram(np.array([[[0], [0], [1]]]), np.array([0, 1, 10]))
    assert tie_aware_dcg(histogram)[0] == 1023
    assert tie_aware_dcg(histogram, gain="linear")[0] == 10


@pytest.mark.parametrize("largest", [1_024, 2**15])
def test_gains_beyond_float_are_refused_unless_linear(largest):
    histogram = RankingHistogram(
        np.array([[[1, 1], [0, 1], [0, 1]]]), np.array([0, 1, largest])
    )
    for metric in ("dcg", "ndcg"):
        with pytest.raises(ValueError, match=rf"affinity {largest} .*gain='linear'"):
            METRICS[metric](histogram)
        with pytest.raises(ValueError, match="gain='linear'"):
            tie_breaking_range(histogram, metric)
        orders = reference.tie_orders([0, 0, 1, largest], [1, 0, 0, 0])
        for k in (None, 2):
            expected = reference.over_orders(orders, metric, k, gain="linear")
            actual = tie_breaking_range(histogram, metric, k, gain="linear")
            assert_allclose(np.ravel(actual), expected, rtol=1e-13)


def test_the_largest_exponential_gain():
    one = RankingHistogram(np.array([[[0], [1]]]), np.array([0, 1_023]))
    assert tie_aware_dcg(one)[0] == 2.0**1023
    two = RankingHistogram(np.array([[[0], [2]]]), np.array([0, 1_023]))
    with pytest.raises(ValueError, match="summed over up to 2 items"):
        tie_aware_dcg(two)


def test_affinities_that_occur_nowhere_do_not_count():
    histogram = RankingHistogram(np.array([[[1], [1], [0]]]), np.array([0, 1, 1_000]))
    assert_allclose(tie_aware_ndcg(histogram), (1 + 1 / np.log2(3)) / 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gain": "quadratic"}, "gain must be 'exponential' or 'linear'"),
        ({"gain": None}, "gain must be"),
        ({"log_base": 1}, "log_base must be a number above 1"),
        ({"log_base": "2"}, "log_base must be a number above 1"),
        ({"log_base": True}, "log_base must be a number above 1"),
        ({"log_base": np.nan}, "log_base must be a number above 1"),
    ],
)
@pytest.mark.parametrize("metric", ["dcg", "ndcg"])
def test_bad_gain_and_base_are_refused(metric, params, message):
    with pytest.raises(ValueError, match=message):
        METRICS[metric](make_histogram([0, 1], [1, 0]), **params)


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
            actual = tie_breaking_range(histogram, metric, k, **params)
            assert_allclose(np.ravel(actual), expected, rtol=1e-13, atol=1e-15)


# Queries with nothing relevant


@each_metric
@pytest.mark.parametrize(
    ("zero_relevant", "expected"), [("skip", np.nan), (0, 0.0), (0.25, 0.25), (1.0, 1.0)]
)
def test_zero_relevant_fills_only_undefined_queries(metric, zero_relevant, expected):
    histogram = RankingHistogram(np.array([[[2], [0]], [[0], [2]]]), BINARY)
    values = METRICS[metric](histogram, zero_relevant=zero_relevant)
    complete = METRICS[metric](histogram)[1]
    assert complete == (1 + 1 / np.log2(3) if metric == "dcg" else 1)
    assert_array_equal(values, [expected, complete])
    measured = tie_breaking_range(histogram, metric, [1, 2], zero_relevant=zero_relevant)
    assert_array_equal(np.stack(measured)[:, 0], np.full((3, 2), expected))


@each_metric
@pytest.mark.parametrize("zero_relevant", ["drop", None, True, [0.0]])
def test_zero_relevant_refuses_other_values(metric, zero_relevant):
    histogram = make_histogram([0, 1], [1, 0])
    with pytest.raises(ValueError, match="zero_relevant must be"):
        METRICS[metric](histogram, zero_relevant=zero_relevant)


# Edge cases


@each_variant
def test_no_queries(metric, params):
    histogram = RankingHistogram(np.zeros((0, 3, 5), dtype=int), np.array([0, 1, 2]))
    assert METRICS[metric](histogram, **params).shape == (0,)
    for values in tie_breaking_range(histogram, metric, [1, 2, 3], **params):
        assert values.shape == (0, 3)


@each_variant
@pytest.mark.parametrize("n_distances", [0, 1, 5])
def test_no_items(metric, params, n_distances):
    histogram = RankingHistogram(np.zeros((2, 3, n_distances), dtype=int), np.arange(3))
    assert_array_equal(METRICS[metric](histogram, **params), [np.nan, np.nan])
    for values in tie_breaking_range(histogram, metric, [1, 9], zero_relevant=0, **params):
        assert_array_equal(values, np.zeros((2, 2)))


@each_variant
@pytest.mark.parametrize("affinity", [0, 1])
def test_one_item(metric, params, affinity):
    histogram = make_histogram([2], [affinity])
    values = METRICS[metric](histogram, [1, 2], **params)
    expected = [reference.evaluate(metric, [affinity], k, **params) for k in (1, 2)]
    assert_allclose(values, [expected], rtol=1e-15)


@each_metric
def test_all_relevant_items_leave_nothing_to_order(metric):
    histogram = RankingHistogram(np.array([[[0, 0], [3, 4]]]), BINARY)
    worst, expected, best = tie_breaking_range(histogram, metric, [1, 2, 5, 7])
    assert_allclose(worst, expected, rtol=1e-14)
    assert_allclose(best, expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.uint64])
def test_counts_of_any_integer_type(dtype):
    counts = np.array([[[3, 0, 200], [0, 2, 50]]])
    for metric, params in reference.VARIANTS:
        for k in (None, [1, 4, 100]):
            assert_array_equal(
                tie_breaking_range(
                    RankingHistogram(counts.astype(dtype), BINARY), metric, k, **params
                ),
                tie_breaking_range(RankingHistogram(counts, BINARY), metric, k, **params),
            )


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
        actual = tie_breaking_range(histogram, metric, 3, **params)
        assert_allclose(np.transpose(actual), expected, rtol=1e-12, atol=1e-12)


# Cutoffs and names


@each_metric
@pytest.mark.parametrize("k", [0, -1, 2.5, 3.0, "3", True, [1, 0], [1.5], [[1, 2]], [None]])
def test_cutoffs_must_be_positive_integers(metric, k):
    histogram = make_histogram([0, 1], [1, 0])
    with pytest.raises(ValueError, match="k must be a positive integer or None"):
        METRICS[metric](histogram, k)
    with pytest.raises(ValueError, match="k must be a positive integer or None"):
        tie_breaking_range(histogram, metric, k)


def test_cutoffs_must_not_be_empty():
    with pytest.raises(ValueError, match="k must hold at least one cutoff"):
        tie_aware_recall(make_histogram([0, 1], [1, 0]), [])


@pytest.mark.parametrize("k", [(1, 3), range(1, 4, 2), np.array([1, 3], dtype=np.uint8)])
def test_cutoffs_of_any_container(k):
    histogram = make_histogram([0, 0, 1], [1, 0, 1])
    assert_array_equal(tie_aware_recall(histogram, k), [[0.25, 1.0]])


def test_cutoffs_need_no_order():
    histogram = make_histogram([0, 0, 1], [1, 0, 1])
    assert_array_equal(tie_aware_recall(histogram, [3, 1, 3]), [[1.0, 0.25, 1.0]])


def test_cutoff_may_be_a_numpy_integer():
    histogram = make_histogram([0, 0, 1], [1, 0, 1])
    actual = tie_aware_average_precision(histogram, np.int32(2))
    assert_array_equal(actual, tie_aware_average_precision(histogram, 2))


def test_range_is_a_named_tuple_and_needs_a_known_metric():
    histogram = make_histogram([0, 0], [1, 0])
    measured = tie_breaking_range(histogram)
    assert isinstance(measured, TieBreakingRange)
    assert_array_equal(np.ravel(measured), [0.5, 0.75, 1.0])
    with pytest.raises(ValueError, match="metric must be one of"):
        tie_breaking_range(histogram, "map")


def test_range_refuses_parameters_of_other_metrics():
    histogram = make_histogram([0, 0], [1, 0])
    with pytest.raises(TypeError, match="denominator"):
        tie_breaking_range(histogram, "ndcg", denominator="min")
