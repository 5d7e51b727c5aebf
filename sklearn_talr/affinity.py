"""Who is similar to whom: affinity oracles over pairs of targets.

An *affinity oracle* is a function of two sets of targets,

    affinity(y_query, y_database) -> (n_query, n_database) non-negative integers,

0 meaning "not similar" and larger meaning "more similar". What a target is depends on
the oracle: a class label, a row of label indicators, a row of features, or a row of a
matrix of known affinities. Targets are rows, so cross-validation may slice them.
"""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics import euclidean_distances
from sklearn.utils import check_array, check_random_state, column_or_1d, gen_batches
from sklearn.utils._missing import is_pandas_na
from sklearn.utils._param_validation import Interval
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "LabelAffinity",
    "PrecomputedAffinity",
    "SharedLabelAffinity",
    "ThresholdAffinity",
]


class LabelAffinity(BaseEstimator):
    """Affinity 1 between samples of the same class, 0 otherwise.

    Targets are class labels, shape (n_samples,), numbers or strings.

    Attributes
    ----------
    levels_ : ndarray of shape (2,)
        ``[0, 1]``, the values that the affinity can take.

    See Also
    --------
    SharedLabelAffinity : For samples that carry several labels.

    Examples
    --------
    >>> from sklearn_talr.affinity import LabelAffinity
    >>> LabelAffinity()(["cat", "dog"], ["dog", "dog", "cat"])
    array([[0, 0, 1],
           [1, 1, 0]], dtype=uint8)
    """

    levels_ = np.array([0, 1])

    def fit(self, y):
        """Check the targets; there is nothing to learn.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : LabelAffinity
            The oracle itself.
        """
        self.check_targets(y)
        return self

    def check_targets(self, y):
        """Return the labels as a 1-D array, or raise ValueError."""
        y = column_or_1d(y)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise ValueError("y contains NaN or infinity; every sample needs a label.")
        if y.dtype.kind == "O" and any(map(_is_missing, y)):
            raise ValueError("y contains None or NaN; every sample needs a label.")
        return y

    def levels_between(self, y_query, y_database):
        """Return the values that the affinity of these targets can take."""
        return self.levels_

    def __call__(self, y_query, y_database):
        """Compare every query label with every database label.

        Parameters
        ----------
        y_query : array-like of shape (n_query,)
            Labels of the queries.

        y_database : array-like of shape (n_database,)
            Labels of the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database), dtype uint8
            1 where the labels are equal.
        """
        y_query, y_database = self.check_targets(y_query), self.check_targets(y_database)
        return (y_query[:, None] == y_database).astype(np.uint8)


