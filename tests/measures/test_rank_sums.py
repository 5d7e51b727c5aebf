"""Sums over runs of ranks: in the table, beyond it, and across its end."""

from math import fsum

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_talr.measures._rank_sums import RankSum, discount_sum, harmonic_sum

LENGTHS = np.array([0, 1, 2, 7, 1_000, 100_000])
STARTS = [0, 1, 15, 1_000, 2**16 - 1, 2**20 - 10, 2**20, 10**7]


def term_by_term(term, start, length):
    return fsum(term(np.arange(start + 1, start + length + 1, dtype=float)))


@pytest.mark.parametrize(
    ("rank_sum", "term"),
    [(harmonic_sum, lambda rank: 1 / rank), (discount_sum, lambda r: 1 / np.log2(r + 1))],
)
def test_sums_keep_their_digits(rank_sum, term):
    for start in STARTS:
        exact = [term_by_term(term, start, n) for n in LENGTHS]
        assert_allclose(rank_sum(start, LENGTHS), exact, rtol=2e-15, err_msg=str(start))


def test_a_thousand_million_ranks_need_no_table():
    start, length = np.array([10**9, 2**20, 0]), np.array([1, 10**9, 10**9])
    # digamma(10**9 + 1) - digamma(1), and the logarithmic integral, by 40 digits
    assert_allclose(harmonic_sum(start, length)[2], 21.300481502347944, rtol=1e-15)
    assert_allclose(discount_sum(start, length)[0], 1 / np.log2(10**9 + 2), rtol=1e-15)
    halves = discount_sum(2**20 + np.array([0, 10**6]), np.array([10**6, 10**9 - 10**6]))
    assert_allclose(discount_sum(start, length)[1], halves.sum(), rtol=1e-14)


def test_sums_do_not_depend_on_what_was_asked_before():
    fresh = RankSum(lambda rank: 1 / rank, None)
    short = fresh(np.array([0, 3]), np.array([5, 6]))
    fresh(np.array([0]), np.array([50_000]))
    assert_array_equal(fresh(np.array([0, 3]), np.array([5, 6])), short)
