"""Drift: whether incoming rows are encoded worse than rows of the kind that was fitted to.

A row's error is the squared distance between its features and what its code stands for:
what the hasher decodes it to or, where it does not decode, a ridge regression of features
on the signs of the bits, which is fitted to every other held-out row. Errors of held-out
rows are kept, sorted. Of rows of the same kind, the number of those whose errors exceed the
k-th smallest of n held-out errors has a known distribution, whatever that of the errors:
beta-binomial, with parameters n - k + 1 and k.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import betabinom

from .._compat import num_samples, safe_indexing
from .._threads import slices
from ..codes import unpack_codes

QUANTILES = 0.5, 0.9, 0.99
_LEAST_HELD_OUT = 20
_ROWS_PER_BLOCK = 4_096
_ALPHAS = 1e-3, 1e-2, 0.1, 1.0  # of the ridge, for each row


class Drift(NamedTuple):
    """Whether rows are encoded worse than held-out rows, and by how much.

    Parameters
    ----------
    drifted : bool
        Whether the p-value is below the level that was asked for.

    p_value : float
        Chance of so many large errors among rows of the kind that was held out.

    quantiles : ndarray of shape (3,)
        The quantiles that are compared: of 0.5, 0.9 and 0.99.

    held_out : ndarray of shape (3,)
        These quantiles of the errors of the held-out rows, in multiples of their mean.

    incoming : ndarray of shape (3,)
        The same of the rows that were asked about, in multiples of the same mean.
    """

    drifted: bool
    p_value: float
    quantiles: np.ndarray
    held_out: np.ndarray
    incoming: np.ndarray


class Calibration(NamedTuple):
    """Errors of held-out rows.

    Parameters
    ----------
    errors : ndarray of shape (n_errors,), dtype float64
        The errors, ascending: of all held-out rows, or of every other one where the rest is
        what a decoder was fitted to.

    decoder : ndarray of shape (n_bits + 1, n_features) or (0, 0), dtype float64
        What the sign of each bit adds to the features, and at last what is there without;
        empty where the hasher itself decodes codes.
    """

    errors: np.ndarray
    decoder: np.ndarray

    @classmethod
    def of(cls, hasher, X):
        """Calibrate a FittedHasher by rows that it was not fitted to."""
        n_rows = num_samples(X)
        if n_rows < _LEAST_HELD_OUT:
            raise ValueError(
                f"X has {n_rows} rows, too few to tell how well they are encoded. Hold out "
                f"{_LEAST_HELD_OUT} at least, and some hundred for a sensitive test."
            )
        if _decodes(hasher):
            return cls(np.sort(errors_of(hasher, X, None)), np.empty((0, 0)))
        # Errors must be those of rows that the decoder was not fitted to, as of all others.
        _, decoder = _fit_decoder(*_signs_and_features(hasher, _every_other(X, 0)))
        return cls(np.sort(errors_of(hasher, _every_other(X, 1), decoder)), decoder)

    def is_sound(self):
        """Whether the arrays, which a file may hold, are those of a calibration."""
        return (
            (self.errors.ndim, self.decoder.ndim) == (1, 2)
            and self.errors.dtype == self.decoder.dtype == np.float64
            and len(self.errors) >= _LEAST_HELD_OUT // 2
            and all(np.isfinite(array).all() for array in self)
            and bool(np.all(np.diff(self.errors) >= 0))
        )

    def compare(self, hasher, X, alpha):
        """The Drift of some rows."""
        return self.judge(errors_of(hasher, X, self.decoder), alpha)

    def judge(self, errors, alpha):
        """The Drift of rows of these errors."""
        n_held_out = len(self.errors)
        p_values = []
        for quantile in QUANTILES:
            place = min(n_held_out, int(np.ceil(quantile * n_held_out)))
            n_above = np.count_nonzero(errors > self.errors[place - 1])
            of_fresh = betabinom(len(errors), n_held_out - place + 1, place)
            p_values.append(of_fresh.sf(n_above - 1))
        p_value = min(1.0, len(QUANTILES) * float(min(p_values)))
        mean = self.errors.mean() or 1.0
        held_out, incoming = (
            np.quantile(each, QUANTILES) / mean for each in (self.errors, errors)
        )
        quantiles = np.array(QUANTILES)
        return Drift(p_value < alpha, p_value, quantiles, held_out, incoming)


def errors_of(hasher, X, decoder):
    """Errors of rows as a FittedHasher encodes them, float64."""
    errors = []
    for rows in _row_blocks(X):
        if _decodes(hasher):
            features = hasher.prepare(rows)
            decoded = hasher.hasher.inverse_transform(hasher.hasher.encode(features))
            features = _to_dense(features)
            if hasher.hasher.metric == "cosine":
                lengths = np.linalg.norm(features, axis=1, keepdims=True)
                features /= np.where(lengths == 0, 1, lengths)
        else:
            signs, features = _signs_and_features(hasher, rows)
            decoded = signs @ decoder
        errors.append(((features - decoded) ** 2).sum(axis=1))
    return np.concatenate(errors)


def _decodes(hasher):
    """Whether a hasher says what its codes stand for."""
    return hasattr(hasher.hasher, "inverse_transform")


def _signs_and_features(hasher, X):
    """Signs of the bits of rows, with a column of ones, and the features that it takes."""
    features = hasher.prepare(X)
    bits = unpack_codes(hasher.hasher.encode(features))
    signs = np.ones((len(bits), bits.shape[1] + 1))
    signs[:, :-1] = 2.0 * bits - 1
    return signs, _to_dense(features)


def _every_other(X, first):
    """Every other row from the first on."""
    return safe_indexing(X, np.arange(first, num_samples(X), 2))


def _fit_decoder(signs, features):
    """Ridge regression: errors of each row by the others, and what decodes fresh rows.

    The errors choose the strength of the penalty.
    """
    gram, target, best = signs.T @ signs, signs.T @ features, None
    for alpha in _ALPHAS:
        penalty = np.full(len(gram), alpha * len(signs))
        penalty[-1] = 0  # of the column of ones, so that no row is left in a mean
        solved = np.linalg.solve(gram + np.diag(penalty), np.hstack((target, signs.T)))
        decoder, spread = np.split(solved, [features.shape[1]], axis=1)
        leverage = np.einsum("ij,ji->i", signs, spread)
        left_out = (features - signs @ decoder) / (1 - leverage)[:, None]
        errors = (left_out**2).sum(axis=1)
        if best is None or errors.mean() < best[0].mean():
            best = errors, decoder.copy()
    return best


def _to_dense(features):
    """Features as an array of float64 that may be written to."""
    features = features.toarray() if sp.issparse(features) else features
    return np.array(features, dtype=np.float64)


def _row_blocks(X):
    """Blocks of rows; one of all rows where there are none, for the hasher to refuse."""
    if num_samples(X) == 0:
        return [X]
    blocks = slices(num_samples(X), _ROWS_PER_BLOCK)
    return (safe_indexing(X, np.arange(b.start, b.stop)) for b in blocks)
