"""Tie-aware discounted cumulative gain of a histogram; symbols as in `_ties`."""

from functools import partial
from numbers import Real

import numpy as np

from ._evaluate import evaluate_queries, score_queries
from ._harmonic import discount_sum

__all__ = [
    "tie_aware_dcg",
    "tie_aware_dcg_score",
    "tie_aware_ndcg",
    "tie_aware_ndcg_score",
]

_LARGEST_EXPONENT = 1023  # of float64


def tie_aware_dcg(
    histogram, k=None, *, gain="exponential", log_base=2, zero_relevant="skip"
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
        Cutoff, or several: only the first k ranks count. None means all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**affinity - 1``, or the affinity itself.

    log_base : float, default=2
        Base of the logarithm, above 1.

    zero_relevant : "skip" or float, default="skip"
        Value of a query with nothing relevant: NaN ("skip", so that averages leave it
        out) or the given number. Its DCG is 0 in any order; it is treated as by the other
        metrics, so that all of them average the same queries.

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
    tie_aware_dcg_score : The same from affinities and scores.

    Examples
    --------
    An item of affinity 1 tied with an irrelevant one takes rank 1 or rank 2:

    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_dcg
    >>> histogram = RankingHistogram(np.array([[[1], [1]]]), np.array([0, 1]))
    >>> tie_aware_dcg(histogram)
    array([0.81546488])
    """
    kernel = partial(dcg, gain=gain, log_base=log_base)
    return evaluate_queries(kernel, histogram, k, zero_relevant)


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


def tie_aware_ndcg(
    histogram, k=None, *, gain="exponential", log_base=2, zero_relevant="skip"
):
    """Expected normalised DCG over all orders of tied items.

    :func:`tie_aware_dcg` divided by the DCG@k of the best ranking of the same items.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count, in numerator and denominator.
        None means all ranks.

    gain : {"exponential", "linear"}, default="exponential"
        ``2**affinity - 1``, or the affinity itself.

    log_base : float, default=2
        Base of the discount's logarithm, which cancels: it is here so that both functions
        take the same parameters.

    zero_relevant : "skip" or float, default="skip"
        Value of a query with nothing relevant, whose NDCG is undefined: NaN ("skip", so
        that averages leave it out) or the given number.

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
    tie_aware_ndcg_score : The same from affinities and scores.
    sklearn.metrics.ndcg_score : Equal on gains ``2**affinity - 1``, by sorting.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_ndcg
    >>> histogram = RankingHistogram(np.array([[[1], [1]]]), np.array([0, 1]))
    >>> tie_aware_ndcg(histogram)
    array([0.81546488])
    """
    kernel = partial(ndcg, gain=gain, log_base=log_base)
    return evaluate_queries(kernel, histogram, k, zero_relevant)


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


def dcg(ties, gain="exponential", log_base=2):
    gain = _gain_function(gain, ties)
    return _discounted(*ties.graded(gain)) * _log2(log_base)


def ndcg(ties, gain="exponential", log_base=2):
    _log2(log_base)
    gain = _gain_function(gain, ties)
    ideal = _discounted(*ties.ideal(gain))
    return _discounted(*ties.graded(gain)) / np.where(ideal == 0, 1, ideal)


def _discounted(ladder, gains):
    """Mean gain of each tie, at each of its ranks within the cutoff."""
    mean = gains / np.maximum(ladder.n, 1)
    total = ladder.sum_before_cut(mean * discount_sum(ladder.t, ladder.n))
    part = ladder.at_cut(mean) * discount_sum(ladder.at_cut(ladder.t), ladder.take)
    return total + part


def _gain_function(gain, ties):
    if gain == "linear":
        return _linear
    if gain != "exponential":
        raise ValueError(f"gain must be 'exponential' or 'linear', got {gain!r}.")
    most_items = max(1, ties.t[:, -1].max(initial=1))

    def exponential(affinity):
        largest = affinity.max(initial=0)
        if largest + np.log2(most_items) > _LARGEST_EXPONENT:
            raise ValueError(
                f"The exponential gain 2**affinity - 1 of affinity {largest} overflows "
                f"float64 when it is summed over up to {most_items} items. Pass "
                "gain='linear', or give similar items a smaller affinity."
            )
        return np.ldexp(1.0, affinity.astype(np.int32)) - 1

    return exponential


def _linear(affinity):
    return affinity.astype(np.float64)


def _log2(log_base):
    if not isinstance(log_base, Real) or isinstance(log_base, bool) or not log_base > 1:
        raise ValueError(f"log_base must be a number above 1, got {log_base!r}.")
    return np.log2(float(log_base))
