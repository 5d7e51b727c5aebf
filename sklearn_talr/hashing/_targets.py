"""From what a user passes as `y` to a fitted oracle of affinity, and checked targets."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from .._arrays import as_numpy
from .._threads import one_thread
from ..affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from ..affinity._contrast import check_contrast
from ..affinity._forms import lists_as_array
from ..affinity._resolve import len_targets, level_values, resolve_affinity


def fit_affinity(affinity, X, y):
    """Settle who is similar to whom.

    Parameters
    ----------
    affinity : "auto" or affinity oracle
        As the user gave it; an oracle that can be fitted is cloned first.

    X : ndarray or CSR of shape (n_samples, n_features)
        Checked features.

    y : targets or None
        As the user gave them.

    Returns
    -------
    affinity : affinity oracle
        Fitted.

    targets : sequence of length n_samples
        Checked targets.

    levels : ndarray
        Values that the affinity takes, in ascending order, first 0.

    Raises
    ------
    ValueError
        If X and y do not fit, no pair of samples is similar, or all are equally so.
    """
    affinity, targets = choose_affinity(affinity, X, y)
    affinity = fit_oracle(affinity, targets)
    levels = level_values(affinity, targets, targets)
    check_contrast(affinity, levels, targets)
    return affinity, targets, levels


def choose_affinity(affinity, X, y):
    """Settle which oracle is meant, not fitted yet, and check the targets."""
    by_distance = isinstance(affinity, (str, ThresholdAffinity))
    if y is None and by_distance and sp.issparse(X):
        raise ValueError(
            "y=None means affinity by distance, which needs dense rows, but X is "
            "sparse. Pass y: labels, or dense feature rows of fewer dimensions with "
            "affinity=ThresholdAffinity()."
        )
    affinity, targets = resolve_affinity(affinity, X, y)
    if len_targets(targets) != X.shape[0]:
        raise ValueError(
            "X and y must have the same number of samples, got "
            f"{X.shape[0]} and {len_targets(targets)}."
        )
    return affinity, targets


def fit_oracle(affinity, targets):
    """Fit a clone of an oracle that can be fitted; any other one is returned as it is."""
    if not isinstance(affinity, BaseEstimator):
        return affinity
    with one_thread():
        return clone(affinity).fit(targets)


def class_affinity(affinity, y, needed_by):
    """Choose the oracle of labels or label indicators: nothing else names classes.

    A square array of ``y`` is a label indicator here, where else it would be affinities.
    """
    if y is None:
        raise ValueError(
            f"{needed_by} requires y to be passed, but the target y is None. "
            "Pass class labels or label indicators."
        )
    if isinstance(affinity, LabelAffinity | SharedLabelAffinity):
        return affinity
    if not isinstance(affinity, str):
        raise ValueError(
            f"{needed_by} aims at codes of classes, which affinity={affinity!r} does not "
            "name. Pass class labels or label indicators as y, and leave affinity='auto'."
        )
    y = y if sp.issparse(y) else np.asarray(lists_as_array(as_numpy(y)))
    one_label = y.ndim == 1 or y.shape[1:] == (1,)
    return LabelAffinity() if one_label else SharedLabelAffinity()
