"""Harmonic and discount sums over runs of consecutive ranks, to the last digits.

Runs are differences of cumulative sums, tabulated for the first million ranks. Far down a
list a cumulative sum is so much larger than one term that it keeps only the leading digits
of the term, and average precision multiplies the rounding error by the rank. The rounding
error of each addition is known exactly (Knuth's TwoSum), and is summed beside. Beyond the
table asymptotic series are exact, in which the difference is taken term by term.
"""

import numpy as np

_MOST_RANKS = 2**20  # ranks in a table, 16 MiB for each of the two functions
_RANKS_PER_BLOCK = 2**16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


class RankSum:
    """Sum of a function of the rank over runs of ranks.

    Parameters
    ----------
    term : callable
        The function, of an array of ranks from 1 on.

    tail : callable
        ``tail(start, end)``, its sum over ranks start + 1, ..., end beyond the table.
    """

    def __init__(self, term, tail):
        self._term = term
        self._tail = tail
        self._tables = _tabulate(term, 2**10)

    def __call__(self, start, length):
        """Sum over ranks start + 1, ..., start + length, for arrays of integers."""
        end = start + length
        sums, lost = self._tables_up_to(int(end.max(initial=0)))
        last = len(sums) - 1
        near_start = np.minimum(start, last)
        near_end = np.minimum(end, last)
        total = sums[near_end] - sums[near_start]
        total = total + (lost[near_end] - lost[near_start])
        is_beyond = end > last
        if is_beyond.any():
            far_start = np.broadcast_to(np.maximum(start, last), end.shape)
            total[is_beyond] += self._tail(far_start[is_beyond], end[is_beyond])
        return total

    def _tables_up_to(self, rank):
        """Tables that reach a rank, or as far as tables go; they never shrink.

        Another thread may replace the tables meanwhile, so that both come from one read.
        """
        rank = min(rank, _MOST_RANKS)
        tables = self._tables
        if len(tables[0]) <= rank:
            n_ranks = min(_MOST_RANKS, 1 << rank.bit_length())
            tables = _tabulate(self._term, n_ranks)
            self._tables = tables
        return tables


def _tabulate(term, n_ranks):
    """Sums of the terms of the first 0, ..., n_ranks ranks, and the rounding errors."""
    sums, lost = np.zeros((2, n_ranks + 1))
    for start in range(0, n_ranks, _RANKS_PER_BLOCK):
        end = min(n_ranks, start + _RANKS_PER_BLOCK)
        terms = term(np.arange(start + 1, end + 1))
        partial_sums = np.cumsum(np.append(sums[start], terms))
        before = partial_sums[:-1]
        after = partial_sums[1:]
        added = after - before
        error = (before - (after - added)) + (terms - added)
        sums[start + 1 : end + 1] = after
        lost[start + 1 : end + 1] = lost[start] + np.cumsum(error)
    return sums, lost


def _harmonic_tail(start, end):
    """digamma(end + 1) - digamma(start + 1)."""
    a = start + 1.0
    b = end + 1.0
    logarithm = np.log1p((b - a) / a)
    reciprocals = (b - a) / a / b  # 1/a - 1/b
    return logarithm + reciprocals * (0.5 + (1 / a + 1 / b) / 12)


def _discount_tail(start, end):
    """Euler-Maclaurin: an integral between half ranks, and the change of the slope.

    The integral of 1/log(x) is taken over log(x), where the integrand is nearly an
    exponential, by Gauss-Legendre quadrature.
    """
    a = start + 1.5
    b = end + 1.5
    span = np.log1p((b - a) / a)
    nodes = np.multiply.outer(span, (1 + _NODES) / 2)
    integrand = np.exp(nodes) / (np.log(a)[:, None] + nodes)
    integral = integrand @ (_WEIGHTS / 2)
    slope_at_start = 1 / (a * np.log(a) ** 2)
    slope_at_end = 1 / (b * np.log(b) ** 2)
    change = slope_at_start - slope_at_end
    return np.log(2) * (a * span * integral - change / 24)


harmonic_sum = RankSum(lambda rank: 1 / rank, _harmonic_tail)
discount_sum = RankSum(lambda rank: 1 / np.log2(rank + 1), _discount_tail)
