"""Tie-aware reciprocal rank and hit rate of a histogram: where the first relevant item is.

Only the first tie with relevant items matters. Symbols as in `_ties`, for that tie.
"""

import numpy as np

from ._evaluate import CELLS_PER_BLOCK, evaluate_queries, score_queries
from ._harmonic import harmonic_sum

__all__ = [
    "tie_aware_hit_rate",
    "tie_aware_hit_rate_score",
    "tie_aware_reciprocal_rank",
    "tie_aware_reciprocal_rank_score",
]

_NEGLIGIBLE = 1e-18  # probability that no longer changes a float near 1


def tie_aware_reciprocal_rank(histogram, k=None, *, zero_relevant="skip"):
    """Expected reciprocal rank of the first relevant item over all orders of tied items.

    Its mean over queries is MRR. In the first tie that has p relevant among its n items,
    after t items, the first relevant one is at place j of the tie with probability
    ``C(n - j, p - 1) / C(n, p)`` and then counts ``1 / (t + j)``.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several: a first relevant item beyond rank k counts 0. None means no
        cutoff.

    zero_relevant : "skip" or float, default="skip"
        Value of a query with nothing relevant, which has no such rank: NaN ("skip", so
        that averages leave it out) or the given number.

    Returns
    -------
    reciprocal_rank : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_reciprocal_rank_score : The same from affinities and scores.

    Examples
    --------
    A relevant and an irrelevant item, tied: the rank is 1 or 2, as chance has it.

    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_reciprocal_rank
    >>> histogram = RankingHistogram(np.array([[[1], [1]]]), np.array([0, 1]))
    >>> tie_aware_reciprocal_rank(histogram)
    array([0.75])
    """
    return evaluate_queries(reciprocal_rank, histogram, k, zero_relevant)


def tie_aware_reciprocal_rank_score(
    y_true,
    y_score,
    *,
    k=None,
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the expected reciprocal rank over all orders of ties: MRR.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers, relevant if above 0.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several: a first relevant item beyond counts 0. None means no cutoff.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant, which has no such rank: left out of the mean and
        NaN on its own ("skip"), or a number that stands in for it.

    Returns
    -------
    reciprocal_rank : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    See Also
    --------
    tie_aware_reciprocal_rank : The formula, and the same on a histogram of distances.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_reciprocal_rank_score
    >>> tie_aware_reciprocal_rank_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """
    return score_queries(
        reciprocal_rank, y_true, y_score, k, sample_weight, average, zero_relevant
    )


def tie_aware_hit_rate(histogram, k=None, *, zero_relevant="skip"):
    """Probability that a relevant item is among the first k, over all orders of ties.

    Also called success or hit at k; its mean over queries is the hit rate. A tie of n
    items, p of them relevant, leaves none among `take` of its ranks with probability
    ``C(n - take, p) / C(n, p)``.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None means all ranks, where it is 1.

    zero_relevant : "skip" or float, default="skip"
        Value of a query with nothing relevant: NaN ("skip", so that averages leave it
        out) or the given number. Nothing can be hit for such a query; it is treated as by
        the other metrics, so that all of them average the same queries.

    Returns
    -------
    hit_rate : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_hit_rate_score : The same from affinities and scores.

    Examples
    --------
    Two of four tied items are relevant:

    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_hit_rate
    >>> histogram = RankingHistogram(np.array([[[2], [2]]]), np.array([0, 1]))
    >>> tie_aware_hit_rate(histogram, k=[1, 2, 3])
    array([[0.5       , 0.83333333, 1.        ]])
    """
    return evaluate_queries(hit_rate, histogram, k, zero_relevant)


def tie_aware_hit_rate_score(
    y_true,
    y_score,
    *,
    k=None,
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the chance of a relevant item among the first k ranks.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers, relevant if above 0.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None means all ranks, where it is 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant: left out of the mean and NaN on its own
        ("skip", as by all these metrics), or a number that stands in for it.

    Returns
    -------
    hit_rate : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    See Also
    --------
    tie_aware_hit_rate : The formula, and the same on a histogram of distances.

    Examples
    --------
    One of three tied items is relevant:

    >>> from sklearn_talr.metrics import tie_aware_hit_rate_score
    >>> tie_aware_hit_rate_score([[1, 0, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return score_queries(
        hit_rate, y_true, y_score, k, sample_weight, average, zero_relevant
    )


def reciprocal_rank(ties):
    """Sum over the places of the tie, until a relevant item is certain to have come.

    At most about 41 n/p places are looked at. A single relevant item is at each place
    equally often.
    """
    n, p, t, take = ties.first_relevant
    values = np.where(p == 1, harmonic_sum(t, take) / np.maximum(n, 1), 0)
    none_yet = np.ones(len(values))  # probability that no place so far is relevant
    most = take.max(axis=1, initial=0) * (p[:, 0] > 1)
    place = 0
    active = np.flatnonzero(most)
    while active.size:
        width = max(16, CELLS_PER_BLOCK // active.size)
        places = place + np.arange(min(width, most[active].max() - place))
        left = np.maximum(n[active] - places, 1)
        none = np.cumprod(np.maximum(left - p[active], 0) / left, axis=1)
        none *= none_yet[active, None]
        none_before = np.concatenate((none_yet[active, None], none[:, :-1]), axis=1)
        sums = np.zeros((len(active), len(places) + 1))
        terms = none_before * p[active] / left / (t[active] + places + 1)
        np.cumsum(terms, axis=1, out=sums[:, 1:])
        within = np.clip(take[active] - place, 0, len(places))
        values[active] += np.take_along_axis(sums, within, axis=1)
        none_yet[active] = none[:, -1]
        place += len(places)
        active = active[(none_yet[active] > _NEGLIGIBLE) & (most[active] > place)]
    return values


def hit_rate(ties):
    """1 - C(n - take, p) / C(n, p), by a product of min(take, p) factors.

    Factors stop when the product vanishes: there are at most about sqrt(42 n).
    """
    n, p, _, take = ties.first_relevant
    fewer = np.minimum(take, p).ravel()
    more = np.maximum(take, p).ravel()
    n = np.broadcast_to(n, take.shape).ravel()
    log_none = np.zeros(len(n))
    factor = 0
    active = np.flatnonzero(fewer)
    while active.size:
        width = max(16, CELLS_PER_BLOCK // active.size)
        factors = factor + np.arange(min(width, fewer[active].max() - factor))
        drawn = more[active, None] / np.maximum(n[active, None] - factors, 1)
        drawn[factors >= fewer[active, None]] = 0
        with np.errstate(divide="ignore"):  # a certain hit
            log_none[active] += np.log1p(-np.minimum(drawn, 1)).sum(axis=1)
        factor += len(factors)
        active = active[(log_none[active] > np.log(_NEGLIGIBLE)) & (fewer[active] > factor)]
    return -np.expm1(log_none).reshape(take.shape)