class SharedLabelAffinity(BaseEstimator):
    """Number of labels that two multi-label samples share.

    Targets are indicator rows, shape (n_samples, n_labels), of 0/1, dense or CSR.

    Parameters
    ----------
    binary : bool, default=False
        If True, the affinity is 1 as soon as one label is shared.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        Values that the affinity can take among the targets seen by `fit`: no two
        samples share more labels than a sample has.

    See Also
    --------
    LabelAffinity : For one label per sample.

    Examples
    --------
    >>> from sklearn_talr.affinity import SharedLabelAffinity
    >>> y = [[1, 1, 0], [1, 1, 1], [0, 0, 1]]
    >>> SharedLabelAffinity()(y, y)
    array([[2, 2, 0],
           [2, 3, 1],
           [0, 1, 1]])
    """

    def __init__(self, binary=False):
        self.binary = binary

    def fit(self, y):
        """Find the levels that these targets allow.

        Parameters
        ----------
        y : {array-like, CSR} of shape (n_samples, n_labels)
            Label indicators.

        Returns
        -------
        self : SharedLabelAffinity
            The fitted oracle.
        """
        self.levels_ = self.levels_between(y, y)
        return self

    def check_targets(self, y):
        """Return the indicators as a 2-D array or CSR matrix, or raise ValueError."""
        y = check_array(y, accept_sparse="csr", dtype=None, input_name="y")
        values = y.data if sp.issparse(y) else y
        if values.dtype.kind not in "biuf" or np.any((values != 0) & (values != 1)):
            raise ValueError(
                "y must be a 0/1 label indicator of shape (n_samples, n_labels). Wrap a "
                "matrix of affinities as PrecomputedAffinity(y)."
            )
        return y

    def levels_between(self, y_query, y_database):
        """Return the values that the affinity of these targets can take."""
        if self.binary:
            return np.array([0, 1])
        most = min(_most_labels(self.check_targets(y)) for y in (y_query, y_database))
        return np.arange(most + 1)

    def __call__(self, y_query, y_database):
        """Count the labels that each query shares with each database item.

        Parameters
        ----------
        y_query : {array-like, CSR} of shape (n_query, n_labels)
            Label indicators of the queries.

        y_database : {array-like, CSR} of shape (n_database, n_labels)
            Label indicators of the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database) of int
            Number of shared labels, or 0/1 if `binary`.
        """
        query = self.check_targets(y_query).astype(np.float32)
        database = self.check_targets(y_database).astype(np.float32)
        if query.shape[1] != database.shape[1]:
            raise ValueError(
                f"y_query has {query.shape[1]} labels and y_database {database.shape[1]}."
            )
        # Sums of ones are exact in float32 up to 2 ** 24, and float products are fast.
        shared = safe_sparse_dot(query, database.T, dense_output=True)
        return (shared > 0).astype(int) if self.binary else shared.astype(int)


class PrecomputedAffinity:
    """A known matrix of affinities, safe to slice in cross-validation.

    Give it to `fit` as `y`. scikit-learn slices an (n, n) array given as `y` by rows
    only, without a word; this object slices rows and columns together. It is the targets
    and their oracle at once: a selection of samples remembers which rows of the matrix
    they are, so the affinity between a selection and another one remains known.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n_samples, n_samples)
        Non-negative integers, 0 for "not similar". Kept by reference when it is an
        integer array or an integer CSR matrix; it need not be symmetric
        (row: query, column: database item).

    Attributes
    ----------
    shape : tuple of int
        ``(n_samples, n_samples)`` of the current selection.

    levels_ : ndarray of shape (n_levels,)
        Sorted values of the whole matrix, 0 included.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.affinity import PrecomputedAffinity
    >>> y = PrecomputedAffinity([[3, 1, 0], [1, 3, 2], [0, 2, 3]])
    >>> y[np.array([0, 2])].toarray()
    array([[3, 0],
           [0, 3]])
    >>> y(y[[0]], y[[1, 2]])
    array([[1, 0]])
    """

    def __init__(self, affinity):
        self._matrix = _check_affinity_matrix(affinity)
        self._rows = np.arange(self._matrix.shape[0])
        values = self._matrix.data if sp.issparse(self._matrix) else self._matrix
        self.levels_ = np.union1d([0], values).astype(int)

    @property
    def shape(self):
        return len(self._rows), len(self._rows)

    @property
    def ndim(self):
        return 2

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, rows):
        """Select samples, rows and columns together.

        Parameters
        ----------
        rows : slice, index array or boolean mask
            The samples to keep. scikit-learn's ``(rows, ...)`` is understood.

        Returns
        -------
        selection : PrecomputedAffinity
            The same matrix seen through these samples; nothing is copied.
        """
        if isinstance(rows, tuple):
            rows = rows[0]
        selection = object.__new__(type(self))
        selection.__dict__.update(self.__dict__)
        selection._rows = np.atleast_1d(self._rows[rows])
        return selection

    def toarray(self):
        """Return the affinities among the selected samples as a dense array."""
        return self(self, self)

    def check_targets(self, y):
        """Return `y` if it selects from an equal matrix, or raise TypeError."""
        if not isinstance(y, PrecomputedAffinity) or not _equal(y._matrix, self._matrix):
            raise TypeError(
                "y must be a selection of the same PrecomputedAffinity; pass the object "
                "itself (or a slice of it) as y."
            )
        if y._matrix is not self._matrix:  # a copy or a pickle: compare it only once
            y = y[:]
            y._matrix = self._matrix
        return y

    def levels_between(self, y_query, y_database):
        """Return the values that the affinity of these targets can take."""
        return self.levels_

    def __call__(self, y_query, y_database):
        """Look up the affinities between two selections.

        Parameters
        ----------
        y_query : PrecomputedAffinity
            Selection of the queries.

        y_database : PrecomputedAffinity
            Selection of the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database) of int
            Entries of the matrix.
        """
        rows, columns = (self.check_targets(y)._rows for y in (y_query, y_database))
        block = self._matrix[rows][:, columns]
        return block.toarray() if sp.issparse(block) else block

    def __repr__(self):
        return f"PrecomputedAffinity(n_samples={len(self)}, levels={self.levels_})"


