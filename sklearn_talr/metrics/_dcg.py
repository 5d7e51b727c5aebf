"""Tie-aware discounted cumulative gain, as it is and normalized."""

from numbers import Real

import numpy as np

from .._compat import Interval, StrOptions
from ._harmonic import discount_sum
from ._metric import Metric

__all__ = [
    "tie_aware_dcg",
    "tie_aware_dcg_score",
    "tie_aware_ndcg",
    "tie_aware_ndcg_score",
]

_LARGEST_EXPONENT = 1023  # of float64
_GAINS = {
    "gain": [StrOptions({"exponential", "linear"})],
    "log_base": [Interval(Real, 1, None, closed="neither")],
}


def dcg(ties, gain="exponential", log_base=2):
    """Discounted gains, in units of the logarithm to this base."""
    gain = _gain_function(gain, ties)
    return discounted(*ties.graded(gain)) * np.log2(float(log_base))


def ndcg(ties, gain="exponential", log_base=2):
    """Discounted gains over those of the best ranking; the logarithm's base cancels."""
    gain = _gain_function(gain, ties)
    ideal = discounted(*ties.ideal(gain))
    return discounted(*ties.graded(gain)) / np.where(ideal == 0, 1, ideal)


def discounted(ladder, gains, rank_sum=discount_sum):
    """Mean gain of each tie, at each of its ranks within the cutoff.

    `rank_sum` is the sum of discounts over ranks start + 1, ..., start + length.
    """
    mean = gains / np.maximum(ladder.n, 1)
    total = ladder.sum_before_cut(mean * rank_sum(ladder.t, ladder.n))
    part = ladder.at_cut(mean) * rank_sum(ladder.at_cut(ladder.t), ladder.take)
    return total + part


def _gain_function(gain, ties):
    """The gain as a function of an array of affinities."""
    most_items = max(1, ties.n_items.max(initial=1))

    def exponential(affinity):
        largest = affinity.max(initial=0)
        if largest + np.log2(most_items) > _LARGEST_EXPONENT:
            raise ValueError(
                f"The exponential gain 2**affinity - 1 of affinity {largest} overflows "
                f"float64 when it is summed over up to {most_items} items. Pass "
                "gain='linear', or give similar items a smaller affinity."
            )
        return np.ldexp(1.0, affinity.astype(np.int32)) - 1

    def linear(affinity):
        largest = affinity.max(initial=0)
        if largest > np.finfo(np.float64).max / most_items:
            raise ValueError(
                f"Grades of {largest} overflow float64 when they are summed over up to "
                f"{most_items} items. Pass y_true divided by its maximum."
            )
        return affinity.astype(np.float64)

    return {"exponential": exponential, "linear": linear}[gain]


DCG = Metric("dcg", dcg, label="DCG", params=_GAINS)
NDCG = Metric("ndcg", ndcg, label="NDCG", params=_GAINS)


@DCG.checks_histogram
def tie_aware_dcg(
    histogram, k=None, *, gain="exponential", log_base=2, zero_division=np.nan
):
    """Expected discounted cumulative gain over all orders of tied items.

    Every item of a tie takes each of its ranks equally often, so a tie contributes its
    mean gain at each rank (eq. 20 of He et al., CVPR 2018, after McSherry and Najork)::

        DCG@k = sum over ties of (mean gain) * (sum of the discounts of its ranks <= k)

    with discount ``1 / log(rank + 1)`` to the base `log_base`.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count. None, also in a sequence, means
        all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**affinity - 1``, or the affinity itself.

    log_base : float, default=2
        Base of the logarithm, above 1.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out. The
        DCG of such a query is 0 in any order. It gets this value all the same, so that
        all metrics average the same queries.

    Returns
    -------
    dcg : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Non-negative values, float64; a column per cutoff if `k` is a sequence.

    Raises
    ------
    ValueError
        If exponential gains overflow float64, as those of affinities above 1023 do.

    See Also
    --------
    tie_aware_dcg_score : The metric of affinities and scores.

    Examples
    --------
    An item of affinity 1 tied with an irrelevant one takes rank 1 or rank 2:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_dcg
    >>> histogram = RankingHistogram([[[1], [1]]], levels=[0, 1])
    >>> tie_aware_dcg(histogram)
    array([0.81546488])
    """
    return DCG(histogram, k, zero_division, gain=gain, log_base=log_base)


