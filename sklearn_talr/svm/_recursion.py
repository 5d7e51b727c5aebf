"""Divide and conquer, all intervals of one depth at once.

Algorithm 1 of Mohapatra et al. (CVPR 2018) finds the rank of the middle negative of an
interval, which bounds the ranks of both halves. Intervals of one depth do not depend on
each other, so that a depth is a handful of array operations on all their candidates:
about P of them for all intervals together, and log2 N depths.
"""

from typing import NamedTuple

import numpy as np


class Intervals(NamedTuple):
    """Negatives start..stop-1, in order of score, of one query: lo <= before <= hi."""

    start: np.ndarray
    stop: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    query: np.ndarray

    def part(self, chosen):
        return Intervals(*(field[chosen] for field in self))


def optimal_before(queries, place, score, intervals):
    """How many positives come before each negative in the optimum.

    Parameters
    ----------
    queries : Queries

    place, score : ndarray of shape (n,)
        Within each interval places ascend and scores descend. They need not be those of
        actual negatives: any such staircase has ascending optima.

    intervals : Intervals
        They cover 0..n-1 in order.

    Returns
    -------
    before : ndarray of shape (n,) of int
    """
    settled = [intervals.part(slice(0))]
    while len(intervals.start):
        open_ = intervals.lo < intervals.hi
        settled.append(intervals.part(~open_))
        intervals = intervals.part(open_)
        if len(intervals.start):
            middle = (intervals.start + intervals.stop) // 2
            best = _best_before(queries, place[middle], score[middle], intervals)
            settled.append(intervals._replace(start=middle, stop=middle + 1, lo=best))
            intervals = _halves(intervals, middle, best)
    start, stop, before, _, _ = (np.concatenate(field) for field in zip(*settled))
    order = np.argsort(start)
    return np.repeat(before[order], (stop - start)[order])


def _best_before(queries, place, score, intervals):
    """Try all candidates lo..hi of the middle negative of each interval."""
    n_candidates = intervals.hi - intervals.lo + 1
    first = np.cumsum(n_candidates) - n_candidates
    each = np.repeat(np.arange(len(first)), n_candidates)
    position = np.arange(len(each))
    k = position + (intervals.lo - first)[each]
    terms = queries.terms(intervals.query[each], place[each], score[each], np.maximum(k, 1))
    terms[first] = 0  # not to pass any of lo + 1..hi loses the sum of their terms
    lost = np.cumsum(terms)
    lost -= lost[first][each]
    least = np.minimum.reduceat(lost, first)
    last = np.maximum.reduceat(np.where(lost == least[each], position, 0), first)
    return k[last]


def _halves(intervals, middle, best):
    """What lies before and after the middles."""
    left = intervals._replace(stop=middle, hi=best)
    right = intervals._replace(start=middle + 1, lo=best)
    both = Intervals(*(np.concatenate(pair) for pair in zip(left, right)))
    return both.part(both.start < both.stop)
