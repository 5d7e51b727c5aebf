"""Rows drawn at random in which each class or label is represented."""

import numpy as np
import scipy.sparse as sp

from .._core.validation import as_numpy

# Rows of each class that are drawn first, if the class has as many
_ROWS_PER_CLASS = 10


def draw_rows(y, n_drawn, rng, groups=None):
    """Draw rows at random such that each class or label is among them.

    Ten rows of each class are drawn first, or fewer if ten of each do not fit. Then all
    other rows are drawn with equal chances, so large classes keep their shares.

    Parameters
    ----------
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_labels)
        Classes, or label indicators.

    n_drawn : int
        Largest number of rows.

    rng : RandomState
        Generator.

    groups : array-like of shape (n_samples,), default=None
        Rows of one group are drawn together or not at all. None: each row is its own group.

    Returns
    -------
    rows : ndarray of int
        The rows, ascending. Of groups, as many as fit, and one at least.
    """
    members = rows_of_classes(y)
    n_samples = y.shape[0] if hasattr(y, "shape") else len(y)
    n_per_class = max(1, min(_ROWS_PER_CLASS, n_drawn // max(1, len(members))))
    order = rng.permutation(n_samples)
    places = np.empty(n_samples, dtype=np.int64)
    places[order] = np.arange(n_samples)
    is_first = np.zeros(n_samples, dtype=bool)
    for rows in members:
        n_first = min(n_per_class, len(rows))
        nearest = np.argpartition(places[rows], n_first - 1)[:n_first]
        is_first[rows[nearest]] = True
    order = np.concatenate((order[is_first[order]], order[~is_first[order]]))
    if groups is None:
        return np.sort(order[:n_drawn])
    return _rows_of_groups(np.asarray(as_numpy(groups, "groups")), order, n_drawn)


def rows_of_classes(y):
    """Rows of each class, or of each label that occurs, as a list of arrays of int."""
    if sp.issparse(y):
        columns = y.tocsc()
        columns.eliminate_zeros()
        members = np.split(columns.indices, columns.indptr[1:-1])
        return [rows for rows in members if len(rows)]
    y = np.asarray(as_numpy(y, "y"))
    if y.ndim == 2 and y.shape[1] > 1:
        members = [np.flatnonzero(has_label) for has_label in y.T]
        return [rows for rows in members if len(rows)]
    _, classes, sizes = np.unique(y.ravel(), return_inverse=True, return_counts=True)
    return np.split(np.argsort(classes, kind="stable"), np.cumsum(sizes)[:-1])


def _rows_of_groups(groups, order, n_drawn):
    """Rows of whole groups; the groups are taken in the order of their first rows."""
    _, numbers, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    _, firsts = np.unique(numbers[order], return_index=True)
    drawn_order = numbers[order[np.sort(firsts)]]
    fits = np.cumsum(sizes[drawn_order]) <= n_drawn
    fits[0] = True
    return np.flatnonzero(np.isin(numbers, drawn_order[fits]))
