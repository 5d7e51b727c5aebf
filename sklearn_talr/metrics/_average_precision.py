"""Tie-aware average precision; n, p, t, tp and take are those of :class:`~._ties.Ties`."""

import numpy as np

from .._compat import StrOptions
from ._harmonic import harmonic_sum
from ._metric import Metric
from ._retrieved import (
    best_over_retrieved,
    expected_over_retrieved,
    worst_over_retrieved,
)

__all__ = [
    "tie_aware_average_precision",
    "tie_aware_average_precision_score",
]


def average_precision(ties, denominator="relevant"):
    """Expected sum of the precisions at relevant ranks, over the denominator."""
    terms = precision_sum(ties.n, ties.p, ties.t, ties.tp, ties.n)
    if denominator == "retrieved":
        return _over_retrieved(ties, terms)
    total = ties.sum_before_cut(terms) + precision_sum(*ties.divided)
    if denominator == "relevant":
        return total / np.maximum(ties.n_relevant, 1)
    return total / np.maximum(np.minimum(ties.k, ties.n_relevant), 1)


def precision_sum(n, p, t, tp, take):
    """Expected sum of the precisions at relevant ranks among the first `take` of a tie."""
    harmonic = harmonic_sum(t, take)
    among_others = (p - 1) / np.maximum(n - 1, 1)
    inner = among_others * (take - (t + 1) * harmonic) + (tp + 1) * harmonic
    return p / np.maximum(n, 1) * inner


def _over_retrieved(ties, terms):
    """Divide by the relevant items retrieved, of which only the divided tie is unsure.

    When ties are broken, how many it should contribute is part of the question, so that
    the tie is looked at whole.
    """
    if ties.order == "expected":
        return expected_over_retrieved(ties.sum_before_cut(terms), *ties.divided)
    whole = ties.sum_before_tie(terms)
    extreme = {"worst": worst_over_retrieved, "best": best_over_retrieved}[ties.order]
    return extreme(whole, *ties.tied.divided)


AVERAGE_PRECISION = Metric(
    "average_precision",
    average_precision,
    label="average precision",
    params={"denominator": [StrOptions({"relevant", "min", "retrieved"})]},
)


@AVERAGE_PRECISION.checks_histogram
def tie_aware_average_precision(
    histogram, k=None, *, denominator="relevant", zero_division=np.nan
):
    """Expected average precision over all orders of tied items.

    At any rank of a tie an item is relevant with probability p/n. Given that it is, its
    precision there counts itself, the tp relevant items before the tie, and of the j
    items of the tie that precede it the fraction (p - 1)/(n - 1) that is relevant. Hence
    (eq. 17 of He et al., CVPR 2018, after McSherry and Najork)::

        AP@k = 1/Z sum over ties, sum over j < take of
               (p/n) (tp + 1 + j (p - 1)/(n - 1)) / (t + 1 + j)

    The inner sum is a difference of harmonic numbers, so the cost does not depend on the
    size of the ties.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several: only the first k ranks count. None, also in a sequence, means
        all ranks.

    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        Z, in which definitions of AP at k differ: all relevant items of the query, the
        smaller of their number and k, or the relevant items among the first k ranks. Of
        the last the expectation of the ratio is returned; an order that retrieves nothing
        relevant counts 0. Without a cutoff the three are equal.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out. The
        average precision of such a query is undefined.

    Returns
    -------
    average_precision : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_average_precision_score : The metric of affinities and scores.
    tie_breaking_range : Worst and best over the orders of tied items.

    Examples
    --------
    A relevant and an irrelevant item, tied: AP is 1 or 1/2, as chance has it.

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_average_precision
    >>> histogram = RankingHistogram([[[1], [1]]], levels=[0, 1])
    >>> tie_aware_average_precision(histogram)
    array([0.75])

    After a relevant item, a tie of which the cutoff sees half: the definitions differ.

    >>> histogram = RankingHistogram([[[0, 1], [1, 1]]], levels=[0, 1])
    >>> for denominator in ("relevant", "min", "retrieved"):
    ...     tie_aware_average_precision(histogram, k=2, denominator=denominator)
    array([0.75])
    array([0.75])
    array([1.])
    """
    return AVERAGE_PRECISION(histogram, k, zero_division, denominator=denominator)


@AVERAGE_PRECISION.checks_scores
def tie_aware_average_precision_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    denominator="relevant",
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the expected average precision over all orders of ties.

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
        Cutoff, or several: only the first k ranks count. None, also in a sequence, means
        all ranks.

    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        What AP at k is divided by: all relevant items, the smaller of their number and
        k, or the relevant items among the first k ranks.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    average_precision : float or ndarray
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
    tie_aware_average_precision : The metric of a histogram, with its formula.
    sklearn.metrics.average_precision_score : Counts a tie as one step of the
        precision-recall curve, which is not the expectation.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_average_precision_score
    >>> tie_aware_average_precision_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """
    return AVERAGE_PRECISION.of_scores(
        y_true,
        y_score,
        groups,
        k,
        sample_weight,
        average,
        zero_division,
        denominator=denominator,
    )
