"""Search for the ranking of positives and negatives that violates the margin most.

The symbols are those of `sklearn_talr.svm._inference`.
"""

import math

import numpy as np

from ._compile import compiled

_PER_BUCKET = 16
_MAX_BUCKETS = 1 << 16  # so that their counts stay in cache


@compiled
def rank_negatives(positive, negative, n_positive, n_negative, share, is_ndcg, how_many):
    """Find the optimal ranks of the negatives of some queries.

    Parameters
    ----------
    positive, negative : ndarrays of float64
        Scores. Those of one query are consecutive, and both arrays have the queries in the
        same order. Positives are sorted within a query, best first.

    n_positive, n_negative : ndarrays of shape (n_queries,) of int
        How many positives and negatives each query has, at least 1.

    share : ndarray of shape (n_queries,)
        What gains are multiplied by: 1 / P of average precision, and 1 / IDCG of NDCG.

    is_ndcg : bool
        Whether the loss is one minus NDCG, and not one minus average precision.

    how_many : tuple of two ndarrays of int, as long as `negative` and `positive`
        Receive how many positives come before each negative, the largest of equally good
        numbers, and how many negatives come before each positive.
    """
    before, n_before = how_many
    a = b = 0
    for query in range(len(share)):
        of_positive = slice(a, a + n_positive[query])
        of_negative = slice(b, b + n_negative[query])
        a, b = of_positive.stop, of_negative.stop
        loss = is_ndcg, share[query], 2 / (n_positive[query] * n_negative[query])
        _rank(positive[of_positive], negative[of_negative], loss, before[of_negative])
        counts = np.zeros(n_positive[query] + 1, dtype=np.int64)
        for number in before[of_negative]:
            counts[number] += 1
        passed = 0
        for k in range(n_positive[query]):
            passed += counts[k]
            n_before[of_positive.start + k] = passed


@compiled
def _rank(positive, negative, loss, before):
    """Distribute negatives over buckets of scores, and sort only what is not settled.

    Optima ascend with the place of a negative. So all negatives of a bucket have the
    optimum of its best one, if the best one of the next bucket has it too. At most as many
    buckets as there are positives are left to be sorted.
    """
    # Buckets of equal width, the highest first; halves of scores have finite differences
    n_buckets = max(1, min(len(negative) // _PER_BUCKET, _MAX_BUCKETS))
    top = negative.max() / 2
    width = (top - negative.min() / 2) / n_buckets
    bucket = np.zeros(len(negative), dtype=np.int32)
    if width > 0:
        for i in range(len(negative)):
            bucket[i] = min((top - negative[i] / 2) / width, n_buckets - 1)
    sizes, best = np.zeros(n_buckets, dtype=np.int64), np.full(n_buckets, -np.inf)
    for i in range(len(negative)):
        sizes[bucket[i]] += 1
        best[bucket[i]] = max(best[bucket[i]], negative[i])

    # The optimum of the best of each; an empty bucket is like the next one
    place = np.ones(n_buckets, dtype=np.int64)
    for which in range(1, n_buckets):
        place[which] = place[which - 1] + sizes[which - 1]
    for which in range(n_buckets - 2, -1, -1):
        best[which] = max(best[which], best[which + 1])
    optima = np.full(n_buckets + 1, len(positive))
    _settle(positive, place, best, 0, len(positive), loss, optima)

    # The optima of the others, which are sorted
    rest, n_open = np.empty(len(negative), dtype=np.int64), 0
    for i in range(len(negative)):
        before[i] = optima[bucket[i]]
        rest[n_open] = i
        n_open += optima[bucket[i]] < optima[bucket[i] + 1]
    scores = negative[rest[:n_open]]
    order = np.argsort(-scores)
    rest, scores, found = rest[order], scores[order], np.empty_like(rest[:n_open])
    start = 0
    while start < n_open:
        which = bucket[rest[start]]
        stop = start + sizes[which]
        place_of = np.arange(place[which], place[which] + sizes[which])
        bounds = optima[which], optima[which + 1]
        _settle(positive, place_of, scores[start:stop], *bounds, loss, found[start:stop])
        start = stop
    for i in range(n_open):
        before[rest[i]] = found[i]


@compiled
def _settle(positive, place, score, lo, hi, loss, before):
    """Find the optima of some negatives, best first, which are from `lo` to `hi`.

    This is Algorithm 1: the optimum of the middle negative of an interval bounds those of
    both halves.
    """
    is_ndcg, share, swap = loss
    intervals = [(0, len(place), lo, hi)]
    while len(intervals):
        start, stop, lo, hi = intervals.pop()
        if lo == hi:
            before[start:stop] = lo
        if lo == hi or start == stop:
            continue
        # With k positives before it, a negative forgoes the terms of lo + 1..k
        middle, best = (start + stop) // 2, lo
        forgone = least = 0.0
        for k in range(lo + 1, hi + 1):
            rank = place[middle] + k
            if is_ndcg:
                log = math.log(rank)  # natural logarithms of rank and rank + 1
                step = math.log1p(1 / rank)
                gain = share * math.log(2) * step / (log * (log + step))
            else:
                gain = share * k / (rank * (rank - 1))
            forgone += gain - swap * (positive[k - 1] - score[middle])
            if forgone <= least:
                best, least = k, forgone
        before[middle] = best
        intervals.append((start, middle, lo, best))
        intervals.append((middle + 1, stop, best, hi))