class ThresholdAffinity(BaseEstimator):
    """Graded affinity by thresholds on the Euclidean distance of feature rows.

    The nearest pairs get the highest level. Thresholds are quantiles of the pairwise
    distances among the rows seen by `fit`. Targets are feature rows.

    Parameters
    ----------
    quantiles : sequence of float, default=(0.05, 0.01, 0.002, 0.001)
        Fractions of all pairs, in (0, 1): a pair among the nearest ``quantiles[i]`` has
        at least affinity ``levels[i]``.

    levels : sequence of int, default=(1, 2, 5, 10)
        Positive affinity of each quantile, higher for smaller quantiles.

    subsample : int, default=5_000
        At most so many rows, drawn at random, are used to find the thresholds.

    random_state : int, RandomState instance or None, default=0
        Draws the rows when there are more than `subsample`.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_quantiles,)
        Distances, in the order of `quantiles`.

    levels_ : ndarray of shape (n_quantiles + 1,)
        Sorted values that the affinity can take, 0 included.

    References
    ----------
    He et al., "Hashing as Tie-Aware Learning to Rank", CVPR 2018, section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.affinity import ThresholdAffinity
    >>> X = np.array([[0.0], [1.0], [3.0], [9.0]])
    >>> affinity = ThresholdAffinity(quantiles=(0.5, 0.1), levels=(1, 2)).fit(X)
    >>> affinity(X, X)
    array([[2, 2, 1, 0],
           [2, 2, 1, 0],
           [1, 1, 2, 0],
           [0, 0, 0, 2]])
    """

    def __init__(
        self,
        quantiles=(0.05, 0.01, 0.002, 0.001),
        levels=(1, 2, 5, 10),
        *,
        subsample=5_000,
        random_state=0,
    ):
        self.quantiles = quantiles
        self.levels = levels
        self.subsample = subsample
        self.random_state = random_state

    def fit(self, y):
        """Find the thresholds.

        Parameters
        ----------
        y : array-like of shape (n_samples, n_features)
            Feature rows, at least two.

        Returns
        -------
        self : ThresholdAffinity
            The fitted oracle.
        """
        quantiles, levels = self._check_params()
        rows = self.check_targets(y)
        if len(rows) < 2:
            raise ValueError("ThresholdAffinity needs at least 2 rows, got 1 sample.")
        if len(rows) > self.subsample:
            rng = check_random_state(self.random_state)
            rows = rows[rng.choice(len(rows), self.subsample, replace=False)]
        thresholds = np.quantile(_pairwise_distances(rows), quantiles)
        self.thresholds_ = np.maximum(thresholds, _distance_of_equals(rows))
        self.levels_ = np.concatenate(([0], np.sort(levels)))
        self.n_features_in_ = rows.shape[1]
        return self

    def check_targets(self, y):
        """Return the feature rows as a 2-D float array, or raise ValueError."""
        return check_array(y, dtype=(np.float64, np.float32), input_name="y")

    def levels_between(self, y_query, y_database):
        """Return the values that the affinity can take."""
        check_is_fitted(self)
        return self.levels_

    def __call__(self, y_query, y_database):
        """Grade the distance of every pair of rows.

        Parameters
        ----------
        y_query : array-like of shape (n_query, n_features)
            Feature rows of the queries.

        y_database : array-like of shape (n_database, n_features)
            Feature rows of the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database) of int
            Level of the smallest quantile that holds the pair, 0 beyond all.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before `fit`: thresholds come from training data, never from queries.
        """
        check_is_fitted(self)
        y_query, y_database = self.check_targets(y_query), self.check_targets(y_database)
        for rows in (y_query, y_database):
            if rows.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"y has {rows.shape[1]} features, but the thresholds are those of "
                    f"distances between rows of {self.n_features_in_} features."
                )
        distances = euclidean_distances(y_query, y_database)
        outside = np.searchsorted(np.sort(self.thresholds_), distances, side="left")
        return self.levels_[::-1][outside]

    def _check_params(self):
        quantiles = np.asarray(self.quantiles, dtype=float)
        levels = np.asarray(self.levels)
        if quantiles.ndim != 1 or quantiles.shape != levels.shape or not quantiles.size:
            raise ValueError("quantiles and levels must be two lists of equal length.")
        if np.any((quantiles <= 0) | (quantiles >= 1)):
            raise ValueError(f"quantiles must lie in (0, 1), got {self.quantiles}.")
        if levels.dtype.kind not in "iu" or np.any(levels < 1):
            raise ValueError(f"levels must be positive integers, got {self.levels}.")
        descending = levels[np.argsort(quantiles)]
        if np.any(np.diff(np.sort(quantiles)) <= 0) or np.any(np.diff(descending) >= 0):
            raise ValueError(
                "a smaller quantile must have a higher level, got "
                f"quantiles={self.quantiles}, levels={self.levels}."
            )
        if not Interval(Integral, 2, None, closed="left").is_satisfied_by(self.subsample):
            raise ValueError(f"subsample must be at least 2, got {self.subsample}.")
        return quantiles, levels


