"""Precision, recall and F1 of affinities and scores."""

import numpy as np

from ..measures import F1, P, R
from ..measures._evaluation import score_arrays
from ._at_cutoffs import at_cutoffs, checks_scores

__all__ = [
    "tie_aware_f1_score",
    "tie_aware_precision_score",
    "tie_aware_recall_score",
]


@checks_scores()
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
    sklearn_talr.measures.P : The measure, with its formula.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_precision_score
    >>> tie_aware_precision_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    measures = at_cutoffs(P, k)
    return score_arrays(
        measures, y_true, y_score, groups, sample_weight, average, zero_division
    )


@checks_scores()
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
    sklearn_talr.measures.R : The measure, with its formula.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_recall_score
    >>> tie_aware_recall_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    measures = at_cutoffs(R, k)
    return score_arrays(
        measures, y_true, y_score, groups, sample_weight, average, zero_division
    )


@checks_scores()
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
    sklearn_talr.measures.F1 : The measure, with its formula.

    Examples
    --------
    Two of three tied items are relevant:

    >>> from sklearn_talr.metrics import tie_aware_f1_score
    >>> tie_aware_f1_score([[1, 1, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    measures = at_cutoffs(F1, k)
    return score_arrays(
        measures, y_true, y_score, groups, sample_weight, average, zero_division
    )
