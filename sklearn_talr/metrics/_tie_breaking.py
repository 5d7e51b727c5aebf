"""Worst, expected and best value of a metric over the orders of tied items."""

from typing import NamedTuple

import numpy as np

from ..histogram import RankingHistogram
from ._average_precision import tie_aware_average_precision
from ._dcg import tie_aware_dcg, tie_aware_ndcg

__all__ = ["TieBreakingRange", "tie_breaking_range"]

METRICS = {
    "average_precision": tie_aware_average_precision,
    "dcg": tie_aware_dcg,
    "ndcg": tie_aware_ndcg,
}


class TieBreakingRange(NamedTuple):
    """Values of a metric per query, each an array of shape (n_queries,)."""

    worst: np.ndarray
    expected: np.ndarray
    best: np.ndarray


def tie_breaking_range(histogram, metric="average_precision", k=None):
    """Worst, expected and best value of a metric over all orders of tied items.

    A measurement that breaks ties by accident (by database order, say) may report any
    value between worst and best; the expected value is the tie-aware metric.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    metric : {"average_precision", "dcg", "ndcg"}, default="average_precision"
        The metric.

    k : int or None, default=None
        Only the first k ranks count. None means all ranks.

    Returns
    -------
    range : TieBreakingRange
        Named tuple of ``worst``, ``expected`` and ``best``, each of shape (n_queries,),
        NaN for queries with nothing relevant.

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
    evaluate = get_metric(metric)
    return TieBreakingRange(
        worst=evaluate(_break_ties(histogram, best_first=False), k),
        expected=evaluate(histogram, k),
        best=evaluate(_break_ties(histogram, best_first=True), k),
    )


def get_metric(name):
    """Look a metric on histograms up by its name, or raise ValueError."""
    if name not in METRICS:
        raise ValueError(f"metric must be one of {sorted(METRICS)}, got {name!r}.")
    return METRICS[name]


def _break_ties(histogram, best_first):
    """Order each tie by affinity: one tie becomes a run of ties of one level each.

    Items that remain tied have equal affinity, so no order among them changes a metric.
    """
    counts = histogram.counts
    n_queries, n_levels, n_ties = counts.shape
    order = np.arange(n_levels)[:: -1 if best_first else 1]
    broken = np.zeros((n_queries, n_levels, n_ties, n_levels), dtype=counts.dtype)
    for place, level in enumerate(order):
        broken[:, level, :, place] = counts[:, level]
    return RankingHistogram(broken.reshape(n_queries, n_levels, -1), histogram.levels)
