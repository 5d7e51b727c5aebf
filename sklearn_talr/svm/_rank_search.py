"""Four searches for the optimal interleaving of positives and negatives.

Each takes a Queries object and returns how many positives come before each negative, in the
order in which the negatives were given. `fastest` is what training uses. `exhaustive`,
`scan` and `quicksort` are short enough to be read, and tests hold `fastest` against them.
"""

from itertools import combinations
from math import comb

import numpy as np

from ._interleaving import descending
from ._recursion import intervals_of, optimal_before

_PAIRS_PER_BLOCK = 1 << 18  # of one step of a scan, so that they stay in cache
_MAX_INTERLEAVINGS = 100_000
_MIN_NEGATIVES = 20_000  # of all queries: sorting fewer is faster than distributing them
_PER_BUCKET = 16
_MAX_BUCKETS = 1 << 16  # so that their counts stay in cache


def exhaustive(queries):
    """Try all interleavings of each query, which is the definition of the optimum."""
    return _each_query(queries, _exhaustive)


def scan(queries):
    """Sort the negatives, then try all ranks for each of them, O(P N + N log N).

    Published for AP by Yue et al. (SIGIR 2007), for NDCG by Chakrabarti et al. (KDD 2008).
    """
    return _each_query(queries, _scan)


def quicksort(queries):
    """Algorithm 1 of Mohapatra et al., which does not sort the negatives, O(N log P)."""
    return _each_query(queries, _quicksort)


def _each_query(queries, search):
    parts = np.split(queries.negative, queries.first_negative[1:])
    return np.concatenate([search(queries, q, part) for q, part in enumerate(parts)])


def _exhaustive(queries, query, negative):
    n_positive, n_negative = queries.n_positive[query], len(negative)
    if comb(n_positive + n_negative, n_positive) > _MAX_INTERLEAVINGS:
        raise ValueError(
            f"method='exhaustive' tries at most {_MAX_INTERLEAVINGS} interleavings, too "
            f"few for {n_positive} positives and {n_negative} negatives."
        )
    order = np.argsort(-negative, kind="stable")
    totals = np.zeros((n_negative, n_positive + 1))
    places = np.arange(1, n_negative + 1)[:, None]
    terms = queries.terms(
        query, places, negative[order, None], np.arange(1, n_positive + 1)
    )
    totals[:, :-1] = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
    ranks = np.array(list(combinations(range(n_positive + n_negative), n_negative)))
    ranks -= places.ravel() - 1  # where the negatives stand -> positives before each
    best = ranks[np.argmax(totals[places.ravel() - 1, ranks].sum(axis=1))]
    before = np.empty(n_negative, dtype=np.intp)
    before[order] = best
    return before


