"""Rows of features as directions, the model that codes them, and how it is found."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from ..._threads import map_in_threads, one_thread
from ...codes import unpack_codes
from ...codes._door import CodeFactors, ScoreRule, bounds_of_lengths
from .._projections import itq_projection
from ._additive_codes import Moments, descend

_ROWS_TO_START_FROM = 10_000
_CELLS_PER_BLOCK = 2**20
_SWEEPS_PER_ITERATION, _SWEEPS = 2, 10  # while the decoder changes, and for new rows
_N_FLIPS, _SHARE_FLIPPED = 4, 0.03
_TINY = np.finfo(np.float32).tiny


class Frame(NamedTuple):
    """How features become the rows that are coded: centered, in a unit of their own.

    Parameters
    ----------
    metric : {"cosine", "inner_product", "euclidean"}
        How features are compared.

    mean : ndarray of shape (n_features,), dtype float64
        Mean of the features, after these were scaled to unit length under "cosine".

    unit : float
        Root mean square distance of the features from their mean; 1 under "cosine".

    rule : ScoreRule, default=None
        Under "euclidean" that of the addends of codes, by the distance from the mean.
    """

    metric: str
    mean: np.ndarray
    unit: float
    rule: ScoreRule | None = None

    @classmethod
    def of(cls, X, metric):
        """The frame of features."""
        total, squares = np.zeros(X.shape[1]), 0.0
        for rows in _parts_of_rows(X):
            total += scaled(X[rows], metric).sum(axis=0, dtype=np.float64)
        mean = total / X.shape[0]
        if metric == "cosine":
            return cls(metric, mean, 1.0)
        least, largest = np.inf, 0.0
        for rows in _parts_of_rows(X):
            of_rows = np.sum((scaled(X[rows], metric) - mean) ** 2, axis=1)
            squares += float(of_rows.sum())
            least, largest = min(least, of_rows.min()), max(largest, of_rows.max())
        unit = float(np.sqrt(squares / X.shape[0])) or 1.0
        if metric != "euclidean":
            return cls(metric, mean, unit)
        bounds = bounds_of_lengths(np.sqrt(least) / unit, np.sqrt(largest) / unit)
        return cls(metric, mean, unit, ScoreRule.of_distances(*bounds))

    def lengths(self, rows):
        """Bytes of the distances of rows from the mean, or None if no score needs them."""
        if self.rule is None:
            return None
        return self.rule.steps_of(np.linalg.norm(rows.astype(np.float64), axis=1))

    @property
    def codes_directions(self):
        """Whether a decoding must only point where its row points."""
        return self.metric == "cosine"

    def rows(self, X):
        """Rows to be coded: directions under "cosine", else multiples of the unit.

        The mean is taken off in float64. So rows far from the origin lose no digits that
        they have, and moving all features moves no row.
        """
        X = scaled(X, self.metric) - self.mean
        lengths = self.unit
        if self.codes_directions:
            lengths = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), _TINY)
        return (X / lengths).astype(np.float32)

    def map_blocks(self, X, function, n_jobs):
        """Yield ``function(part, rows)`` of slices of features and their rows.

        Threads share the slices, which do not depend on the number of threads.
        """

        def call(part):
            return function(part, self.rows(X[part]))

        return map_in_threads(one_thread()(call), _parts_of_rows(X), n_jobs)


class Model(NamedTuple):
    """Frame, decoder and flips that encode rows, and the moments of all rows so far."""

    frame: Frame
    decoder: np.ndarray
    gram: np.ndarray
    flips: list
    moments: Moments
    rule: ScoreRule | None

    @classmethod
    def of(cls, frame, decoder, flips, moments, seen):
        """The model of a decoder; `seen` are some packed codes of the training rows.

        Under "cosine" the direction of a row, minus the mean, is a multiple of the sum of
        its vectors. The factor is that multiple.
        """
        gram, rule = decoder @ decoder.T, frame.rule
        if frame.codes_directions:
            beyond = 1 - float(frame.mean @ frame.mean)
            rule = CodeFactors(gram, decoder @ frame.mean, beyond)
            rule = ScoreRule.of_codes(rule, seen)
        return cls(frame, decoder, gram, flips, moments, rule)

    @property
    def word_size(self):
        """Bits of a word: every bit has a vector of its own."""
        return 1

    @property
    def n_bits(self):
        """Bits of a code."""
        return len(self.decoder)

    def vectors(self):
        """Vectors that a query has weights for, shape (n_bits, n_features)."""
        return self.decoder

    vectors_of_bits = vectors

    def decode(self, packed):
        """Rows that packed codes stand for, shape (n_samples, n_features)."""
        signs = 2 * unpack_codes(packed).astype(np.float32) - 1
        decoded = signs @ self.decoder
        if self.frame.codes_directions:
            decoded *= self.rule.factors.of(packed.data)[:, None]
        return decoded

    def quantize(self, X, activations):
        """Bits of rows, and bytes of their distances, or None."""
        rows = self.frame.rows(X)
        return self.encode(rows) > 0, self.frame.lengths(rows)

    def encode(self, rows):
        """Signs of rows."""
        correlations = rows @ self.decoder.T
        signs = np.where(correlations > 0, np.float32(1), np.float32(-1))
        free = self.frame.codes_directions
        return descend(signs, correlations, self.gram, _SWEEPS, self.flips, free=free)


def first_signs(frame, X, n_bits, rng, n_jobs):
    """Signs of ITQ, whose projection is found on a sample of the rows."""
    n_rows, sample = X.shape[0], slice(None)
    if n_rows > _ROWS_TO_START_FROM:
        sample = np.sort(rng.choice(n_rows, _ROWS_TO_START_FROM, replace=False))
    projection = itq_projection(frame.rows(X[sample]), n_bits, rng).astype(np.float32)
    return signs_by(lambda rows: rows @ projection, frame, X, n_bits, n_jobs)


def signs_by(function, frame, X, n_bits, n_jobs):
    """Signs of ``function(rows)``, shape (n_samples, n_bits), int8."""
    signs = np.empty((X.shape[0], n_bits), dtype=np.int8)

    def fill(part, rows):
        signs[part] = np.where(function(rows) > 0, 1, -1)

    for _ in frame.map_blocks(X, fill, n_jobs):
        pass
    return signs


def alternate(frame, X, signs, before, alpha, max_iter, n_jobs, watch):
    """Find the best decoder for the signs, then the best signs for the decoder, and so on.

    `signs` are improved in place. Each alternation is told to `watch`, with the share of
    signs that it has changed and the moments, and that may stop. Returns the sum of
    `before`, the moments of earlier rows, and the moments of the last signs.
    """

    def moments_of(part, rows):
        return Moments.of(signs[part].astype(np.float32), rows)

    moments = sum(frame.map_blocks(X, moments_of, n_jobs), start=before)
    for _ in range(max_iter):
        watch.begin()
        improved = _improve(frame, X, signs, moments.decoder(alpha), n_jobs)
        n_changed, moments = 0, before
        for n_of_block, of_block in improved:
            n_changed += n_of_block
            moments += of_block
        if watch.end(n_changed / signs.size, moments) or not n_changed:
            break
    return moments


def _improve(frame, X, signs, decoder, n_jobs):
    """Improve signs in place; yield each block's number of changed signs and moments."""
    gram, free = decoder @ decoder.T, frame.codes_directions

    def improve(part, rows):
        old = signs[part].astype(np.float32)
        correlations = rows @ decoder.T
        new = descend(old, correlations, gram, _SWEEPS_PER_ITERATION, free=free)
        signs[part] = new
        return np.count_nonzero(new != old), Moments.of(new, rows)

    return frame.map_blocks(X, improve, n_jobs)


def sets_of_bits(n_bits, rng):
    """Bits to flip together in search of better codes."""
    size = max(1, round(_SHARE_FLIPPED * n_bits))
    return [rng.permutation(n_bits)[:size] for _ in range(_N_FLIPS)]


def _parts_of_rows(X):
    return gen_batches(X.shape[0], max(1, _CELLS_PER_BLOCK // X.shape[1]))


def scaled(X, metric):
    """Rows as an array of float32 or float64, of unit length under "cosine"."""
    X = X.toarray() if sp.issparse(X) else X
    if metric != "cosine":
        return X
    X = X.astype(np.float64, copy=False)  # cosines of rows far from the origin are near 1
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(largest > 0, largest, 1)  # so that no square is 0 or infinite
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), _TINY)
