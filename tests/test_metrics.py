"""Closed forms on histograms: against enumeration, direct sums and each other."""

import subprocess
import sys

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.metrics import (
    TieBreakingRange,
    tie_aware_average_precision,
    tie_aware_dcg,
    tie_aware_ndcg,
    tie_breaking_range,
)
from sklearn_talr.metrics._harmonic import cumulative_discount, harmonic_sum

METRICS = {
    "average_precision": tie_aware_average_precision,
    "dcg": tie_aware_dcg,
    "ndcg": tie_aware_ndcg,
}
each_metric = pytest.mark.parametrize("metric", sorted(METRICS))
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@st.composite
def small_queries(draw):
    """Distances with many ties, affinities and a cutoff; at most 7 items."""
    n_items = draw(st.integers(1, 7))
    n_levels = draw(st.sampled_from([2, 4]))
    row = {"min_size": n_items, "max_size": n_items}
    distances = draw(st.lists(st.integers(0, 3), **row))
    affinities = draw(st.lists(st.integers(0, n_levels - 1), **row))
    k = draw(st.none() | st.integers(1, n_items + 2))
    return distances, affinities, n_levels, k


@st.composite
def histograms(draw):
    """Counts of up to three queries with longer, possibly empty ties."""
    shape = draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(1, 6))
    flat = st.lists(
        st.integers(0, 40) | st.just(0),
        min_size=int(np.prod(shape)),
        max_size=int(np.prod(shape)),
    )
    return RankingHistogram(np.array(draw(flat)).reshape(shape), np.arange(shape[1]))


def make_histogram(distances, affinities, n_levels, n_bins=4):
    levels = np.arange(n_levels)
    counts = reference.histogram([distances], [affinities], levels, n_bins)
    return RankingHistogram(counts, levels)


@each_metric
@settings(deadline=None, max_examples=150)
@given(query=small_queries())
def test_value_and_range_equal_enumeration_of_tie_orders(metric, query):
    distances, affinities, n_levels, k = query
    histogram = make_histogram(distances, affinities, n_levels)
    scores = [-distance for distance in distances]
    worst, mean, best = reference.over_tie_orders(metric, affinities, scores, k)
    assert_allclose(METRICS[metric](histogram, k), [mean], **EXACT)
    measured = tie_breaking_range(histogram, metric, k)
    assert_allclose(measured.worst, [worst], **EXACT)
    assert_allclose(measured.expected, [mean], **EXACT)
    assert_allclose(measured.best, [best], **EXACT)


@each_metric
@settings(deadline=None, max_examples=60)
@given(histogram=histograms(), k=st.none() | st.integers(1, 300))
def test_worst_expected_best_are_ordered_within_bounds(metric, histogram, k):
    worst, expected, best = tie_breaking_range(histogram, metric, k)
    defined = (histogram.n_relevant > 0) | (metric == "dcg")
    assert_array_equal(np.isnan(expected), ~defined)
    worst, expected, best = worst[defined], expected[defined], best[defined]
    slack = 1e-12 * np.maximum(1, best)
    assert np.all((worst <= expected + slack) & (expected <= best + slack))
    assert np.all(worst >= 0)
    if metric != "dcg":
        assert np.all(best <= 1 + slack)


@each_metric
@settings(deadline=None, max_examples=30)
@given(histogram=histograms(), k=st.none() | st.integers(1, 100))
def test_queries_do_not_influence_each_other(metric, histogram, k):
    together = METRICS[metric](histogram, k)
    alone = [
        METRICS[metric](RankingHistogram(counts[None], histogram.levels), k)[0]
        for counts in histogram.counts
    ]
    assert_allclose(together, alone, rtol=1e-14)


@each_metric
@settings(deadline=None, max_examples=30)
@given(histogram=histograms(), seed=st.integers(0, 99))
def test_empty_ties_change_nothing(metric, histogram, seed):
    gaps = np.sort(np.random.default_rng(seed).integers(0, histogram.counts.shape[2], 3))
    padded = RankingHistogram(
        np.insert(histogram.counts, gaps, 0, axis=2), histogram.levels
    )
    assert_allclose(METRICS[metric](padded), METRICS[metric](histogram), rtol=1e-13)


@each_metric
@settings(deadline=None, max_examples=30)
@given(histogram=histograms(), beyond=st.integers(0, 3))
def test_cutoff_at_or_beyond_the_last_item_is_no_cutoff(metric, histogram, beyond):
    k = int(histogram.n_items.max()) + beyond or 1
    uncut = METRICS[metric](histogram)
    assert_allclose(METRICS[metric](histogram, k), uncut, rtol=1e-14)


def test_average_precision_at_k_divides_by_all_relevant_items():
    histogram = make_histogram([0, 1, 2], [1, 1, 1], n_levels=2)
    assert_allclose(tie_aware_average_precision(histogram, k=1), [1 / 3])


