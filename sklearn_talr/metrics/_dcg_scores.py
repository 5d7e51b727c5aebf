"""DCG and NDCG of affinities and scores."""

from numbers import Real

import numpy as np

from .._compat import Interval, StrOptions
from ..measures import DCG, nDCG
from ..measures._evaluation import score_arrays
from ._at_cutoffs import at_cutoffs, checks_scores

__all__ = [
    "tie_aware_dcg_score",
    "tie_aware_ndcg_score",
]

_DCG = {"exponential": "exp-log2", "linear": "log2"}  # as measures call these gains
_GAINS = {
    "gain": [StrOptions(set(_DCG))],
    "log_base": [Interval(Real, 1, None, closed="neither")],
}


@checks_scores(**_GAINS)
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
    r"""Mean over queries of the expected DCG over all orders of ties.

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
        :math:`2^y - 1`, with y the value of `y_true`, or y itself.

    log_base : float, default=2
        Base of the logarithm of the discount :math:`1/\log(r + 1)`, above 1.

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
    sklearn_talr.measures.DCG : The measure, with its formula.
    sklearn.metrics.dcg_score : Takes gains, and counts queries without any as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_dcg_score
    >>> tie_aware_dcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    measures = at_cutoffs(DCG(dcg=_DCG[gain], log_base=log_base), k)
    return score_arrays(
        measures, y_true, y_score, groups, sample_weight, average, zero_division
    )


@checks_scores(**_GAINS)
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
    r"""Mean over queries of the expected NDCG over all orders of ties.

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
        :math:`2^y - 1`, with y the value of `y_true`, or y itself.

    log_base : float, default=2
        Base of the logarithm of the discount :math:`1/\log(r + 1)`, above 1. It
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
    sklearn_talr.measures.nDCG : The measure, with its formula.
    sklearn.metrics.ndcg_score : Takes gains, and counts queries without any as 0.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_ndcg_score
    >>> tie_aware_ndcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    measures = at_cutoffs(nDCG(dcg=_DCG[gain]), k)
    return score_arrays(
        measures, y_true, y_score, groups, sample_weight, average, zero_division
    )
