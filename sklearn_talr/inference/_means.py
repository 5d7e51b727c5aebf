"""Means over queries: strata, samples drawn with replacement, confidence intervals."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.utils import check_array

from .._arrays import axis_labels, refuse_masked, refuse_unlike_labels
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
    refuse_unlike_labels(values, stratify, ("values", "stratify"))
    values = as_floats(values, "values")
    columns = values.reshape(len(values), -1)
    strata = make_strata(stratify, len(columns))
    samples = confidence_level, n_resamples, independent_random_state(random_state)
    interval = expanded_interval(columns, strata, *samples, symmetric=symmetric)
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
    pairs=None,
):
    """Ends of the interval of each column's mean, two arrays (n_columns,).

    With `pairs`, the numbers of their first and of their second columns, symmetric
    intervals are of the differences of two columns.
    """
    scale = np.abs(strata.centered(values)).max(axis=0, initial=0)
    samples = strata, n_resamples, random_state, tie_variance
    drawn = bootstrap_deviations(values, *samples).T if strata.n >= _FEWEST else None
    if pairs is not None:
        first, second = pairs
        values = values[:, first] - values[:, second]
        scale = np.maximum(scale[first], scale[second])
    mean = values.mean(axis=0)
    if strata.n_free < 1:
        return np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    deviate = student.isf((1 - confidence_level) / 2, strata.n_free)
    error, of_samples = strata.standard_errors(values, tie_variance)
    if drawn is None:
        return mean - deviate * error, mean + deviate * error
    # How much more a mean varies than that of a bootstrap sample
    expansion = np.ones_like(error)
    np.divide(error, of_samples, out=expansion, where=of_samples > 0)
    tail = norm.sf(deviate * expansion)
    if symmetric:
        deviations = drawn
        if pairs is not None:
            deviations = (drawn[one] - drawn[other] for one, other in zip(first, second))
        reach = _quantiles(map(np.abs, deviations), 1 - 2 * tail, scale)
        return mean - reach, mean + reach
    return tuple(mean + _quantiles(drawn, level, scale) for level in (tail, 1 - tail))


def _quantiles(drawn, level, scale):
    """Quantile of each array that is drawn, at a level of its own."""
    found = np.empty(len(level))
    for column, of_column in enumerate(drawn):
        place = level[column] * (len(of_column) - 1)
        below = int(place)
        ordered = np.partition(of_column, below)
        low, high = ordered[below], ordered[below + 1 :].min(initial=np.inf)
        found[column] = low + (place - below) * (high - low) if place > below else low
    found[np.abs(found) <= ROUNDING * scale] = 0.0  # what rounding leaves is no deviation
    return found


def as_floats(values, name, **options):
    """Check values of queries; arrays of other libraries come back as NumPy's, too."""
    refuse_masked(**{name: values})
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
    for counts in strata.samples(n_resamples, random_state):
        total = centered.T @ counts.T
        if tie_variance is not None:
            deviation = np.sqrt(tie_variance.T @ counts.T)
            total += deviation * random_state.standard_normal(total.shape)
        deviations.append(total / strata.n)
    return np.concatenate(deviations, axis=1).T


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

    def samples(self, n_resamples, random_state, width=1):
        """Yield how often some bootstrap samples have each query, (n_samples, n).

        Each stratum is sampled for itself. Whoever needs more than n cells for a sample
        tells the `width`.
        """
        step = max(_CELLS // max(self.n, width), 1)
        for first in range(0, n_resamples, step):
            counts = np.empty((min(step, n_resamples - first), self.n))
            for rows in self.rows:
                size = len(counts), len(rows)
                drawn = random_state.randint(len(rows), size=size, dtype=np.int32)
                cells = drawn + np.arange(0, drawn.size, len(rows))[:, None]
                found = np.bincount(cells.ravel(), minlength=drawn.size)
                counts[:, rows] = found.reshape(size)
            yield counts

    def standard_errors(self, values, tie_variance=None):
        """Standard error of each column's mean, and that in bootstrap samples, of less.

        A stratum has the weight of its queries. With the variance that orders of ties bring
        to each value the errors are those of means of one order of each query.
        """
        variance = total = 0.0
        for rows in self.rows:
            centered = values[rows].astype(float)
            centered -= centered.mean(axis=0)
            squares = np.einsum("ij,ij->j", centered, centered)
            total += squares
            variance += squares * len(rows) / max(len(rows) - 1, 1)
        of_ties = 0.0 if tie_variance is None else tie_variance.sum(axis=0)
        sums = variance + of_ties, total + of_ties
        return [np.sqrt(each) / self.n for each in sums]


def refuse_unlike_rows(labels, name, rows, line):
    """Raise ValueError if labels have an index that is not that of the rows, in order.

    Labels that pandas has counted are no declaration, unless they are those of the rows in
    another order. Names are compared as text, as runs have them.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)

    name : str
        What errors call them.

    rows : list of length n_rows
        Names of the rows.

    line : str
        Code that has these names.
    """
    index, is_default = axis_labels(labels)
    if index is None or len(index) != len(rows):
        return
    texts, rows = list(map(str, index)), list(map(str, rows))
    if texts == rows:
        return
    is_reordered = sorted(texts) == sorted(rows)
    has_no_names = is_default or rows == list(map(str, range(len(rows))))
    if has_no_names and not is_reordered:
        return
    state = "the same labels in another order" if is_reordered else "other labels"
    place = next(row for row, pair in enumerate(zip(texts, rows)) if pair[0] != pair[1])
    as_text = "" if all(isinstance(label, str) for label in index) else ".rename(index=str)"
    raise ValueError(
        f"{name} has {state} than the rows, with which it is joined by position: row "
        f"{place} is {index[place]!r} there, and {rows[place]!r} among the rows. Pass "
        f"{name}{as_text}.reindex({line}), or {name}.to_numpy() if its index means nothing."
    )


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
    refuse_masked(stratify=stratify)
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
    rows = [np.flatnonzero(number == place) for place in range(len(kinds))]
    return Strata(rows, n_queries)
