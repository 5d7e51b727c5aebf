"""Strata of queries, and the mean and its standard error over them."""

from dataclasses import dataclass

import numpy as np


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
