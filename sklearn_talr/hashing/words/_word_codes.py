"""Words of a code, chosen so that the sum of their vectors is nearest to a row.

A word of w bits stands for one of 2^w vectors, which are the entries of its *codebook*. A
row z is coded by one entry k_g of each codebook, and decoded to y = sum_g C_g[k_g]. Where
the scale of decodings is free, the words make the cosine of z and y as large as possible,
and otherwise the squared error as small. One word at a time is set to what is best while
the others stay, which is known as iterated conditional modes (Babenko and Lempitsky,
"Additive Quantization", CVPR 2014).
"""

from importlib import import_module
from importlib.util import find_spec
from sys import modules

import numpy as np

from ...codes._door import decode_words

_COMPILED = "._compiled_words"
_LEAST_GAIN = 1e-5  # relative, so that rounding turns no word back and forth
_TINY = 1e-30

# Products of rows and vectors in one call from which on numba is loaded. So many are there
# where thousands of rows are coded block by block, and no service waits for a compiler.
_CORRELATIONS_FOR_NUMBA = 1_000_000


def improve_words(rows, codebooks, words, n_sweeps, *, free, compiled=None):
    """Improve the words of rows in place until no single word does, or for so many sweeps.

    The merit of words is u |u| / s where the scale is free, and 2 u - s elsewhere. Here u
    is the inner product of row and decoding, and s the squared length of the decoding.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features), dtype float32
        Rows to be coded.

    codebooks : ndarray of shape (n_words, n_values, n_features), dtype float32
        Vectors of the values of each word.

    words : ndarray of shape (n_rows, n_words), dtype uint8
        Words to start from.

    n_sweeps : int
        Most times that every word is looked at.

    free : bool
        Whether the scale is free.

    compiled : bool, default=None
        Whether numba's loop is used, if numba is installed. None means where it pays.

    Returns
    -------
    n_changes : int
        How often a word was changed.
    """
    n_words, n_values, n_features = codebooks.shape
    if not n_words:
        return 0
    if compiled is None:
        compiled = _pays_to_compile(len(rows) * n_words * n_values)
    if not (compiled and find_spec("numba")):
        return _Chosen(rows, codebooks, words, free).improve(n_sweeps)
    vectors = codebooks.reshape(-1, n_features)
    loops = import_module(_COMPILED, __package__)
    return loops.compiled_improve(
        rows @ vectors.T, vectors @ vectors.T, words, n_values, n_sweeps, free
    )


def greedy_words(rows, codebooks):
    """Words chosen one after the other, each nearest to what the ones before have left.

    Returns an array of shape (n_rows, n_words), uint8.
    """
    words = np.empty((len(rows), len(codebooks)), dtype=np.uint8)
    residuals = rows.copy()
    for word, codebook in enumerate(codebooks):
        words[:, word] = nearest_entries(residuals, codebook)
        residuals -= codebook[words[:, word]]
    return words


def nearest_entries(rows, codebook):
    """Numbers of the entries that are nearest to each row."""
    half_squares = np.einsum("ij,ij->i", codebook, codebook) / 2
    return np.argmax(rows @ codebook.T - half_squares, axis=1)


def pack_words(words, size):
    """Bits of words in little bit order, shape (n_rows, n_words * size), uint8."""
    bits = np.unpackbits(words[:, :, None], axis=2, count=size, bitorder="little")
    return bits.reshape(len(words), -1)


def words_of(bits, size):
    """Words of bits, or of signs; undoes `pack_words`."""
    of_words = (bits > 0).reshape(len(bits), -1, size)
    return np.packbits(of_words, axis=2, bitorder="little")[:, :, 0]


class _Chosen:
    """Words of rows and what tells the merit of a change, in NumPy."""

    def __init__(self, rows, codebooks, words, free):
        self.rows, self.codebooks, self.words, self.free = rows, codebooks, words, free
        self.decoded = decode_words(words, codebooks)
        self.along = np.einsum("ij,ij->i", self.rows, self.decoded)
        self.squares = np.einsum("ij,ij->i", self.decoded, self.decoded)

    def improve(self, n_sweeps):
        """Sweep over the words until nothing changes; return the number of changes."""
        n_changes = 0
        for _ in range(n_sweeps):
            n_of_sweep = sum(map(self._improve, range(len(self.codebooks))))
            n_changes += n_of_sweep
            if not n_of_sweep:
                break
        return n_changes

    def _improve(self, word):
        """Set one word of all rows to its best value; return how many changed."""
        codebook, now = self.codebooks[word], self.words[:, word]
        every = np.arange(len(now))
        among = codebook @ codebook.T
        correlations = self.rows @ codebook.T
        of_others = self.decoded @ codebook.T - among[now]
        with_others = 2 * of_others + among.diagonal()
        along = (self.along - correlations[every, now])[:, None] + correlations
        squares = (self.squares - with_others[every, now])[:, None] + with_others
        found = merits(along, squares, self.free)
        best = np.argmax(found, axis=1)
        old, new = found[every, now], found[every, best]
        changed = np.flatnonzero(new > old + _LEAST_GAIN * np.abs(old))
        best = best[changed]
        self.decoded[changed] += codebook[best] - codebook[now[changed]]
        self.along[changed] = along[changed, best]
        self.squares[changed] = squares[changed, best]
        now[changed] = best
        return len(changed)


def merits(along, squares, free):
    """Merits of words by their decodings, see `improve_words`."""
    if free:
        return along * np.abs(along) / np.maximum(squares, _TINY)
    return 2 * along - squares


def _pays_to_compile(n_correlations):
    """Whether numba's loop is there already, or would save more time than it takes."""
    is_there = __package__ + _COMPILED in modules
    return is_there or n_correlations >= _CORRELATIONS_FOR_NUMBA
