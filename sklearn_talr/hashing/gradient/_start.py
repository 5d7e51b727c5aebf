"""Weights to start from, found on a part of the rows when there are many."""

import numpy as np
import scipy.sparse as sp

from .._projections import sparse_projection
from ._weights import first_weights

# The projection is made from at most so many rows and numbers: principal directions of
# more hardly differ, and the rows are copied and made dense.
_MOST_ROWS = 20_000
_MOST_CELLS = 2**25


def start_weights(features, samples, hidden_layer_sizes, n_bits, init, rng):
    """First weights of a feed-forward function, in the units of `features`."""
    n_features = features.X.shape[1]
    samples = _draw(samples, _MOST_ROWS, rng)
    is_large = len(samples) * n_features > _MOST_CELLS
    if is_large and sp.issparse(features.X) and not hidden_layer_sizes:
        return _sparse_start(features, samples, n_bits, init, rng)
    samples = _draw(samples, max(2, _MOST_CELLS // n_features), rng)
    return first_weights(features.block(samples), hidden_layer_sizes, n_bits, init, rng)


def _sparse_start(features, samples, n_bits, init, rng):
    X = features.X[samples]
    projection = sparse_projection(X, features.mean, init, n_bits, rng)
    projected = X @ projection - features.mean @ projection
    scale = np.sqrt(np.mean(projected**2)) or 1.0
    coef = projection * (features.unit / scale)
    return [coef], [-projected.mean(axis=0) / scale]


def _draw(samples, n_most, rng):
    if len(samples) <= n_most:
        return samples
    return np.sort(rng.choice(samples, n_most, replace=False))
