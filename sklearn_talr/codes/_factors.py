"""Terms of codes: factors and addends of scores, a byte each, and the rules they follow."""

from typing import NamedTuple

import numpy as np

from .._core.threads import one_thread, slices
from .._core.types import Any, NDArray, Self, Sequence

_CODES_PER_BLOCK = 1_024
_TINY = np.finfo(np.float32).tiny
_FACTOR_BYTES = np.arange(256)
# The bounds of factors are wider, by this share, than the factors they are found from.
_MARGIN_OF_BOUNDS = 0.1
# Rows are told apart by length if the longest is at most this many times the shortest.
_LARGEST_RATIO = 100.0


class CodeTerms(NamedTuple):
    """Terms of the scores of some codes: the factor and the addend of each code.

    A *term* is a number that belongs to a code, whatever the query is. A weighted query
    scores a code with a sum over its bits, which the code's factor multiplies and to which
    the code's addend is added, see :func:`weighted_scores`. Codes have no terms, which is a
    factor of 1 and an addend of 0; or a factor each; or a factor and an addend each. The
    attribute `terms` of :class:`PackedCodes` holds them. Numbers that a user passed are
    kept as they are; those of a hasher, such as
    :class:`~sklearn_talr.hashing.AdditiveHasher`, take a byte each, and tables hold what
    the bytes stand for.

    Parameters
    ----------
    given : ndarray of shape (n_codes, 1) or (n_codes, 2), dtype float32
        Factors, and perhaps addends, as a user passed them. All other arrays are then
        empty.

    factors : ndarray of shape (n_codes,), dtype uint8
        Place of each code's factor in `factor_table`.

    lengths : ndarray of shape (n_codes,), dtype uint8
        Place of each code in `length_table`: a byte that a hasher has stored beside the
        code, such as the length of its row.

    factor_table : ndarray of shape (256,), dtype float32
        Factors by the bytes of `factors`.

    length_table : ndarray of shape (256, 2), dtype float32
        Further factors, and addends, by the bytes of `lengths`.

    Notes
    -----
    An array that does not apply is empty and never None, since compiled loops read all.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.codes import PackedCodes
    >>> data = np.array([[1], [2]], dtype=np.uint8)
    >>> terms = PackedCodes(data, n_bits=2, terms=[[1.0], [0.5]]).terms
    >>> terms.n_terms
    1
    >>> terms.values
    array([[1. ],
           [0.5]], dtype=float32)
    """

    given: np.ndarray = np.empty((0, 0), np.float32)
    factors: np.ndarray = np.empty(0, np.uint8)
    lengths: np.ndarray = np.empty(0, np.uint8)
    factor_table: np.ndarray = np.empty(0, np.float32)
    length_table: np.ndarray = np.empty((0, 2), np.float32)

    @property
    def n_terms(self) -> int:
        """Number of terms of a code: none, a factor, or a factor and an addend."""
        if self.given.shape[1]:
            return self.given.shape[1]
        if len(self.length_table):
            return 2
        return int(len(self.factor_table) > 0)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that have an entry for each code."""
        return self.given.nbytes + self.factors.nbytes + self.lengths.nbytes

    @property
    def values(self) -> NDArray[np.float32] | None:
        """Factors, and addends, as a float32 array of shape (n_codes, n_terms), or None."""
        if self.given.shape[1]:
            return self.given
        if not self.n_terms:
            return None
        factors = self.factor_table.take(self.factors)
        if self.n_terms == 1:
            return factors[:, None]
        values = self.length_table.take(self.lengths, axis=0)
        if len(self.factor_table):
            values[:, 0] *= factors
        return values

    def pairs(self, n_codes: int) -> NDArray[np.float32]:
        """A factor and an addend for each of `n_codes`; 1 and 0 if there are no terms.

        Codes whose bytes stand for a factor of 0, which have no direction, get the addend
        -inf, so that they come last.
        """
        pairs = np.zeros((n_codes, 2), dtype=np.float32)
        pairs[:, 0] = 1
        if self.n_terms:
            pairs[:, : self.n_terms] = self.values
        if len(self.factors) or len(self.lengths):
            has_no_direction = pairs[:, 0] == 0
            pairs[has_no_direction, 1] = -np.inf
        return pairs

    def without_direction(self, rows: NDArray[np.bool_]) -> Self:
        """The terms with byte 0, which stands for a factor of 0, at the rows of a mask."""
        no_direction = np.uint8(0)
        if len(self.length_table):
            lengths = np.where(rows, no_direction, self.lengths)
            return self._replace(lengths=lengths)
        factors = np.where(rows, no_direction, self.factors)
        return self._replace(factors=factors)

    def rows(self, rows: slice | Sequence[int] | NDArray[Any]) -> Self:
        """The terms of some of the codes, chosen as rows of an array are."""
        return self._replace(
            given=_rows_if_any(self.given, rows),
            factors=_rows_if_any(self.factors, rows),
            lengths=_rows_if_any(self.lengths, rows),
        )

    @staticmethod
    def join(parts: Sequence["CodeTerms"]) -> "CodeTerms":
        """The terms of several sets of codes, of as many terms each, one after another.

        Bytes stay bytes if all parts have the same tables.
        """
        if not all(part.has_tables_of(parts[0]) for part in parts):
            parts = [CodeTerms(part.values) for part in parts]
        return parts[0]._replace(
            given=np.concatenate([part.given for part in parts]),
            factors=np.concatenate([part.factors for part in parts]),
            lengths=np.concatenate([part.lengths for part in parts]),
        )

    def has_tables_of(self, other: "CodeTerms") -> bool:
        """Whether bytes stand for the same numbers here as in other terms."""
        have_equal_factors = np.array_equal(self.factor_table, other.factor_table)
        have_equal_lengths = np.array_equal(self.length_table, other.length_table)
        return have_equal_factors and have_equal_lengths

    def largest(self) -> tuple[float, float]:
        """The largest magnitudes of a factor and of an addend."""
        candidates = self.given if len(self.given) else self.length_table
        factor = 1.0
        addend = 0.0
        if len(candidates):
            magnitudes = np.abs(candidates).max(axis=0).tolist()
            factor = magnitudes[0]
            addend = float(sum(magnitudes[1:]))
        if len(self.factor_table):
            factor *= float(self.factor_table.max())
        return factor, addend


class ScoreRule(NamedTuple):
    """The rule by which the codes of a hasher get their terms.

    Parameters
    ----------
    factors : CodeFactors or WordFactors, default=None
        The rule by which factors follow from codes; None means that there are none.

    low, high : float
        Logarithms of the least and the largest factor. A factor beyond them becomes the
        nearer one.

    length_table : ndarray of shape (256, 2), dtype float32, default=None
        A further factor, and an addend, for each byte that comes with a code and does not
        follow from it; None means that there are no such bytes.
    """

    factors: object = None
    low: float = 0.0
    high: float = 0.0
    length_table: np.ndarray | None = None

    @classmethod
    def from_codes(cls, factors, data):
        """The rule of factors, with bounds a bit beyond those of some packed codes."""
        return cls(factors, *_bounds(factors.of(data)))

    @property
    def table(self):
        """Factors by their bytes, an array of shape (256,), dtype float32.

        Byte 0 stands for a factor of 0, which rows without a direction have.
        """
        width = self.high - self.low
        table = np.exp(self.low + width / 255 * _FACTOR_BYTES)
        return np.where(_FACTOR_BYTES, table, 0).astype(np.float32)

    def steps_of(self, values):
        """The bytes nearest to positive values, by logarithm between the bounds."""
        width = max(self.high - self.low, _TINY)
        logs = np.log(np.maximum(values, _TINY))
        steps = np.rint(255 / width * (logs - self.low))
        return np.clip(steps, 1, 255).astype(np.uint8)

    def terms(self, data, lengths=None):
        """Terms of packed codes, and of the bytes that came with them."""
        terms = CodeTerms()
        if self.factors is not None:
            factors = self.steps_of(self.factors.of(data))
            terms = CodeTerms(factors=factors, factor_table=self.table)
        if lengths is None:
            return terms
        return terms._replace(lengths=lengths, length_table=self.length_table)


def bounds_of_lengths(least, largest):
    """Logarithms between which the lengths of rows are told apart."""
    shortest = max(least, largest / _LARGEST_RATIO, _TINY)
    return _bounds(np.array([shortest, largest]))


def _bounds(values):
    """Logarithms of the least and the largest of some values, and a margin beyond them."""
    logs = np.log(np.maximum(values, _TINY))
    low = float(logs.min())
    high = float(logs.max())
    margin = _MARGIN_OF_BOUNDS * max(high - low, _MARGIN_OF_BOUNDS)
    return low - margin, high + margin


def _rows_if_any(array, rows):
    """Rows of an array with an entry for each code, or the array if it is empty."""
    return array[rows] if len(array) else array


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
        n_bits = len(self.along)
        squares = np.empty(len(data))
        along = np.empty(len(data))
        gram = self.gram.astype(np.float64)
        if self.firsts is not None:
            from .._loops._words import measure_axes

            # The bit before the first one of an axis is the last one of the axis before;
            # before the first axis this is place -1, the last bit of all.
            is_last = np.zeros(n_bits, dtype=bool)
            is_last[self.firsts - 1] = True
            measure_axes(data, gram, self.along, is_last, squares, along)
        else:
            for rows in slices(len(data), _CODES_PER_BLOCK):
                bits = np.unpackbits(data[rows], axis=1, count=n_bits, bitorder="little")
                signs = 2.0 * bits - 1
                # In float32 the last digits of a factor would depend on the rows beside it.
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
    def from_codebooks(cls, codebooks, mean):
        """The rule of codebooks of features with a mean."""
        return cls(codebooks, codebooks @ mean, 1 - float(mean @ mean))

    def of(self, data):
        """Factors of packed codes, float64."""
        factors = np.empty(len(data))
        for rows in slices(len(data), _CODES_PER_BLOCK):
            words = data[rows]
            decoded = decode_words(words, self.codebooks)
            squares = np.einsum("ij,ij->i", decoded, decoded, dtype=np.float64)
            word_places = np.arange(len(self.along))
            along = self.along[word_places, words].sum(axis=1)
            factors[rows] = _factors(squares, along, self.beyond)
        return factors


def decode_words(words, codebooks):
    """Sums of the vectors of words, shape (n_codes, n_features), float32."""
    n_features = codebooks.shape[2]
    decoded = np.zeros((len(words), n_features), dtype=np.float32)
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
    to_sphere = np.sqrt(np.maximum(along**2 + beyond, _TINY)) - along
    return to_sphere / norms
