"""Codebooks of least squared error, by conjugate gradients.

=========  ==================================================================
symbol     meaning
=========  ==================================================================
Z          rows, shape (n_rows, n_features)
B          words of the rows, shape (n_rows, n_codewords): 1 for each codeword
           that a row has, else 0
C          codewords, shape (n_codewords, n_features)
P          penalty on the codewords, shape (n_codewords, n_codewords)
=========  ==================================================================

The codebooks minimize ``|Z - B C|^2 + trace(C' P C)``, so they solve the linear equations
``(B'B + P) C = B'Z``. The matrix ``B'B + P`` is never made: with 32 codebooks it would take
268 MB, and its Cholesky factor three times the time of six steps of conjugate gradients. A
step multiplies by B and by B', which have one number per word of a row. Each feature is a
system of its own, and the features of a block take their steps together.

The words of a row are of different codebooks, so the blocks of ``B'B + P`` that belong to
one codebook are a diagonal matrix plus a constant. Their inverses are exact, and are the
preconditioner.
"""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .._core.threads import slices

# The codewords of so many features stay in a processor's cache.
_FEATURES_PER_BLOCK = 128
# A fit solves the equations to this tolerance, since the words change afterwards. With a
# tenth of it codes find no more neighbors, and the steps take twice as long.
_TOLERANCE = 0.03
# Steps end after this many at the latest. Equations of 32 codebooks take 5 to 11.
_MOST_STEPS = 60
# A codebook has so many codewords.
_CODEWORDS = 256
_TINY = np.finfo(np.float32).tiny
# The penalty on the entries of a codebook, in multiples of `alpha`, and the one on their
# mean, which could as well be in another codebook
_PENALTY_OF_ENTRIES = 10
_PENALTY_OF_MEANS = 100
# Strengths beyond these bounds act as the bounds: float32 would lose the counts of rows, or
# the penalty of a codeword that no row has.
_LEAST_ALPHA = 1e-6
_LARGEST_ALPHA = 1e6


def codewords_of_rows(words):
    """Codewords of rows as ones, a CSR array of shape (n_rows, n_codewords), float32."""
    n_rows, n_words = words.shape
    codewords = words + _CODEWORDS * np.arange(n_words)
    row_ends = n_words * np.arange(n_rows + 1)
    ones = np.ones(codewords.size, dtype=np.float32)
    shape = (n_rows, _CODEWORDS * n_words)
    return sp.csr_array((ones, codewords.ravel(), row_ends), shape=shape)


class CodebookEquations:
    """The linear equations of the codebooks of some rows.

    Parameters
    ----------
    words : ndarray of shape (n_rows, n_words), dtype uint8
        Words of the rows.

    penalty : float
        Weight of the squared entries of a codebook.

    penalty_of_sums : float
        Weight of the squared sum of the entries of a codebook.
    """

    def __init__(self, words, penalty, penalty_of_sums):
        self.words = words
        self.penalty = np.float32(penalty)
        self.penalty_of_sums = np.float32(penalty_of_sums)

    @classmethod
    def from_alpha(cls, words, alpha):
        """Make the equations of a fit.

        The penalty per row is ten times `alpha` times the mean square of the entries of a
        codebook, plus 100 times the square of their mean.
        """
        penalty = _PENALTY_OF_ENTRIES * np.clip(alpha, _LEAST_ALPHA, _LARGEST_ALPHA)
        n_rows = len(words)
        return cls(
            words,
            penalty=n_rows * penalty / _CODEWORDS,
            penalty_of_sums=n_rows * (_PENALTY_OF_MEANS - penalty) / _CODEWORDS**2,
        )

    @cached_property
    def has_codeword(self):
        """B, a CSR array."""
        return codewords_of_rows(self.words)

    @cached_property
    def inverse_diagonal(self):
        """One over the diagonal of B'B plus the penalty of entries."""
        counts = np.bincount(
            self.has_codeword.indices, minlength=self.has_codeword.shape[1]
        )
        inverse = 1 / (counts + self.penalty)
        return inverse.reshape(-1, _CODEWORDS, 1).astype(np.float32)

    def solve(self, rows, start=None, *, tolerance=_TOLERANCE):
        """Solve for the codebooks of rows, and subtract the mean of each codebook.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features), dtype float32
            Rows that the words belong to.

        start : ndarray of shape (n_words, 256, n_features), dtype float32, default=None
            Codebooks to start from; None means zeros.

        tolerance : float
            Steps end if the residual, in the norm of the preconditioner, is below this
            fraction of the residual of zeros.

        Returns
        -------
        codebooks : ndarray of shape (n_words, 256, n_features), dtype float32
        """
        shape = self.words.shape[1], _CODEWORDS, rows.shape[1]
        codebooks = np.zeros(shape, np.float32) if start is None else start.copy()
        for block in slices(rows.shape[1], _FEATURES_PER_BLOCK):
            block_rows = np.ascontiguousarray(rows[:, block])
            block_start = np.ascontiguousarray(codebooks[:, :, block])
            codebooks[:, :, block] = self._solve_block(block_rows, block_start, tolerance)
        codebooks -= codebooks.mean(axis=1, keepdims=True)
        return codebooks

    def _solve_block(self, rows, codebooks, tolerance):
        """Solve for the codebooks of a block of features, which are changed in place."""
        products = self._sums_by_codeword(rows)
        least = tolerance**2 * _dot(products, self._precondition(products)).sum()
        residual = products - self._multiply(codebooks)
        direction = self._precondition(residual)
        squares = _dot(residual, direction)
        for _ in range(_MOST_STEPS):
            if squares.sum() <= least:
                break
            image = self._multiply(direction)
            step = squares / np.maximum(_dot(direction, image), _TINY)
            codebooks += step * direction
            residual -= step * image
            gradient = self._precondition(residual)
            squares_before = squares
            squares = _dot(residual, gradient)
            direction *= squares / np.maximum(squares_before, _TINY)
            direction += gradient
        return codebooks

    def _sums_by_codeword(self, rows):
        """Sums of the rows that have each codeword, shape (n_words, 256, n_features)."""
        return (self.has_codeword.T @ rows).reshape(-1, _CODEWORDS, rows.shape[1])

    def _multiply(self, codebooks):
        """Multiply codebooks by B'B + P."""
        sums = self.has_codeword @ codebooks.reshape(-1, codebooks.shape[2])
        image = self._sums_by_codeword(sums)
        image += self.penalty * codebooks
        image += self.penalty_of_sums * codebooks.sum(axis=1, keepdims=True)
        return image

    def _precondition(self, residual):
        """Multiply a residual by the inverses of the blocks of single codebooks.

        The inverse of a diagonal matrix D plus c times a matrix of ones subtracts, from
        ``x = D^-1 r``, its sum times ``c D^-1 / (1 + c trace(D^-1))``.
        """
        inverse = self.inverse_diagonal
        trace = inverse.sum(axis=1, keepdims=True)
        weight = self.penalty_of_sums / (1 + self.penalty_of_sums * trace)
        gradient = inverse * residual
        gradient -= inverse * (weight * gradient.sum(axis=1, keepdims=True))
        return gradient


def _dot(one, other):
    """Inner products of the columns of two arrays of codebooks, shape (n_features,)."""
    return np.einsum("wvf,wvf->f", one, other)
