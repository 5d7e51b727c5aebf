"""Training data: checked features and targets, at once or in chunks."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._arrays import as_numpy
from ...affinity import (
    LabelAffinity,
    SharedLabelAffinity,
    fit_affinity,
    resolve_affinity,
)
from .._base import check_features, check_more_features
from ._validation import ValidationData, check_validation


class TrainingData(NamedTuple):
    """Checked features and targets.

    Parameters
    ----------
    X : ndarray, CSR or tensor of shape (n_samples, n_features)
        Features.

    targets : sequence of length n_samples
        Targets of the affinity.

    affinity : affinity oracle
        Who is similar to whom, fitted.

    levels : ndarray
        Values that the affinity takes, in ascending order, first 0.

    declared_levels : ndarray or None
        Levels that the user has declared for all chunks.

    seen : dict
        Fitted attributes that say which features were seen.

    validation : ValidationData or None, default=None
        The validation set of the user.
    """

    X: object
    targets: object
    affinity: object
    levels: np.ndarray
    declared_levels: np.ndarray | None
    seen: dict
    validation: ValidationData | None = None


def check_data(hasher, loss, X, y, X_val=None, y_val=None):
    """Check the features, targets and affinity that `fit` is given."""
    affinity = hasher.affinity
    if getattr(loss, "needs_classes", False):
        affinity = _class_affinity(affinity, y, type(loss).__name__)
    X, seen = check_features(hasher, X)
    affinity, targets, levels = fit_affinity(affinity, X, y)
    validation = None
    if X_val is not None or y_val is not None:
        by_features = y is None and affinity.by_distance
        validation = check_validation(hasher, seen, affinity, X_val, y_val, by_features)
    return TrainingData(X, targets, affinity, levels, None, seen, validation)


def _class_affinity(affinity, y, needed_by):
    """Choose the affinity for a loss of classes, where "auto" means labels or indicators.

    A square array of ``y`` is a label indicator here, where else it would be affinities.
    """
    if y is None:
        raise ValueError(
            f"{needed_by} requires y to be passed, but the target y is None. "
            "Pass class labels or label indicators."
        )
    if not isinstance(affinity, str):
        return affinity
    y = as_numpy(y)
    shape = y.shape if sp.issparse(y) else np.asarray(y, dtype=object).shape
    one_label = len(shape) == 1 or shape[1:] == (1,)
    return LabelAffinity() if one_label else SharedLabelAffinity()


def check_chunk(hasher, X, y, levels):
    """Check the arguments of `partial_fit`; pairs of one chunk may all be alike."""
    if not hasattr(hasher, "n_iter_"):
        X, seen = check_features(hasher, X)
        affinity, targets = resolve_affinity(hasher.affinity, X, y)
        affinity, before = affinity.fit_clone(targets), None
    else:
        X, seen = check_more_features(hasher, X)
        affinity, targets = resolve_affinity(_affinity_of_next_chunk(hasher, y), X, y)
        before = hasher._training_state_["declared_levels"]
    declared = _check_levels(levels, before)
    levels = _levels_of_chunk(affinity, targets, declared)
    affinity = affinity.with_levels(levels)
    return TrainingData(X, targets, affinity, levels, declared, seen)


def _affinity_of_next_chunk(hasher, y):
    """The fitted affinity, or the matrix of this chunk where targets bring their own."""
    if getattr(hasher.affinity_, "comes_with_targets", False) and y is not None:
        return hasher.affinity
    return hasher.affinity_


def _check_levels(levels, before):
    """Check declared levels of affinity, which the first call of partial_fit settles."""
    if levels is None:
        return before
    levels = np.atleast_1d(np.asarray(levels))
    ascending = levels.ndim == 1 and len(levels) > 1 and np.all(np.diff(levels) > 0)
    if levels.dtype.kind not in "iu" or not ascending or levels[0] != 0:
        raise ValueError(f"levels must be integers that ascend from 0, got {levels}.")
    if before is not None and not np.array_equal(levels, before):
        raise ValueError(
            f"levels={levels.tolist()} differ from those of the first call of partial_fit, "
            f"{before.tolist()}."
        )
    return levels


def _levels_of_chunk(affinity, targets, declared):
    """Levels that the affinity takes: declared ones, or those that the oracle tells."""
    if not hasattr(affinity, "levels_") and declared is None:
        raise ValueError(
            f"affinity {affinity!r} does not tell its levels_. Pass them as levels on the "
            "first call of partial_fit: the values that it can take, first 0."
        )
    if declared is None:
        return affinity.levels_between(targets, targets)
    if hasattr(affinity, "levels_"):
        lacking = np.setdiff1d(affinity.levels_between(targets, targets), declared)
        if lacking.size:
            raise ValueError(
                f"levels={declared.tolist()} lacks {lacking.tolist()}, which the affinity "
                "of these targets may take."
            )
    return declared
