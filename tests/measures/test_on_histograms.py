"""Closed forms on histograms: against enumeration, definitions and each other."""

import measure_cases
import numpy as np
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from measure_cases import range_of
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.histogram import RankingHistogram

METRICS = measure_cases.TABLES
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@st.composite
def small_queries(draw, max_queries=5, max_items=5):
    """Items, distance and affinity, of each of a few queries with many ties."""
    n_levels = draw(st.sampled_from([2, 4]))
    item = st.tuples(st.integers(0, 3), st.integers(0, n_levels - 1))
    query = st.integers(1, max_items).flatmap(
        lambda n_items: st.lists(item, min_size=n_items, max_size=n_items)
    )
    return draw(st.lists(query, min_size=3, max_size=max_queries)), n_levels


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


cutoffs = st.none() | st.lists(st.integers(1, 300), min_size=1, max_size=4)


@settings(deadline=None, max_examples=20)
@given(problem=small_queries())
def test_values_and_ranges_equal_enumeration_of_tie_orders(problem):
    """Every metric, parameter and cutoff, also inside ties and beyond the last item."""
    queries, n_levels = problem
    distances, affinities = zip(*(zip(*items) for items in queries))
    levels = np.arange(n_levels)
    counts = reference.histogram(distances, affinities, levels, 4)
    histogram = RankingHistogram(counts, levels)
    orders = [
        reference.tie_orders(affinity, np.negative(distance))
        for distance, affinity in zip(distances, affinities)
    ]
    several = list(range(1, max(map(len, queries)) + 3))
    for metric, params in reference.VARIANTS:
        for k in (None, several):
            ks = [None] if k is None else several
            expected = np.array(
                [
                    [reference.over_orders(rankings, metric, k, **params) for k in ks]
                    for rankings in orders
                ]
            )
            if k is None:
                expected = expected[:, 0]
            message = f"{metric}, {params}, k={k}"
            value = METRICS[metric](histogram, k, **params)
            assert_allclose(value, expected[..., 1], err_msg=message, **EXACT)
            measured = range_of(histogram, metric, k, **params)
            assert_allclose(np.stack(measured, -1), expected, err_msg=message, **EXACT)


@settings(deadline=None, max_examples=12)
@given(histogram=histograms(), k=cutoffs)
def test_worst_expected_best_are_ordered_within_bounds(histogram, k):
    for metric, params in reference.VARIANTS:
        worst, expected, best = range_of(histogram, metric, k, **params)
        assert_array_equal(expected, METRICS[metric](histogram, k, **params))
        defined = histogram.n_relevant > 0
        undefined = np.isnan(expected.reshape(len(histogram), -1)).all(axis=1)
        assert_array_equal(undefined, ~defined)
        worst, expected, best = worst[defined], expected[defined], best[defined]
        slack = 1e-12 * np.maximum(1, best)
        assert np.all((worst <= expected + slack) & (expected <= best + slack)), metric
        assert np.all(worst >= 0), metric
        if metric != "dcg":
            assert np.all(best <= 1 + slack), metric


@settings(deadline=None, max_examples=8)
@given(histogram=histograms(), k=st.lists(st.integers(1, 300), min_size=2, max_size=3))
def test_several_cutoffs_equal_one_at_a_time(histogram, k):
    for metric, params in reference.VARIANTS:
        together = range_of(histogram, metric, k, **params)
        for column, cutoff in enumerate(k):
            alone = range_of(histogram, metric, cutoff, **params)
            for several, one in zip(together, alone):
                assert several.shape == (len(histogram), len(k))
                assert one.shape == (len(histogram),)
                assert_allclose(several[:, column], one, rtol=1e-14, err_msg=metric)


@settings(deadline=None, max_examples=10)
@given(histogram=histograms(), k=cutoffs)
def test_queries_do_not_influence_each_other(histogram, k):
    queries = [RankingHistogram(row[None], histogram.levels) for row in histogram.counts]
    for metric, params in reference.VARIANTS:
        together = METRICS[metric](histogram, k, **params)
        alone = [METRICS[metric](query, k, **params)[0] for query in queries]
        assert_allclose(together, alone, rtol=1e-14, err_msg=metric)


@settings(deadline=None, max_examples=10)
@given(histogram=histograms(), k=cutoffs, seed=st.integers(0, 99))
def test_empty_ties_change_nothing(histogram, k, seed):
    gaps = np.sort(np.random.default_rng(seed).integers(0, histogram.counts.shape[2], 3))
    counts = np.insert(histogram.counts, gaps, 0, axis=2)
    padded = RankingHistogram(counts, histogram.levels)
    for metric, params in reference.VARIANTS:
        assert_allclose(
            range_of(padded, metric, k, **params),
            range_of(histogram, metric, k, **params),
            rtol=1e-13,
            atol=1e-15,
            err_msg=metric,
        )


@settings(deadline=None, max_examples=20)
@given(histogram=histograms(), beyond=st.integers(0, 3))
def test_cutoff_at_or_beyond_the_last_item_is_no_cutoff(histogram, beyond):
    n_items = histogram.n_items
    last = n_items == n_items.max()
    for metric, params in reference.VARIANTS:
        divides_by_k = metric in ("precision", "f1")
        k = n_items.max() + (0 if divides_by_k else beyond) or 1
        values = METRICS[metric](histogram, k, **params)[last]
        whole = METRICS[metric](histogram, **params)[last]
        assert_allclose(values, whole, rtol=1e-14, err_msg=metric)


@settings(deadline=None, max_examples=40)
@given(histogram=histograms())
def test_denominators_agree_without_a_cutoff(histogram):
    ranges = [
        range_of(histogram, denominator=denominator)
        for denominator in ("relevant", "min", "retrieved")
    ]
    assert_allclose(ranges[1], ranges[0], rtol=1e-13)
    assert_allclose(ranges[2], ranges[0], rtol=1e-13)
