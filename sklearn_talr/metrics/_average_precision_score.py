"""Average precision of affinities and scores."""

import numpy as np

from .._compat import StrOptions
from ..measures import AP
from ..measures._evaluation import score_arrays
from ._at_cutoffs import at_cutoffs, checks_scores

__all__ = [
    "tie_aware_average_precision_score",
]


@checks_scores(denominator=[StrOptions({"relevant", "min", "retrieved"})])
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
    measures = at_cutoffs(AP(denominator=denominator), k)
    return score_arrays(
        measures, y_true, y_score, groups, sample_weight, average, zero_division
    )
