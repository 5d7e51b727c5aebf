"""From affinities and real-valued scores to values of a metric, scikit-learn's way."""

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

from ._evaluate import evaluate_ties, query_blocks
from ._queries import average_queries, check_cutoffs
from ._ties import ScoreTies


def score_queries(kernel, y_true, y_score, k, sample_weight, average, zero_relevant):
    """Values of a kernel, averaged over queries unless `average` is False.

    Called by the public functions alone: warnings point at their callers.
    """
    cutoffs, single = check_cutoffs(k)
    y_true, y_score = _check_ranking(y_true, y_score)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, y_true, ensure_non_negative=True
        )
    n_queries, n_items = y_true.shape
    cells = n_items + (1 if single else len(cutoffs))
    ties = (
        ScoreTies(y_true[rows], y_score[rows], cutoffs)
        for rows in query_blocks(n_queries, cells)
    )
    values = evaluate_ties([kernel], ties, zero_relevant)[0]
    values = values[:, 0] if single else values
    return average_queries(values, sample_weight, stacklevel=4) if average else values


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
