"""Factors of scores that follow from the codes, so that no index and no file holds them."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from .._threads import one_thread

_CODES_PER_BLOCK = 8_192
_TINY = np.finfo(np.float32).tiny
_NO_LEVELS = np.empty(0)


class CodeFactors(NamedTuple):
    """Rule of the factors of codes whose features are compared by cosine.

    The sum W'b of the vectors of a code with the signs b starts at the mean of the
    features. The factor is the multiple of the sum that ends on the unit sphere.

    Parameters
    ----------
    gram : ndarray of shape (n_bits, n_bits), dtype float32
        Gram matrix W W' of the vectors that the bits stand for.

    along : ndarray of shape (n_bits,), dtype float64
        Inner products of these vectors with the mean.

    beyond : float
        One minus the squared length of the mean.
    """

    gram: np.ndarray
    along: np.ndarray
    beyond: float

    @property
    def nbytes(self):
        """Bytes that a file would hold in place of the factors."""
        return self.gram.nbytes + self.along.nbytes

    def of(self, data):
        """Factors of packed codes in little bit order, float32."""
        factors, n_bits = np.empty(len(data), dtype=np.float32), len(self.along)
        gram = self.gram.astype(np.float64)
        with one_thread():
            for rows in _parts_of_codes(len(data)):
                bits = np.unpackbits(data[rows], axis=1, count=n_bits, bitorder="little")
                factors[rows] = self._of_signs(2.0 * bits - 1, gram)
        return factors

    def _of_signs(self, signs, gram):
        """Factors of rows of signs, in float64.

        In float32 the last digits of a factor depend on the rows beside it.
        """
        norms = np.sqrt(np.maximum(np.einsum("ij,ij->i", signs @ gram, signs), _TINY))
        along = signs @ self.along / norms
        return _lengths(along, self.beyond) / norms

    def fits(self, n_bits):
        """Whether the rule is one of finite numbers for codes of `n_bits` bits."""
        return (
            self.gram.shape == (n_bits, n_bits)
            and self.along.shape == (n_bits,)
            and self.gram.dtype.kind == self.along.dtype.kind == "f"
            and all(np.isfinite(part).all() for part in self)
        )

    def same_as(self, other):
        """Whether another rule, which may be None, gives every code the same factor."""
        return self is other or (
            isinstance(other, CodeFactors) and all(map(np.array_equal, self, other))
        )


class WordFactors(NamedTuple):
    """Rule of the factors of codes whose words of several bits stand for vectors.

    The factor is that of `CodeFactors`. Where `levels` are given, the last word adds no
    vector: its value v says that the factor is to be multiplied by ``levels[v]``.

    Parameters
    ----------
    codebooks : ndarray of shape (n_words, n_values, n_features), dtype float32
        Vectors of the values of each word.

    along : ndarray of shape (n_words, n_values), dtype float64
        Inner products of these vectors with the mean.

    beyond : float
        One minus the squared length of the mean.

    levels : ndarray of shape (n_values,) or (0,), dtype float64
        What the values of the last word multiply factors by, if they do.
    """

    codebooks: np.ndarray
    along: np.ndarray
    beyond: float
    levels: np.ndarray

    @classmethod
    def of_codebooks(cls, codebooks, mean, levels=_NO_LEVELS):
        """The rule of codebooks of features with a mean."""
        return cls(codebooks, codebooks @ mean, 1 - float(mean @ mean), levels)

    @property
    def nbytes(self):
        """Bytes that a file would hold in place of the factors."""
        return self.codebooks.nbytes + self.along.nbytes + self.levels.nbytes

    def of(self, data):
        """Factors of packed codes in little bit order, float32."""
        factors = self.to_unit_length(data)
        if len(self.levels):
            factors *= self.levels[self.words(data)[:, -1]]
        return factors.astype(np.float32)

    def to_unit_length(self, data):
        """Multiples of the decodings that end on the unit sphere, float64."""
        factors = np.empty(len(data))
        for rows in _parts_of_codes(len(data)):
            words = self.words(data[rows])
            decoded = decode_words(words, self.codebooks)
            squares = np.einsum("ij,ij->i", decoded, decoded, dtype=np.float64)
            norms = np.sqrt(np.maximum(squares, _TINY))
            along = self.along[np.arange(len(self.along)), words].sum(axis=1) / norms
            factors[rows] = _lengths(along, self.beyond) / norms
        return factors

    def words(self, data):
        """Words of packed codes, shape (n_codes, n_words), uint8."""
        if self.codebooks.shape[1] == 256:
            return data
        halves = np.stack((data & 15, data >> 4), axis=2)
        halves = halves.reshape(len(data), 2 * data.shape[1])
        return halves[:, : len(self.codebooks)]

    def fits(self, n_bits):
        """Whether the rule is one of finite numbers for codes of `n_bits` bits."""
        n_words, n_values = self.codebooks.shape[:2] if self.codebooks.ndim == 3 else (0, 0)
        return (
            {16: 4, 256: 8}.get(n_values, 0) * n_words == n_bits
            and self.along.shape == (n_words, n_values)
            and self.levels.shape in ((n_values,), (0,))
            and self.codebooks.dtype == np.float32
            and self.along.dtype == self.levels.dtype == np.float64
            and all(np.isfinite(part).all() for part in self)
        )

    def same_as(self, other):
        """Whether another rule, which may be None, gives every code the same factor."""
        return self is other or (
            isinstance(other, WordFactors) and all(map(np.array_equal, self, other))
        )


def decode_words(words, codebooks):
    """Sums of the vectors of words, shape (n_codes, n_features), float32."""
    decoded = np.zeros((len(words), codebooks.shape[2]), dtype=np.float32)
    for values, codebook in zip(words.T, codebooks):
        decoded += codebook[values]
    return decoded


class OneFactors:
    """Rule of codes that have addends, and 1 for a factor."""

    nbytes = 0

    def of(self, data):
        """Ones, one for each code, float32."""
        return np.ones(len(data), dtype=np.float32)

    def same_as(self, other):
        """Whether another rule, which may be None, gives every code the same factor."""
        return isinstance(other, OneFactors)


def _parts_of_codes(n_codes):
    """Slices of codes; an empty one where there are none."""
    return gen_batches(max(1, n_codes), _CODES_PER_BLOCK)


def _lengths(along, beyond):
    """How far it is from the mean to the unit sphere in directions of unit length.

    `along` are the inner products of directions and mean, and `beyond` is one minus the
    squared length of the mean.
    """
    return np.sqrt(np.maximum(along**2 + beyond, _TINY)) - along


def terms_of(factors, data, addends):
    """Factors and addends of packed codes in little bit order, side by side.

    `factors` is the rule of the factors, or None where `addends` holds factors and addends.
    Returns an array of shape (n_codes, 1) or (n_codes, 2), or None.
    """
    if factors is None:
        return addends
    columns = [factors.of(data)[:, None]] + ([] if addends is None else [addends])
    return np.hstack(columns)


def n_terms_of(factors, own):
    """Number of terms of a code, of which `own` lacks those that `factors` gives."""
    return (factors is not None) + (0 if own is None else own.shape[1])
