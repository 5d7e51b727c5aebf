"""Targets of the items: who is similar to whom, and what they vote for."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from ..affinity import LabelAffinity, PrecomputedAffinity, SharedLabelAffinity
from ..affinity._resolve import len_targets, resolve_affinity


def settle_targets(affinity, y, n_items):
    """Find oracle and checked targets, (None, None) if there are no targets.

    An oracle that is fitted already keeps its levels; others are fitted on `y`.
    """
    if y is None:
        return None, None
    affinity, targets = resolve_affinity(affinity, None, y)
    if len_targets(targets) != n_items:
        raise ValueError(
            "codes and y must have the same number of samples, got "
            f"{n_items} and {len_targets(targets)}."
        )
    if isinstance(affinity, BaseEstimator) and "levels_" not in vars(affinity):
        affinity = clone(affinity).fit(targets)
    return affinity, targets


def append_targets(affinity, targets, y, n_new):
    """Targets of old and new items; both must have some, or neither."""
    if (y is None) != (targets is None):
        known = "without y" if targets is None else "with y"
        raise ValueError(f"The first items were added {known}, so must the others be.")
    if y is None:
        return None
    _, new = settle_targets(affinity, y, n_new)
    if isinstance(new, PrecomputedAffinity):
        raise ValueError(
            "y is a PrecomputedAffinity, to which nothing can be added. Call fit with all "
            "codes and the whole matrix."
        )
    if targets.ndim > 1 and targets.shape[1] != new.shape[1]:
        raise ValueError(
            f"y has {new.shape[1]} columns, but that of the first items {targets.shape[1]}."
        )
    if sp.issparse(targets) or sp.issparse(new):
        return sp.vstack([sp.csr_array(targets), sp.csr_array(new)], format="csr")
    if (targets.dtype.kind in "US") != (new.dtype.kind in "US"):
        raise ValueError(
            f"y has dtype {new.dtype}, but that of the first items has {targets.dtype}."
        )
    return np.concatenate((targets, new))


def ballots(affinity, targets):
    """What each item votes for, as a CSR array of shape (n_items, n_classes).

    Returns
    -------
    votes : csr_array of int64
        One 1 for the class of an item, or one for each of its labels.

    classes : ndarray of shape (n_classes,) or None
        Labels of the classes; None where the items carry several.
    """
    if isinstance(affinity, LabelAffinity):
        classes, index = np.unique(targets, return_inverse=True)
        n_items = len(targets)
        ones = np.ones(n_items, dtype=np.int64)
        ends = np.arange(n_items + 1)
        return sp.csr_array((ones, index, ends), shape=(n_items, len(classes))), classes
    if isinstance(affinity, SharedLabelAffinity):
        return sp.csr_array(targets).astype(np.int64), None
    raise ValueError(
        "predict needs y of labels or label indicators in fit, got "
        f"{'none' if affinity is None else type(affinity).__name__}."
    )