def _scan(queries, query, negative):
    n_positive = queries.n_positive[query]
    order = np.argsort(-negative, kind="stable")
    before = np.empty(len(order), dtype=np.intp)
    n_rows = max(1, _PAIRS_PER_BLOCK // n_positive)
    for start in range(0, len(order), n_rows):
        rows = order[start : start + n_rows]
        places = np.arange(start + 1, start + 1 + len(rows))
        before[rows] = _best_of_all(queries, query, places, negative[rows], 0, n_positive)
    return before


def _quicksort(queries, query, negative):
    order = np.arange(len(negative))
    before = np.empty(len(negative), dtype=np.intp)

    def opt_ranks(left, right, lo, hi):
        """Find the ranks of the negatives order[left:right].

        Negatives left of these score higher and those right of these lower, so that the
        number of positives before each lies in lo..hi.
        """
        if left == right:
            return
        if lo == hi:
            before[order[left:right]] = lo
            return
        middle = (left + right) // 2
        part = order[left:right]
        part[:] = part[np.argpartition(-negative[part], middle - left)]
        score = negative[order[middle : middle + 1]]
        (best,) = _best_of_all(queries, query, np.array([middle + 1]), score, lo, hi)
        before[order[middle]] = best
        opt_ranks(left, middle, lo, best)
        opt_ranks(middle + 1, right, best, hi)

    opt_ranks(0, len(negative), 0, queries.n_positive[query])
    return before


def _best_of_all(queries, query, place, score, lo, hi):
    """Return the best of lo..hi for each negative, the largest of equally good ones."""
    k = np.arange(lo + 1, hi + 1)
    lost = np.zeros((len(place), hi - lo + 1))
    terms = queries.terms(query, place[:, None], score[:, None], k)
    np.cumsum(terms, axis=1, out=lost[:, 1:])
    return hi - np.argmin(lost[:, ::-1], axis=1)


def fastest(queries):
    """Distribute the negatives over buckets of scores and sort only what is not settled.

    Optima ascend with the place of a negative. So all negatives of a bucket have the same
    optimum if it is the same for its best place with the highest score that the bucket may
    hold and for its worst place with the lowest. At most as many buckets as there are
    positives are left to be sorted.
    """
    n_queries, n_negatives = len(queries.n_negative), len(queries.negative)
    if n_negatives < _MIN_NEGATIVES:
        query = np.repeat(np.arange(n_queries), queries.n_negative)
        order = descending(queries.negative, query)
        each = intervals_of(
            queries.first_negative,
            queries.first_negative + queries.n_negative,
            0,
            queries.n_positive,
            np.arange(n_queries),
        )
        place = np.arange(1, n_negatives + 1) - queries.first_negative[query]
        before = np.empty(n_negatives, dtype=np.intp)
        before[order] = optimal_before(queries, place, queries.negative[order], each)
        return before
    return _by_buckets(queries)


def _by_buckets(queries):
    buckets = _Buckets(queries)
    lo, hi = buckets.bounds()
    before = lo[buckets.of_negative]
    rest = np.flatnonzero((lo < hi)[buckets.of_negative])
    if len(rest):
        bucket = buckets.of_negative[rest]
        order = descending(queries.negative[rest], bucket)
        rest, bucket = rest[order], bucket[order]
        before[rest] = _settled(queries, buckets, bucket, queries.negative[rest], lo, hi)
    return before


def _settled(queries, buckets, bucket, score, lo, hi):
    """Find the optima of sorted negatives, given the bounds lo and hi of each bucket."""
    start = np.flatnonzero(np.diff(bucket, prepend=-1))
    stop = np.append(start[1:], len(bucket))
    which = bucket[start]
    place = np.arange(len(bucket)) + np.repeat(buckets.place[which] - start, stop - start)
    intervals = intervals_of(start, stop, lo[which], hi[which], which // buckets.per_query)
    return optimal_before(queries, place, score, intervals)


class _Buckets:
    """Buckets of equal width between the highest and the lowest negative of each query."""

    def __init__(self, queries):
        self.queries = queries
        n_queries, n_negatives = len(queries.n_negative), len(queries.negative)
        limit = min(n_negatives // _PER_BUCKET, _MAX_BUCKETS)
        self.per_query = max(1, limit // n_queries)
        first = queries.first_negative
        self.top = np.maximum.reduceat(queries.negative, first)
        self.bottom = np.minimum.reduceat(queries.negative, first)
        span = self.top - self.bottom
        self.width = span * ((1 + 1e-9) / self.per_query)
        flat = self.width < np.finfo(float).tiny  # one bucket for all
        self.width[flat] = span[flat]
        self.scale = np.divide(1, self.width, out=np.zeros(n_queries), where=~flat)
        self.of_negative = self._distribute()
        self.counts = np.bincount(self.of_negative, minlength=n_queries * self.per_query)
        ends = np.cumsum(self.counts)
        self.place = ends - self.counts + 1 - np.repeat(first, self.per_query)

    def _distribute(self):
        n_negative = self.queries.n_negative
        if len(n_negative) == 1:
            return ((self.top - self.queries.negative) * self.scale).astype(np.intp)
        query = np.repeat(np.arange(len(n_negative)), n_negative)
        within = (self.top[query] - self.queries.negative) * self.scale[query]
        return within.astype(np.intp) + query * self.per_query

    def bounds(self):
        """Return the least and the greatest optimum of the negatives of each bucket."""
        filled = np.flatnonzero(self.counts)
        query = filled // self.per_query
        place = self.place[filled]
        best, worst = self._edges(filled, query)
        start = 2 * np.searchsorted(query, np.arange(len(self.top)))
        intervals = intervals_of(
            start,
            np.append(start[1:], 2 * len(filled)),
            0,
            self.queries.n_positive,
            np.arange(len(start)),
        )
        corners = optimal_before(
            self.queries,
            _alternate(place, place + self.counts[filled] - 1),
            _alternate(best, worst),
            intervals,
        )
        lo, hi = np.zeros((2, len(self.counts)), dtype=np.intp)
        lo[filled], hi[filled] = corners[::2], corners[1::2]
        return lo, hi

    def _edges(self, bucket, query):
        """Return the highest and the lowest score of each bucket, up to rounding."""
        number, width = bucket % self.per_query, self.width[query]
        top, bottom = self.top[query], self.bottom[query]
        best = np.maximum(top - number * width, bottom)
        return best, np.maximum(top - (number + 1) * width, bottom)


def _alternate(first, second):
    return np.stack([first, second], axis=1).ravel()


SEARCHES = {
    "auto": fastest,
    "quicksort": quicksort,
    "sort": scan,
    "exhaustive": exhaustive,
}
