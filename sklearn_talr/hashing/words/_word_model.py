"""The model that codes rows by words of several bits."""

from typing import NamedTuple

import numpy as np
import scipy.linalg

from ...codes._door import ScoreRule, WordFactors, decode_words
from ._additive_model import Frame
from ._word_codes import greedy_words, improve_words, merits, pack_words

_SWEEPS, _SWEEPS_AFTER_CHANGE = 10, 4
_N_CHANGES, _WORDS_PER_CHANGE = 4, 8
_TINY = np.finfo(np.float32).tiny


class WordModel(NamedTuple):
    """Frame and codebooks that encode rows.

    Parameters
    ----------
    frame : Frame
        How features become rows.

    codebooks : ndarray of shape (n_words, n_values, n_features), dtype float32
        Vectors of the values of each word. The mean of a codebook is zero.

    levels : ndarray of shape (n_values,) or (0,), dtype float64
        Ascending cosines of rows and their decodings that the last word of a code tells;
        its vectors are zeros. Empty where the last word is one like the others.

    power : float
        Power of the level that multiplies a score.

    changes : ndarray of shape (n_changes, n_coded_words), dtype uint8
        Changes of words, bits of which are flipped, in search of better codes.
    """

    frame: Frame
    codebooks: np.ndarray
    levels: np.ndarray
    power: float
    changes: np.ndarray
    rule: ScoreRule | None

    @classmethod
    def of(cls, frame, codebooks, levels, power, changes, seen):
        """The model of codebooks, to which a word is added that tells a level.

        `seen` are words of some training rows, of these codebooks as they come.
        """
        rule = frame.rule
        if frame.codes_directions:
            plain, bare = codebooks, seen
            if len(levels):  # the least and the largest
                plain = np.concatenate((codebooks, np.zeros_like(codebooks[:1])))
                columns = [np.full((len(seen), 1), end, np.uint8) for end in (0, 255)]
                bare = np.vstack([np.hstack((seen, column)) for column in columns])
            how = plain, frame.mean, levels**power
            rule = ScoreRule.of_codes(WordFactors.of_codebooks(*how), bare)
        codebooks = [in_order(codebook) for codebook in codebooks]
        if len(levels):
            codebooks = [*codebooks, np.zeros_like(codebooks[0])]
        codebooks = np.stack(codebooks)
        if frame.codes_directions:
            factors = WordFactors.of_codebooks(codebooks, frame.mean, levels**power)
            rule = rule._replace(factors=factors)
        return cls(frame, codebooks, levels, power, changes, rule)

    @property
    def word_size(self):
        """Bits of a word."""
        return self.codebooks.shape[1].bit_length() - 1

    @property
    def n_bits(self):
        """Bits of a code."""
        return len(self.codebooks) * self.word_size

    def vectors(self):
        """Vectors that a query has weights for, shape (n_weights, n_features)."""
        return self.codebooks.reshape(-1, self.codebooks.shape[2])

    def vectors_of_bits(self):
        """Half of what each bit adds in the mean, shape (n_bits, n_features)."""
        values = np.arange(256, dtype=np.uint8)[:, None]
        signs = np.unpackbits(values, axis=1, bitorder="little") * np.float32(2) - 1
        of_words = np.einsum("wvf,vb->wbf", self.codebooks, signs / 256, optimize=True)
        return of_words.reshape(self.n_bits, -1).astype(np.float32)

    def decode(self, packed):
        """Rows that packed codes stand for, shape (n_samples, n_features)."""
        decoded = decode_words(packed.data, self.codebooks)
        if self.frame.codes_directions:
            decoded *= self.rule.factors.to_unit_length(packed.data)[:, None]
        return decoded

    def quantize(self, X, activations):
        """Bits of rows, and bytes of their distances, or None."""
        rows = self.frame.rows(X)
        return pack_words(self.encode(rows), self.word_size), self.frame.lengths(rows)

    def encode(self, rows):
        """Words of rows."""
        codebooks = self.codebooks[:-1] if len(self.levels) else self.codebooks
        free = self.frame.codes_directions
        words = encode_rows(rows, codebooks, free=free)
        best = merits_of(rows, words, codebooks, free)
        for change in self.changes:
            other = words ^ change
            improve_words(rows, codebooks, other, _SWEEPS_AFTER_CHANGE, free=free)
            found = merits_of(rows, other, codebooks, free)
            words[found > best] = other[found > best]
            best = np.maximum(best, found)
        if not len(self.levels):
            return words
        halfway = (self.levels[1:] + self.levels[:-1]) / 2
        nearest = np.searchsorted(halfway, cosines_of(rows, words, codebooks))
        return np.hstack([words, nearest[:, None].astype(np.uint8)])


def encode_rows(rows, codebooks, *, free, compiled=None):
    """Words of rows that are new; see `improve_words` for `free` and `compiled`."""
    words = greedy_words(rows, codebooks)
    improve_words(rows, codebooks, words, _SWEEPS, free=free, compiled=compiled)
    return words


def changes_of_words(n_words, n_values, rng):
    """Changes of some words in random bits, shape (n_changes, n_words), uint8."""
    n_changes, n_changed = _N_CHANGES, max(1, n_words // _WORDS_PER_CHANGE)
    changes = np.zeros((n_changes, n_words), dtype=np.uint8)
    for change in changes:
        chosen = rng.choice(n_words, n_changed, replace=False)
        change[chosen] = rng.randint(1, n_values, n_changed)
    return changes


def merits_of(rows, words, codebooks, free):
    """Merits of the words of rows, see `improve_words`."""
    decoded = decode_words(words, codebooks)
    along = np.einsum("ij,ij->i", rows, decoded)
    return merits(along, np.einsum("ij,ij->i", decoded, decoded), free)


def cosines_of(rows, words, codebooks):
    """Cosine of each row of unit length with the decoding of its words."""
    decoded = decode_words(words, codebooks)
    lengths = np.sqrt(np.einsum("ij,ij->i", decoded, decoded))
    return np.einsum("ij,ij->i", rows, decoded) / np.maximum(lengths, _TINY)


def products_of_values(size):
    """Products of the signs of the values of a word, those of single bits first."""
    values = np.arange(2**size)
    sets = np.array(sorted(values[1:], key=lambda bits: (bits & (bits - 1) != 0, bits)))
    n_zeros = np.bitwise_count(sets & ~values[:, None])
    return np.where(n_zeros % 2, np.float32(-1), np.float32(1))


def in_order(codebook):
    """Entries in an order in which values with equal bits have entries that are near.

    Each bit halves what the bits above it have left, along a principal direction of the
    codebook. So the Hamming distance of codes says something, too.
    """
    n_values = len(codebook)
    directions = scipy.linalg.svd(codebook, full_matrices=False)[2]
    cells = np.arange(n_values)[None]
    for bit in range(n_values.bit_length() - 1):
        heights = codebook[cells] @ directions[bit % len(directions)]
        cells = np.take_along_axis(cells, np.argsort(heights, axis=1), axis=1)
        cells = cells.reshape(2 * len(cells), -1)
    return codebook[cells.ravel()]