@each_metric
@pytest.mark.parametrize("k", [None, 1, 1_000, 123_456])
@pytest.mark.parametrize(("largest_tie", "share"), [(4, 0.3), (9_000, 0.5), (9_000, 1e-3)])
def test_long_lists_equal_the_sum_over_ranks(metric, k, largest_tie, share):
    """About a million items; the closed forms never look at single ranks."""
    rng = np.random.default_rng(largest_tie)
    n = rng.integers(1, largest_tie, size=2_000_000 // largest_tie)
    p = rng.binomial(n, share)
    p[0] = 1  # the first rank counts, whatever the cutoff
    histogram = RankingHistogram(np.stack([n - p, p])[None], np.array([0, 1]))
    if metric == "average_precision":
        expected = reference.expected_average_precision_by_rank(n, p, k)
    else:
        expected = reference.expected_dcg_by_rank(n, p, k)
    if metric == "ndcg":
        expected /= reference.expected_dcg_by_rank(
            [p.sum(), (n - p).sum()], [p.sum(), 0], k
        )
    assert_allclose(METRICS[metric](histogram, k), [expected], rtol=1e-12)


@pytest.mark.parametrize("start", [10**3, 10**6])
@pytest.mark.parametrize("length", [2, 1_000])
def test_relevant_tie_at_the_end_of_a_long_list(start, length):
    """Here the terms of the closed form cancel most: the value is about 1 / start."""
    n, p = [start, length], [0, length]
    expected = reference.expected_average_precision_by_rank(n, p)
    histogram = RankingHistogram(np.array([[[start, 0], p]]), np.array([0, 1]))
    actual = tie_aware_average_precision(histogram)
    assert_allclose(actual, [expected], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("start", [0, 1, 15, 31, 32, 33, 1_000, 10**6, 10**9])
def test_harmonic_sum_keeps_its_digits(start):
    lengths = np.array([0, 1, 2, 7, 1_000, 100_000])
    exact = [np.sum(1 / np.arange(start + n, start, -1.0)) for n in lengths]
    assert_allclose(harmonic_sum(start, lengths), exact, rtol=5e-14)


def test_cumulative_discount_starts_from_no_ranks():
    expected = [0, 1, 1 + 1 / np.log2(3), 1.5 + 1 / np.log2(3)]
    assert_allclose(cumulative_discount(3), expected, rtol=1e-15)


def test_large_affinities_have_exact_gains():
    histogram = RankingHistogram(np.array([[[0], [0], [1]]]), np.array([0, 1, 10]))
    assert tie_aware_dcg(histogram)[0] == 1023


def test_levels_need_not_be_consecutive():
    levels = np.array([0, 1, 2, 5, 10])
    distances, affinities = [0, 0, 1, 1, 1, 2], [10, 0, 1, 5, 0, 2]
    histogram = RankingHistogram(
        reference.histogram([distances], [affinities], levels, n_bins=3), levels
    )
    scores = np.negative(distances)
    for metric, k in [("dcg", None), ("dcg", 4), ("ndcg", None), ("ndcg", 1)]:
        expected = reference.over_tie_orders(metric, affinities, scores, k)
        assert_allclose(
            np.ravel(tie_breaking_range(histogram, metric, k)), expected, rtol=1e-13
        )


@pytest.mark.parametrize("metric", ["average_precision", "ndcg"])
@pytest.mark.parametrize(
    ("zero_relevant", "expected"), [("skip", np.nan), (0, 0.0), (0.25, 0.25), (1.0, 1.0)]
)
def test_zero_relevant_fills_only_undefined_queries(metric, zero_relevant, expected):
    histogram = RankingHistogram(np.array([[[2], [0]], [[0], [2]]]), np.array([0, 1]))
    values = METRICS[metric](histogram, zero_relevant=zero_relevant)
    assert_array_equal(values, [expected, 1.0])


@pytest.mark.parametrize("metric", ["average_precision", "ndcg"])
@pytest.mark.parametrize("zero_relevant", ["drop", None, True, [0.0]])
def test_zero_relevant_refuses_other_values(metric, zero_relevant):
    histogram = make_histogram([0, 1], [1, 0], n_levels=2)
    with pytest.raises(ValueError, match="zero_relevant must be"):
        METRICS[metric](histogram, zero_relevant=zero_relevant)


def test_dcg_of_a_query_with_nothing_relevant_is_zero():
    assert_array_equal(tie_aware_dcg(make_histogram([0, 0, 1], [0, 0, 0], n_levels=2)), [0])


@each_metric
@pytest.mark.parametrize("k", [0, -1, 2.5, 3.0, "3", True])
def test_cutoff_must_be_a_positive_integer(metric, k):
    histogram = make_histogram([0, 1], [1, 0], n_levels=2)
    with pytest.raises(ValueError, match="k must be a positive integer"):
        METRICS[metric](histogram, k)
    with pytest.raises(ValueError, match="k must be a positive integer"):
        tie_breaking_range(histogram, metric, k)


def test_cutoff_may_be_a_numpy_integer():
    histogram = make_histogram([0, 0, 1], [1, 0, 1], n_levels=2)
    actual = tie_aware_average_precision(histogram, np.int32(2))
    assert_array_equal(actual, tie_aware_average_precision(histogram, 2))


def test_range_is_a_named_tuple_and_needs_a_known_metric():
    histogram = make_histogram([0, 0], [1, 0], n_levels=2)
    measured = tie_breaking_range(histogram)
    assert isinstance(measured, TieBreakingRange)
    assert_array_equal(np.ravel(measured), [0.5, 0.75, 1.0])
    with pytest.raises(ValueError, match="metric must be one of"):
        tie_breaking_range(histogram, "recall")


def test_importing_metrics_does_not_import_torch():
    code = "import sys, sklearn_talr.metrics; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
