"""Divide and conquer, all intervals of one depth at once.

Algorithm 1 of Mohapatra et al. (CVPR 2018) finds the rank of the middle negative of an
interval, which bounds the ranks of both halves. Intervals of one depth do not depend on
each other, so that a depth is a handful of array operations on all their candidates:
about P of them for all intervals together, and log2 N depths. While there are few
candidates, operations cost more than what they do, and intervals are cut at several
negatives.
"""

import numpy as np

# Rows of a table of intervals. Each is negatives start..stop-1, in order of score, of one
# query, before which come lo to hi positives.
START, STOP, LO, HI, QUERY = range(5)

_FEW_CANDIDATES = 4096
_MAX_CUTS = 7


def intervals_of(start, stop, lo, hi, query):
    """The table with these rows."""
    table = np.empty((5, len(start)), dtype=np.intp)
    for row, values in enumerate((start, stop, lo, hi, query)):
        table[row] = values
    return table


def optimal_before(queries, place, score, intervals):
    """How many positives come before each negative in the optimum.

    Parameters
    ----------
    queries : Queries

    place, score : ndarray of shape (n,)
        Within each interval places ascend and scores descend. They need not be those of
        actual negatives: any such staircase has ascending optima.

    intervals : ndarray of shape (5, n_intervals) of int
        They cover 0..n-1; none is empty.

    Returns
    -------
    before : ndarray of shape (n,) of int
    """
    settled = []
    while intervals.shape[1]:
        is_open = intervals[LO] < intervals[HI]
        settled.append(intervals[:, ~is_open])
        intervals = intervals[:, is_open]
        if intervals.shape[1]:
            cuts = _cuts(intervals)
            lo, hi, query = (np.tile(intervals[row], len(cuts)) for row in (LO, HI, QUERY))
            at = cuts.ravel()
            best = _best_before(queries, place[at], score[at], lo, hi, query)
            settled.append(intervals_of(at, at + 1, best, best, query))
            intervals = _pieces(intervals, cuts, best.reshape(cuts.shape))
    pieces = np.concatenate(settled, axis=1)
    start, first = np.unique(pieces[START], return_index=True)
    return np.repeat(pieces[LO, first], np.diff(start, append=len(place)))


def _cuts(intervals):
    """Where to cut each interval, shape (n_cuts, n_intervals); short ones repeatedly."""
    n_candidates = int((intervals[HI] - intervals[LO] + 1).sum())
    n_cuts = min(max(_FEW_CANDIDATES // n_candidates, 1), _MAX_CUTS)
    steps = np.arange(1, n_cuts + 1)[:, None]
    length = intervals[STOP] - intervals[START]
    return intervals[START] + length * steps // (n_cuts + 1)


def _best_before(queries, place, score, lo, hi, query):
    """Try all of lo..hi for each negative; the last of equals."""
    n_candidates = hi - lo + 1
    end = np.cumsum(n_candidates)
    first = end - n_candidates
    each = np.repeat(np.arange(len(first)), n_candidates)
    position = np.arange(end[-1])
    k = position + (lo - first)[each]
    terms = queries.terms(query[each], place[each], score[each], np.maximum(k, 1))
    terms[first] = 0  # not to pass any of lo + 1..hi loses the sum of their terms
    lost = np.cumsum(terms)
    lost -= lost[first][each]
    least = np.minimum.reduceat(lost, first)
    position[lost != least[each]] = 0
    return k[np.maximum.reduceat(position, first)]


def _pieces(intervals, cuts, best):
    """What lies before, between and after the cuts."""
    shape = len(cuts) + 1, cuts.shape[1]
    pieces = np.empty((5, *shape), dtype=np.intp)
    pieces[START, 0], pieces[START, 1:] = intervals[START], cuts + 1
    pieces[STOP, :-1], pieces[STOP, -1] = cuts, intervals[STOP]
    pieces[LO, 0], pieces[LO, 1:] = intervals[LO], best
    pieces[HI, :-1], pieces[HI, -1] = best, intervals[HI]
    pieces[QUERY] = intervals[QUERY]
    return pieces[:, pieces[START] < pieces[STOP]]
