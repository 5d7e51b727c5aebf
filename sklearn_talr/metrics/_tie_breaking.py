"""Worst, expected and best value of a metric over the orders of tied items."""

from functools import partial
from typing import NamedTuple

import numpy as np

from ._average_precision import average_precision, tie_aware_average_precision
from ._dcg import dcg, ndcg, tie_aware_dcg, tie_aware_ndcg
from ._evaluate import evaluate_queries
from ._first_relevant import (
    hit_rate,
    reciprocal_rank,
    tie_aware_hit_rate,
    tie_aware_reciprocal_rank,
)
from ._precision_recall import (
    f1,
    precision,
    recall,
    tie_aware_f1,
    tie_aware_precision,
    tie_aware_recall,
)

__all__ = ["TieBreakingRange", "tie_breaking_range"]

METRICS = {
    "precision": tie_aware_precision,
    "recall": tie_aware_recall,
    "f1": tie_aware_f1,
    "average_precision": tie_aware_average_precision,
    "reciprocal_rank": tie_aware_reciprocal_rank,
    "hit_rate": tie_aware_hit_rate,
    "dcg": tie_aware_dcg,
    "ndcg": tie_aware_ndcg,
}
KERNELS = {
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "average_precision": average_precision,
    "reciprocal_rank": reciprocal_rank,
    "hit_rate": hit_rate,
    "dcg": dcg,
    "ndcg": ndcg,
}


class TieBreakingRange(NamedTuple):
    """Values of a metric per query.

    Parameters
    ----------
    worst, expected, best : ndarray of shape (n_queries,) or (n_queries, n_cutoffs)
        The least value over all orders of tied items, the mean, and the greatest.
    """

    worst: np.ndarray
    expected: np.ndarray
    best: np.ndarray


def tie_breaking_range(
    histogram, metric="average_precision", k=None, *, zero_relevant="skip", **params
):
    """Worst, expected and best value of a metric over all orders of tied items.

    A measurement that breaks ties by accident (by database order, say) may report any
    value between worst and best; the expected value is the tie-aware metric.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    metric : {"average_precision", "dcg", "f1", "hit_rate", "ndcg", "precision", \
            "recall", "reciprocal_rank"}, default="average_precision"
        The metric.

    k : int, sequence of int or None, default=None
        Cutoff, or several. None means all ranks.

    zero_relevant : "skip" or float, default="skip"
        Value of a query with nothing relevant: NaN ("skip") or the given number.

    **params : dict
        What else the metric takes: `denominator` of the average precision, `gain` and
        `log_base` of DCG and NDCG.

    Returns
    -------
    range : TieBreakingRange
        Named tuple of ``worst``, ``expected`` and ``best``, each of shape (n_queries,) or
        (n_queries, n_cutoffs).

    Notes
    -----
    Worst and best are reached by sorting every tie by affinity, except of the average
    precision with ``denominator="retrieved"``: to retrieve nothing relevant at rank k can
    be better than to retrieve it so late. There, how many relevant items of the divided
    tie are retrieved is chosen by the value.

    References
    ----------
    He et al., "Hashing as Tie-Aware Learning to Rank", CVPR 2018, section 5.4 and Fig. 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_breaking_range
    >>> histogram = RankingHistogram(np.array([[[1], [1]]]), np.array([0, 1]))
    >>> tie_breaking_range(histogram)
    TieBreakingRange(worst=array([0.5]), expected=array([0.75]), best=array([1.]))
    """
    get_metric(metric)
    kernel = partial(KERNELS[metric], **params)
    return TieBreakingRange(
        *(
            evaluate_queries(kernel, histogram, k, zero_relevant, order)
            for order in TieBreakingRange._fields
        )
    )


def get_metric(name):
    """Look a metric on histograms up by its name, or raise ValueError."""
    if name not in METRICS:
        raise ValueError(f"metric must be one of {sorted(METRICS)}, got {name!r}.")
    return METRICS[name]
