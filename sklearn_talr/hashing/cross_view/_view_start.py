"""First weights of the hash functions of two views, in standard units of their features.

The relevance-CCA is the canonical correlation analysis of items and queries that are
relevant to each other: its covariance between the views sums over relevant pairs, in the
place of rows that are partners. Of partners it is the ordinary analysis.
"""

import numpy as np
from scipy.linalg import eigh, svd
from sklearn.decomposition import PCA

from .._base import feed_forward
from .._projections import itq_projection, random_projection
from ..gradient._start import hidden_scale

_MOST_ROWS = 5000  # of each view
_MOST_CELLS = 2**25
_MOST_FEATURES = 1024  # principal directions beyond which views are not correlated
_SHRINKAGE = 0.1
_LEAST_CORRELATION = 1e-6  # in relation to the largest
_PENALTY = 0.1  # of the regression on bits, in relation to the mean variance


class Start:
    """First weights of both views.

    Parameters
    ----------
    features, query_features : Features
        Rows of both views in standard units.

    layer_sizes, query_layer_sizes : tuple of int
        Units of hidden layers, which start at random.

    pairs : JudgedPairs or AffinePairs
        Who is relevant to whom.

    is_shared : bool
        Whether one function serves both views, with the layers of items.

    rng : RandomState
        Draws what is random.
    """

    def __init__(
        self,
        features,
        query_features,
        layer_sizes,
        query_layer_sizes,
        pairs,
        is_shared,
        rng,
    ):
        self._pairs, self._rng = pairs, rng
        self._items = _rows_to_start_from(features, rng)
        self._queries = _rows_to_start_from(query_features, rng)
        self._layers = _random_layers(features.X.shape[1], layer_sizes, rng)
        self._query_layers = self._layers
        if not is_shared:
            n_inputs = query_features.X.shape[1]
            self._query_layers = _random_layers(n_inputs, query_layer_sizes, rng)
        self._hidden = _hidden(features, self._items, *self._layers)
        self._hidden_query = _hidden(query_features, self._queries, *self._query_layers)

    def weights(self, init, n_bits):
        """Weights of the items' and of the queries' function.

        Parameters
        ----------
        init : {"cca", "itq", "random"}
            Last layer: relevance-CCA, rotated to lose least by taking signs; bits of items
            by iterative quantization, and a regression of queries on the mean bits of their
            relevant items; or random directions.

        n_bits : int
            Bits of a code.

        Returns
        -------
        weights : tuple of two (coefs, intercepts)
            Lists of one array per layer.
        """
        X, mean = _minus_mean(self._hidden)
        X_query, mean_query = _minus_mean(self._hidden_query)
        relevant = self._pairs.relevant(self._queries)[:, self._items]
        projections = _STARTS[init](X, X_query, relevant, n_bits, self._rng)
        sides = (X, mean, *self._layers), (X_query, mean_query, *self._query_layers)
        return tuple(
            _with_last_layer(*side, projection)
            for side, projection in zip(sides, projections)
        )

    def shared_weights(self, init, n_bits):
        """Weights of one function of both views, of equally many features.

        Parameters
        ----------
        init : {"cca", "itq", "random"}
            Last layer: random directions, or else iterative quantization of all rows.

        n_bits : int
            Bits of a code.

        Returns
        -------
        weights : (coefs, intercepts)
            Lists of one array per layer.
        """
        X, mean = _minus_mean(np.vstack([self._hidden, self._hidden_query]))
        project = random_projection if init == "random" else itq_projection
        projection = project(X, n_bits, self._rng)
        return _with_last_layer(X, mean, *self._layers, projection)


