"""Factors of scores that follow from the codes, so that no index and no file holds them."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from .._threads import one_thread

_CODES_PER_BLOCK = 8_192
_TINY = np.finfo(np.float32).tiny


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
            for rows in gen_batches(len(data), _CODES_PER_BLOCK):
                bits = np.unpackbits(data[rows], axis=1, count=n_bits, bitorder="little")
                factors[rows] = self._of_signs(2.0 * bits - 1, gram)
        return factors

    def _of_signs(self, signs, gram):
        """Factors of rows of signs, in float64.

        In float32 the last digits of a factor depend on the rows beside it.
        """
        norms = np.sqrt(np.maximum(np.einsum("ij,ij->i", signs @ gram, signs), _TINY))
        along = signs @ self.along / norms
        lengths = np.sqrt(np.maximum(along**2 + self.beyond, _TINY)) - along
        return lengths / norms

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
            other is not None and all(map(np.array_equal, self, other))
        )


class OneFactors:
    """Rule of codes that have addends, and 1 for a factor."""

    nbytes = 0

    def of(self, data):
        """Ones, one for each code, float32."""
        return np.ones(len(data), dtype=np.float32)

    def same_as(self, other):
        """Whether another rule, which may be None, gives every code the same factor."""
        return isinstance(other, OneFactors)


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
