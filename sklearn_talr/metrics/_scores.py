"""Tie-aware metrics of affinities and real-valued scores, in scikit-learn's signature."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

from ..histogram import RankingHistogram
from ._average_precision import tie_aware_average_precision
from ._dcg import tie_aware_dcg, tie_aware_ndcg
from ._queries import average_queries

__all__ = [
    "tie_aware_average_precision_score",
    "tie_aware_dcg_score",
    "tie_aware_ndcg_score",
]


def tie_aware_average_precision_score(
    y_true, y_score, *, k=None, sample_weight=None, average=True, zero_relevant="skip"
):
    """Mean over queries of the expected average precision over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinity of each database item to each query: non-negative integers, every value
        above 0 relevant.

    y_score : array-like of shape (n_queries, n_database)
        Ranking scores, higher is better; items of equal score are tied. Pass
        ``-distance`` for a distance.

    k : int or None, default=None
        Only the first k ranks count. None means all ranks.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return one value per query.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant has no AP: ``"skip"`` leaves it out of the mean (its
        own value is NaN), a number stands in for it.

    Returns
    -------
    average_precision : float or ndarray of shape (n_queries,)
        Values in [0, 1].

    Raises
    ------
    ValueError
        If shapes differ, scores are not finite, or affinities are not non-negative
        integers.

    See Also
    --------
    tie_aware_average_precision : The same on a histogram of Hamming distances, where one
        table serves all metrics.
    sklearn.metrics.average_precision_score : Counts a tie as one step of the
        precision-recall curve, which is not the expectation.

    Notes
    -----
    Formula and argument are with :func:`tie_aware_average_precision`.

    Examples
    --------
    A relevant item tied for the first place with an irrelevant one:

    >>> from sklearn_talr.metrics import tie_aware_average_precision_score
    >>> tie_aware_average_precision_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """
    return _score(
        lambda histogram: tie_aware_average_precision(
            histogram, k, zero_relevant=zero_relevant
        ),
        y_true,
        y_score,
        sample_weight,
        average,
    )


def tie_aware_dcg_score(y_true, y_score, *, k=None, sample_weight=None, average=True):
    """Mean over queries of the expected DCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinity of each database item to each query: non-negative integers. The gain of
        an item is ``2**affinity - 1``.

    y_score : array-like of shape (n_queries, n_database)
        Ranking scores, higher is better; items of equal score are tied. Pass
        ``-distance`` for a distance.

    k : int or None, default=None
        Only the first k ranks count. None means all ranks.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return one value per query.

    Returns
    -------
    dcg : float or ndarray of shape (n_queries,)
        Non-negative values; 0 for a query with nothing relevant.

    Raises
    ------
    ValueError
        If shapes differ, scores are not finite, or affinities are not non-negative
        integers.

    See Also
    --------
    tie_aware_dcg : The same on a histogram of Hamming distances.

    Examples
    --------
    >>> from sklearn_talr.metrics import tie_aware_dcg_score
    >>> tie_aware_dcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    return _score(
        lambda histogram: tie_aware_dcg(histogram, k),
        y_true,
        y_score,
        sample_weight,
        average,
    )


def tie_aware_ndcg_score(
    y_true, y_score, *, k=None, sample_weight=None, average=True, zero_relevant="skip"
):
    """Mean over queries of the expected NDCG over all orders of ties.

    Parameters
    ----------
    y_true : array-like of shape (n_queries, n_database)
        Affinity of each database item to each query: non-negative integers. The gain of
        an item is ``2**affinity - 1``.

    y_score : array-like of shape (n_queries, n_database)
        Ranking scores, higher is better; items of equal score are tied. Pass
        ``-distance`` for a distance.

    k : int or None, default=None
        Only the first k ranks count. None means all ranks.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the mean.

    average : bool, default=True
        If False, return one value per query.

    zero_relevant : "skip" or float, default="skip"
        A query with nothing relevant has no NDCG: ``"skip"`` leaves it out of the mean
        (its own value is NaN), a number stands in for it.

    Returns
    -------
    ndcg : float or ndarray of shape (n_queries,)
        Values in [0, 1].

    Raises
    ------
    ValueError
        If shapes differ, scores are not finite, or affinities are not non-negative
        integers.

    See Also
    --------
    tie_aware_ndcg : The same on a histogram of Hamming distances.
    sklearn.metrics.ndcg_score : Takes gains, ``2**y_true - 1``, and counts queries with
        nothing relevant as 0.

    Examples
    --------
    >>> from sklearn_talr.metrics import tie_aware_ndcg_score
    >>> tie_aware_ndcg_score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.815464...
    """
    return _score(
        lambda histogram: tie_aware_ndcg(histogram, k, zero_relevant=zero_relevant),
        y_true,
        y_score,
        sample_weight,
        average,
    )


def _score(evaluate, y_true, y_score, sample_weight, average):
    y_true, y_score = _check_ranking(y_true, y_score)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, y_true, ensure_non_negative=True
        )
    values = np.array(
        [
            evaluate(histogram_from_scores(affinity, score))[0]
            for affinity, score in zip(y_true, y_score)
        ]
    )
    return average_queries(values, sample_weight, stacklevel=4) if average else values


def histogram_from_scores(affinity, score):
    """Group the items of one query into ties of equal score, best first."""
    levels, level = np.unique(np.append(affinity, 0), return_inverse=True)
    _, tie = np.unique(-score, return_inverse=True)
    n_ties = tie.max() + 1
    counts = np.bincount(level[:-1] * n_ties + tie, minlength=len(levels) * n_ties)
    return RankingHistogram(counts.reshape(1, len(levels), n_ties), levels)


def _check_ranking(y_true, y_score):
    y_true = _check_table(y_true, None, "y_true")
    y_score = _check_table(y_score, np.float64, "y_score")
    if y_true.shape != y_score.shape:
        raise ValueError(
            "y_true and y_score must have the same shape (n_queries, n_database), got "
            f"{y_true.shape} and {y_score.shape}."
        )
    if y_true.dtype.kind not in "biuf" or np.any(y_true < 0) or np.any(y_true % 1):
        raise ValueError(
            "y_true must hold affinities: non-negative integers, 0 for not similar."
        )
    return y_true.astype(np.int64, copy=False), y_score


def _check_table(values, dtype, name):
    values = check_array(
        values, dtype=dtype, ensure_2d=False, allow_nd=True, input_name=name
    )
    if values.ndim != 2:
        raise ValueError(
            f"{name} must be 2-D, (n_queries, n_database), got shape {values.shape}. A "
            "single query is one row."
        )
    return values