def resolve_affinity(affinity, X, y):
    """Settle which oracle and which targets `fit(X, y)` means.

    Parameters
    ----------
    affinity : "auto" or affinity oracle
        ``"auto"`` chooses by the form of `y`: labels, indicators, a
        :class:`PrecomputedAffinity` or a square matrix, or None for distances in X.

    X : ndarray of shape (n_samples, n_features)
        Checked features, which are the targets when `y` is None.

    y : targets or None
        As the user gave them.

    Returns
    -------
    affinity : affinity oracle
        Unfitted, unless the user gave a fitted one.

    targets : sequence of length n_samples
        Checked targets of that oracle.
    """
    if isinstance(affinity, str) and affinity != "auto":
        raise ValueError(
            f"affinity must be 'auto' or an affinity oracle, got {affinity!r}. Oracles "
            "are in sklearn_talr.affinity."
        )
    if isinstance(affinity, type):
        raise ValueError(
            f"affinity must be an oracle, not a class: write {affinity.__name__}()."
        )
    if isinstance(affinity, str):
        affinity, y = _choose_affinity(y)
    if y is None:
        y = affinity if isinstance(affinity, PrecomputedAffinity) else X
    return affinity, checked_targets(affinity, y)


def checked_targets(affinity, y):
    """Check targets by the oracle's own rules; a plain function has none."""
    check = getattr(affinity, "check_targets", None)
    if check:
        return check(y)
    return y.tocsr() if sp.issparse(y) else np.asarray(y)


def level_values(affinity, y_query, y_database):
    """Return the sorted affinity values between two sets of targets, 0 first."""
    if hasattr(affinity, "levels_between"):
        return np.asarray(affinity.levels_between(y_query, y_database))
    if not hasattr(affinity, "levels_"):
        raise TypeError(
            f"affinity {affinity!r} has no levels_: an oracle is a function with an "
            "attribute levels_, the sorted values that it can take, first 0."
        )
    levels = np.asarray(affinity.levels_)
    if levels[0] != 0 or np.any(np.diff(levels) <= 0):
        raise ValueError(f"affinity.levels_ must ascend from 0, got {levels}.")
    return levels


