"""Factors and addends of scores, a byte each: what they follow from, and their tables."""

from typing import NamedTuple

import numpy as np

from .._core.threads import one_thread, slices

_CODES_PER_BLOCK = 1_024
_TINY = np.finfo(np.float32).tiny
_STEPS = np.arange(256)
_BEYOND = 0.1  # share by which bounds are wider than what was seen
_LARGEST_RATIO = 100.0  # of the longest row to the shortest that is told apart


class Terms(NamedTuple):
    """Factors and addends that the scores of some codes have.

    Parameters
    ----------
    given : ndarray of shape (n_codes, 1) or (n_codes, 2), dtype float32
        Factors, and perhaps addends, as a user gave them. The others are then empty.

    factors : ndarray of shape (n_codes,), dtype uint8
        Places of the factors in their table.

    lengths : ndarray of shape (n_codes,), dtype uint8
        Bytes that do not follow from the codes, such as lengths of rows: places in the
        other table.

    factor_table : ndarray of shape (256,), dtype float32
        What the bytes of factors stand for.

    length_table : ndarray of shape (256, 2), dtype float32
        A further factor, and an addend, by the bytes of lengths.

    Notes
    -----
    What codes do not have is empty, as compiled loops take it.
    """

    given: np.ndarray = np.empty((0, 0), np.float32)
    factors: np.ndarray = np.empty(0, np.uint8)
    lengths: np.ndarray = np.empty(0, np.uint8)
    factor_table: np.ndarray = np.empty(0, np.float32)
    length_table: np.ndarray = np.empty((0, 2), np.float32)

    @property
    def n_terms(self):
        """Number of terms of a code: none, a factor, or a factor and an addend."""
        by_bytes = 2 if len(self.length_table) else int(len(self.factor_table) > 0)
        return self.given.shape[1] or by_bytes

    @property
    def nbytes(self):
        """Bytes of what is kept for each code."""
        return sum(array.nbytes for array in self[:3])

    @property
    def values(self):
        """Factors, and addends, as a float32 array of shape (n_codes, n_terms), or None."""
        if self.given.shape[1]:
            return self.given
        factors = self.factor_table.take(self.factors)
        if not len(self.length_table):
            return factors[:, None] if len(self.factor_table) else None
        values = self.length_table.take(self.lengths, axis=0)
        if len(self.factor_table):
            values[:, 0] *= factors
        return values

    def pairs(self, n_codes):
        """A factor and an addend for each of `n_codes`, 1 and 0 where there are none."""
        pairs, values = np.zeros((n_codes, 2), dtype=np.float32), self.values
        pairs[:, 0] = 1
        if values is not None:
            pairs[:, : values.shape[1]] = values
        if len(self.factors) or len(self.lengths):
            pairs[pairs[:, 0] == 0, 1] = -np.inf  # those come last
        return pairs

    def without_direction(self, rows):
        """The terms, where rows of a mask have no direction: byte 0, for a factor of 0."""
        name = "lengths" if len(self.length_table) else "factors"
        return self._replace(**{name: np.where(rows, np.uint8(0), getattr(self, name))})

    def rows(self, rows):
        """The terms of some of the codes."""
        chosen = (array[rows] if len(array) else array for array in self[:3])
        return Terms(*chosen, *self[3:])

    @staticmethod
    def join(parts):
        """The terms of several sets of codes, of as many terms each."""
        # Bytes stay where they mean the same in all.
        tables = [part[3:] for part in parts]
        if not all(
            np.array_equal(*pair) for each in tables for pair in zip(each, tables[0])
        ):
            parts = [Terms(part.values) for part in parts]
        return Terms(
            *map(np.concatenate, zip(*(part[:3] for part in parts))), *parts[0][3:]
        )

    def largest(self):
        """The largest magnitudes of a factor and of an addend."""
        of_codes = self.given if len(self.given) else self.length_table
        factor, *addend = np.abs(of_codes).max(axis=0).tolist() if len(of_codes) else [1.0]
        if len(self.factor_table):
            factor *= float(self.factor_table.max())
        return factor, float(sum(addend))


