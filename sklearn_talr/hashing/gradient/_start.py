"""First weights of a feed-forward function."""

import math

import numpy as np
import scipy.sparse as sp

from .._base import feed_forward
from .._projections import PROJECTIONS, sparse_projection
from .._rows import centered

# The projection is made from at most so many rows and numbers. Principal directions of more
# rows hardly differ, and the rows are copied and made dense.
_MOST_ROWS = 20_000
_MOST_CELLS = 2**25


def start_weights(features, samples, layer_sizes, n_bits, init, rng):
    """Find first weights on a part of the rows, in the units of `features`."""
    n_features = features.X.shape[1]
    samples = _draw(samples, _MOST_ROWS, rng)
    is_large = len(samples) * n_features > _MOST_CELLS
    if is_large and sp.issparse(features.X) and not layer_sizes:
        return _sparse_start(features, samples, n_bits, init, rng)
    samples = _draw(samples, max(2, _MOST_CELLS // n_features), rng)
    return _dense_start(features.block(samples), layer_sizes, n_bits, init, rng)


def to_standard_units(coefs, intercepts, moved, unit):
    """Let the first layer take (features - mean) / unit instead of features - old mean.

    `moved` is how far the mean has moved from the old one.
    """
    first = coefs[0]
    return [first * unit, *coefs[1:]], [intercepts[0] + moved @ first, *intercepts[1:]]


def _dense_start(X, layer_sizes, n_bits, init, rng):
    """First weights from dense rows: random hidden layers, then a projection.

    Hidden layers are drawn as by He et al. (ICCV 2015).
    """
    coefs, intercepts = [], []
    for size in layer_sizes:
        n_inputs = coefs[-1].shape[1] if coefs else X.shape[1]
        # Rows of X have unit mean square in all, hidden units each.
        scale = 1.0 if not coefs else hidden_scale(n_inputs)
        coefs.append(rng.standard_normal((n_inputs, size)) * scale)
        intercepts.append(np.zeros(size))
    hidden = np.maximum(feed_forward(X, coefs, intercepts), 0) if coefs else X
    hidden, mean = centered(hidden)
    projection = PROJECTIONS[init](hidden, n_bits, rng)
    projection /= np.sqrt(np.mean((hidden @ projection) ** 2)) or 1.0
    return [*coefs, projection], [*intercepts, -mean @ projection]


def hidden_scale(n_inputs):
    """Standard deviation of first weights that keeps the mean square of hidden units."""
    return math.sqrt(2 / n_inputs)


def _sparse_start(features, samples, n_bits, init, rng):
    """First weights of a linear function from sparse rows, which stay sparse."""
    X = features.X[samples]
    projection = sparse_projection(X, features.mean, init, n_bits, rng)
    projected = X @ projection - features.mean @ projection
    scale = np.sqrt(np.mean(projected**2)) or 1.0
    coef = projection * (features.unit / scale)
    return [coef], [-projected.mean(axis=0) / scale]


def _draw(samples, n_most, rng):
    """Draw at most `n_most` of some rows, in ascending order."""
    if len(samples) <= n_most:
        return samples
    return np.sort(rng.choice(samples, n_most, replace=False))
