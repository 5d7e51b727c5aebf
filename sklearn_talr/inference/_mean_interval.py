"""Confidence intervals of means over queries."""

from numbers import Integral, Real

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from .._compat import Interval, validate_params
from .._random import independent_random_state
from ._replicates import as_floats, bootstrap_deviations
from ._strata import make_strata

__all__ = ["mean_interval"]

_FEWEST = 6  # queries; fewer make too few different samples

RESAMPLING = {
    "stratify": ["array-like", None],
    "n_resamples": [Interval(Integral, 100, None, closed="left")],
    "random_state": ["random_state"],
}


@validate_params(
    {
        "values": ["array-like"],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
        "symmetric": ["boolean"],
        **RESAMPLING,
    },
    prefer_skip_nested_validation=True,
)
def mean_interval(
    values,
    *,
    confidence_level=0.95,
    symmetric=False,
    stratify=None,
    n_resamples=10_000,
    random_state=0,
):
    """Confidence interval of a mean over queries.

    The interval is the expanded percentile bootstrap: quantiles of means of queries that
    are drawn with replacement, at levels that make up for how much less such samples vary
    than the mean does, and for the unknown variance, as Student's t does. It is not
    symmetric where the values are skewed, as those of AP and reciprocal rank are. With 20
    queries it covers the mean more nearly as often as it says than BCa and percentile-t
    intervals. Fewer than 6 queries make too few different samples; their interval is
    Student's.

    Parameters
    ----------
    values : array-like of shape (n_queries,) or (n_queries, n_columns)
        One value of a measure for each query, such as a `*_score` function of
        :mod:`sklearn_talr.metrics` returns with ``average=False``. Columns are measures or
        systems; they share the drawn queries.

    confidence_level : float, default=0.95
        Share of samples of queries whose interval holds the mean of all queries there
        could be. Above 0 and below 1.

    symmetric : bool, default=False
        Whether the mean is in the middle of the interval. Set it for differences of two
        systems: then 0 is outside just where the bootstrap test of :func:`paired_test`
        rejects.

    stratify : array-like of shape (n_queries,), default=None
        Label of each query's stratum. Samples have as many queries of each stratum as
        `values`. Use it where the numbers of queries of each kind were set, not drawn.
        None makes no strata.

    n_resamples : int, default=10_000
        Number of samples, at least 100.

    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    low, high : float, or ndarrays of shape (n_columns,)
        Ends of the interval. Both are the mean where all
        queries have one value, and NaN where there is one query only.

    Raises
    ------
    ValueError
        If a value is not finite, or a stratum has one query.

    See Also
    --------
    scipy.stats.bootstrap : Percentile and BCa intervals of any statistic.

    References
    ----------
    T. C. Hesterberg, "What Teachers Should Know About the Bootstrap", The American
    Statistician 69, 2015.

    Examples
    --------
    The relevant item is tied with another in the first query:

    >>> from sklearn_talr.inference import mean_interval
    >>> from sklearn_talr.metrics import tie_aware_reciprocal_rank_score
    >>> y_true = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> y_score = [[2, 2, 1], [3, 2, 1], [3, 2, 1], [3, 2, 1]]
    >>> values = tie_aware_reciprocal_rank_score(y_true, y_score, average=False)
    >>> values.round(2)
    array([0.75, 1.  , 0.5 , 0.33])
    >>> low, high = mean_interval(values)
    >>> bool(low < values.mean() < high)
    True
    """
    values = as_floats(values, "values")
    columns = _as_columns(values)
    interval = expanded_interval(
        columns,
        make_strata(stratify, len(columns)),
        confidence_level,
        n_resamples,
        independent_random_state(random_state),
        symmetric=symmetric,
    )
    if values.ndim == 1:
        return tuple(end.item() for end in interval)
    return interval


def _as_columns(values):
    if values.ndim not in (1, 2):
        raise ValueError(
            "values must have shape (n_queries,) or (n_queries, n_columns), got "
            f"{values.shape}."
        )
    return values.reshape(len(values), -1)


def expanded_interval(
    values,
    strata,
    confidence_level,
    n_resamples,
    random_state,
    *,
    symmetric=False,
    tie_variance=None,
):
    """Ends of the interval of each column's mean, two arrays (n_columns,)."""
    mean = values.mean(axis=0)
    if strata.n_free < 1:
        return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    deviate = student.isf((1 - confidence_level) / 2, strata.n_free)
    if strata.n < _FEWEST:
        reach = deviate * strata.standard_error(values, tie_variance)
        return mean - reach, mean + reach
    drawn = bootstrap_deviations(values, strata, n_resamples, random_state, tie_variance)
    tail = norm.sf(deviate * strata.expansion(values, tie_variance))
    if symmetric:
        reach = _quantiles(np.sort(np.abs(drawn), axis=0), 1 - 2 * tail)
        return mean - reach, mean + reach
    drawn.sort(axis=0)
    return mean + _quantiles(drawn, tail), mean + _quantiles(drawn, 1 - tail)


def _quantiles(drawn, level):
    """Quantile of each sorted column at a level of its own."""
    place = level * (len(drawn) - 1)
    below = np.floor(place).astype(int)
    above = np.minimum(below + 1, len(drawn) - 1)
    low, high = (
        np.take_along_axis(drawn, rows[None], axis=0)[0] for rows in (below, above)
    )
    return low + (place - below) * (high - low)