class ScoreRule(NamedTuple):
    """How the codes of a hasher get their terms.

    Parameters
    ----------
    factors : CodeFactors or WordFactors, default=None
        What factors follow from; None means that there are none.

    low, high : float
        Logarithms of the least and the largest factor. What is beyond becomes one of them.

    length_table : ndarray of shape (256, 2), dtype float32, default=None
        A further factor, and an addend, for each byte that comes with a code and does not
        follow from it; None means that there are no such bytes.
    """

    factors: object = None
    low: float = 0.0
    high: float = 0.0
    length_table: np.ndarray | None = None

    @classmethod
    def of_codes(cls, factors, data):
        """The rule of factors, with bounds a bit beyond those of some packed codes."""
        return cls(factors, *_bounds(factors.of(data)))

    @property
    def table(self):
        """What the bytes of factors stand for, shape (256,), dtype float32.

        Byte 0 is that of rows without a direction.
        """
        table = np.exp(self.low + (self.high - self.low) / 255 * _STEPS)
        return np.where(_STEPS, table, 0).astype(np.float32)

    def steps_of(self, values):
        """The bytes nearest to positive values, by logarithm between the bounds."""
        width = max(self.high - self.low, _TINY)
        steps = 255 / width * (np.log(np.maximum(values, _TINY)) - self.low)
        return np.clip(np.rint(steps), 1, 255).astype(np.uint8)

    def terms(self, data, lengths=None):
        """Terms of packed codes, and of the bytes that came with them."""
        terms = Terms()
        if self.factors is not None:
            factors = self.steps_of(self.factors.of(data))
            terms = Terms(factors=factors, factor_table=self.table)
        if lengths is None:
            return terms
        return terms._replace(lengths=lengths, length_table=self.length_table)


def bounds_of_lengths(least, largest):
    """Logarithms between which the lengths of rows are told apart."""
    return _bounds(np.array([max(least, largest / _LARGEST_RATIO, _TINY), largest]))


def _bounds(values):
    logs = np.log(np.maximum(values, _TINY))
    low, high = float(logs.min()), float(logs.max())
    more = _BEYOND * max(high - low, _BEYOND)
    return low - more, high + more


class CodeFactors(NamedTuple):
    """Factors of codes whose features are compared by cosine.

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

    firsts : ndarray of shape (n_axes,), dtype int, default=None
        Places of the first bits of axes: vectors of one axis have one direction, each twice
        as long as the one before, and others are at right angles. `gram` is then the
        lengths of the vectors. None means that there are no axes.
    """

    gram: np.ndarray
    along: np.ndarray
    beyond: float
    firsts: np.ndarray | None = None

    @one_thread()
    def of(self, data):
        """Factors of packed codes in little bit order, float64."""
        (squares, along), n_bits = np.empty((2, len(data))), len(self.along)
        gram = self.gram.astype(np.float64)
        if self.firsts is not None:
            from .._loops._words import measure_axes

            is_last = np.zeros(n_bits, dtype=bool)
            is_last[self.firsts - 1] = True  # that of the first axis is the last of all
            measure_axes(data, gram, self.along, is_last, squares, along)
        else:
            for rows in slices(len(data), _CODES_PER_BLOCK):
                bits = np.unpackbits(data[rows], axis=1, count=n_bits, bitorder="little")
                signs = 2.0 * bits - 1
                # In float32 last digits of a factor would depend on the rows beside it
                squares[rows] = np.einsum("ij,ij->i", signs @ gram, signs)
                along[rows] = signs @ self.along
        return _factors(squares, along, self.beyond)


class WordFactors(NamedTuple):
    """Factors of codes whose words of eight bits stand for vectors.

    The factor is that of `CodeFactors`.

    Parameters
    ----------
    codebooks : ndarray of shape (n_words, 256, n_features), dtype float32
        Vectors of the values of each word.

    along : ndarray of shape (n_words, 256), dtype float64
        Inner products of these vectors with the mean.

    beyond : float
        One minus the squared length of the mean.
    """

    codebooks: np.ndarray
    along: np.ndarray
    beyond: float

    @classmethod
    def of_codebooks(cls, codebooks, mean):
        """The rule of codebooks of features with a mean."""
        return cls(codebooks, codebooks @ mean, 1 - float(mean @ mean))

    def of(self, data):
        """Factors of packed codes, float64."""
        factors = np.empty(len(data))
        for rows in slices(len(data), _CODES_PER_BLOCK):
            words = data[rows]
            decoded = decode_words(words, self.codebooks)
            squares = np.einsum("ij,ij->i", decoded, decoded, dtype=np.float64)
            along = self.along[np.arange(len(self.along)), words].sum(axis=1)
            factors[rows] = _factors(squares, along, self.beyond)
        return factors


def decode_words(words, codebooks):
    """Sums of the vectors of words, shape (n_codes, n_features), float32."""
    decoded = np.zeros((len(words), codebooks.shape[2]), dtype=np.float32)
    for values, codebook in zip(words.T, codebooks):
        decoded += codebook[values]
    return decoded


def _factors(squares, along, beyond):
    """Multiples of vectors that lead from the mean of features to the unit sphere.

    `squares` are the squared lengths of the vectors, `along` their inner products with the
    mean, and `beyond` is one minus its squared length.
    """
    norms = np.sqrt(np.maximum(squares, _TINY))
    along = along / norms
    return (np.sqrt(np.maximum(along**2 + beyond, _TINY)) - along) / norms
