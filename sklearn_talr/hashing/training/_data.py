"""Checked features and targets of a training by gradients."""

import copy
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from ..._core.validation import as_numpy, refuse_unlike_labels
from ...affinity import (
    LabelAffinity,
    SharedLabelAffinity,
    fit_affinity,
    resolve_affinity,
)
from ...affinity._excluded import within_groups
from ...features._similar_rows import SimilarRows
from .._base import check_features, errors_in_message


@dataclass(frozen=True)
class ValidationData:
    """A validation set of the user, which is scored and never trained on."""

    X: object  # (n_val, n_features), array, CSR or tensor
    affinity: object  # the fitted affinity oracle
    targets: object  # sequence of length n_val


@dataclass(frozen=True)
class TrainingData:
    """Checked features and targets, and the fitted affinity between samples."""

    X: object  # (n_samples, n_features), array, CSR or tensor
    targets: object  # sequence of length n_samples, as the affinity takes them
    affinity: object  # the fitted affinity oracle
    levels: np.ndarray  # (n_levels,), values of the affinity, ascending, first 0
    # Fitted attributes with the number and the names of the features
    seen: dict = field(default_factory=dict)
    declared_levels: np.ndarray | None = None  # levels that the user declared for chunks
    validation: ValidationData | None = None
    similar: SimilarRows | None = None  # None if the targets are the features themselves


def check_data(hasher, loss, X, y, *, groups=None, X_val=None, y_val=None, groups_val=None):
    """Check the features, targets and affinity that are passed to `fit`.

    Returns
    -------
    data : TrainingData
        The checked data.
    """
    affinity = hasher.affinity
    if loss.needs_classes:
        affinity, y = _affinity_of_classes(hasher, y)
    refuse_unlike_labels(X, y, ("X", "y"))
    refuse_unlike_labels(X, groups, ("X", "groups"))
    refuse_unlike_labels(X_val, y_val, ("X_val", "y_val"))
    refuse_unlike_labels(X_val, groups_val, ("X_val", "groups_val"))
    X, seen = check_features(hasher, X)
    by_features = y is None
    if loss.needs_classes and groups is not None:
        raise ValueError(f"{loss!r} compares no pairs, which groups would leave out.")
    affinity, targets, levels = fit_affinity(affinity, X, y, groups)
    similar = None if by_features else SimilarRows(affinity, targets, levels)
    data = TrainingData(X, targets, affinity, levels=levels, seen=seen, similar=similar)
    if X_val is None and y_val is None and groups_val is None:
        return data
    validation = _check_validation(hasher, data, X_val, y_val=y_val, groups_val=groups_val)
    return replace(data, validation=validation)


def _affinity_of_classes(hasher, y):
    """The affinity and targets of a loss that learns classes."""
    if y is None:
        raise ValueError(
            f"{type(hasher.loss).__name__} requires y to be passed, but the target y "
            "is None. Pass class labels or label indicators."
        )
    affinity = hasher.affinity
    # "auto" means labels or indicators: a square array is an indicator here, too.
    if isinstance(affinity, str):
        y = as_numpy(y, "y")
        shape = y.shape if sp.issparse(y) else np.asarray(y, dtype=object).shape
        is_one_label = len(shape) == 1 or shape[1:] == (1,)
        affinity = LabelAffinity() if is_one_label else SharedLabelAffinity()
    return affinity, y


