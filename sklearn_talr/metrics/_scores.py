"""Tie-aware metrics of affinities and scores, in scikit-learn's form.

Each function is a measure of :mod:`sklearn_talr.measures` at the cutoffs `k`.
"""

from numbers import Integral, Real

import numpy as np

from .._core.compat import Interval, StrOptions, validated
from .._core.types import ArrayLike, Column, Floats, Literal, Sequence
from ..measures import AP, DCG, F1, RR, P, R, Success, nDCG
from ..measures._evaluation import OF_SCORES, score_arrays

_CUTOFFS = [Interval(Integral, 1, None, closed="left"), "array-like", None]
_CHECKS = OF_SCORES | {"k": _CUTOFFS}


def at_cutoffs(measure, k):
    """The measure at the cutoff `k`, or a list of measures if `k` is a sequence.

    None means all ranks, alone and in a sequence.
    """
    if k is None:
        return measure
    if isinstance(k, Integral):
        return measure @ k
    measures = [measure if cutoff is None else measure @ cutoff for cutoff in k]
    if not measures:
        raise ValueError("k must hold at least one cutoff, got an empty sequence.")
    return measures


@validated(**_CHECKS, denominator=[StrOptions({"relevant", "min", "retrieved"})])
def tie_aware_average_precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    denominator: Literal["relevant", "min", "retrieved"] = "relevant",
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    """Mean over queries of the expected average precision over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0, or NaN for
        ignored items. A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several: only the first k ranks count. None, alone or in a sequence,
        means all ranks.

    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        Denominator of AP at k: the number of relevant items, the smaller of this number
        and k, or the number of relevant items among the first k ranks.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        arrays of its length), `y_true` holds anything but non-negative integers and
        NaN, or `y_score` is NaN or infinite.

    See Also
    --------
    sklearn_talr.measures.AP : The measure, with its formula.
    sklearn.metrics.average_precision_score : Counts a tie as one step of the
        precision-recall curve, which is not the expectation.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_average_precision_score
    >>> tie_aware_average_precision_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """
    return score_arrays(
        at_cutoffs(AP(denominator=denominator), k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )


_GAINS = {
    "dcg": [StrOptions({"exp-log2", "log2"})],
    "log_base": [Interval(Real, 1, None, closed="neither")],
}


@validated(**_CHECKS, **_GAINS)
def tie_aware_dcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    dcg: Literal["exp-log2", "log2"] = "exp-log2",
    log_base: float = 2,
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    r"""Mean over queries of the expected DCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers. With ``dcg="log2"`` they may
        be any non-negative numbers, such as click probabilities. NaN is for ignored items.
        A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several: only the first k ranks count. None, alone or in a sequence,
        means all ranks.

    dcg : {"exp-log2", "log2"}, default="exp-log2"
        Gain of an item of affinity y: :math:`2^y - 1` with "exp-log2", y with "log2".

    log_base : float, default=2
        Base of the logarithm of the discount :math:`1/\log(r + 1)`, above 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        a fraction, `y_score` is NaN or infinite, or gains overflow float64, as exponential
        gains of affinities above 1023 do.

    See Also
    --------
    sklearn_talr.measures.DCG : The measure, with its formula.
    sklearn.metrics.dcg_score : Takes gains, and counts queries without gains as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_dcg_score
    >>> tie_aware_dcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    measure = DCG(dcg=dcg, log_base=log_base)
    return score_arrays(
        at_cutoffs(measure, k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )


@validated(**_CHECKS, **_GAINS)
def tie_aware_ndcg_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    dcg: Literal["exp-log2", "log2"] = "exp-log2",
    log_base: float = 2,
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    r"""Mean over queries of the expected NDCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers. With ``dcg="log2"`` they may
        be any non-negative numbers, such as click probabilities. NaN is for ignored items.
        A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several: only the first k ranks count. None, alone or in a sequence,
        means all ranks.

    dcg : {"exp-log2", "log2"}, default="exp-log2"
        Gain of an item of affinity y: :math:`2^y - 1` with "exp-log2", y with "log2".

    log_base : float, default=2
        Base of the logarithm of the discount :math:`1/\log(r + 1)`, above 1. It cancels in
        NDCG.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        a fraction, `y_score` is NaN or infinite, or gains overflow float64, as exponential
        gains of affinities above 1023 do.

    See Also
    --------
    sklearn_talr.measures.nDCG : The measure, with its formula.
    sklearn.metrics.ndcg_score : Takes gains, and counts queries without gains as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_ndcg_score
    >>> tie_aware_ndcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    return score_arrays(
        at_cutoffs(nDCG(dcg=dcg), k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )


@validated(**_CHECKS)
def tie_aware_reciprocal_rank_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    """Mean over queries (MRR) of the expected reciprocal rank over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0, or NaN for
        ignored items. A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several: a first relevant item beyond it counts 0. None, alone or in a
        sequence, means no cutoff.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        arrays of its length), `y_true` holds anything but non-negative integers and
        NaN, or `y_score` is NaN or infinite.

    See Also
    --------
    sklearn_talr.measures.RR : The measure, with its formula.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_reciprocal_rank_score
    >>> tie_aware_reciprocal_rank_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """
    return score_arrays(
        at_cutoffs(RR, k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )


@validated(**_CHECKS)
def tie_aware_hit_rate_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    """Mean hit rate (Success) over queries: a relevant item is among the first k ranks.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0, or NaN for
        ignored items. A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several. None, alone or in a sequence, means all ranks, over which the
        hit rate is 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        arrays of its length), `y_true` holds anything but non-negative integers and
        NaN, or `y_score` is NaN or infinite.

    See Also
    --------
    sklearn_talr.measures.Success : The measure, with its formula.

    Examples
    --------
    One of three tied items is relevant:

    >>> from sklearn_talr.metrics import tie_aware_hit_rate_score
    >>> tie_aware_hit_rate_score([[1, 0, 0]], [[2.0, 2.0, 2.0]], k=2)
    0.666666...
    """
    return score_arrays(
        at_cutoffs(Success, k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )


@validated(**_CHECKS)
def tie_aware_precision_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    """Mean over queries of the expected precision at rank k over orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0, or NaN for
        ignored items. A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several. Precision is divided by k even if there are fewer items.
        None, alone or in a sequence, means the number of items.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        arrays of its length), `y_true` holds anything but non-negative integers and
        NaN, or `y_score` is NaN or infinite.

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
    return score_arrays(
        at_cutoffs(P, k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )


@validated(**_CHECKS)
def tie_aware_recall_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    """Mean over queries of the expected recall at rank k over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0, or NaN for
        ignored items. A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several. None, alone or in a sequence, means all ranks, over which
        recall is 1.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        arrays of its length), `y_true` holds anything but non-negative integers and
        NaN, or `y_score` is NaN or infinite.

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
    return score_arrays(
        at_cutoffs(R, k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )


@validated(**_CHECKS)
def tie_aware_f1_score(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    groups: Column = None,
    k: int | Sequence[int] | None = None,
    sample_weight: Column = None,
    average: bool = True,
    zero_division: float = np.nan,
) -> float | Floats:
    """Mean over queries of the expected F1 at rank k over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database) or (n_items,)
        Affinities to the queries: non-negative integers, relevant if above 0, or NaN for
        ignored items. A flat array, one per item, with `groups`.

    y_score : array-like of shape (n_queries, n_database) or (n_items,)
        Higher is better, and items of equal score are tied. Pass ``-distance`` for
        distances. In a table, -inf marks cells that hold no item. With scikit-learn's
        `array_api_dispatch` the result is an array of the same library and device.

    groups : array-like of shape (n_items,), default=None
        Label of the query of each item, LightGBM's and XGBoost's ``qid``. Queries are
        in the order of ``np.unique(groups)``.

    k : int, sequence of int or None, default=None
        One cutoff or several. None, alone or in a sequence, means the number of items.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return the values of the queries instead of their mean.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean; a
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
        arrays of its length), `y_true` holds anything but non-negative integers and
        NaN, or `y_score` is NaN or infinite.

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
    return score_arrays(
        at_cutoffs(F1, k),
        y_true,
        y_score,
        groups=groups,
        sample_weight=sample_weight,
        average=average,
        zero_division=zero_division,
    )
