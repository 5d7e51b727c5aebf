"""Rows as directions and lengths, and the model that encodes them in words.

A word of one bit adds or subtracts a vector; a word of eight bits adds one of 256 vectors.
The sum of the vectors of a code approximates the direction from the mean of the rows to the
row. The mean itself adds the same number to the inner products of all items.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.utils import gen_batches

from .._core.threads import map_in_threads, one_thread
from ..codes._factors import (
    CodeFactors,
    ScoreRule,
    WordFactors,
    bounds_of_lengths,
    decode_words,
)

# Rows that are searched for words at a time, whose inner products with codewords of 32
# codebooks take 33 MB in float64
_ROWS_PER_BLOCK = 512
# Sweeps and rounds of the search for the words of new rows; sweeps by the bits of a word
_SWEEPS = {1: 10, 8: 4}
_ROUNDS = 8
# A round draws at most this share of the words of a row anew. For words of eight bits it
# also draws at most this many.
_SHARE_ANEW = 0.25
_WORDS_ANEW = 4
# Neighbors by which `judge` compares factors with and without roots of cosines
_N_NEIGHBORS = 10
# Factors with roots of cosines must find this fraction more of these neighbors.
_LEAST_GAIN = 0.003
# Cosines of codes with their rows are raised to at least this value.
_LEAST_COSINE = 0.01
# Height bits cover the range between these two quantiles of heights over factors, so a few
# rows far from all others do not widen the steps. On both sides a margin is added, this
# share of the range.
_QUANTILES_OF_HEIGHTS = 0.002, 0.998
_SHARE_BEYOND_HEIGHTS = 0.1
_TINY = np.finfo(np.float32).tiny
# The square of this norm is still above 0 in float64.
_LEAST_NORM = 1e-100


class Centering(NamedTuple):
    """How features become the rows that are coded.

    Parameters
    ----------
    metric : {"cosine", "inner_product", "euclidean"}
        How features are compared.

    mean : ndarray of shape (n_features,), dtype float64
        Mean of the features, after these were scaled to unit length under "cosine".

    unit : float
        Root mean square length of the features less the mean; 1 under "cosine".

    lengths : ScoreRule, default=None
        Rule that turns lengths, in that unit, into bytes. None under "cosine", which needs
        no lengths.
    """

    metric: str
    mean: np.ndarray
    unit: float
    lengths: ScoreRule | None = None

    @classmethod
    def from_features(cls, X, metric):
        """Center features by their mean, and take their lengths in one unit."""
        X = scaled(X, metric)
        frame = cls(metric, X.mean(axis=0, dtype=np.float64), 1.0)
        if metric == "cosine":
            return frame
        lengths = np.linalg.norm(X - frame.mean, axis=1)
        unit = float(np.sqrt(np.mean(lengths**2))) or 1.0
        low, high = bounds_of_lengths(lengths.min() / unit, lengths.max() / unit)
        return frame._replace(unit=unit, lengths=ScoreRule(None, low, high))

    def split(self, X):
        """Directions of features, float32, and their lengths; 1 under "cosine".

        The mean is subtracted in float64. So rows far from 0 keep all their digits, and no
        row changes if a constant is added to all features.
        """
        X = scaled(X, self.metric) - self.mean
        lengths = _norms(X)
        X /= np.maximum(lengths, _TINY)[:, None]
        directions = X.astype(np.float32)
        if self.lengths is None:
            return directions, np.ones(len(X))
        return directions, lengths / self.unit

    @property
    def start(self):
        """The point that directions start from: the mean under "cosine", else the origin.

        A code stands for a direction. Under "cosine" it stands for the point of the unit
        sphere that lies in this direction from the mean.
        """
        return self.mean if self.metric == "cosine" else np.zeros_like(self.mean)

    def rule(self, factors, data):
        """The rule by which codes get factors and addends.

        The factors of some packed codes, `data`, set the bounds of all factors. Under
        "inner_product" one byte stands for the product of factor and length.
        """
        rule = ScoreRule.from_codes(factors, data)
        if self.lengths is None:
            return rule
        if self.metric == "inner_product":
            low = rule.low + self.lengths.low
            high = rule.high + self.lengths.high
            return rule_of_multiples(low, high)
        lengths = self.lengths.table
        return rule._replace(length_table=np.stack((lengths, lengths**2 / -2), axis=1))


class TangentProjection(NamedTuple):
    """How features of unit length become tangents at their mean.

    A row is ``height * axis + tangent``, and both are at right angles. The direction of the
    tangent is coded, and the height in bits of its own. If all features are above 0, as in
    GIST, their mean is long, and their directions from the mean are ill-conditioned: a
    small error of a direction moves the point of the sphere in this direction far along
    the mean.

    Parameters
    ----------
    mean : ndarray of shape (n_features,), dtype float64
        Mean of the features after these were scaled to unit length.

    axis : ndarray of shape (n_features,), dtype float64
        The mean, scaled to unit length.
    """

    mean: np.ndarray
    axis: np.ndarray

    metric = "cosine"
    unit = 1.0
    lengths = None

    @classmethod
    def from_features(cls, X):
        """Project features along their mean, which must not be 0."""
        mean = scaled(X, "cosine").mean(axis=0)
        return cls(mean, mean / np.linalg.norm(mean))

    def split(self, X):
        """Directions of tangents, float32, and heights of features along the mean."""
        X = scaled(X, "cosine")
        heights = X @ self.axis
        X -= np.outer(heights, self.axis)
        X /= np.maximum(_norms(X), _TINY)[:, None]
        return X.astype(np.float32), heights

    @property
    def start(self):
        """The origin: tangents are directions from it."""
        return np.zeros_like(self.mean)


class HeightBits(NamedTuple):
    """The bits of a code that stand for heights along an axis.

    In codes of codebooks they are one word of eight bits, whose values stand at equal
    steps. In codes of single bits they are nine bits. The first one is 1 in all codes and
    stands for the middle height. The vector of each further bit is twice as long as that
    of the bit before.

    Parameters
    ----------
    axis : ndarray of shape (n_features,), dtype float64
        Direction of the axis.

    low, high : float
        The lowest and the highest height that bits can stand for. Others are clipped.

    word_size : {1, 8}
        Bits of a word.
    """

    axis: np.ndarray
    low: float
    high: float
    word_size: int

    @property
    def step(self):
        """Distance between two heights that follow each other."""
        return max(self.high - self.low, _TINY) / 255

    @property
    def vectors(self):
        """Vectors of the values of the word, or of the single bits; float32."""
        numbers = self.low + self.step * np.arange(256)
        if self.word_size == 1:
            steps = self.step * 2.0 ** np.arange(-1, 7)
            numbers = np.append((self.low + self.high) / 2, steps)
        return np.outer(numbers, self.axis).astype(np.float32)

    def bits_of(self, numbers):
        """Bits of the nearest heights, shape (n_rows, 8) or (n_rows, 9), uint8."""
        values = np.rint((numbers - self.low) / self.step).clip(0, 255).astype(np.uint8)
        bits = np.unpackbits(values[:, None], axis=1, bitorder="little")
        if self.word_size == 8:
            return bits
        return np.insert(bits, 0, 1, axis=1)


# Number of bits of a code that encode the height, by the number of bits of a word
N_HEIGHT_BITS = {1: 9, 8: 8}
# Number of bits of a word, by the method that finds its vectors
WORD_SIZES = {"axes": 1, "bits": 1, "codebooks": 8}


def rule_of_multiples(low, high):
    """The rule of codes that have a byte for their factor, between these logarithms."""
    rule = ScoreRule(None, low, high)
    table = rule.table[:, None] * np.array([1, 0], dtype=np.float32)
    return rule._replace(length_table=table)


class AdditiveModel:
    """A fitted encoder of rows: how features are centered, and the vectors of words.

    Parameters
    ----------
    frame : Centering or TangentProjection
        How features become directions, and lengths or heights.

    vectors : ndarray of shape (n_bits, n_features) or (n_words, 256, n_features)
        Vectors of the bits, or of the values of words of eight bits; float32.

    factors : CodeFactors or WordFactors
        Multiples that bring the sums of the vectors of codes nearest to their rows.

    moments : Moments, default=None
        Sums over the rows seen so far. Only for single bits found by alternations.

    Attributes
    ----------
    heights : HeightBits or None
        The last bits of codes of tangents; None if rows are not tangents.

    rule : ScoreRule
        How codes get factors and addends.

    cosine : float or None
        Mean cosine of held-out rows with their decodings. None if there were few rows.
    """

    def __init__(self, frame, vectors, factors, moments=None):
        self.frame = frame
        self.vectors = vectors
        self.factors = factors
        self.moments = moments
        self.rule = None
        self.cosine = None
        self.heights = None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "_table"}

    @classmethod
    def from_vectors(cls, frame, vectors, moments=None, firsts=None):
        """Make a model of single bits. Its rule must be set before it encodes.

        If several bits encode one number along an axis, `firsts` has the place of the first
        bit of each axis.
        """
        start = frame.start
        gram = vectors @ vectors.T if firsts is None else _norms(vectors)
        along = vectors @ start
        beyond = 1 - float(start @ start)
        factors = CodeFactors(gram, along, beyond, firsts)
        return cls(frame, vectors, factors, moments)

    @classmethod
    def from_codebooks(cls, frame, codebooks):
        """Make a model of codebooks. Its rule must be set before it encodes."""
        codebooks = np.stack([codebook[order_of(codebook)] for codebook in codebooks])
        return cls(frame, codebooks, WordFactors.from_codebooks(codebooks, frame.start))

    def set_rule(self, rows, is_rooted=False):
        """Set the rule, with the bounds of the factors of some rows' codes.

        If `is_rooted`, which `judge` returns, factors are multiplied by the fourth roots of
        cosines.
        """
        if isinstance(self.frame, TangentProjection):
            # The rule needs heights, too, so `set_heights` sets it.
            return
        data = self._codes_of(rows)
        if is_rooted:
            multiples = self._multiples(rows, data)
            low, high = bounds_of_lengths(multiples.min(), multiples.max())
            self.rule = rule_of_multiples(low, high)
        else:
            self.rule = self.frame.rule(self.factors, data)

    def set_heights(self, X):
        """Set the rule of codes of tangents, and the bits of heights, by some features."""
        rows, heights = self.frame.split(X)
        factors = self._projections(rows, self._codes_of(rows)) * tangent_lengths(heights)
        low, high = bounds_of_lengths(factors.min(), factors.max())
        self.rule = rule_of_multiples(low, high)
        low_height, high_height = np.quantile(heights / factors, _QUANTILES_OF_HEIGHTS)
        margin = _SHARE_BEYOND_HEIGHTS * (high_height - low_height)
        self.heights = HeightBits(
            axis=self.frame.axis,
            low=float(low_height - margin),
            high=float(high_height + margin),
            word_size=self.word_size,
        )

    def judge(self, rows):
        """Judge the model by rows that it was not fitted to.

        If no sum of vectors is near a row, the scores of the row are too high. Under
        "cosine" factors are multiplied by the fourth root of the cosine of row and sum, if
        this finds more neighbors among the rows.

        Returns
        -------
        is_rooted : bool
            Whether to multiply factors by these roots.

        cosine : float
            Mean cosine of the rows with the sums of their codes.
        """
        data = self._codes_of(rows)
        sums = self._sums(data)
        cosine = float(np.mean(_cosines(rows, sums)))
        has_heights = isinstance(self.frame, TangentProjection)
        has_lengths = self.frame.lengths is not None
        if has_heights or has_lengths or len(rows) <= 2 * _N_NEIGHBORS:
            return False, cosine
        points = self._points_of_sphere(rows)
        is_true_neighbor = _are_nearest(points @ points.T)
        scores = points @ sums.T

        plain_scores = scores * self.factors.of(data).astype(np.float32)
        n_found = (is_true_neighbor & _are_nearest(plain_scores)).sum()
        rooted_scores = scores * self._multiples(rows, data).astype(np.float32)
        n_found_by_roots = (is_true_neighbor & _are_nearest(rooted_scores)).sum()
        least_n_found = n_found + _LEAST_GAIN * is_true_neighbor.sum()
        return n_found_by_roots > least_n_found, cosine

    def _points_of_sphere(self, directions):
        """Points of the unit sphere to which directions from the start lead, float32."""
        start = self.frame.start
        along = directions @ start
        distances = np.sqrt(np.maximum(along**2 + 1 - start @ start, 0)) - along
        return (start + directions * distances[:, None]).astype(np.float32)

    def _codes_of(self, rows):
        """Packed codes of directions."""
        return np.packbits(self.bits_of(rows), axis=1, bitorder="little")

    def _multiples(self, rows, data):
        """Factors of codes times the fourth roots of their cosines with their rows."""
        cosines = _cosines(rows, self._sums(data))
        return self.factors.of(data) * np.maximum(cosines, _LEAST_COSINE) ** 0.25

    def _projections(self, rows, data):
        """Multiples of the sums of codes that are nearest to their rows of unit length.

        A sum that points away from its row is shortened, so inaccurate codes do not get
        scores that are too high.
        """
        sums = self._sums(data, np.float64)
        squares = np.einsum("ij,ij->i", sums, sums)
        cosines = np.maximum(_cosines(rows, sums), _LEAST_COSINE)
        return cosines / np.sqrt(np.maximum(squares, _TINY))

    def _sums(self, data, dtype=np.float32):
        """Sums of the vectors of packed directions, shape (n_codes, n_features)."""
        return _sums_of(data, self.vectors, dtype)

    @property
    def error(self):
        """Error of directions, from `cosine`, and of factors; None without `cosine`."""
        return None if self.cosine is None else 1 - self.cosine + self.factor_error

    def error_of(self, rows):
        """Error of directions, one minus the mean cosine of the rows, and of factors."""
        sums = self._sums(self._codes_of(rows))
        return 1 - float(np.mean(_cosines(rows, sums))) + self.factor_error

    def recall_of_directions(self, rows, n_neighbors):
        """Share of the nearest others of each direction that are nearest by codes, too."""
        sums = self._sums(self._codes_of(rows))
        sums /= np.maximum(_norms(sums), _TINY)[:, None]
        nearest = _are_nearest(rows @ rows.T, n_neighbors)
        return (nearest & _are_nearest(rows @ sums.T, n_neighbors)).sum() / nearest.sum()

    @property
    def factor_error(self):
        """Error of rounding factors to bytes, which is added to one minus the cosine.

        It matters if the rows have two or three dimensions: many sums then point almost
        exactly to a row, and their lengths are far apart. The logarithms of factors stand
        at equal steps, so half of the mean squared error is the square of a step over 24.
        """
        # Tangents have no rule before their heights are set.
        if self.rule is None:
            return 0.0
        return ((self.rule.high - self.rule.low) / 255) ** 2 / 24

    @property
    def method(self):
        """Method that has found the vectors: "axes", "bits" or "codebooks"."""
        if self.vectors.ndim == 3:
            return "codebooks"
        return "bits" if self.factors.firsts is None else "axes"

    @property
    def word_size(self):
        """Bits of a word."""
        return WORD_SIZES[self.method]

    @property
    def n_bits(self):
        """Bits of a code."""
        return len(self.vectors_of_code()) * self.word_size

    @property
    def n_direction_bits(self):
        """Bits of a code that encode the direction of its row."""
        return len(self.vectors) * self.word_size

    def vectors_of_code(self):
        """Vectors of the bits, or of the values of words; vectors of heights come last."""
        if self.heights is None:
            return self.vectors
        height_vectors = self.heights.vectors
        if self.word_size == 8:
            height_vectors = height_vectors[None]
        return np.concatenate((self.vectors, height_vectors))

    def vectors_of_bits(self):
        """Vectors of the bits; for words, half of the mean difference a bit makes."""
        vectors = self.vectors_of_code()
        if self.word_size == 1:
            return vectors
        values = np.arange(256, dtype=np.uint8)[:, None]
        signs = np.unpackbits(values, axis=1, bitorder="little") * np.float32(2) - 1
        # From words, values and features to words, bits and features
        bit_vectors = np.einsum("wvf,vb->wbf", vectors, signs / 256, optimize=True)
        return bit_vectors.reshape(self.n_bits, -1).astype(np.float32)

    def decode(self, packed):
        """Features that packed codes stand for, shape (n_samples, n_features)."""
        if isinstance(self.frame, TangentProjection):
            decoded = _sums_of(packed.data, self.vectors_of_code(), np.float32)
            return decoded / np.maximum(_norms(decoded), _TINY)[:, None]
        multiples = self.factors.of(packed.data)
        if packed.lengths is not None and self.frame.lengths is not None:
            lengths = self.rule.length_table[packed.lengths, 0].astype(np.float64)
            # Without a rule for factors a byte holds the factor times the length.
            has_factors_in_bytes = self.rule.factors is None
            multiples = lengths if has_factors_in_bytes else multiples * lengths
        multiples *= self.frame.unit
        return self._sums(packed.data) * multiples[:, None] + self.frame.mean

    def quantize(self, X):
        """Bits of features, and the bytes that belong to them, or None."""
        rows, lengths = self.frame.split(X)
        bits = self.bits_of(rows)
        if isinstance(self.frame, TangentProjection):
            return self._quantize_tangents(rows, lengths, bits)
        if self.rule.factors is None:
            data = np.packbits(bits, axis=1, bitorder="little")
            if self.frame.lengths is None:
                return bits, self.rule.steps_of(self._multiples(rows, data))
            return bits, self.rule.steps_of(self.factors.of(data) * lengths)
        if self.frame.lengths is None:
            return bits, None
        return bits, self.frame.lengths.steps_of(lengths)

    def _quantize_tangents(self, rows, heights, bits):
        """Bits of directions and heights of tangents, and the bytes of their factors."""
        data = np.packbits(bits, axis=1, bitorder="little")
        factors = self._projections(rows, data) * tangent_lengths(heights)
        # A height beyond the range of its bits is kept exactly by a larger factor.
        ratios = np.clip(heights / factors, self.heights.low, self.heights.high)
        is_fit = heights * ratios > 0
        factors[is_fit] = heights[is_fit] / ratios[is_fit]
        factor_bytes = self.rule.steps_of(factors)
        # Heights are divided by the stored factor, which multiplies them in scores.
        kept_factors = self.rule.length_table[factor_bytes, 0]
        height_bits = self.heights.bits_of(heights / kept_factors)
        return np.concatenate((bits, height_bits), axis=1), factor_bytes

    def recall(self, X, n_neighbors):
        """Share of the nearest others of each row that are nearest by codes, too.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows of unit length.

        n_neighbors : int
            Number of neighbors of a row.
        """
        bits, factor_bytes = self.quantize(X)
        data = np.packbits(bits, axis=1, bitorder="little")
        terms = self.rule.terms(data, factor_bytes)
        sums = _sums_of(data, self.vectors_of_code(), np.float32)
        nearest = _are_nearest(X @ X.T, n_neighbors)
        scores = (X @ sums.T) * terms.values[:, 0]
        return (nearest & _are_nearest(scores, n_neighbors)).sum() / nearest.sum()

    def bits_of(self, rows):
        """Bits of directions."""
        if self.method == "axes":
            from .._loops._words import round_axes

            firsts = self.factors.firsts
            halves = self.vectors[firsts]
            widths = np.diff(firsts, append=self.n_direction_bits)
            squares = np.maximum(np.einsum("ij,ij->i", halves, halves), _TINY)
            bits = np.empty((len(rows), self.n_direction_bits), dtype=np.uint8)
            # Products of rows with half steps are divided by the product of a step with a
            # half step.
            round_axes(_products(rows, halves), 2 * squares, widths, bits)
            return bits
        if self.word_size == 1:
            signs = np.where(
                _products(rows, self.vectors) > 0, np.float32(1), np.float32(-1)
            )
            gram = self.factors.gram
            improve_signs(rows, self.vectors, gram, signs, _ROUNDS, _SWEEPS[1])
            return signs > 0
        # The table is large and takes long to make: it is made once, and not pickled.
        if "_table" not in vars(self):
            self._table = Table(self.vectors)
        return np.unpackbits(self._table.words_of(rows), axis=1, bitorder="little")


class Table:
    """Inner products of all codewords with each other, by which words of rows are found.

    Parameters
    ----------
    codebooks : ndarray of shape (n_words, 256, n_features), dtype float32
        Codewords of each word.
    """

    def __init__(self, codebooks):
        _, n_values, n_features = codebooks.shape
        self._entries = codebooks.reshape(-1, n_features)
        self._squares = np.einsum("ij,ij->i", self._entries, self._entries)
        # No inner product of a codeword with another is larger than the product of its
        # length and the largest length.
        lengths = np.sqrt(self._squares)
        self._units = np.maximum(lengths * (lengths.max() / 32_767), _TINY)
        # A row has one codeword of a codebook: codewords of the same codebook never meet,
        # and their inner products stay 0.
        n_codewords = len(self._entries)
        self._table = np.zeros((n_codewords, n_codewords), dtype=np.int16)
        for first in range(0, n_codewords, n_values):
            codebook = slice(first, first + n_values)
            later = slice(first + n_values, None)
            products = self._entries[codebook] @ self._entries[later].T
            self._table[codebook, later] = np.rint(products / self._units[codebook, None])
            products /= self._units[later]
            self._table[later, codebook] = np.rint(products, out=products).T

    @cached_property
    def _entries_in_double(self):
        """Codewords in float64. To convert them takes longer than to encode a row."""
        return self._entries.astype(np.float64)

    def words_of(self, rows):
        """Words of new rows, shape (n_rows, n_words), uint8."""
        words = np.zeros((len(rows), len(self._squares) // 256), dtype=np.uint8)
        self.improve(rows, words, _ROUNDS, _SWEEPS[8], anew=True, dtype=np.float64)
        return words

    def improve(self, rows, words, n_rounds, n_sweeps, *, anew=False, dtype=np.float32):
        """Improve words in place, or choose them anew; return how many have changed.

        In float64 the words of a row do not depend on the rows beside it.
        """
        from .._loops._words import Codewords, WordSearch, search_words

        codewords = Codewords(self._table, self._units, self._squares)
        share = min(_SHARE_ANEW, _WORDS_ANEW / words.shape[1])
        search = WordSearch(n_rounds, n_sweeps, share, anew)
        n_changed = 0
        entries = self._entries if dtype == np.float32 else self._entries_in_double
        for part in gen_batches(len(rows), _ROWS_PER_BLOCK):
            products = _products(rows[part], entries, dtype)
            n_changed += search_words(products, codewords, words[part], search)
        return n_changed


def improve_signs(rows, vectors, gram, signs, n_rounds, n_sweeps):
    """Improve signs in place; return how many have changed."""
    from .._loops._words import search_bits

    products = _products(rows, vectors)
    products_of_sums = _products(signs, gram)
    return search_bits(products, gram, products_of_sums, signs, n_rounds, n_sweeps)


def _products(rows, vectors, dtype=np.float64):
    """Inner products in float32, computed in float64 by default.

    In float32 the last digits of a row's products would depend on the other rows, since
    BLAS then adds in another order. So would the choice between two words that are almost
    equally good.
    """
    rows = rows.astype(dtype, copy=False)
    vectors = vectors.astype(dtype, copy=False)
    return (rows @ vectors.T).astype(np.float32, copy=False)


def in_threads(function, rows, n_jobs):
    """Yield results of ``function(part)`` for slices of rows, which threads share."""
    blocks = gen_batches(len(rows), _ROWS_PER_BLOCK)
    return map_in_threads(one_thread()(function), blocks, n_jobs)


def cosines_of(rows, words, codebooks):
    """Cosine of each row of unit length with the decoding of its words."""
    return _cosines(rows, decode_words(words, codebooks))


def _cosines(rows, sums):
    lengths = np.maximum(_norms(sums), _TINY)
    return np.einsum("ij,ij->i", rows, sums) / lengths


def _sums_of(data, vectors, dtype):
    """Sums of vectors of bits or words by packed codes, shape (n_codes, n_features)."""
    if vectors.ndim == 3:
        return decode_words(data, vectors)
    bits = np.unpackbits(data, axis=1, count=len(vectors), bitorder="little")
    return (2 * bits.astype(dtype) - 1) @ vectors.astype(dtype, copy=False)


def tangent_lengths(heights):
    """Lengths of the tangents of rows of unit length."""
    return np.sqrt(np.maximum(1 - heights**2, _TINY))


def order_of(codebook):
    """Order the entries of a codebook so that values with many equal bits are near.

    Each bit halves the cells of the bits before it, along a principal direction of the
    codebook. So the Hamming distance of codes is informative, too.
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
    # Cosines of rows far from the origin are near 1, and would be equal in float32.
    X = np.array(X, dtype=np.float64)
    norms = _norms(X)
    is_extreme = ~((norms > _LEAST_NORM) & (norms < 1 / _LEAST_NORM))
    # Extreme rows are divided by their largest value first, so that no square is 0 or
    # infinite.
    if is_extreme.any():
        largest = np.abs(X[is_extreme]).max(axis=1, keepdims=True)
        X[is_extreme] /= np.where(largest > 0, largest, 1)
        norms[is_extreme] = _norms(X[is_extreme])
    X /= np.maximum(norms, _TINY)[:, None]
    return X


def _norms(X):
    # A sum of squares by einsum makes no array of squares.
    return np.sqrt(np.einsum("ij,ij->i", X, X))


def _are_nearest(scores, n_neighbors=_N_NEIGHBORS):
    """Mask of the highest scores of each query, which is not its own neighbor."""
    np.fill_diagonal(scores, -np.inf)
    place = scores.shape[1] - n_neighbors
    return scores >= np.partition(scores, place, axis=1)[:, [place]]