def level_index(affinity, levels, y_query, y_database):
    """Evaluate an oracle as indices into `levels`, shape (n_query, n_database)."""
    values = affinity(y_query, y_database)
    ours = hasattr(affinity, "levels_between")
    if ours and levels[-1] == len(levels) - 1:  # 0, 1, ..., n_levels - 1 index themselves
        return values
    index = np.searchsorted(levels, values)
    if not ours and np.any(np.take(levels, index, mode="clip") != values):
        raise ValueError(f"affinity {affinity!r} gave values that its levels_ lack.")
    return index


def iter_level_blocks(affinity, levels, y_query, y_database, block_size=256):
    """Yield ``(query_slice, level_index)`` for consecutive blocks of queries."""
    for rows in gen_batches(len_targets(y_query), block_size):
        yield rows, level_index(affinity, levels, y_query[rows], y_database)


def len_targets(y):
    """Number of samples of any kind of targets (sparse matrices have no len)."""
    return y.shape[0]


def _choose_affinity(y):
    if y is None:
        return ThresholdAffinity(), None
    if isinstance(y, PrecomputedAffinity):
        return y, y
    y = y if sp.issparse(y) else np.asarray(y)
    shape = y.shape
    if len(shape) != 2 or shape[1] == 1:
        return LabelAffinity(), y
    if shape[0] == shape[1]:
        precomputed = PrecomputedAffinity(y)
        return precomputed, precomputed
    if shape[1] > shape[0] or not _is_indicator(y):
        raise ValueError(
            f"y of shape {shape} is neither labels, nor a 0/1 label indicator with at "
            "most as many columns as rows. If it is a matrix of affinities that "
            "cross-validation has sliced by rows, pass y=PrecomputedAffinity(matrix), "
            "which is sliced by rows and columns. If it is a label indicator, pass "
            "affinity=SharedLabelAffinity()."
        )
    return SharedLabelAffinity(), y


def _is_indicator(y):
    values = y.data if sp.issparse(y) else y
    return values.dtype.kind in "biuf" and not np.any((values != 0) & (values != 1))


def _check_affinity_matrix(affinity):
    matrix = check_array(affinity, accept_sparse="csr", dtype=None, input_name="affinity")
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"affinity must be square, got shape {matrix.shape}. If "
            "cross-validation sliced it by rows, wrap the whole matrix in "
            "PrecomputedAffinity and pass that as y."
        )
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.dtype.kind not in "biuf" or np.any(values < 0) or np.any(values % 1):
        raise ValueError(
            "affinity must hold non-negative integers (0: not similar); negative or "
            "fractional values have no place in a ranking by levels. Round or bin them."
        )
    return matrix if values.dtype.kind in "iu" else matrix.astype(np.int64)


def _equal(matrix, other):
    if matrix is other:
        return True
    if matrix.shape != other.shape or sp.issparse(matrix) != sp.issparse(other):
        return False
    if sp.issparse(matrix):
        return (matrix != other).nnz == 0
    return np.array_equal(matrix, other)


def _is_missing(label):
    return label is None or is_pandas_na(label) or label != label


def _most_labels(indicator):
    return int(np.asarray(indicator.sum(axis=1)).max())


def _pairwise_distances(rows):
    distances = euclidean_distances(rows)
    return distances[~np.tri(len(rows), dtype=bool)]


def _distance_of_equals(rows):
    """Bound of what rounding makes of the distance 0 of two equal rows."""
    largest = np.einsum("ij,ij->i", rows, rows, dtype=np.float64).max()
    return np.sqrt(4 * np.finfo(np.float64).eps * rows.shape[1] * largest)
