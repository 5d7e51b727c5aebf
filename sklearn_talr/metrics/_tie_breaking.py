"""Worst, expected and best value of any metric over the orders of tied items."""

import numpy as np

from .._compat import validate_params
from ._metric import OF_HISTOGRAM
from ._registry import METRIC_NAME, METRICS, check_params

__all__ = ["tie_breaking_range"]


@validate_params(OF_HISTOGRAM | {"metric": METRIC_NAME}, prefer_skip_nested_validation=True)
def tie_breaking_range(
    histogram, metric="average_precision", k=None, *, zero_division=np.nan, **params
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
        Cutoff, or several. None means all ranks, also in a sequence.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out.

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
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_breaking_range
    >>> histogram = RankingHistogram([[[1], [1]]], levels=[0, 1])
    >>> tie_breaking_range(histogram)
    TieBreakingRange(worst=array([0.5]), expected=array([0.75]), best=array([1.]))
    """
    check_params(metric, params, "tie_breaking_range")
    return METRICS[metric].range(histogram, k, zero_division, **params)
