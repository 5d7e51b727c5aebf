"""What learners take from who is similar to whom: batches, and units of the features."""

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

_MOST_ASKED = 1000  # samples of which all pairs are looked at
_AT_A_TIME = 4  # similar samples that come into a batch together
_MOST_ROWS = 20_000  # that units are found from
_MOST_CELLS = 2**25  # of them, where features are dense
_MOST_TRIED = 5000  # rows by which kinds of units are compared
_MOST_FEATURES = 1024  # beyond which they are not whitened
_LEAST_SHRINKAGE = 0.1
_UNLIKE = 10  # times a typical deviation: columns with scales of their own
_CLEARLY = 0.02  # a difference of average precision that decides for other units


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
        self._affinity, self._targets, self._levels = affinity, targets, levels

    def levels_among(self, rows):
        """Places of the affinities of some samples to each of them among the levels."""
        targets = self._targets[rows]
        return places_of(self._affinity, targets, targets, self._levels)

    @cached_property
    def share(self):
        """Mean share of the other samples that are similar to a sample, estimated."""
        n_samples = self._targets.shape[0]
        # A generator of its own: asking changes nothing that is drawn later.
        rows = np.random.RandomState(0).permutation(n_samples)[:_MOST_ASKED]
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

    def shuffle(self, samples, rng, n_together=_AT_A_TIME):
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
        groups, order = self.draw(rng)[samples], rng.permutation(len(samples))
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
    rng = np.random.RandomState(0)
    n_rows = most_rows(X)
    if similar.has_groups:
        rows = similar.shuffle(samples, rng)[:n_rows]
        groups = similar.draw(rng)[rows]
    else:
        rows = rng.permutation(samples)[:n_rows]
        groups = np.zeros(len(rows), dtype=int)
    n_ranked = min(_MOST_ASKED // 2, len(rows) // 2)
    ranked, others = slice(n_ranked), slice(n_ranked, _MOST_TRIED)
    levels = similar.levels_among(rows[ranked])
    np.fill_diagonal(counts := levels >= 0, False)
    relevant = counts & (levels > 0)
    queries = relevant.any(axis=1)
    if not queries.any():
        return None
    some = as_numpy(X[rows])
    if sp.issparse(some):
        some = some.astype(np.float64)
    else:
        some = some - some.mean(axis=0, dtype=np.float64)
    largest = abs(some).max() or 1.0
    some = some / largest  # or squares would overflow

    def precision(rows):
        """Mean average precision of rankings by distance."""
        distances = euclidean_distances(rows, squared=True)
        distances[~counts] = np.inf  # what does not count comes last, as a row itself
        nearest = np.argsort(distances[queries], axis=1, kind="stable")
        found = np.take_along_axis(relevant[queries], nearest, axis=1)
        at_each = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
        return np.mean((found * at_each).sum(axis=1) / found.sum(axis=1))

    with one_thread():
        as_they_are = precision(some[ranked])
        columns = _spread(some[others], groups[others])
        best = precision(in_units(some[ranked], columns))
        if best < as_they_are - _CLEARLY:
            return None
        if similar.has_groups and X.shape[1] <= _MOST_FEATURES:
            some = some.toarray() if sp.issparse(some) else some
            white = _whitening(some[others], groups[others])
            if precision(some[ranked] @ white) > max(best, as_they_are) + _CLEARLY:
                return _whitening(some, groups) / largest
        # If neither is clearly better: have the columns scales of their own?
        whole = _variances(some)
        typical = np.median(whole[whole > 0]) if whole.any() else 0.0
        are_unlike = whole.max() > _UNLIKE**2 * typical
        if not are_unlike and best <= as_they_are + _CLEARLY:
            return None
        return _spread(some, groups) * largest


def most_rows(X):
    """Number of rows that may be copied in double precision."""
    if sp.issparse(X):
        return _MOST_ROWS
    return max(2, min(_MOST_ROWS, _MOST_CELLS // X.shape[1]))


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
    whole[whole <= 1e-18 * whole.max()] = 1.0  # columns that tell nothing stay as they are
    # Squares, less those of the means of the groups.
    members, sizes = _members(groups)
    of_groups = members @ X
    if sp.issparse(X):
        squares = np.asarray(X.power(2).sum(axis=0)).ravel()
        of_groups = of_groups.power(2)
    else:
        squares, of_groups = np.einsum("ij,ij->j", X, X), of_groups**2
    within = (squares - of_groups.T @ (1 / sizes)) / max(1, X.shape[0] - len(sizes)) / whole
    within = np.maximum(within, 0)
    shrunk = (1 - _LEAST_SHRINKAGE) * within + _LEAST_SHRINKAGE * (within.mean() or 1.0)
    return np.sqrt(whole * shrunk)


def _whitening(X, groups):
    """Matrix that gives rows about unit covariance among similar rows."""
    spread, (members, sizes) = _spread(X, groups), _members(groups)
    X = X / spread
    X -= members.T @ ((members @ X) / sizes[:, None])  # the mean of its group
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
