"""Weights of the hash function before training, and in the unit of the features."""

import numpy as np

from .._base import centred, feed_forward
from .._projections import PROJECTIONS


def first_weights(X, hidden_layer_sizes, n_bits, init, rng):
    """Random hidden layers (He et al., ICCV 2015), then an unsupervised projection."""
    coefs, intercepts = [], []
    for size in hidden_layer_sizes:
        n_inputs = coefs[-1].shape[1] if coefs else X.shape[1]
        # Rows of X have unit mean square in all, hidden units each.
        variance = 1.0 if not coefs else 2.0 / n_inputs
        coefs.append(rng.standard_normal((n_inputs, size)) * np.sqrt(variance))
        intercepts.append(np.zeros(size))
    hidden = np.maximum(feed_forward(X, coefs, intercepts), 0) if coefs else X
    hidden, mean = centred(hidden)
    projection = PROJECTIONS[init](hidden, n_bits, rng)
    projection /= np.sqrt(np.mean((hidden @ projection) ** 2)) or 1.0
    return [*coefs, projection], [*intercepts, -mean @ projection]


def to_feature_units(coefs, intercepts, mean, unit):
    """Let the first layer take features instead of (features - mean) / unit."""
    first = coefs[0] / unit
    return [first, *coefs[1:]], [intercepts[0] - mean @ first, *intercepts[1:]]


def to_standard_units(coefs, intercepts, mean, unit):
    """The inverse of :func:`to_feature_units`."""
    first = coefs[0]
    return [first * unit, *coefs[1:]], [intercepts[0] + mean @ first, *intercepts[1:]]
