"""Tie-aware reciprocal rank and hit rate: where the first relevant item is.

Only the first tie with relevant items matters: n, p, t and take are those of this tie, as
:class:`~._ties.Ties` defines them.
"""

import numpy as np

from ._harmonic import harmonic_sum
from ._metric import Metric
from ._ties import CELLS_PER_BLOCK

__all__ = [
    "tie_aware_hit_rate",
    "tie_aware_hit_rate_score",
    "tie_aware_reciprocal_rank",
    "tie_aware_reciprocal_rank_score",
]

_NEGLIGIBLE = 1e-18  # probability that no longer changes a float near 1


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


RECIPROCAL_RANK = Metric("reciprocal_rank", reciprocal_rank, label="reciprocal rank")
HIT_RATE = Metric("hit_rate", hit_rate, label="hit rate")


@RECIPROCAL_RANK.checks_histogram
def tie_aware_reciprocal_rank(histogram, k=None, *, zero_division=np.nan):
    """Expected reciprocal rank of the first relevant item over all orders of tied items.

    Its mean over queries is MRR. In the first tie that has p relevant among its n items,
    after t items, the first relevant one is at place j of the tie with probability
    ``C(n - j, p - 1) / C(n, p)`` and then counts ``1 / (t + j)``.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several: a first relevant item beyond rank k counts 0. None, also in a
        sequence, means no cutoff.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out.
        Such a query has no first relevant item.

    Returns
    -------
    reciprocal_rank : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_reciprocal_rank_score : The metric of affinities and scores.

    Examples
    --------
    A relevant and an irrelevant item, tied: the rank is 1 or 2, as chance has it.

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_reciprocal_rank
    >>> histogram = RankingHistogram([[[1], [1]]], levels=[0, 1])
    >>> tie_aware_reciprocal_rank(histogram)
    array([0.75])
    """
    return RECIPROCAL_RANK(histogram, k, zero_division)


@RECIPROCAL_RANK.checks_scores
def tie_aware_reciprocal_rank_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the expected reciprocal rank over all orders of ties: MRR.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0. Flat, one
        for each item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, equal is tied. Pass ``-distance`` for a distance. In a table,
        -inf marks cells that hold no item. With scikit-learn's `array_api_dispatch`
        arrays are returned in the library of this one, on its device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        Cutoff, or several: a first relevant item beyond counts 0. None, also in a
        sequence, means no cutoff.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    reciprocal_rank : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    Raises
    ------
    ValueError
        If `y_true` and `y_score` are not two tables of one shape (or, with `groups`, flat
        arrays of its length), `y_true` holds anything but non-negative integers, or
        `y_score` is NaN or infinite.

    See Also
    --------
    tie_aware_reciprocal_rank : The metric of a histogram, with its formula.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_reciprocal_rank_score
    >>> tie_aware_reciprocal_rank_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """
    return RECIPROCAL_RANK.of_scores(
        y_true, y_score, groups, k, sample_weight, average, zero_division
    )


@HIT_RATE.checks_histogram
def tie_aware_hit_rate(histogram, k=None, *, zero_division=np.nan):
    """Probability that a relevant item is among the first k, over all orders of ties.

    Also called success or hit at k; its mean over queries is the hit rate. A tie of n
    items, p of them relevant, leaves none among `take` of its ranks with probability
    ``C(n - take, p) / C(n, p)``.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None, also in a sequence, means all ranks, where it is 1.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out.
        Nothing can be hit for such a query. It gets this value all the same, so that all
        metrics average the same queries.

    Returns
    -------
    hit_rate : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_hit_rate_score : The metric of affinities and scores.

    Examples
    --------
    Two of four tied items are relevant:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_hit_rate
    >>> histogram = RankingHistogram([[[2], [2]]], levels=[0, 1])
    >>> tie_aware_hit_rate(histogram, k=[1, 2, 3])
    array([[0.5       , 0.83333333, 1.        ]])
    """
    return HIT_RATE(histogram, k, zero_division)


@HIT_RATE.checks_scores
def tie_aware_hit_rate_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the chance of a relevant item among the first k ranks.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0. Flat, one
        for each item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, equal is tied. Pass ``-distance`` for a distance. In a table,
        -inf marks cells that hold no item. With scikit-learn's `array_api_dispatch`
        arrays are returned in the library of this one, on its device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None, also in a sequence, means all ranks, where it is 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    hit_rate : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    Raises
    ------
    ValueError
        If `y_true` and `y_score` are not two tables of one shape (or, with `groups`, flat
        arrays of its length), `y_true` holds anything but non-negative integers, or
        `y_score` is NaN or infinite.

    See Also
    --------
    tie_aware_hit_rate : The metric of a histogram, with its formula.

    Examples
    --------
    One of three tied items is relevant:

    >>> from sklearn_talr.metrics import tie_aware_hit_rate_score
    >>> tie_aware_hit_rate_score([[1, 0, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return HIT_RATE.of_scores(
        y_true, y_score, groups, k, sample_weight, average, zero_division
    )
