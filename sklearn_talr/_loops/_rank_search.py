"""Search for the ranking of positives and negatives that violates the margin most.

The symbols are those of `sklearn_talr.svm._inference`.
"""

import math
from typing import NamedTuple

import numpy as np

from ._compile import compiled

_NEGATIVES_PER_BUCKET = 16
# The counts of so many buckets stay in cache.
_MAX_BUCKETS = 1 << 16


class RankingLoss(NamedTuple):
    """Loss of the rankings of one query."""

    is_ndcg: bool  # one minus NDCG, else one minus average precision
    gain_factor: float  # factor of gains: 1 / IDCG of NDCG, 1 / P of average precision
    pair_weight: float  # 2 / (P N), the weight of a difference of two scores in F


class RankedNegatives(NamedTuple):
    """Some negatives of a query, best first."""

    place: np.ndarray  # j, from 1
    score: np.ndarray  # s_j


class ScoreBuckets(NamedTuple):
    """Negatives of a query in buckets of equal width, the highest scores first."""

    number: np.ndarray  # (n_negatives,), int32, bucket of each negative
    size: np.ndarray  # (n_buckets,), int64
    place: np.ndarray  # (n_buckets,), int64, place j of the best negative
    best: np.ndarray  # (n_buckets,), its score; an empty bucket has that of the next one


@compiled
def rank_negatives(scores, gain_factors, is_ndcg, before, n_before):
    """Find the optimal ranks of the negatives of some queries.

    Parameters
    ----------
    scores : QueryScores
        Of `sklearn_talr.svm._inference`. Positives are sorted within a query, best first.

    gain_factors : ndarray of shape (n_queries,)
        Factor of gains: 1 / IDCG of NDCG, and 1 / P of average precision.

    is_ndcg : bool
        Whether the loss is one minus NDCG, and not one minus average precision.

    before : ndarray of int, as long as the negatives
        Receives how many positives come before each negative, the largest of equally good
        numbers.

    n_before : ndarray of int, as long as the positives
        Receives how many negatives come before each positive.
    """
    first_positive = 0
    first_negative = 0
    for query in range(len(gain_factors)):
        n_positive = scores.n_positive[query]
        n_negative = scores.n_negative[query]
        end_positive = first_positive + n_positive
        end_negative = first_negative + n_negative
        positive = scores.positive[first_positive:end_positive]
        negative = scores.negative[first_negative:end_negative]
        query_before = before[first_negative:end_negative]
        loss = RankingLoss(is_ndcg, gain_factors[query], 2 / (n_positive * n_negative))
        _rank(positive, negative, loss, query_before)
        _count_negatives(query_before, n_before[first_positive:end_positive])
        first_positive = end_positive
        first_negative = end_negative


@compiled
def _count_negatives(before, n_before):
    """Count the negatives before each positive, from the positives before each negative."""
    n_positive = len(n_before)
    counts = np.zeros(n_positive + 1, dtype=np.int64)
    for n_positives_before in before:
        counts[n_positives_before] += 1
    passed = 0
    for k in range(n_positive):
        passed += counts[k]
        n_before[k] = passed


@compiled
def _rank(positive, negative, loss, before):
    """Distribute negatives over buckets of scores, and sort only what is not settled.

    Optima ascend with the place of a negative. So all negatives of a bucket have the
    optimum of its best one, if the best one of the next bucket has it too. At most as many
    buckets as there are positives are left to be sorted.
    """
    n_positive = len(positive)
    buckets = _distribute(negative)
    optima = np.full(len(buckets.size) + 1, n_positive)
    best = RankedNegatives(buckets.place, buckets.best)
    _settle(positive, best, loss, 0, n_positive, optima)
    _settle_open_buckets(positive, negative, loss, buckets, optima, before)