def _check_validation(hasher, data, X_val, *, y_val, groups_val):
    affinity = getattr(data.affinity, "ungrouped", data.affinity)
    _refuse_incomplete_validation(hasher, data, X_val, y_val=y_val)
    if affinity.comes_with_targets:
        # Ready affinities of these samples, of the same matrix or of another.
        affinity = y_val
        if not getattr(y_val, "comes_with_targets", False):
            raise ValueError(
                "y_val must be a PrecomputedAffinity, as y is a matrix of affinities: that "
                "of the validation samples, or a selection from that of all samples, such "
                f"as PrecomputedAffinity(matrix)[rows]. Got {type(y_val).__name__}."
            )
    fitted = copy.copy(hasher)
    vars(fitted).update(data.seen)
    with errors_in_message("The validation set X_val, y_val cannot be used: {}"):
        X_val, _ = check_features(fitted, X_val, reset=False)
        targets = affinity.check_targets(X_val if y_val is None else y_val)
        if targets.shape[0] != X_val.shape[0]:
            raise ValueError(
                f"X_val has {X_val.shape[0]} samples, and y_val {targets.shape[0]}."
            )
        affinity, targets = within_groups(affinity, targets, groups_val, "groups_val")
        affinity.check_contrast(targets, affinity.levels_between(targets, targets))
    return ValidationData(X_val, affinity, targets)


def _refuse_incomplete_validation(hasher, data, X_val, *, y_val):
    if not hasher.early_stopping:
        raise ValueError(
            "X_val and y_val are passed to fit, but early_stopping=False does not use "
            "them. Set early_stopping=True."
        )
    if X_val is None:
        raise ValueError("y_val or groups_val is passed without X_val. Pass both.")
    by_features = data.similar is None and data.affinity.by_distance
    if y_val is None and not by_features:
        raise ValueError(
            "X_val is passed to fit, but y_val is not. Pass its targets, which have the "
            "form of y."
        )


def check_chunk(hasher, X, y, levels, *, groups=None):
    """Check the arguments of `partial_fit`; pairs of one chunk may all be alike.

    Returns
    -------
    data : TrainingData
        The checked chunk.
    """
    is_first = not hasattr(hasher, "n_iter_")
    X, seen = check_features(hasher, X, reset=is_first)
    # All chunks have the affinity of the first chunk. Only matrices come with each chunk.
    affinity = hasher.affinity
    declared_levels = None
    if not is_first:
        declared_levels = hasher._training_state_["declared_levels"]
        if y is None or not getattr(hasher.affinity_, "comes_with_targets", False):
            affinity = hasher.affinity_
    affinity, targets = resolve_affinity(affinity, X, y)
    affinity = affinity.fit_clone(targets) if is_first else affinity
    if levels is not None:
        declared_levels = _check_declared_levels(levels, declared_levels)
    levels = _levels_of_chunk(affinity, targets, declared_levels)
    affinity, targets = within_groups(affinity.with_levels(levels), targets, groups)
    similar = None if y is None else SimilarRows(affinity, targets, levels)
    return TrainingData(
        X,
        targets,
        affinity,
        levels=levels,
        seen=seen,
        declared_levels=declared_levels,
        similar=similar,
    )


def _check_declared_levels(levels, earlier_levels):
    levels = np.atleast_1d(np.asarray(levels))
    ascends = levels.ndim == 1 and len(levels) > 1 and np.all(np.diff(levels) > 0)
    if levels.dtype.kind not in "iu" or not ascends or levels[0] != 0:
        raise ValueError(f"levels must be integers that ascend from 0, got {levels}.")
    if earlier_levels is not None and not np.array_equal(levels, earlier_levels):
        raise ValueError(
            f"levels={levels.tolist()} differ from those of the first call of "
            f"partial_fit, {earlier_levels.tolist()}."
        )
    return levels


def _levels_of_chunk(affinity, targets, declared_levels):
    """Levels that the first call has declared, or that the oracle has."""
    if hasattr(affinity, "levels_"):
        oracle_levels = affinity.levels_between(targets, targets)
        levels = oracle_levels if declared_levels is None else declared_levels
        lacking = np.setdiff1d(oracle_levels, levels)
        if lacking.size:
            raise ValueError(
                f"levels={levels.tolist()} lacks {lacking.tolist()}, which the affinity "
                "of these targets may take."
            )
        return levels
    if declared_levels is None:
        raise ValueError(
            f"affinity {affinity!r} does not declare levels_. Pass levels to the first "
            "call of partial_fit: all values that the affinity can take, first 0."
        )
    return declared_levels
