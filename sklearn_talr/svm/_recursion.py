"""Divide and conquer, all intervals of one depth at once.

Algorithm 1 of Mohapatra et al. (CVPR 2018) finds the rank of the middle negative of an
interval, which bounds the ranks of both halves. Intervals of one depth of this recursion do
not depend on each other. So a depth takes a handful of array operations on the candidate
ranks of all its intervals, about P candidates in all, and there are log2 N depths. Where
the candidates are few, the overhead of the operations outweighs their work; intervals are
then cut at several negatives at once, which makes fewer depths.
"""

import numpy as np

# Rows of a table of intervals, one column each. An interval holds the negatives
# start..stop-1 of one query, in the order of their scores. Each of them has at least lo and
# at most hi positives before it.
START, STOP, LO, HI, QUERY = range(5)

_FEW_CANDIDATES = 4096
_MAX_CUTS = 7


def intervals_of(start, stop, lo, hi, query):
    """Return the table of intervals with these rows."""
    table = np.empty((5, len(start)), dtype=np.intp)
    for row, values in enumerate((start, stop, lo, hi, query)):
        table[row] = values
    return table


def optimal_before(queries, place, score, intervals):
    """Find how many positives come before each negative in the optimum.

    Parameters
    ----------
    queries : Queries
        The scores, and the loss.

    place, score : ndarray of shape (n,)
        Place (the j of the loss) and score of each negative. Within each interval places
        ascend and scores descend. The negatives may be made up: with any such places and
        scores the optima ascend.

    intervals : ndarray of shape (5, n_intervals) of int
        Intervals that cover 0..n-1, none of them empty.

    Returns
    -------
    before : ndarray of shape (n,) of int
        The largest of equally good numbers.
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
    """Return the negatives at which to cut each interval, shape (n_cuts, n_intervals).

    An interval with fewer negatives than cuts gets some of them twice.
    """
    n_candidates = int((intervals[HI] - intervals[LO] + 1).sum())
    n_cuts = min(max(_FEW_CANDIDATES // n_candidates, 1), _MAX_CUTS)
    steps = np.arange(1, n_cuts + 1)[:, None]
    length = intervals[STOP] - intervals[START]
    return intervals[START] + length * steps // (n_cuts + 1)


def _best_before(queries, place, score, lo, hi, query):
    """Return the best of lo..hi for each negative, the largest of equally good ones."""
    n_candidates = hi - lo + 1
    end = np.cumsum(n_candidates)
    first = end - n_candidates
    each = np.repeat(np.arange(len(first)), n_candidates)
    position = np.arange(end[-1])
    k = position + (lo - first)[each]
    terms = queries.terms(query[each], place[each], score[each], np.maximum(k, 1))
    terms[first] = 0  # with k positives before it, a negative forgoes those of lo + 1..k
    lost = np.cumsum(terms)
    lost -= lost[first][each]
    least = np.minimum.reduceat(lost, first)
    position[lost != least[each]] = 0
    return k[np.maximum.reduceat(position, first)]


def _pieces(intervals, cuts, best):
    """Return the intervals that lie before, between and after the cuts."""
    shape = len(cuts) + 1, cuts.shape[1]
    pieces = np.empty((5, *shape), dtype=np.intp)
    pieces[START, 0], pieces[START, 1:] = intervals[START], cuts + 1
    pieces[STOP, :-1], pieces[STOP, -1] = cuts, intervals[STOP]
    pieces[LO, 0], pieces[LO, 1:] = intervals[LO], best
    pieces[HI, :-1], pieces[HI, -1] = best, intervals[HI]
    pieces[QUERY] = intervals[QUERY]
    return pieces[:, pieces[START] < pieces[STOP]]
