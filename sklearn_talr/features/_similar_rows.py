"""What learners take from who is similar to whom: batches, and units of the features."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from sklearn.covariance import oas
from sklearn.metrics import euclidean_distances
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._core.threads import one_thread
from .._core.validation import as_numpy
from ..affinity._base import places_of

# All pairs of so many samples are looked at.
_MAX_PAIRED = 1000
# So many similar samples come into a batch together.
_N_TOGETHER = 4
# Units are found from at most so many rows, and so many numbers of dense ones: 256 MiB.
_MAX_ROWS = 20_000
_MAX_CELLS = 2**25
# Kinds of units are compared by at most so many rows.
_MAX_COMPARED = 5000
# Covariances of more features cost more than they are worth.
_MAX_WHITENED_FEATURES = 1024
_LEAST_SHRINKAGE = 0.1
# Columns have scales of their own if a deviation is so many times the typical one.
_UNLIKE_RATIO = 10
# Other units are taken if they raise average precision by this.
_CLEAR_GAIN = 0.02


class SimilarRows:
    """Who is similar to whom among the samples of a fit, and groups of similar samples.

    Parameters
    ----------
    affinity : BaseAffinity
        Fitted oracle.

    targets : targets of length n_samples
        Checked targets.

    levels : ndarray of shape (n_levels,)
        Values that the affinity can take, sorted.
    """

    def __init__(self, affinity, targets, levels):
        self._affinity = affinity
        self._targets = targets
        self._levels = levels

    def levels_among(self, rows):
        """Places of the affinities of some samples to each of them among the levels."""
        targets = self._targets[rows]
        return places_of(self._affinity, targets, targets, self._levels)

    @cached_property
    def share(self):
        """Mean share of the other samples that are similar to a sample, estimated."""
        n_samples = self._targets.shape[0]
        # A generator of its own: asking changes nothing that is drawn later.
        rows = np.random.RandomState(0).permutation(n_samples)[:_MAX_PAIRED]
        similar = self.levels_among(rows) > 0
        n_others = max(1, len(rows) - 1)
        return (similar.sum() - np.trace(similar)) / (len(rows) * n_others)

    @cached_property
    def _neighborhoods(self):
        return self._affinity.neighborhoods(self._targets, self._levels)

    @property
    def has_groups(self):
        """Whether groups can be drawn."""
        return self._neighborhoods is not None

    @property
    def n_alone(self):
        """Number of samples that are similar to no other; 0 if that is not known.

        Samples whose label is ignored are not among them.
        """
        if not self.has_groups:
            return 0
        columns = self._neighborhoods.astype(np.int64)
        are_shared = np.bincount(columns.indices, minlength=columns.shape[1]) > 1
        are_alone = columns @ are_shared == 0
        affinity = getattr(self._affinity, "ungrouped", self._affinity)
        if getattr(affinity, "ignored", None) is not None:
            are_alone &= np.diff(columns.indptr) > 0
        return int(np.sum(are_alone))

    def draw(self, rng):
        """Draw a group for each sample: the first of its columns in a random order.

        Samples with the same columns always come into the same group. A group has the
        number of its first sample, and takes one number from the generator, so that equal
        groups are the same, whether they are told by labels or by pairs.
        """
        columns = self._neighborhoods
        n_samples, n_columns = columns.shape
        order = np.random.RandomState(rng.randint(2**31 - 1)).permutation(n_columns)
        groups = n_columns + np.arange(n_samples)  # each sample alone
        has_some = np.diff(columns.indptr) > 0
        if has_some.any():
            starts = columns.indptr[:-1][has_some]
            groups[has_some] = np.minimum.reduceat(order[columns.indices], starts)
        _, first, index = np.unique(groups, return_index=True, return_inverse=True)
        return first[index]

    def shuffle(self, samples, rng, n_together=_N_TOGETHER):
        """Put samples into a random order in which some of a group follow each other.

        Parameters
        ----------
        samples : ndarray of int
            What is put into an order.

        rng : RandomState
            Draws it.

        n_together : int, default=4
            Samples of a group that follow each other, or as many as are left.

        Returns
        -------
        samples : ndarray of int
            The same, in that order.
        """
        groups = self.draw(rng)[samples]
        order = rng.permutation(len(samples))
        order = order[np.argsort(groups[order], kind="stable")]
        groups = groups[order]
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        sizes = np.diff(np.append(starts, len(order)))
        place = np.arange(len(order)) - np.repeat(starts, sizes)  # within the group
        part = np.cumsum(place % n_together == 0) - 1
        turn = rng.permutation(part[-1] + 1)[part]
        return samples[order[np.argsort(turn, kind="stable")]]


def units_of_features(X, samples, similar):
    """Units of features by which similar rows are found best.

    Units are those of the features; or of each column the standard deviation among similar
    rows; or rows are whitened: the covariance among similar rows, shrunk to a sphere,
    becomes the identity. Some rows rank each other by their distance, in units that were
    found from other rows. What finds similar rows clearly better is taken. Otherwise
    columns have units of their own only if the largest deviation is ten times that of a
    typical column.

    Parameters
    ----------
    X : {ndarray, CSR, tensor} of shape (n_samples, n_features)
        Features.

    samples : ndarray of int
        Rows that may be looked at.

    similar : SimilarRows
        Who is similar to whom.

    Returns
    -------
    units : None or ndarray of shape (n_features,) or (n_features, n_features)
        None: features are taken as they are. Otherwise units of the columns, or the matrix
        that rows are multiplied by, see `in_units`.
    """
    comparison = UnitComparison.from_samples(X, samples, similar)
    if comparison is None:
        return None
    with one_thread():
        return comparison.choose_units()


@dataclass(frozen=True)
class UnitComparison:
    """Rows that rank each other by distance, and rows by which units are found."""

    rows: object  # (n_rows, n_features), dense rows less their mean; divided by `largest`
    groups: np.ndarray  # (n_rows,), groups of similar rows
    counted: np.ndarray  # (n_ranked, n_ranked) of bool, pairs of the first rows that count
    relevant: np.ndarray  # (n_ranked, n_ranked) of bool, those of similar rows
    largest: float
    has_groups: bool  # whether groups are known

    @classmethod
    def from_samples(cls, X, samples, similar):
        """Draw rows; None if no row has a similar one among those that are ranked."""
        rng = np.random.RandomState(0)
        n_rows = most_rows(X)
        if similar.has_groups:
            drawn = similar.shuffle(samples, rng)[:n_rows]
            groups = similar.draw(rng)[drawn]
        else:
            drawn = rng.permutation(samples)[:n_rows]
            groups = np.zeros(len(drawn), dtype=int)
        n_ranked = min(_MAX_PAIRED // 2, len(drawn) // 2)
        levels = similar.levels_among(drawn[:n_ranked])
        counted = levels >= 0
        np.fill_diagonal(counted, False)
        relevant = counted & (levels > 0)
        if not relevant.any():
            return None
        rows = as_numpy(X[drawn])
        if sp.issparse(rows):
            rows = rows.astype(np.float64)
        else:
            rows = rows - rows.mean(axis=0, dtype=np.float64)
        # Squares would overflow otherwise.
        largest = abs(rows).max() or 1.0
        return cls(
            rows / largest,
            groups,
            counted,
            relevant=relevant,
            largest=largest,
            has_groups=similar.has_groups,
        )

    def choose_units(self):
        """Units of the features, see `units_of_features`."""
        n_ranked = len(self.counted)
        rows = self.rows
        ranked = rows[:n_ranked]
        unranked = rows[n_ranked:_MAX_COMPARED]
        groups = self.groups[n_ranked:_MAX_COMPARED]
        as_they_are = self._precision(ranked)
        by_columns = self._precision(in_units(ranked, _spread(unranked, groups)))
        if by_columns < as_they_are - _CLEAR_GAIN:
            return None
        if self.has_groups and rows.shape[1] <= _MAX_WHITENED_FEATURES:
            rows = rows.toarray() if sp.issparse(rows) else rows
            whitening = _whitening(rows[n_ranked:_MAX_COMPARED], groups)
            whitened = self._precision(rows[:n_ranked] @ whitening)
            if whitened > max(by_columns, as_they_are) + _CLEAR_GAIN:
                return _whitening(rows, self.groups) / self.largest
        if by_columns <= as_they_are + _CLEAR_GAIN and not _has_unlike_columns(rows):
            return None
        return _spread(rows, self.groups) * self.largest

    def _precision(self, rows):
        """Mean average precision of rankings by distance."""
        queries = self.relevant.any(axis=1)
        distances = euclidean_distances(rows, squared=True)
        # Pairs that do not count come last, such as a row with itself.
        distances[~self.counted] = np.inf
        nearest = np.argsort(distances[queries], axis=1, kind="stable")
        hits = np.take_along_axis(self.relevant[queries], nearest, axis=1)
        precision_at_rank = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
        return np.mean((hits * precision_at_rank).sum(axis=1) / hits.sum(axis=1))


def _has_unlike_columns(X):
    """Whether columns have scales of their own."""
    variances = _variances(X)
    typical = np.median(variances[variances > 0]) if variances.any() else 0.0
    return variances.max() > _UNLIKE_RATIO**2 * typical


def most_rows(X):
    """Number of rows that may be copied in double precision."""
    if sp.issparse(X):
        return _MAX_ROWS
    return max(2, min(_MAX_ROWS, _MAX_CELLS // X.shape[1]))


def in_units(X, units):
    """Rows divided by a unit, or by one for each column, or times a matrix of units."""
    if np.ndim(units) == 2:
        return X @ units
    return sp.csr_array(X / units) if sp.issparse(X) else X / units


def _variances(X):
    """Variance of each column."""
    return mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else X.var(axis=0)


def _spread(X, groups):
    """Standard deviation of each column among similar rows, shrunk to that of all rows."""
    whole = _variances(X)
    # Columns that are constant stay as they are.
    whole[whole <= 1e-18 * whole.max()] = 1.0
    # Squares, less those of the means of the groups.
    members, sizes = _members(groups)
    group_sums = members @ X
    if sp.issparse(X):
        squares = np.asarray(X.power(2).sum(axis=0)).ravel()
        squared_sums = group_sums.power(2)
    else:
        squares = np.einsum("ij,ij->j", X, X)
        squared_sums = group_sums**2
    n_free = max(1, X.shape[0] - len(sizes))
    within = (squares - squared_sums.T @ (1 / sizes)) / n_free / whole
    within = np.maximum(within, 0)
    shrunk = (1 - _LEAST_SHRINKAGE) * within + _LEAST_SHRINKAGE * (within.mean() or 1.0)
    return np.sqrt(whole * shrunk)


def _whitening(X, groups):
    """Matrix that gives rows about unit covariance among similar rows."""
    spread = _spread(X, groups)
    members, sizes = _members(groups)
    X = X / spread
    # Each row loses the mean of its group.
    X -= members.T @ ((members @ X) / sizes[:, None])
    return inverse_root(oas(X, assume_centered=True)[0]) / spread[:, None]


def inverse_root(covariance):
    """Symmetric square root of the inverse of a covariance that is shrunk to a sphere."""
    mean = np.trace(covariance) / len(covariance) or 1.0
    covariance *= 1 - _LEAST_SHRINKAGE
    covariance[np.diag_indices_from(covariance)] += _LEAST_SHRINKAGE * mean
    values, vectors = eigh(covariance)
    return (vectors / np.sqrt(values)) @ vectors.T


def _members(groups):
    """Who is in each group, a CSR of ones of shape (n_groups, n_rows), and their sizes."""
    _, index, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    columns = np.arange(len(groups))
    return sp.csr_array((np.ones(len(groups)), (index, columns))), sizes
