"""Affinities of a matrix, which cross-validation may slice."""

from copy import copy

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from .._core.compat import validated
from .._core.types import Any, Array, Rows, Self
from .._core.validation import refuse_masked
from ._base import NOT_COUNTED, BaseAffinity, lists_as_array, targets_as_csr


class PrecomputedAffinity(BaseAffinity):
    """A known matrix of affinities, safe to slice in cross-validation.

    Pass it to `fit` as `y`. scikit-learn slices an (n, n) array by rows only, without a
    warning; this object slices rows and columns together. It is both the targets and the
    affinity. A selection, such as ``y[train]``, keeps the whole matrix and the row numbers
    of its samples, so ``y(y[train], y[test])`` returns the affinities between two
    selections.

    Parameters
    ----------
    affinity : {array-like, sparse matrix} of shape (n_samples, n_samples)
        Integers. An entry of 0 means "not similar". Entries below 0 and NaN mark ignored
        pairs, and become -1. Rows are queries and columns are database items; the matrix
        need not be symmetric. Entries that a sparse matrix stores more than once add up, as
        in SciPy. An integer array or an integer CSR matrix without entries below -1 is not
        copied, and must not be changed afterwards.

    Attributes
    ----------
    shape : tuple of int
        ``(n_samples, n_samples)`` of the current selection.

    levels_ : ndarray of shape (n_levels,)
        Affinities that the whole matrix has, in ascending order, without -1. The first is
        0, even if no entry is 0.

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

    comes_with_targets = True
    # `levels_` are read from the matrix, so each affinity is one of them.
    _levels_are_sure = True

    @validated(affinity=["array-like", "sparse matrix"])
    def __init__(self, affinity: Rows) -> None:
        _refuse_other_order(affinity)
        refuse_masked(affinity=affinity)
        matrix = _checked_matrix(affinity)
        _refuse_fractions(_entries_of(matrix))
        self._matrix = _with_ignored_as_minus_one(matrix)
        # Rows of the whole matrix that are selected, which are also its selected columns
        self._rows = np.arange(matrix.shape[0])
        entries = _entries_of(self._matrix)
        self.levels_ = np.union1d([0], entries[entries >= 0]).astype(int)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns of the current selection."""
        return len(self._rows), len(self._rows)

    @property
    def ndim(self) -> int:
        """Number of dimensions, 2."""
        return 2

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows: Any) -> Self:
        """Select samples, rows and columns together.

        Parameters
        ----------
        rows : slice, index array or boolean mask
            The samples to keep. A tuple ``(rows, ...)``, with which scikit-learn indexes
            arrays, counts as its first entry.

        Returns
        -------
        selection : PrecomputedAffinity
            These samples with the same matrix, which is not copied.
        """
        if isinstance(rows, tuple):
            rows = rows[0]
        # A single integer selects one sample.
        return self._select(np.atleast_1d(self._rows[rows]))

    def _rows_of(self, y):
        """Rows of the whole matrix that a selection `y` consists of."""
        return self.check_targets(y)._rows

    def _select(self, matrix_rows):
        """The selection of these rows of the whole matrix, and of the same columns."""
        selection = copy(self)
        selection._rows = matrix_rows
        return selection

    def toarray(self) -> Array:
        """Return the affinities among the selected samples as a dense array."""
        return self(self, self)

    def check_targets(self, y: Any) -> Any:
        """Return `y` if it is a selection from an equal matrix, or raise TypeError."""
        if isinstance(y, PrecomputedAffinity):
            if y._matrix is self._matrix:
                return y
            if _are_equal(y._matrix, self._matrix):
                # Pickled selections hold a matrix of their own. This selection holds the
                # matrix of `self`, so that the matrices are not compared again.
                return self._select(y._rows)
        raise TypeError(
            "y must be a selection of the same PrecomputedAffinity; pass the object "
            "itself (or a slice of it) as y."
        )

    def targets_of(self, X: Rows) -> Any:
        """Return this object, which is the targets of samples that come without `y`."""
        return self

    def neighborhoods(self, y: Any, levels: Array) -> sp.csr_array | None:
        """Return the samples that are similar to each sample, as a sparse matrix.

        A dense matrix is treated as `BaseAffinity.neighborhoods` says. A sparse matrix is
        never too large, because its similar pairs are stored already.
        """
        if not sp.issparse(self._matrix):
            return super().neighborhoods(y, levels)
        rows = self._rows_of(y)
        similar = sp.csr_array(self._matrix[rows][:, rows]) > 0
        # A sample is in its own neighborhood, even if the matrix has 0 on its diagonal.
        return sp.csr_array(similar + sp.eye_array(len(y), dtype=bool))

    def __call__(self, y_query: Self, y_database: Self) -> Array:
        """Return the affinities between two selections.

        Parameters
        ----------
        y_query : PrecomputedAffinity
            Samples that are the queries.

        y_database : PrecomputedAffinity
            Samples that are the database.

        Returns
        -------
        affinity : ndarray of shape (n_query, n_database) of int
            Entries of the matrix, -1 for ignored pairs.
        """
        rows = self._rows_of(y_query)
        columns = self._rows_of(y_database)
        block = self._matrix[rows][:, columns]
        return block.toarray() if sp.issparse(block) else block

    def __repr__(self) -> str:
        return f"PrecomputedAffinity(n_samples={len(self)}, levels={self.levels_})"


def _refuse_other_order(affinity):
    """Raise ValueError if a data frame has its columns in another order than its rows."""
    if not hasattr(affinity, "iloc"):
        return
    rows = list(affinity.index)
    columns = list(affinity.columns)
    if rows != columns and set(rows) == set(columns):
        raise ValueError(
            "affinity names the same samples in its rows and columns, but in another "
            "order. Pass affinity.loc[:, affinity.index]."
        )


def _checked_matrix(affinity):
    """The square matrix of a user, as an ndarray or CSR matrix whose entries may be NaN."""
    matrix = lists_as_array(affinity)
    if sp.issparse(matrix):
        matrix = targets_as_csr(matrix)
    matrix = check_array(
        matrix,
        accept_sparse="csr",
        dtype=None,
        input_name="affinity",
        ensure_all_finite="allow-nan",
    )
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"affinity must be square, got shape {matrix.shape}. If "
            "cross-validation sliced it by rows, wrap the whole matrix in "
            "PrecomputedAffinity and pass that as y."
        )
    return matrix


def _entries_of(matrix):
    """Entries of a dense matrix, or those that a sparse matrix stores."""
    return matrix.data if sp.issparse(matrix) else matrix


def _refuse_fractions(entries):
    """Raise ValueError if entries are neither integers nor NaN."""
    if entries.dtype.kind not in "biuf" or np.any(entries % 1 > 0):
        raise ValueError(
            "affinity must hold integers (0: not similar, below 0: ignored). Round or "
            "bin fractions."
        )


def _with_ignored_as_minus_one(matrix):
    """The matrix as integers, with -1 for entries below 0 and NaN; a copy if need be."""
    entries = _entries_of(matrix)
    if entries.dtype.kind in "iu" and not np.any(entries < NOT_COUNTED):
        return matrix
    integers = np.where(entries >= 0, entries, NOT_COUNTED).astype(np.int64)
    if sp.issparse(matrix):
        return sp.csr_array((integers, matrix.indices, matrix.indptr), shape=matrix.shape)
    return integers


def _are_equal(first, second):
    """Whether two matrices hold the same affinities, both dense or both sparse."""
    if first.shape != second.shape or sp.issparse(first) != sp.issparse(second):
        return False
    return (first != second).sum() == 0