@compiled
def _distribute(negative):
    """Distribute the negatives of a query over buckets of scores."""
    n_buckets = max(1, min(len(negative) // _NEGATIVES_PER_BUCKET, _MAX_BUCKETS))
    # Halves of scores have finite differences.
    top = negative.max() / 2
    width = (top - negative.min() / 2) / n_buckets
    number = np.zeros(len(negative), dtype=np.int32)
    if width > 0:
        for i in range(len(negative)):
            number[i] = min((top - negative[i] / 2) / width, n_buckets - 1)
    size = np.zeros(n_buckets, dtype=np.int64)
    best = np.full(n_buckets, -np.inf)
    for i in range(len(negative)):
        size[number[i]] += 1
        best[number[i]] = max(best[number[i]], negative[i])
    place = np.ones(n_buckets, dtype=np.int64)
    for bucket in range(1, n_buckets):
        place[bucket] = place[bucket - 1] + size[bucket - 1]
    for bucket in range(n_buckets - 2, -1, -1):
        best[bucket] = max(best[bucket], best[bucket + 1])
    return ScoreBuckets(number, size, place, best)


@compiled
def _settle_open_buckets(positive, negative, loss, buckets, optima, before):
    """Find the optima of all negatives from those of the best ones of buckets.

    Parameters
    ----------
    positive, negative : ndarrays of float64
        Scores of one query, those of positives best first.

    loss : RankingLoss

    buckets : ScoreBuckets

    optima : ndarray of shape (n_buckets + 1,) of int
        Optima of the best negatives of the buckets, and the number of positives.

    before : ndarray of int, as long as `negative`
        Receives the optima.
    """
    number = buckets.number
    # Negatives are open if the next bucket begins with another optimum than their own.
    open_negatives = np.empty(len(negative), dtype=np.int64)
    n_open = 0
    for i in range(len(negative)):
        optimum = optima[number[i]]
        before[i] = optimum
        open_negatives[n_open] = i
        n_open += optimum < optima[number[i] + 1]
    open_negatives = open_negatives[:n_open]
    open_scores = negative[open_negatives]
    order = np.argsort(-open_scores)
    open_negatives = open_negatives[order]
    open_scores = open_scores[order]
    open_optima = np.empty_like(open_negatives)
    start = 0
    while start < n_open:
        bucket = number[open_negatives[start]]
        stop = start + buckets.size[bucket]
        first_place = buckets.place[bucket]
        places = np.arange(first_place, first_place + buckets.size[bucket])
        ranked = RankedNegatives(places, open_scores[start:stop])
        fewest = optima[bucket]
        most = optima[bucket + 1]
        _settle(positive, ranked, loss, fewest, most, open_optima[start:stop])
        start = stop
    for i in range(n_open):
        before[open_negatives[i]] = open_optima[i]


@compiled
def _settle(positive, ranked, loss, fewest, most, before):
    """Find the optima of some negatives, best first, which are from `fewest` to `most`.

    This is Algorithm 1: the optimum of the middle negative of an interval bounds those of
    both halves.
    """
    intervals = [(0, len(ranked.place), fewest, most)]
    while len(intervals):
        start, stop, low, high = intervals.pop()
        if low == high:
            before[start:stop] = low
        if low == high or start == stop:
            continue
        middle = (start + stop) // 2
        place = ranked.place[middle]
        optimum = _optimum(positive, place, ranked.score[middle], loss, low, high)
        before[middle] = optimum
        intervals.append((start, middle, low, optimum))
        intervals.append((middle + 1, stop, optimum, high))


@compiled
def _optimum(positive, place, score, loss, low, high):
    """The best number of positives before a negative, the largest of equally good ones.

    With k positives before it, a negative forgoes the terms of ``low + 1..k``.
    """
    optimum = low
    forgone = 0.0
    least_forgone = 0.0
    for k in range(low + 1, high + 1):
        rank = place + k
        if loss.is_ndcg:
            log_rank = math.log(rank)
            # `step` is how much larger the logarithm of the next rank is.
            step = math.log1p(1 / rank)
            gain = loss.gain_factor * math.log(2) * step / (log_rank * (log_rank + step))
        else:
            gain = loss.gain_factor * k / (rank * (rank - 1))
        forgone += gain - loss.pair_weight * (positive[k - 1] - score)
        if forgone <= least_forgone:
            optimum = k
            least_forgone = forgone
    return optimum
