"""Validation samples: a set of the user's own, or samples that are held out."""

import copy
from typing import NamedTuple

import numpy as np

from .._base import check_more_features
from ._functions import encode


class ValidationData(NamedTuple):
    """Checked features and targets of a validation set.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_val, n_features)
        Features.

    targets : sequence of length n_val
        Targets of the affinity of the training samples.
    """

    X: object
    targets: object


def check_validation(hasher, seen, affinity, X_val, y_val, by_features):
    """Check the validation set that `fit` is given.

    Parameters
    ----------
    hasher : SupervisedHasher
        To be fitted.

    seen : dict
        Fitted attributes that say which features the training samples have.

    affinity : affinity oracle
        Who is similar to whom, fitted on the training samples.

    X_val, y_val : features and targets
        As the user gave them.

    by_features : bool
        Whether features are their own targets, so that no `y_val` is needed.

    Returns
    -------
    validation : ValidationData
        Checked.

    Raises
    ------
    ValueError
        If one of the two is missing, nothing would look at them, they do not fit each
        other or the training samples, or there is nothing to rank.
    """
    if not hasher.early_descent:
        raise ValueError(
            "X_val and y_val are passed to fit, but with early_descent=False nothing "
            "would look at them. Set early_descent=True."
        )
    if X_val is None:
        raise ValueError("y_val is passed to fit, but X_val is not. Pass both.")
    if y_val is None and not by_features:
        raise ValueError(
            "X_val is passed to fit, but y_val is not. Pass its targets, which have the "
            "form of y."
        )
    if affinity.comes_with_targets:
        affinity = _matrix_of_validation(y_val)
    fitted = copy.copy(hasher)
    vars(fitted).update(seen)
    try:
        X_val, _ = check_more_features(fitted, X_val)
        targets = affinity.check_targets(X_val if y_val is None else y_val)
        _check_lengths(X_val, targets)
        affinity.check_contrast(targets, affinity.levels_between(targets, targets))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"The validation set X_val, y_val cannot be used: {error}"
        ) from error
    return ValidationData(X_val, targets)


def _matrix_of_validation(y_val):
    """Ready affinities of the validation samples, of the same matrix or of another."""
    if not getattr(y_val, "comes_with_targets", False):
        raise ValueError(
            "y_val must be a PrecomputedAffinity, as y is a matrix of affinities: that of "
            "the validation samples, or a selection from that of all samples, such as "
            f"PrecomputedAffinity(matrix)[rows]. Got {type(y_val).__name__}."
        )
    return y_val


def _check_lengths(X_val, targets):
    if targets.shape[0] != X_val.shape[0]:
        raise ValueError(
            f"X_val has {X_val.shape[0]} samples, and y_val {targets.shape[0]}."
        )


class ValidationScore:
    """Tie-aware score of samples, each of which ranks the others.

    Neither queries nor database items are trained on. Against a database of training rows
    scores would be higher, since the codes of training rows are fitted.

    Parameters
    ----------
    affinity : affinity oracle
        Who is similar to whom, fitted.

    features : Features
        Features of the samples, and perhaps of others.

    samples : ndarray of int
        Rows of `features`.

    targets : sequence
        Targets of the samples.

    scorer : callable
        ``scorer(hasher, X, y) -> float``.
    """

    def __init__(self, affinity, features, samples, targets, scorer):
        self.affinity_ = affinity
        self._scorer = scorer
        self._features = features
        self._samples = samples
        self._targets = targets

    def __len__(self):
        """Number of samples."""
        return len(self._samples)

    def __call__(self, module):
        """Score of the codes of a module, or, without a module, of codes that are equal."""
        self._module = module
        return self._scorer(self, self._samples, self._targets)

    def transform(self, samples):
        """Codes of some samples: to the scorer this object is a fitted hasher."""
        if self._module is None:
            return np.zeros((len(samples), 1), np.uint8)
        return encode(self._module, self._features, samples)

    def is_collapsed(self, score):
        """Whether most of the codes just scored are equal, and rank as if all were."""
        codes = self.transform(self._samples)
        counts = np.unique(codes, axis=0, return_counts=True)[1]
        if 2 * counts.max() < len(codes):
            return False
        equal = self(None)
        return score < equal + 0.01 * (1 - equal)


def split_samples(data, n_held_out, rng):
    """Row indices for training and for validation, both ascending.

    Raises
    ------
    ValueError
        If either part is too small to rank anything.
    """
    n_samples = data.targets.shape[0]
    if n_held_out < 2 or n_samples - n_held_out < 2:
        raise ValueError(
            "early_descent=True with this validation_fraction would split "
            f"{n_samples} samples into {n_samples - n_held_out} for training and "
            f"{n_held_out} for validation; both need at least 2. Change "
            "validation_fraction, or set early_descent=False."
        )
    order = rng.permutation(n_samples)
    parts = np.sort(order[n_held_out:]), np.sort(order[:n_held_out])
    for part, name in zip(parts, ("training", "validation")):
        try:
            data.affinity.check_contrast(data.targets[part], data.levels)
        except ValueError as error:
            raise ValueError(
                "early_descent=True with this validation_fraction leaves "
                f"{len(part)} samples for {name}, which cannot be ranked: {error} "
                "More samples, another validation_fraction or early_descent=False may "
                "help."
            ) from error
    return parts
