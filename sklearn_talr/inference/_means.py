"""Means over queries: strata, samples drawn with replacement, confidence intervals."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.utils import check_array

from .._compat import Interval, independent_random_state, validated
from .._types import ArrayLike, Column, Floats, Seed

ROUNDING = 1e-12  # sums in two orders may differ by so much
_CELLS = 2**22  # of queries times replicates at once
_FEWEST = 6  # queries; fewer make too few different samples

RESAMPLING = {
    "stratify": ["array-like", None],
    "n_resamples": [Interval(Integral, 100, None, closed="left")],
    "random_state": ["random_state"],
}


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
    if values.ndim not in (1, 2):
        raise ValueError(
            "values must have shape (n_queries,) or (n_queries, n_columns), got "
            f"{values.shape}."
        )
    columns = values.reshape(len(values), -1)
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
    # What rounding leaves of a sum of deviations is none
    least = ROUNDING * np.abs(strata.centered(values)).max(axis=0)
    if symmetric:
        reach = _quantiles(np.abs(drawn), 1 - 2 * tail, least)
        return mean - reach, mean + reach
    return mean + _quantiles(drawn, tail, least), mean + _quantiles(drawn, 1 - tail, least)


def _quantiles(drawn, level, least):
    """Quantile of each column at a level of its own, where sizes up to `least` are 0."""
    place = level * (len(drawn) - 1)
    below = np.floor(place).astype(int)
    ends = np.empty((2, len(below)))
    for column, last in enumerate(below):
        ordered = np.partition(drawn[:, column], last)
        ends[:, column] = ordered[last], ordered[last + 1 :].min(initial=np.inf)
    ends[np.abs(ends) <= least] = 0.0
    low, high = ends
    return low + np.where(place > below, (place - below) * (high - low), 0.0)


def as_floats(values, name, **options):
    """Check values of queries; arrays of other libraries come back as NumPy's, too."""
    checked = check_array(
        values, ensure_2d=False, dtype="numeric", input_name=name, **options
    )
    return np.asarray(checked, dtype=float)


def bootstrap_deviations(values, strata, n_resamples, random_state, tie_variance=None):
    """Deviations of bootstrap samples' means from the mean.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_columns)

    strata : Strata
        Each stratum is sampled for itself.

    n_resamples : int

    random_state : RandomState

    tie_variance : ndarray of shape (n_queries, n_columns), default=None
        Variance of each value over orders of tied documents. With it a sample draws an
        order for each of its queries, too. The sum of so many independent deviations is
        drawn as a normal one.

    Returns
    -------
    deviations : ndarray of shape (n_resamples, n_columns)
        Each column is contiguous.
    """
    centered = strata.centered(values)
    deviations = []
    for n_samples in chunks(n_resamples, strata.n):
        total, variance = np.zeros((2, centered.shape[1], n_samples))
        for rows in strata.rows:
            counts = drawn_counts(len(rows), n_samples, random_state)
            total += centered[rows].T @ counts.T
            if tie_variance is not None:
                variance += tie_variance[rows].T @ counts.T
        if tie_variance is not None:
            total += np.sqrt(variance) * random_state.standard_normal(total.shape)
        total /= strata.n
        deviations.append(total)
    return np.concatenate(deviations, axis=1).T


def drawn_counts(n_rows, n_samples, random_state):
    """How often each sample has each of the rows, (n_samples, n_rows)."""
    drawn = random_state.randint(n_rows, size=(n_samples, n_rows), dtype=np.int32)
    cells = drawn + np.arange(0, drawn.size, n_rows)[:, None]
    counts = np.bincount(cells.ravel(), minlength=drawn.size)
    return counts.reshape(drawn.shape).astype(float)


def chunks(n_resamples, n_cells):
    """Numbers of samples at once, of which each takes so many cells."""
    step = max(_CELLS // max(n_cells, 1), 1)
    return [min(step, n_resamples - first) for first in range(0, n_resamples, step)]


@dataclass(frozen=True)
class Strata:
    """Groups of queries whose sizes a new sample would share.

    Parameters
    ----------
    rows : list of ndarray of int
        Queries of each stratum, each at least twice as many as one.

    n : int
        Number of queries.
    """

    rows: list
    n: int

    @property
    def n_free(self):
        """Degrees of freedom of the standard error."""
        return self.n - len(self.rows)

    def centered(self, values):
        """Values less the mean of their stratum and column."""
        values = values.astype(float)
        for rows in self.rows:
            values[rows] -= values[rows].mean(axis=0)
        return values

    def standard_error(self, values, tie_variance=None):
        """Standard error of each column's mean; a stratum has the weight of its queries.

        With the variance that orders of ties bring to each value it is that of means of
        one order of each query.
        """
        squares = self.centered(values) ** 2
        variance = sum(
            squares[rows].sum(axis=0) * len(rows) / max(len(rows) - 1, 1)
            for rows in self.rows
        )
        return np.sqrt(variance + _sum_of(tie_variance)) / self.n

    def error_of_samples(self, values, tie_variance=None):
        """Standard error of each column's mean in bootstrap samples, which is smaller."""
        variance = (self.centered(values) ** 2).sum(axis=0)
        return np.sqrt(variance + _sum_of(tie_variance)) / self.n

    def expansion(self, values, tie_variance=None):
        """How much more each column's mean varies than that of a bootstrap sample."""
        error = self.standard_error(values, tie_variance)
        of_samples = self.error_of_samples(values, tie_variance)
        return np.divide(error, of_samples, out=np.ones_like(error), where=of_samples > 0)


def _sum_of(tie_variance):
    return 0.0 if tie_variance is None else tie_variance.sum(axis=0)


def make_strata(stratify, n_queries):
    """Strata by one label for each query; None makes one stratum.

    Raises
    ------
    ValueError
        If the labels are not one for each query, one is missing, they cannot be sorted, or
        a stratum has a single query.
    """
    if stratify is None:
        return Strata([np.arange(n_queries)], n_queries)
    labels = np.asarray(stratify)
    if labels.shape != (n_queries,):
        raise ValueError(
            f"stratify must have one label for each of the {n_queries} queries, got shape "
            f"{labels.shape}."
        )
    try:
        if np.any(labels != labels):  # NaN
            raise TypeError
        kinds, number, size = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise ValueError(
            "stratify has labels that are missing, or of several types: give each query a "
            "label of one type, such as str."
        ) from error
    if size.min(initial=2) < 2:
        raise ValueError(
            "each stratum needs at least two queries, to tell how much they differ, but "
            f"{str(kinds[size.argmin()])!r} has one: merge it with another."
        )
    return Strata(
        [np.flatnonzero(number == place) for place in range(len(kinds))], n_queries
    )
