"""Tie-aware metrics of relevance, from affinities and scores as in scikit-learn.

All refuse, with a ValueError, tables of unequal shape, scores that are not finite, and
affinities that are not non-negative integers.
"""

from functools import partial

from ._average_precision import average_precision
from ._first_relevant import hit_rate, reciprocal_rank
from ._precision_recall import f1, precision, recall
from ._scores import score_queries

__all__ = [
    "tie_aware_average_precision_score",
    "tie_aware_f1_score",
    "tie_aware_hit_rate_score",
    "tie_aware_precision_score",
    "tie_aware_recall_score",
    "tie_aware_reciprocal_rank_score",
]


def tie_aware_precision_score(
    y_true,
    y_score,
    *,
    k=None,
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the expected precision at rank k over orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers, relevant if above 0.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several; divides even if there are fewer items. None means n_database.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant: left out of the mean and NaN on its own
        ("skip", as by all these metrics), or a number that stands in for it.

    Returns
    -------
    precision : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    See Also
    --------
    tie_aware_precision : The formula, and the same on a histogram of distances.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_precision_score
    >>> tie_aware_precision_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return score_queries(
        precision, y_true, y_score, k, sample_weight, average, zero_relevant
    )


def tie_aware_recall_score(
    y_true,
    y_score,
    *,
    k=None,
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the expected recall at rank k over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers, relevant if above 0.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None means all ranks, where recall is 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant, which has no recall: left out of the mean and
        NaN on its own ("skip"), or a number that stands in for it.

    Returns
    -------
    recall : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    See Also
    --------
    tie_aware_recall : The formula, and the same on a histogram of distances.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_recall_score
    >>> tie_aware_recall_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return score_queries(recall, y_true, y_score, k, sample_weight, average, zero_relevant)


def tie_aware_f1_score(
    y_true,
    y_score,
    *,
    k=None,
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the expected F1 at rank k over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers, relevant if above 0.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None means n_database.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant, which has no recall: left out of the mean and
        NaN on its own ("skip"), or a number that stands in for it.

    Returns
    -------
    f1 : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    See Also
    --------
    tie_aware_f1 : The formula, and the same on a histogram of distances.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_f1_score
    >>> tie_aware_f1_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return score_queries(f1, y_true, y_score, k, sample_weight, average, zero_relevant)


def tie_aware_average_precision_score(
    y_true,
    y_score,
    *,
    k=None,
    denominator="relevant",
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the expected average precision over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers, relevant if above 0.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count. None means all ranks.

    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        What AP at k is divided by: all relevant items, the smaller of their number and
        k, or the relevant items among the first k ranks.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant, which has no AP: left out of the mean and
        NaN on its own ("skip"), or a number that stands in for it.

    Returns
    -------
    average_precision : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    See Also
    --------
    tie_aware_average_precision : The formula, and the same on a histogram of distances.
    sklearn.metrics.average_precision_score : Counts a tie as one step of the
        precision-recall curve, which is not the expectation.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_average_precision_score
    >>> tie_aware_average_precision_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """
    kernel = partial(average_precision, denominator=denominator)
    return score_queries(kernel, y_true, y_score, k, sample_weight, average, zero_relevant)


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
