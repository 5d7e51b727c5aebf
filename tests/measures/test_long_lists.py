"""Lists of up to a million items and more: closed forms never look at single ranks."""

import numpy as np
import pytest
import reference
from measure_cases import of_histogram
from numpy.testing import assert_allclose

from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.measures import AP

BINARY = np.array([0, 1])


def long_list(largest_tie, share):
    """Sizes and relevant items of ties of about a million items."""
    rng = np.random.default_rng(largest_tie)
    n = rng.integers(1, largest_tie, size=2_000_000 // largest_tie)
    p = rng.binomial(n, share)
    p[0] = 1  # the first rank counts, whatever the cutoff
    return n, p, RankingHistogram(np.stack([n - p, p])[None], BINARY)


long_lists = pytest.mark.parametrize(
    ("largest_tie", "share"), [(4, 0.3), (9_000, 0.5), (9_000, 1e-3)]
)


@long_lists
def test_long_lists_equal_the_sum_over_ranks(largest_tie, share):
    n, p, histogram = long_list(largest_tie, share)
    for k in (None, 1, 1_000, 123_456):
        expected = reference.expected_average_precision_by_rank(n, p, k)
        found = of_histogram("average_precision", histogram, k)
        assert_allclose(found, [expected], rtol=1e-12)
        expected = reference.expected_dcg_by_rank(n, p, k)
        assert_allclose(of_histogram("dcg", histogram, k), [expected], rtol=1e-12)
        sizes = [p.sum(), (n - p).sum()]
        expected /= reference.expected_dcg_by_rank(sizes, [p.sum(), 0], k)
        assert_allclose(of_histogram("ndcg", histogram, k), [expected], rtol=1e-12)


@long_lists
def test_long_lists_over_the_retrieved(largest_tie, share):
    n, p, histogram = long_list(largest_tie, share)
    for k in (1, 1_000, 30_000):
        expected = reference.expected_average_precision_over_retrieved(n, p, k)
        actual = (AP(denominator="retrieved") @ k).of(histogram)
        assert_allclose(actual, [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "p", "take"),
    [(10**6, 10**5, 10**4), (10**6, 3, 999_000), (10**6, 999_990, 20), (3_000, 1_500, 7)],
)
def test_one_long_tie_over_the_retrieved(n, p, take):
    histogram = RankingHistogram(np.array([[[5, n - p], [1, p]]]), BINARY)
    k = 6 + take
    expected = reference.expected_average_precision_over_retrieved([6, n], [1, p], k)
    actual = (AP(denominator="retrieved") @ k).of(histogram)
    assert_allclose(actual, [expected], rtol=1e-11)


@pytest.mark.parametrize("p", [1, 2, 50, 10**4])
@pytest.mark.parametrize("t", [0, 1_000])
def test_first_relevant_item_of_a_long_tie(t, p):
    n = 100_000
    histogram = RankingHistogram([[[t, n - p], [0, p]]], BINARY)
    for k in (1, 10, 5_000, 10**6, None):
        take = n if k is None else min(max(k - t, 0), n)
        expected = reference.expected_reciprocal_rank_by_place(n, p, t, take)
        found = of_histogram("reciprocal_rank", histogram, k)
        assert_allclose(found, [expected], rtol=1e-12)
        expected = 1 - dict(reference.hypergeometric(n, p, take)).get(0, 0)
        actual = of_histogram("hit_rate", histogram, k)
        assert_allclose(actual, [expected], rtol=1e-12, atol=1e-16)