def _cca_start(X, X_query, relevant, n_bits, rng):
    X, basis = _reduced(X, rng)
    X_query, basis_query = _reduced(X_query, rng)
    n_relevant = np.maximum(relevant.sum(axis=1), 1)
    covariance = X.T @ (relevant.T @ (X_query / n_relevant[:, None]))
    white, white_query = _whitening(X), _whitening(X_query)
    left, values, right = svd(white @ covariance @ white_query, full_matrices=False)
    if not values[0] > 0:
        return tuple(_random(each, n_bits, rng) for each in (basis, basis_query))
    n_kept = min(n_bits, int(np.sum(values > _LEAST_CORRELATION * values[0])))
    values = values[:n_kept] / values[0]
    directions = white @ left[:, :n_kept] * values
    directions_query = white_query @ right[:n_kept].T * values
    both = [_of_unit_size(X @ directions), _of_unit_size(X_query @ directions_query)]
    rotation = itq_projection(np.vstack(both), n_bits, rng)
    return basis @ directions @ rotation, basis_query @ directions_query @ rotation


def _itq_start(X, X_query, relevant, n_bits, rng):
    projection = itq_projection(X, n_bits, rng)
    signs = np.where(X @ projection > 0, 1.0, -1.0)
    n_relevant = np.maximum(relevant.sum(axis=1), 1)
    wanted = (relevant @ signs) / n_relevant[:, None]
    X_query, basis = _reduced(X_query, rng)
    gram = X_query.T @ X_query
    gram[np.diag_indices_from(gram)] += _PENALTY * np.trace(gram) / len(gram)
    return projection, basis @ np.linalg.solve(gram, X_query.T @ wanted)


def _random_start(X, X_query, relevant, n_bits, rng):
    return random_projection(X, n_bits, rng), random_projection(X_query, n_bits, rng)


_STARTS = {"cca": _cca_start, "itq": _itq_start, "random": _random_start}


def _random(basis, n_bits, rng):
    return basis @ rng.standard_normal((basis.shape[1], n_bits))


def _rows_to_start_from(features, rng):
    """Rows to start from, in ascending order."""
    n_samples, n_features = features.X.shape
    n_most = min(_MOST_ROWS, max(2, _MOST_CELLS // n_features))
    if n_samples <= n_most:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, n_most, replace=False))


def _random_layers(n_inputs, sizes, rng):
    """Hidden layers drawn as by He et al. (ICCV 2015), for rows of unit length."""
    coefs, scale = [], 1.0
    for size in sizes:
        coefs.append(rng.standard_normal((n_inputs, size)) * scale)
        n_inputs, scale = size, hidden_scale(size)
    return coefs, [np.zeros(size) for size in sizes]


def _hidden(features, rows, coefs, intercepts):
    X = features.block(rows)
    return np.maximum(feed_forward(X, coefs, intercepts), 0) if coefs else X


def _minus_mean(X):
    mean = X.mean(axis=0)
    return X - mean, mean


def _reduced(X, rng):
    """Centered rows by at most so many principal directions, and these as columns."""
    if X.shape[1] <= _MOST_FEATURES:
        return X, np.eye(X.shape[1])
    n_directions = min(_MOST_FEATURES, *X.shape)
    basis = PCA(n_directions, random_state=rng).fit(X).components_.T
    return X @ basis, basis


def _whitening(X):
    """Symmetric square root of the inverse of a covariance that is shrunk to a sphere."""
    covariance = X.T @ X / len(X)
    mean = np.trace(covariance) / len(covariance) or 1.0
    covariance *= 1 - _SHRINKAGE
    covariance[np.diag_indices_from(covariance)] += _SHRINKAGE * mean
    values, vectors = eigh(covariance)
    return (vectors / np.sqrt(values)) @ vectors.T


def _of_unit_size(X):
    return X / (np.sqrt(np.mean(X**2)) or 1.0)


def _with_last_layer(X, mean, coefs, intercepts, projection):
    """All layers; activations of centered rows have a mean square of 1."""
    projection = projection / (np.sqrt(np.mean((X @ projection) ** 2)) or 1.0)
    return [*coefs, projection], [*intercepts, -mean @ projection]
