"""Worst, expected and best value of any measure over the orders of tied items."""

from numbers import Real

import numpy as np

from .._compat import validate_params
from ..histogram import RankingHistogram
from ..measures import TieBreakingRange, parse_measures
from ..measures._evaluation import histogram_range

__all__ = ["tie_breaking_range"]


@validate_params(
    {
        "histogram": [RankingHistogram],
        "measure": "no_validation",
        "zero_division": [Real],
    },
    prefer_skip_nested_validation=True,
)
def tie_breaking_range(histogram, measure="AP", *, zero_division=np.nan):
    """Worst, expected and best value of a measure over all orders of tied items.

    A measurement that breaks ties by accident (by database order, say) may report any
    value between worst and best; the expected value is the tie-aware measure.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    measure : str, Measure, or sequence of them, default="AP"
        A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name; or
        several.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out.

    Returns
    -------
    range : TieBreakingRange
        Named tuple of ``worst``, ``expected`` and ``best``, each of shape (n_queries,), or
        (n_queries, n_measures) if `measure` is a sequence.

    Raises
    ------
    ValueError
        If `measure` is not known, or is one of runs only.

    Notes
    -----
    Worst and best are reached by sorting every tie by affinity, except of
    ``AP(denominator="retrieved")``: to retrieve nothing relevant at rank k can be better
    than to retrieve it so late. There, how many relevant items of the divided tie are
    retrieved is chosen by the value.

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
    measures, single = parse_measures(measure)
    values = histogram_range(measures, histogram, zero_division)
    return TieBreakingRange(*(v[:, 0] for v in values)) if single else values
