"""Rows as directions and lengths, and the model that codes them by words.

A word of one bit adds or subtracts a vector; a word of eight bits adds one of 256. The sum
of the vectors of a code points where its row points, from an origin: the mean of the rows,
or 0 under "inner_product", where it is the direction of the row from 0 that counts.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.utils import gen_batches

from .._threads import map_in_threads, one_thread
from ..codes import unpack_codes
from ..codes._door import (
    CodeFactors,
    ScoreRule,
    WordFactors,
    bounds_of_lengths,
    decode_words,
)

_ROWS_PER_BLOCK = 1_024
_SWEEPS, _ROUNDS = {1: 10, 8: 4}, 8  # for new rows, by the size of words
_SHARE_ANEW, _WORDS_ANEW = 0.25, 4  # words of eight bits in each round, at most
_NO_LEVELS = np.empty(0)
_TINY = np.finfo(np.float32).tiny


class Frame(NamedTuple):
    """How features become the rows that are coded.

    Parameters
    ----------
    metric : {"cosine", "inner_product", "euclidean"}
        How features are compared.

    mean : ndarray of shape (n_features,), dtype float64
        Mean of the features, after these were scaled to unit length under "cosine".

    unit : float
        Root mean square length of the features from the origin; 1 under "cosine".

    lengths : ScoreRule, default=None
        How lengths, in that unit, become bytes; none have to under "cosine".
    """

    metric: str
    mean: np.ndarray
    unit: float
    lengths: ScoreRule | None = None

    @classmethod
    def of(cls, X, metric):
        """The frame of features."""
        X = scaled(X, metric)
        frame = cls(metric, X.mean(axis=0, dtype=np.float64), 1.0)
        if metric == "cosine":
            return frame
        lengths = np.linalg.norm(X - frame.origin, axis=1)
        unit = float(np.sqrt(np.mean(lengths**2))) or 1.0
        bounds = bounds_of_lengths(lengths.min() / unit, lengths.max() / unit)
        return frame._replace(unit=unit, lengths=ScoreRule(None, *bounds))

    @property
    def origin(self):
        """Where directions start."""
        return np.zeros_like(self.mean) if self.metric == "inner_product" else self.mean

    def split(self, X):
        """Directions of features, float32, and bytes of their lengths, or None.

        The origin is taken off in float64. So rows far from it lose no digits that they
        have, and moving all features moves no row.
        """
        X = scaled(X, self.metric) - self.origin
        lengths = np.linalg.norm(X, axis=1)
        directions = (X / np.maximum(lengths, _TINY)[:, None]).astype(np.float32)
        if self.lengths is None:
            return directions, None
        return directions, self.lengths.steps_of(lengths / self.unit)

    def rule(self, factors_of, data):
        """The rule of scores of codes; bounds of factors are those of packed codes.

        A code stands for a direction of unit length; under "cosine" for the point of the
        unit sphere that lies in this direction from the mean. ``factors_of(point)`` are the
        factors of codes whose directions start at a point inside of the sphere.
        """
        if self.lengths is None:
            return ScoreRule.of_codes(factors_of(self.mean), data)
        rule = ScoreRule.of_codes(factors_of(np.zeros_like(self.mean)), data)
        table = self.lengths.table[:, None] * np.array([1.0, 0.0], dtype=np.float32)
        if self.metric == "euclidean":
            table[:, 1] = table[:, 0] ** 2 / -2
        return rule._replace(length_table=table)


class Model:
    """What encodes rows: a frame, and the vectors of words.

    Parameters
    ----------
    frame : Frame
        How features become directions and lengths.

    vectors : ndarray of shape (n_bits, n_features) or (n_words, 256, n_features)
        Vectors of the bits, or of the values of words of eight bits; float32.

    rule : ScoreRule
        How codes get factors and addends.

    levels : ndarray of shape (256,) or (0,), dtype float64
        Ascending cosines of rows and decodings that the last word tells; its vectors are
        zeros. Empty where the last word is one like the others.

    moments : Moments, default=None
        Of the rows so far, of single bits.
    """

    def __init__(self, frame, vectors, rule, levels=_NO_LEVELS, moments=None):
        self.frame, self.vectors, self.rule = frame, vectors, rule
        self.levels, self.moments = levels, moments

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_table"}

    @classmethod
    def of_bits(cls, frame, vectors, moments, signs):
        """The model of single bits; `signs` are some codes."""

        def factors_of(mean):
            beyond = 1 - float(mean @ mean)
            return CodeFactors(vectors @ vectors.T, vectors @ mean, beyond)

        data = np.packbits(signs > 0, axis=1, bitorder="little")
        return cls(frame, vectors, frame.rule(factors_of, data), moments=moments)

    @classmethod
    def of_words(cls, frame, codebooks, words, levels=_NO_LEVELS):
        """The model of codebooks, to which a word is added where there are levels.

        `words` are words of some rows, of the codebooks as they come.
        """
        orders = [order_of(codebook) for codebook in codebooks]
        codebooks = np.stack([each[order] for each, order in zip(codebooks, orders)])
        places = (np.argsort(order)[values] for order, values in zip(orders, words.T))
        data = np.stack(list(places), axis=1).astype(np.uint8)
        if len(levels):
            codebooks = np.concatenate((codebooks, np.zeros_like(codebooks[:1])))
            ends = [np.full((len(data), 1), end, np.uint8) for end in (0, 255)]
            data = np.vstack([np.hstack((data, end)) for end in ends])

        def factors_of(mean):
            return WordFactors.of_codebooks(codebooks, mean, levels)

        return cls(frame, codebooks, frame.rule(factors_of, data), levels)

    @property
    def word_size(self):
        """Bits of a word."""
        return 1 if self.vectors.ndim == 2 else 8

    @property
    def n_bits(self):
        """Bits of a code."""
        return len(self.vectors) * self.word_size

    def vectors_of_bits(self):
        """Vectors of the bits; of words, half of what each adds in the mean."""
        if self.word_size == 1:
            return self.vectors
        values = np.arange(256, dtype=np.uint8)[:, None]
        signs = np.unpackbits(values, axis=1, bitorder="little") * np.float32(2) - 1
        of_words = np.einsum("wvf,vb->wbf", self.vectors, signs / 256, optimize=True)
        return of_words.reshape(self.n_bits, -1).astype(np.float32)

    def decode(self, packed):
        """Features that packed codes stand for, shape (n_samples, n_features)."""
        data, factors = packed.data, self.rule.factors
        if self.word_size == 1:
            decoded = (2 * unpack_codes(packed).astype(np.float32) - 1) @ self.vectors
            multiples = factors.of(data)
        else:
            decoded = decode_words(data, self.vectors)
            multiples = factors.to_unit_length(data)
        if packed.lengths is not None:
            multiples = multiples * self.rule.length_table[packed.lengths, 0]
        return decoded * (multiples * self.frame.unit)[:, None] + self.frame.origin

    def quantize(self, X, activations):
        """Bits of features, and bytes of their lengths, or None."""
        rows, lengths = self.frame.split(X)
        return self.bits_of(rows), lengths

    def bits_of(self, rows):
        """Bits of directions."""
        if self.word_size == 1:
            signs = np.where(rows @ self.vectors.T > 0, 1, -1).astype(np.float32)
            gram = self.rule.factors.gram
            improve_signs(rows, self.vectors, gram, signs, _ROUNDS, _SWEEPS[1])
            return signs > 0
        codebooks = self.vectors[:-1] if len(self.levels) else self.vectors
        if "_table" not in vars(self):  # is as large as it takes long to make
            self._table = Table(codebooks)
        words = self._table.words_of(rows)
        if len(self.levels):
            halfway = (self.levels[1:] + self.levels[:-1]) / 2
            nearest = np.searchsorted(halfway, cosines_of(rows, words, codebooks))
            words = np.hstack([words, nearest[:, None].astype(np.uint8)])
        return np.unpackbits(words, axis=1, bitorder="little")


class Table:
    """Inner products of all entries of codebooks, by which the words of rows are found."""

    def __init__(self, codebooks):
        _, n_values, n_features = codebooks.shape
        self._entries = codebooks.reshape(-1, n_features)
        self._table = self._entries @ self._entries.T
        self._squares = np.diag(self._table).copy()
        for first in range(0, len(self._table), n_values):  # a row has one of these
            own = slice(first, first + n_values)
            self._table[own, own] = 0

    def words_of(self, rows):
        """Words of new rows, shape (n_rows, n_words), uint8."""
        words = np.zeros((len(rows), len(self._squares) // 256), dtype=np.uint8)
        self.improve(rows, words, _ROUNDS, _SWEEPS[8], anew=True)
        return words

    def improve(self, rows, words, n_rounds, n_sweeps, *, anew=False):
        """Improve words in place, or choose them anew; return how many have changed."""
        from .._loops._words import search_words

        share = min(_SHARE_ANEW, _WORDS_ANEW / words.shape[1])
        n_changed = 0
        for part in gen_batches(len(rows), _ROWS_PER_BLOCK):
            products = rows[part] @ self._entries.T
            how = self._table, self._squares, words[part], n_rounds, n_sweeps, share, anew
            n_changed += search_words(products, *how)
        return n_changed


def improve_signs(rows, vectors, gram, signs, n_rounds, n_sweeps):
    """Improve signs in place; return how many have changed."""
    from .._loops._words import search_bits

    inner = signs @ gram
    return search_bits(rows @ vectors.T, gram, inner, signs, n_rounds, n_sweeps)


def in_threads(function, rows, n_jobs):
    """Results of ``function(part)`` for slices of rows, which threads share."""
    blocks = gen_batches(len(rows), _ROWS_PER_BLOCK)
    return map_in_threads(one_thread()(function), blocks, n_jobs)


def cosines_of(rows, words, codebooks):
    """Cosine of each row of unit length with the decoding of its words."""
    decoded = decode_words(words, codebooks)
    lengths = np.maximum(np.linalg.norm(decoded, axis=1), _TINY)
    return np.einsum("ij,ij->i", rows, decoded) / lengths


def order_of(codebook):
    """An order of entries in which values with equal bits have entries that are near.

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
    return cells.ravel()


def scaled(X, metric):
    """Rows as an array of float32 or float64, of unit length under "cosine"."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    if metric != "cosine":
        return X
    X = X.astype(np.float64, copy=False)  # cosines of rows far from the origin are near 1
    largest = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(largest > 0, largest, 1)  # so that no square is 0 or infinite
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), _TINY)
