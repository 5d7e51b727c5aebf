"""Rows drawn at random, and the affinity of all their pairs."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..affinity import fit_affinity
from ..hashing._door import (
    all_rows_equal,
    check_features,
    independent_random_state,
    mean_and_unit,
)


class SampledPairs(NamedTuple):
    """What a discrete hasher is fitted to.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Rows drawn, dense.

    affinities : ndarray of shape (n, n)
        Their affinities, divided by the highest that the oracle knows.

    rng : RandomState
        Has drawn the rows, and goes on from there.

    fitted : dict
        Fitted attributes that are known already.
    """

    X: np.ndarray
    affinities: np.ndarray
    rng: np.random.RandomState
    fitted: dict


def sample_pairs(hasher, X, y):
    """Check features and targets, and draw at most `hasher.subsample` of the rows."""
    rng = independent_random_state(hasher.random_state)
    X, seen = check_features(hasher, X)
    affinity, targets, levels = fit_affinity(hasher.affinity, X, y)
    rows = rng.permutation(X.shape[0])[: hasher.subsample]
    index = affinity.level_index(targets[rows], targets[rows], levels)
    X = X[rows].toarray() if sp.issparse(X) else X[rows]
    if all_rows_equal(X):
        raise ValueError(
            f"The {len(rows)} samples drawn have equal features. Raise subsample."
        )
    affinities = np.take(levels / levels[-1], index)
    return SampledPairs(X, affinities, rng, seen | {"affinity_": affinity.given})


def in_units(X):
    """Rows less their mean, with a mean squared norm of 1; the mean, and the unit."""
    mean, unit = mean_and_unit(X)
    return (X - mean) / unit, mean, unit


def linear_function(coef, intercept, mean, unit):
    """Fitted attributes of a linear function of features that were brought `in_units`."""
    coef = coef / unit
    return {"coefs_": [coef], "intercepts_": [intercept - mean @ coef]}
