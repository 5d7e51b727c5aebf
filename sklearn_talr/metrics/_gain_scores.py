"""Tie-aware metrics of graded gains, from affinities and scores as in scikit-learn.

Both refuse, with a ValueError, tables of unequal shape, scores that are not finite, and
affinities that are not non-negative integers.
"""

from functools import partial

from ._dcg import dcg, ndcg
from ._scores import score_queries

__all__ = ["tie_aware_dcg_score", "tie_aware_ndcg_score"]


def tie_aware_dcg_score(
    y_true,
    y_score,
    *,
    k=None,
    gain="exponential",
    log_base=2,
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the expected DCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count. None means all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**y_true - 1``, or `y_true` itself.

    log_base : float, default=2
        Base of the logarithm of the discount ``1 / log(rank + 1)``, above 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant: left out of the mean and NaN on its own
        ("skip", as by all these metrics), or a number that stands in for it.

    Returns
    -------
    dcg : float or ndarray
        Non-negative values, of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    Raises
    ------
    ValueError
        If exponential gains overflow float64, as those of affinities above 1023 do.

    See Also
    --------
    tie_aware_dcg : The formula, and the same on a histogram of distances.
    sklearn.metrics.dcg_score : Takes gains, and counts queries without any as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_dcg_score
    >>> tie_aware_dcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    kernel = partial(dcg, gain=gain, log_base=log_base)
    return score_queries(kernel, y_true, y_score, k, sample_weight, average, zero_relevant)


def tie_aware_ndcg_score(
    y_true,
    y_score,
    *,
    k=None,
    gain="exponential",
    log_base=2,
    sample_weight=None,
    average=True,
    zero_relevant="skip",
):
    """Mean over queries of the expected NDCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinities to the queries: non-negative integers.

    y_score : array-like of shape (n_queries, n_database)
        Higher is better, equal is tied. Pass ``-distance`` for a distance.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count. None means all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**y_true - 1``, or `y_true` itself.

    log_base : float, default=2
        Base of the logarithm of the discount ``1 / log(rank + 1)``, above 1. It
        cancels here.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant, which has no NDCG: left out of the mean and
        NaN on its own ("skip"), or a number that stands in for it.

    Returns
    -------
    ndcg : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    Raises
    ------
    ValueError
        If exponential gains overflow float64, as those of affinities above 1023 do.

    See Also
    --------
    tie_aware_ndcg : The formula, and the same on a histogram of distances.
    sklearn.metrics.ndcg_score : Takes gains, and counts queries without any as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_ndcg_score
    >>> tie_aware_ndcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    kernel = partial(ndcg, gain=gain, log_base=log_base)
    return score_queries(kernel, y_true, y_score, k, sample_weight, average, zero_relevant)
