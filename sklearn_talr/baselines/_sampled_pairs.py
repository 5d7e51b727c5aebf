"""Base of the hashers of this room, which learn from some rows and all their pairs."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._compat import Interval, StrOptions, fit_context
from .._random import independent_random_state
from .._state import replace_fitted
from .._threads import one_thread
from ..affinity import fit_affinity
from ..hashing._base import (
    BaseHasher,
    all_rows_equal,
    check_features,
    mean_and_unit,
)


class SampledPairs(NamedTuple):
    """Rows drawn at random, and the affinities of all their pairs.

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


class DiscreteHasher(BaseHasher):
    """Base of hashers that learn from rows drawn at random and all their pairs.

    Subclasses define ``_fit_pairs(X, affinities, rng)``, which takes the rows drawn and the
    affinities of their pairs as :class:`SampledPairs` has them, and returns the fitted
    attributes.
    """

    _parameter_constraints: dict = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "affinity": [StrOptions({"auto"}), callable],
        "subsample": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn from samples drawn at random and all their pairs.

        Parameters
        ----------
        X : {array-like, CSR} of shape (n_samples, n_features)
            Features of at least two samples.

        y : targets of length n_samples, default=None
            What similarity means, see `affinity`.

        Returns
        -------
        self : object
            The fitted hasher.

        Raises
        ------
        ValueError
            If X and y do not fit, X or what is drawn of it is constant, no pair of samples
            is similar, or all pairs are equally similar. For :class:`StructHasher` one of
            the samples drawn must also have both similar and dissimilar ones among them.
        """
        pairs = sample_pairs(self, X, y)
        with one_thread():
            fitted = self._fit_pairs(pairs.X, pairs.affinities, pairs.rng)
        return replace_fitted(self, pairs.fitted | fitted)


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
    intercepts = [np.broadcast_to(intercept, coef.shape[1]).astype(np.float64)]
    return {"coefs_": [coef / unit], "intercepts_": intercepts, "means_": [mean]}
