"""Rows of features as directions, the model that codes them, and how it is found."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from ._additive_codes import Moments, descend
from ._projections import itq_projection

_ROWS_TO_START_FROM = 10_000
_CELLS_PER_BLOCK = 2**20
_SWEEPS_PER_ITERATION, _SWEEPS = 2, 10  # while the decoder changes, and for new rows
_N_FLIPS, _SHARE_FLIPPED = 4, 0.03
_TINY = np.finfo(np.float32).tiny


class Model(NamedTuple):
    """What rows are encoded with, and what a decoder of more rows starts from."""

    decoder: np.ndarray
    gram: np.ndarray
    mean: np.ndarray
    metric: str
    flips: list
    moments: Moments

    @property
    def mean_length(self):
        """Root mean square distance of the rows from their mean."""
        return np.sqrt(self.moments.squared_lengths / self.moments.n_rows)

    def quantize(self, X, activations):
        """Bits of rows, and what belongs to them in the database."""
        directions, lengths, squares = centered(X, self.mean, self.metric)
        signs = self.encode(directions)
        terms = [self.factors(signs, lengths)]
        if self.metric == "euclidean":
            terms.append(-squares / 2)
        return signs > 0, np.stack(terms, axis=1)

    def encode(self, directions):
        """Signs of rows."""
        correlations = directions @ self.decoder.T
        signs = np.where(correlations > 0, np.float32(1), np.float32(-1))
        return descend(signs, correlations, self.gram, _SWEEPS, self.flips)

    def factors(self, signs, lengths):
        """What makes a decoding as long as its row is, minus the mean.

        Under "cosine" rows have unit length. So the decoding is prolonged, from the mean,
        until it meets the unit sphere, and nothing but the code tells where.
        """
        squares = np.einsum("ij,ij->i", signs @ self.gram, signs)
        norms = np.sqrt(np.maximum(squares, _TINY))
        if self.metric == "cosine":
            along = signs @ (self.decoder @ self.mean) / norms
            beyond = 1 - float(self.mean @ self.mean)
            lengths = np.sqrt(np.maximum(along**2 + beyond, _TINY)) - along
        return (lengths / norms).astype(np.float32)


class Rows:
    """Directions of the rows of features, block by block."""

    def __init__(self, X, mean, metric):
        self.X, self.mean, self.metric = X, mean, metric

    def blocks(self):
        """Yield slices of rows, their directions, and the sum of their squared lengths."""
        for rows in _row_blocks(self.X):
            directions, lengths, _ = centered(self.X[rows], self.mean, self.metric)
            yield rows, directions, float(np.sum(lengths**2, dtype=np.float64))

    def first_signs(self, n_bits, rng):
        """Signs of ITQ, whose projection is found on a sample of the rows."""
        n_rows = self.X.shape[0]
        sample = slice(None)
        if n_rows > _ROWS_TO_START_FROM:
            sample = np.sort(rng.choice(n_rows, _ROWS_TO_START_FROM, replace=False))
        directions = centered(self.X[sample], self.mean, self.metric)[0]
        projection = itq_projection(directions, n_bits, rng).astype(np.float32)
        return self._signs(n_bits, lambda rows: rows @ projection)

    def encode(self, model):
        """Signs by a decoder that is known."""
        return self._signs(len(model.decoder), model.encode)

    def _signs(self, n_bits, function):
        signs = np.empty((self.X.shape[0], n_bits), dtype=np.int8)
        for rows, directions, _ in self.blocks():
            signs[rows] = np.where(function(directions) > 0, 1, -1)
        return signs


def alternate(rows, signs, before, alpha, max_iter):
    """Find the best decoder for the signs, then the best signs for the decoder, and so on.

    `signs` are improved in place. Returns the moments of the last signs together with
    those before, and the number of alternations.
    """
    moments = _moments(rows, signs, before)
    n_iter, n_changed = 0, 1
    while n_changed and n_iter < max_iter:
        decoder = moments.decoder(alpha)
        gram, n_changed, moments = decoder @ decoder.T, 0, before
        for part, directions, squares in rows.blocks():
            old = signs[part].astype(np.float32)
            new = descend(old, directions @ decoder.T, gram, _SWEEPS_PER_ITERATION)
            n_changed += np.count_nonzero(new != old)
            signs[part] = new
            moments = moments.plus(new, directions, squares)
        n_iter += 1
    return moments, n_iter


def _moments(rows, signs, moments):
    for part, directions, squares in rows.blocks():
        moments = moments.plus(signs[part].astype(np.float32), directions, squares)
    return moments


def sets_of_bits(n_bits, rng):
    """Bits to flip together in search of better codes."""
    size = max(1, round(_SHARE_FLIPPED * n_bits))
    return [rng.permutation(n_bits)[:size] for _ in range(_N_FLIPS)]


def _row_blocks(X):
    return gen_batches(X.shape[0], max(1, _CELLS_PER_BLOCK // X.shape[1]))


def scaled(X, metric):
    """Rows as an array of float32 or float64, of unit length under "cosine"."""
    X = X.toarray() if sp.issparse(X) else X
    if metric != "cosine":
        return X
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), _TINY)


def mean_row(X, metric):
    total = np.zeros(X.shape[1])
    for rows in _row_blocks(X):
        total += scaled(X[rows], metric).sum(axis=0, dtype=np.float64)
    return (total / X.shape[0]).astype(np.float32)


def centered(X, mean, metric):
    """Directions of rows minus the mean, their lengths, and squared norms of the rows."""
    X = scaled(X, metric)
    squares = np.einsum("ij,ij->i", X, X)
    X = X - mean
    lengths = np.linalg.norm(X, axis=1)
    directions = X / np.maximum(lengths, _TINY)[:, None]
    return directions.astype(np.float32, copy=False), lengths, squares
