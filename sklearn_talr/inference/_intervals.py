"""Confidence intervals of means over queries."""

from numbers import Real

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from .._core.compat import Interval, independent_random_state, validated
from .._core.types import ArrayLike, Column, Floats, Seed
from .._core.validation import refuse_unlike_labels
from ._resampling import (
    RESAMPLING,
    ROUNDING,
    Resampling,
    as_floats,
    bootstrap_deviations,
    make_strata,
)

# Fewer queries give too few different bootstrap samples, so they get Student's interval.
_MIN_QUERIES_TO_RESAMPLE = 6


@validated(
    values=["array-like"],
    confidence_level=[Interval(Real, 0, 1, closed="neither")],
    symmetric=["boolean"],
    **RESAMPLING,
)
def mean_interval(
    values: ArrayLike,
    *,
    confidence_level: float = 0.95,
    symmetric: bool = False,
    stratify: Column = None,
    n_resamples: int = 10_000,
    random_state: Seed = 0,
) -> tuple[float | Floats, float | Floats]:
    """Confidence interval of a mean over queries.

    The interval is the expanded percentile bootstrap: quantiles of the means of queries
    that are drawn with replacement. Bootstrap means vary less than the true mean, and the
    variance is unknown, so the levels of the quantiles are widened as in Student's t. The
    interval is not symmetric if the values are skewed, as values of AP and reciprocal rank
    are. With 20 queries its coverage is nearer to `confidence_level` than the coverage of
    BCa and percentile-t intervals. With fewer than 6 queries there are too few different
    samples, and the interval is Student's.

    Parameters
    ----------
    values : array-like of shape (n_queries,) or (n_queries, n_columns)
        One value of a measure per query, such as the `*_score` functions of
        :mod:`sklearn_talr.metrics` return with ``average=False``. Columns are measures or
        systems, and share the drawn queries.

    confidence_level : float, default=0.95
        Probability with which the interval of a sample of queries holds the mean of the
        population that the queries come from. Above 0 and below 1.

    symmetric : bool, default=False
        Whether the mean is in the middle of the interval. Set it to True for differences
        of two systems: 0 is then outside the interval if and only if the bootstrap test of
        :func:`paired_test` rejects.

    stratify : array-like of shape (n_queries,), default=None
        Label of each query's stratum. Each sample has the same number of queries per
        stratum as `values`. Use it if the number of queries of each kind was chosen, not
        drawn. None makes no strata.

    n_resamples : int, default=10_000
        Number of samples, at least 100.

    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    low, high : float, or ndarrays of shape (n_columns,)
        Ends of the interval. Both are the mean if all queries have the same value, and NaN
        if there is only one query.

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
    In the first query the relevant item is tied with another item:

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
    refuse_unlike_labels(values, stratify, ("values", "stratify"))
    values = as_floats(values, "values")
    columns = values.reshape(len(values), -1)
    strata = make_strata(stratify, len(columns))
    seed = independent_random_state(random_state)
    low, high = expanded_interval(
        columns,
        Resampling(strata, n_resamples, seed),
        confidence_level,
        symmetric=symmetric,
    )
    if values.ndim == 1:
        return low.item(), high.item()
    return low, high


def expanded_interval(
    values, resampling, confidence_level, *, symmetric=False, tie_variance=None
):
    """Ends of the interval of each column's mean.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_columns)

    resampling : Resampling

    confidence_level : float

    symmetric : bool, default=False
        Whether the mean is in the middle.

    tie_variance : ndarray of shape (n_queries, n_columns), default=None
        Variance of each value over orders of tied documents; see `bootstrap_deviations`.

    Returns
    -------
    low, high : ndarray of shape (n_columns,)
    """
    deviations = None
    if resampling.strata.n >= _MIN_QUERIES_TO_RESAMPLE:
        deviations = bootstrap_deviations(values, resampling, tie_variance).T
    return _interval_of_deviations(
        values,
        deviations,
        strata=resampling.strata,
        confidence_level=confidence_level,
        scale=_largest_deviations(values, resampling.strata),
        symmetric=symmetric,
        tie_variance=tie_variance,
    )


def interval_of_differences(values, pairs, resampling, confidence_level):
    """Ends of the symmetric interval of each pair's mean difference.

    All pairs share the same samples of queries.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_columns)

    pairs : two ndarrays of shape (n_pairs,) of int
        First and second column of each pair.

    resampling : Resampling

    confidence_level : float

    Returns
    -------
    low, high : ndarray of shape (n_pairs,)
    """
    first, second = pairs
    deviations = None
    if resampling.strata.n >= _MIN_QUERIES_TO_RESAMPLE:
        by_column = bootstrap_deviations(values, resampling).T
        # One pair at a time: differences of all pairs would take much memory.
        deviations = (by_column[i] - by_column[j] for i, j in zip(first, second))
    scale = _largest_deviations(values, resampling.strata)
    return _interval_of_deviations(
        values[:, first] - values[:, second],
        deviations,
        strata=resampling.strata,
        confidence_level=confidence_level,
        scale=np.maximum(scale[first], scale[second]),
        symmetric=True,
    )


def _largest_deviations(values, strata):
    """The largest absolute value of each column less the mean of its stratum."""
    return np.abs(strata.centered(values)).max(axis=0, initial=0)


def _interval_of_deviations(
    values, deviations, *, strata, confidence_level, scale, symmetric, tie_variance=None
):
    """Interval of means by the deviations of bootstrap means; without any, Student's.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_columns)

    deviations : iterable of n_columns ndarrays of shape (n_resamples,), or None

    strata : Strata

    confidence_level : float

    scale : ndarray of shape (n_columns,)
        Size of the values: rounding is relative to it.

    symmetric : bool

    tie_variance : ndarray of shape (n_queries, n_columns), default=None
    """
    mean = values.mean(axis=0)
    if strata.n_free < 1:
        return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    deviate = student.isf((1 - confidence_level) / 2, strata.n_free)
    error, bootstrap_error = strata.standard_errors(values, tie_variance)
    if deviations is None:
        return mean - deviate * error, mean + deviate * error
    # How much more a mean varies than the mean of a bootstrap sample
    expansion = np.ones_like(error)
    np.divide(error, bootstrap_error, out=expansion, where=bootstrap_error > 0)
    tail = norm.sf(deviate * expansion)
    if symmetric:
        reach = _quantiles(map(np.abs, deviations), 1 - 2 * tail, scale)
        return mean - reach, mean + reach
    low = mean + _quantiles(deviations, tail, scale)
    high = mean + _quantiles(deviations, 1 - tail, scale)
    return low, high


def _quantiles(samples, levels, scale):
    """Quantile of each array of samples, at a level of its own, (n_columns,)."""
    quantiles = np.empty(len(levels))
    for column, sample in enumerate(samples):
        place = levels[column] * (len(sample) - 1)
        below = int(place)
        ordered = np.partition(sample, below)
        low = ordered[below]
        high = ordered[below + 1 :].min(initial=np.inf)
        # No sample is above the last place, so high is infinite there.
        quantiles[column] = low + (place - below) * (high - low) if place > below else low
    # Rounding alone makes deviations as small as these.
    quantiles[np.abs(quantiles) <= ROUNDING * scale] = 0.0
    return quantiles