@DCG.checks_scores
def tie_aware_dcg_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    gain="exponential",
    log_base=2,
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the expected DCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers. With ``gain="linear"`` they may
        be any non-negative numbers, such as probabilities of a click. Flat, one for each
        item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, equal is tied. Pass ``-distance`` for a distance. In a table,
        -inf marks cells that hold no item. With scikit-learn's `array_api_dispatch`
        arrays are returned in the library of this one, on its device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count. None, also in a sequence, means
        all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**y_true - 1``, or `y_true` itself.

    log_base : float, default=2
        Base of the logarithm of the discount ``1 / log(rank + 1)``, above 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    dcg : float or ndarray
        Non-negative values, of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    Raises
    ------
    ValueError
        If `y_true` and `y_score` are not two tables of one shape (or, with `groups`, flat
        arrays of its length), `y_true` holds a negative number or, with exponential gains,
        one that is no integer, `y_score` is NaN or infinite, or gains overflow float64, as
        exponential ones of affinities above 1023 do.

    See Also
    --------
    tie_aware_dcg : The metric of a histogram, with its formula.
    sklearn.metrics.dcg_score : Takes gains, and counts queries without any as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_dcg_score
    >>> tie_aware_dcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    return DCG.of_scores(
        y_true,
        y_score,
        groups,
        k,
        sample_weight,
        average,
        zero_division,
        gain=gain,
        log_base=log_base,
    )


@NDCG.checks_histogram
def tie_aware_ndcg(
    histogram, k=None, *, gain="exponential", log_base=2, zero_division=np.nan
):
    """Expected normalized DCG over all orders of tied items.

    :func:`tie_aware_dcg` divided by the DCG@k of the best ranking of the same items.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count, in numerator and denominator.
        None, also in a sequence, means all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**affinity - 1``, or the affinity itself.

    log_base : float, default=2
        Base of the discount's logarithm, which cancels: it is here so that both functions
        take the same parameters.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out. The
        NDCG of such a query is undefined.

    Returns
    -------
    ndcg : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    Raises
    ------
    ValueError
        If exponential gains overflow float64, as those of affinities above 1023 do.

    See Also
    --------
    tie_aware_ndcg_score : The metric of affinities and scores.
    sklearn.metrics.ndcg_score : Equal on gains ``2**affinity - 1``, by sorting.

    Examples
    --------
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_ndcg
    >>> histogram = RankingHistogram([[[1], [1]]], levels=[0, 1])
    >>> tie_aware_ndcg(histogram)
    array([0.81546488])
    """
    return NDCG(histogram, k, zero_division, gain=gain, log_base=log_base)


@NDCG.checks_scores
def tie_aware_ndcg_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    gain="exponential",
    log_base=2,
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the expected NDCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers. With ``gain="linear"`` they may
        be any non-negative numbers, such as probabilities of a click. Flat, one for each
        item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, equal is tied. Pass ``-distance`` for a distance. In a table,
        -inf marks cells that hold no item. With scikit-learn's `array_api_dispatch`
        arrays are returned in the library of this one, on its device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count. None, also in a sequence, means
        all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**y_true - 1``, or `y_true` itself.

    log_base : float, default=2
        Base of the logarithm of the discount ``1 / log(rank + 1)``, above 1. It
        cancels here.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    ndcg : float or ndarray
        Values in [0, 1], of shape (n_cutoffs,) if `k` is a sequence. If `average` is
        False, of shape (n_queries,) or (n_queries, n_cutoffs).

    Raises
    ------
    ValueError
        If `y_true` and `y_score` are not two tables of one shape (or, with `groups`, flat
        arrays of its length), `y_true` holds a negative number or, with exponential gains,
        one that is no integer, `y_score` is NaN or infinite, or gains overflow float64, as
        exponential ones of affinities above 1023 do.

    See Also
    --------
    tie_aware_ndcg : The metric of a histogram, with its formula.
    sklearn.metrics.ndcg_score : Takes gains, and counts queries without any as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_ndcg_score
    >>> tie_aware_ndcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    return NDCG.of_scores(
        y_true,
        y_score,
        groups,
        k,
        sample_weight,
        average,
        zero_division,
        gain=gain,
        log_base=log_base,
    )
