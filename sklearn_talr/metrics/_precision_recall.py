"""Tie-aware precision, recall and F1: all are linear in the relevant items retrieved."""

import numpy as np

from ._metric import Metric

__all__ = [
    "tie_aware_f1",
    "tie_aware_f1_score",
    "tie_aware_precision",
    "tie_aware_precision_score",
    "tie_aware_recall",
    "tie_aware_recall_score",
]


def precision(ties):
    """Relevant items retrieved, over k."""
    return _relevant_within(ties) / np.maximum(ties.k, 1)


def recall(ties):
    """Relevant items retrieved, over all relevant items."""
    return _relevant_within(ties) / np.maximum(ties.n_relevant, 1)


def f1(ties):
    """Twice the relevant items retrieved, over k and all relevant items together."""
    both = np.add(ties.k, ties.n_relevant, dtype=np.float64)  # int64 may be too small
    return 2 * _relevant_within(ties) / np.maximum(both, 1)


def _relevant_within(ties):
    """Expected number of relevant items among the first k ranks."""
    n, p, _, tp, take = ties.divided
    return tp + take * p / np.maximum(n, 1)


PRECISION = Metric("precision", precision, label="precision")
RECALL = Metric("recall", recall, label="recall")
F1 = Metric("f1", f1, label="F1")


@PRECISION.checks_histogram
def tie_aware_precision(histogram, k=None, *, zero_division=np.nan):
    """Expected precision at rank k over all orders of tied items.

    Each rank of a tie is relevant with probability p/n, so a tie of which `take` ranks
    are within k adds ``take p / n`` to the expected number of relevant items there.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several. The number of relevant items is divided by k, even if there are
        fewer items. None, also in a sequence, means the number of items.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out. The
        precision of such a query is 0 in any order. It gets this value all the same, so
        that all metrics average the same queries.

    Returns
    -------
    precision : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_precision_score : The metric of affinities and scores.

    Examples
    --------
    The second of three tied items is relevant in two orders of three:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_precision
    >>> histogram = RankingHistogram([[[1], [2]]], levels=[0, 1])
    >>> tie_aware_precision(histogram, k=[1, 2, 4])
    array([[0.66666667, 0.66666667, 0.5       ]])
    """
    return PRECISION(histogram, k, zero_division)


@PRECISION.checks_scores
def tie_aware_precision_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the expected precision at rank k over orders of ties.

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
        Cutoff, or several; divides even if there are fewer items. None, also in a
        sequence, means the number of items.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    precision : float or ndarray
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
    tie_aware_precision : The metric of a histogram, with its formula.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_precision_score
    >>> tie_aware_precision_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return PRECISION.of_scores(
        y_true, y_score, groups, k, sample_weight, average, zero_division
    )


@RECALL.checks_histogram
def tie_aware_recall(histogram, k=None, *, zero_division=np.nan):
    """Expected recall at rank k over all orders of tied items.

    Each rank of a tie is relevant with probability p/n, so a tie of which `take` ranks
    are within k adds ``take p / n`` to the expected number of relevant items there. That
    number is divided by the number of all relevant items.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None, also in a sequence, means all ranks, where recall is 1.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out. The
        recall of such a query is undefined.

    Returns
    -------
    recall : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_recall_score : The metric of affinities and scores.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_recall
    >>> histogram = RankingHistogram([[[1], [2]]], levels=[0, 1])
    >>> tie_aware_recall(histogram, k=[1, 2, 4])
    array([[0.33333333, 0.66666667, 1.        ]])
    """
    return RECALL(histogram, k, zero_division)


@RECALL.checks_scores
def tie_aware_recall_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the expected recall at rank k over all orders of ties.

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
        Cutoff, or several. None, also in a sequence, means all ranks, where recall is 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    recall : float or ndarray
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
    tie_aware_recall : The metric of a histogram, with its formula.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_recall_score
    >>> tie_aware_recall_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return RECALL.of_scores(
        y_true, y_score, groups, k, sample_weight, average, zero_division
    )


@F1.checks_histogram
def tie_aware_f1(histogram, k=None, *, zero_division=np.nan):
    """Expected F1 at rank k over all orders of tied items.

    With H relevant items among the first k ranks and N+ in all, the harmonic mean of
    precision H/k and recall H/N+ is ``2 H / (k + N+)``. It is linear in H, so the
    expectation of H is put in. Each rank of a tie is relevant with probability p/n, so a
    tie of which `take` ranks are within k adds ``take p / n`` to it.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items. Every affinity above 0 is relevant.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None, also in a sequence, means the number of items.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out. The
        recall of such a query is undefined.

    Returns
    -------
    f1 : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        Values in [0, 1], float64; a column per cutoff if `k` is a sequence.

    See Also
    --------
    tie_aware_f1_score : The metric of affinities and scores.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_aware_f1
    >>> histogram = RankingHistogram([[[1], [2]]], levels=[0, 1])
    >>> tie_aware_f1(histogram, k=[1, 2, 4])
    array([[0.44444444, 0.66666667, 0.66666667]])
    """
    return F1(histogram, k, zero_division)


@F1.checks_scores
def tie_aware_f1_score(
    y_true,
    y_score,
    *,
    groups=None,
    k=None,
    sample_weight=None,
    average=True,
    zero_division=np.nan,
):
    """Mean over queries of the expected F1 at rank k over all orders of ties.

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
        Cutoff, or several. None, also in a sequence, means the number of items.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean; a
        number counts as its value.

    Returns
    -------
    f1 : float or ndarray
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
    tie_aware_f1 : The metric of a histogram, with its formula.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_f1_score
    >>> tie_aware_f1_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return F1.of_scores(y_true, y_score, groups, k, sample_weight, average, zero_division)
