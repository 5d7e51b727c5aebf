"""From the `y` of a user to an oracle, to checked targets and to indices of levels."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from .._arrays import as_numpy
from ._forms import lists_as_array, refuse_features, refuse_tags
from ._labels import LabelAffinity, SharedLabelAffinity, is_indicator
from ._precomputed import PrecomputedAffinity
from ._threshold import ThresholdAffinity


def resolve_affinity(affinity, X, y):
    """Settle which oracle and which targets `fit(X, y)` means.

    Parameters
    ----------
    affinity : "auto" or affinity oracle
        ``"auto"`` chooses by the form of `y`, which may be labels, indicators, a
        :class:`PrecomputedAffinity`, a square matrix, or None for distances in X.

    X : ndarray of shape (n_samples, n_features)
        Checked features. They are the targets if `y` is None.

    y : targets or None
        Targets as the user gave them.

    Returns
    -------
    affinity : affinity oracle
        The oracle that the user gave, or an unfitted one.

    targets : sequence of length n_samples
        Checked targets of that oracle.

    Raises
    ------
    ValueError
        If `affinity` is no oracle, or the form of `y` tells none.
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
    y = as_numpy(y)
    if isinstance(affinity, str):
        affinity, y = _choose_affinity(y)
    if y is None:
        y = affinity if isinstance(affinity, PrecomputedAffinity) else X
    return affinity, checked_targets(affinity, y)


def checked_targets(affinity, y):
    """Check targets by the oracle's method for it, which a plain function lacks."""
    y = as_numpy(y)
    check = getattr(affinity, "check_targets", None)
    if check:
        return check(y)
    return y.tocsr() if sp.issparse(y) else np.asarray(y)


def level_values(affinity, y_query, y_database):
    """Return the values that the affinity of these targets can take, sorted, 0 first."""
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
    """Evaluate an oracle and return indices into `levels`, shape (n_query, n_database)."""
    values = affinity(y_query, y_database)
    ours = hasattr(affinity, "levels_between")
    if ours and levels[-1] == len(levels) - 1:  # levels 0, 1, 2, ... are their own indices
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
    """Return the number of targets, which may be a sparse matrix and have no len."""
    return y.shape[0]


def _choose_affinity(y):
    if y is None:
        return ThresholdAffinity(), None
    if isinstance(y, PrecomputedAffinity):
        return y, y
    y = y if sp.issparse(y) else np.asarray(lists_as_array(y))
    shape = y.shape
    if len(shape) != 2 or shape[1] == 1:
        return LabelAffinity(), y
    if not sp.issparse(y):
        refuse_tags(y)
    refuse_features(y)
    if shape[0] == shape[1]:
        precomputed = PrecomputedAffinity(y)
        return precomputed, precomputed
    if shape[1] > shape[0] or not is_indicator(y):
        raise ValueError(
            f"y of shape {shape} is neither labels, nor a 0/1 label indicator with at "
            "most as many columns as rows. If it is a matrix of affinities that "
            "cross-validation has sliced by rows, pass y=PrecomputedAffinity(matrix), "
            "which is sliced by rows and columns. If it is a label indicator, pass "
            "affinity=SharedLabelAffinity(). If its rows list the labels of each sample, "
            "pass MultiLabelBinarizer().fit_transform(y). If they are features, pass "
            "affinity=ThresholdAffinity()."
        )
    return SharedLabelAffinity(), y
