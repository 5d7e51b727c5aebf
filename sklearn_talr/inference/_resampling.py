"""Values of queries, strata of queries, and samples of queries drawn with replacement."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils import check_array, check_random_state

from .._core.compat import Interval
from .._core.validation import axis_labels, refuse_masked

# Two sums of the same values in two orders may differ by this share of the largest value.
ROUNDING = 1e-12
# A block of samples has at most this number of cells (samples times queries): 32 MiB.
_CELLS_PER_BLOCK = 2**22

RESAMPLING = {
    "stratify": ["array-like", None],
    "n_resamples": [Interval(Integral, 100, None, closed="left")],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Strata:
    """Groups of queries that have the same sizes in every sample.

    Parameters
    ----------
    rows : list of ndarray of int
        Queries of each stratum. A stratum has two queries or more, unless all queries are
        one stratum.

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
        """Yield how often each query is in each sample, blocks of shape (n_samples, n).

        Each stratum is sampled by itself. A caller that needs more than n cells per sample
        passes their number as `width`, so that blocks have fewer samples.
        """
        n_per_block = max(_CELLS_PER_BLOCK // max(self.n, width), 1)
        for start in range(0, n_resamples, n_per_block):
            n_samples = min(n_per_block, n_resamples - start)
            counts = np.empty((n_samples, self.n))
            for rows in self.rows:
                shape = (n_samples, len(rows))
                drawn = random_state.randint(len(rows), size=shape, dtype=np.int32)
                cells = drawn + np.arange(0, drawn.size, len(rows))[:, None]
                n_drawn = np.bincount(cells.ravel(), minlength=drawn.size)
                counts[:, rows] = n_drawn.reshape(shape)
            yield counts

    def standard_errors(self, values, tie_variance=None):
        """Standard errors of each column's mean, over samples of two kinds.

        A stratum has the weight of its queries. With `tie_variance` the errors are those
        of means with one random order of ties per query.

        Returns
        -------
        error, bootstrap_error : ndarray of shape (n_columns,)
            Error over samples of the population, and error over bootstrap samples, which
            vary less.
        """
        variance = total = 0.0
        for rows in self.rows:
            centered = values[rows].astype(float)
            centered -= centered.mean(axis=0)
            squares = np.einsum("ij,ij->j", centered, centered)
            total += squares
            variance += squares * len(rows) / max(len(rows) - 1, 1)
        if tie_variance is not None:
            variance = variance + tie_variance.sum(axis=0)
            total = total + tie_variance.sum(axis=0)
        return np.sqrt(variance) / self.n, np.sqrt(total) / self.n


@dataclass(frozen=True)
class Resampling:
    """Samples of queries that are drawn with replacement, for intervals and tests.

    Parameters
    ----------
    strata : Strata
        Each sample has the same number of queries per stratum.

    n_resamples : int
        Number of samples.

    seed : int or RandomState
        With an int every interval and test draws the same samples. A RandomState draws new
        samples each time.
    """

    strata: Strata
    n_resamples: int
    seed: int | np.random.RandomState

    def generator(self):
        """Return the generator that draws the samples."""
        return check_random_state(self.seed)


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
            "stratify has missing labels, or labels of several types: give each query a "
            "label of one type, such as str."
        ) from error
    if size.min(initial=2) < 2:
        raise ValueError(
            "each stratum needs at least two queries, for the variance within it, but "
            f"{str(kinds[size.argmin()])!r} has one: merge it with another."
        )
    rows = [np.flatnonzero(number == place) for place in range(len(kinds))]
    return Strata(rows, n_queries)


def as_floats(values, name, **options):
    """Return checked values of queries as an array of NumPy."""
    refuse_masked(**{name: values})
    checked = check_array(
        values, ensure_2d=False, dtype="numeric", input_name=name, **options
    )
    return np.asarray(checked, dtype=float)


def bootstrap_deviations(values, resampling, tie_variance=None):
    """Deviations of bootstrap samples' means from the mean.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_columns)

    resampling : Resampling

    tie_variance : ndarray of shape (n_queries, n_columns), default=None
        Variance of each value over orders of tied documents. With it each sample also
        draws an order for each of its queries. The sum of these independent deviations is
        drawn from a normal distribution.

    Returns
    -------
    deviations : ndarray of shape (n_resamples, n_columns)
        Each column is contiguous.
    """
    strata = resampling.strata
    random_state = resampling.generator()
    centered = strata.centered(values)
    blocks = []
    for counts in strata.samples(resampling.n_resamples, random_state):
        total = centered.T @ counts.T  # (n_columns, n_samples)
        if tie_variance is not None:
            tie_deviation = np.sqrt(tie_variance.T @ counts.T)
            total += tie_deviation * random_state.standard_normal(total.shape)
        blocks.append(total / strata.n)
    return np.concatenate(blocks, axis=1).T


def refuse_unlike_rows(labels, name, rows, line):
    """Raise ValueError if labels have an index that differs from the names of the rows.

    A default index of pandas (0, 1, ...) declares nothing, unless the rows have the same
    names in another order. Names are compared as text, as runs have them.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)

    name : str
        Name of the labels, for errors.

    rows : list of length n_rows
        Names of the rows.

    line : str
        Code whose value is these names, for errors.
    """
    index, is_default = axis_labels(labels)
    if index is None or len(index) != len(rows):
        return
    label_texts = list(map(str, index))
    row_texts = list(map(str, rows))
    if label_texts == row_texts:
        return
    is_reordered = sorted(label_texts) == sorted(row_texts)
    has_no_names = is_default or row_texts == list(map(str, range(len(rows))))
    if has_no_names and not is_reordered:
        return
    state = "the same labels in another order" if is_reordered else "other labels"
    texts = zip(label_texts, row_texts)
    row = next(row for row, (label, text) in enumerate(texts) if label != text)
    as_text = "" if all(isinstance(label, str) for label in index) else ".rename(index=str)"
    raise ValueError(
        f"{name} has {state} than the rows, with which it is joined by position: label "
        f"{row} is {index[row]!r}, and row {row} is {row_texts[row]!r}. Pass "
        f"{name}{as_text}.reindex({line}), or {name}.to_numpy() to ignore its index."
    )
