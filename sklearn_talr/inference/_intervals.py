"""Confidence intervals of means over queries."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

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

# With fewer queries there are too few different bootstrap samples: 5 queries have 126 and
# 6 have 462. The interval is then Student's.
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

    The interval is the expanded percentile bootstrap: its ends are quantiles of bootstrap
    means, which are means of queries drawn with replacement. Bootstrap means vary less than
    means of new queries from the population, and the variance is only estimated. So the
    levels of the quantiles are nearer to 0 and 1, by the ratio of both standard errors and
    by Student's t distribution. The interval is not symmetric if the values are skewed, as
    values of AP and reciprocal rank are. With 20 queries its coverage is nearer to
    `confidence_level` than the coverage of BCa and percentile-t intervals. With fewer than
    6 queries there are too few different samples, so the interval is Student's t interval,
    which is symmetric.

    Parameters
    ----------
    values : array-like of shape (n_queries,) or (n_queries, n_columns)
        One value of a measure per query, as the `*_score` functions of
        :mod:`sklearn_talr.metrics` return with ``average=False``. Each column of a table is
        a measure or a system. All columns share the drawn queries.

    confidence_level : float, default=0.95
        Probability that the interval contains the mean of the population from which the
        queries were drawn. Above 0 and below 1.

    symmetric : bool, default=False
        Whether the mean of `values` is in the middle of the interval. Set it to True for
        differences of two systems: 0 is then outside the interval if and only if the
        bootstrap test of :func:`paired_test` rejects.

    stratify : array-like of shape (n_queries,), default=None
        Label of each query's stratum. Each sample has the same number of queries per
        stratum as `values`. Use it if the number of queries of each kind was chosen, not
        drawn. None: all queries are one stratum.

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
    strata = resampling.strata
    errors = _errors_of_means(values, strata, confidence_level, tie_variance)
    if strata.n < _MIN_QUERIES_TO_RESAMPLE:
        return errors.student_interval()
    deviations = bootstrap_deviations(values, resampling, tie_variance).T
    rounding = _rounding_errors(values, strata)
    if symmetric:
        return errors.symmetric_interval(deviations, rounding)
    return errors.percentile_interval(deviations, rounding)


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
    strata = resampling.strata
    differences = values[:, first] - values[:, second]
    errors = _errors_of_means(differences, strata, confidence_level)
    if strata.n < _MIN_QUERIES_TO_RESAMPLE:
        return errors.student_interval()
    by_column = bootstrap_deviations(values, resampling).T
    # One pair at a time: deviations of all pairs at once would take much memory.
    deviations = (by_column[i] - by_column[j] for i, j in zip(first, second))
    # The rounding of a difference is relative to the columns, as they may be nearly equal.
    rounding = _rounding_errors(values, strata)
    rounding = np.maximum(rounding[first], rounding[second])
    return errors.symmetric_interval(deviations, rounding)


@dataclass(frozen=True)
class _ErrorsOfMeans:
    """Means over queries, and how far an interval reaches from them.

    Parameters
    ----------
    mean : ndarray of shape (n_columns,)

    margin : ndarray of shape (n_columns,)
        Student's t quantile times the standard error of the mean. NaN for a single query.

    tail : ndarray of shape (n_columns,)
        Share of bootstrap means that the expanded interval leaves out at each end.
    """

    mean: np.ndarray
    margin: np.ndarray
    tail: np.ndarray

    def student_interval(self):
        """Ends of Student's t interval, for queries that are too few to resample."""
        return self.mean - self.margin, self.mean + self.margin

    def symmetric_interval(self, deviations, rounding):
        """Ends of the interval by quantiles of the absolute deviations of bootstrap means.

        Parameters
        ----------
        deviations : iterable of n_columns ndarrays of shape (n_resamples,)

        rounding : ndarray of shape (n_columns,)
        """
        reach = _quantiles(map(np.abs, deviations), 1 - 2 * self.tail, rounding)
        return self.mean - reach, self.mean + reach

    def percentile_interval(self, deviations, rounding):
        """Ends of the interval by quantiles of the deviations, one for each end.

        Parameters
        ----------
        deviations : ndarray of shape (n_columns, n_resamples)

        rounding : ndarray of shape (n_columns,)
        """
        low = self.mean + _quantiles(deviations, self.tail, rounding)
        high = self.mean + _quantiles(deviations, 1 - self.tail, rounding)
        return low, high


def _errors_of_means(values, strata, confidence_level, tie_variance=None):
    """Means and their errors; the parameters are those of `expanded_interval`."""
    mean = values.mean(axis=0)
    if strata.n_free < 1:
        unknown = np.full_like(mean, np.nan)
        return _ErrorsOfMeans(mean, margin=unknown, tail=unknown)
    t_quantile = student_t.isf((1 - confidence_level) / 2, strata.n_free)
    error, bootstrap_error = strata.standard_errors(values, tie_variance)
    # How much more the mean of new queries varies than the mean of a bootstrap sample. Both
    # errors are 0 if all values are equal.
    expansion = np.ones_like(error)
    np.divide(error, bootstrap_error, out=expansion, where=bootstrap_error > 0)
    return _ErrorsOfMeans(
        mean, margin=t_quantile * error, tail=norm.sf(t_quantile * expansion)
    )


def _rounding_errors(values, strata):
    """Size of deviations that rounding alone can make, for each column."""
    largest = np.abs(strata.centered(values)).max(axis=0, initial=0)
    return ROUNDING * largest


def _quantiles(deviations, levels, rounding):
    """A quantile of each column's deviations, interpolated as by `np.quantile`.

    Parameters
    ----------
    deviations : iterable of n_columns ndarrays of shape (n_resamples,)

    levels : ndarray of shape (n_columns,)
        Level of each column's quantile, from 0 to 1.

    rounding : ndarray of shape (n_columns,)
        A quantile of at most this size becomes 0.

    Returns
    -------
    quantiles : ndarray of shape (n_columns,)
    """
    quantiles = np.empty(len(levels))
    for column, of_column in enumerate(deviations):
        position = levels[column] * (len(of_column) - 1)
        lower_position = int(position)
        # A partition takes less time than sorting all deviations.
        partitioned = np.partition(of_column, lower_position)
        quantiles[column] = partitioned[lower_position]
        # Nothing is above the last position, so it needs no interpolation.
        if position > lower_position:
            next_higher = partitioned[lower_position + 1 :].min()
            gap = next_higher - partitioned[lower_position]
            quantiles[column] += (position - lower_position) * gap
    quantiles[np.abs(quantiles) <= rounding] = 0.0
    return quantiles
