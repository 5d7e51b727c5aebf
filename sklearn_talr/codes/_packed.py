"""Codes as bits and as packed bytes."""

from numbers import Integral
from string import hexdigits

import numpy as np
from sklearn.utils import check_array

from .._core.compat import Hidden, Interval, Options, StrOptions, validated
from .._core.types import Any, ArrayLike, DTypeLike, Literal, NDArray, Sequence
from .._core.validation import (
    as_numpy,
    read_features,
    refuse_bytes,
    refuse_single_value,
    refuse_unlike_labels,
)
from ._factors import CodeTerms

NO_TERMS = CodeTerms()
# Integers of wide signed types may be activations up to this magnitude; some packed bytes
# are larger.
_LARGEST_ACTIVATION = 31
# Whole floats in a single column are taken for hashes if they are larger than this. Beyond
# it float32 has gaps between integers.
_LARGEST_NO_HASH = 2**24
# The type check lets bytes pass, since errors of their own name what to write.
_CODES = ["array-like", *map(Hidden, (bytes, bytearray, memoryview))]
_BIT_ORDER = [StrOptions({"little", "big"})]


class PackedCodes:
    """Codes packed eight bits to the byte, with their length and bit order.

    :func:`pack_codes` makes packed codes of zeros and ones. Codes that another system has
    packed are read here from bytes, by `from_integers` from numbers, and by `from_strings`
    from text.

    Parameters
    ----------
    data : array-like of shape (n_samples, ceil(n_bits / 8)), dtype uint8
        The bytes. Bits of the last byte beyond `n_bits` must be zero.

    n_bits : int
        Number of bits of a code, at least 1.

    bitorder : {"little", "big"}, default="little"
        Whether bit 0 of a code is the least ("little") or the most ("big") significant
        bit of byte 0. faiss packs little-endian, `numpy.packbits` by default and
        pgvector big-endian.

    terms : array-like of shape (n_samples, 1) or (n_samples, 2), or CodeTerms, default=None
        Factor of each code's score by a weighted query, and perhaps an addend, see
        :func:`weighted_scores`; or the terms of other packed codes. None means no terms,
        which is a factor of 1 and an addend of 0.

    Attributes
    ----------
    shape : tuple of int
        ``(n_samples, n_bits)``, the shape of the unpacked codes.

    terms : CodeTerms
        Factors and addends of the codes, see :class:`CodeTerms`: ``terms.values`` is an
        array of shape (n_samples, 1) or (n_samples, 2), or None if there are none. Rank
        codes with terms with weighted queries: their Hamming distances say little.

    lengths : ndarray of shape (n_samples,), dtype uint8, or None
        Bytes that a hasher has stored beside the codes, such as the lengths of rows, from
        which addends follow.

    nbytes : int
        Bytes of the codes and of their terms.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.codes import PackedCodes
    >>> codes = PackedCodes(np.array([[5]], dtype=np.uint8), n_bits=3)
    >>> np.asarray(codes)
    array([[1, 0, 1]], dtype=uint8)
    """

    @validated(
        data=["array-like"],
        n_bits=[Interval(Integral, 1, None, closed="left")],
        bitorder=_BIT_ORDER,
        terms=["array-like", None],
    )
    def __init__(
        self,
        data: ArrayLike,
        n_bits: int,
        bitorder: Literal["little", "big"] = "little",
        terms: ArrayLike | None = None,
    ) -> None:
        self.data = np.asarray(data)
        self.n_bits = int(n_bits)
        self.bitorder = bitorder
        n_bytes = -(-self.n_bits // 8)
        if self.data.dtype != np.uint8 or self.data.ndim != 2:
            raise ValueError(
                "data must be a 2-D uint8 array of packed bytes, got "
                f"{self.data.ndim}-D {self.data.dtype}. Use pack_codes to pack bits, and "
                "PackedCodes.from_integers for bytes of other types."
            )
        if self.data.shape[1] != n_bytes:
            raise ValueError(
                f"{self.n_bits} bits take {n_bytes} bytes per row, but data has "
                f"{self.data.shape[1]}."
            )
        n_spare = 8 * n_bytes - self.n_bits
        if self.bitorder == "little":
            used = 0xFF >> n_spare
        else:
            used = (0xFF << n_spare) & 0xFF
        last_bytes = self.data[:, -1]
        if n_spare and np.any(last_bytes & (0xFF ^ used)):
            raise ValueError(
                f"data has bits set beyond n_bits={self.n_bits}: the length or the "
                f"bitorder={self.bitorder!r} does not match these bytes."
            )
        self.terms: CodeTerms = _read_terms(terms, len(self.data))

    @classmethod
    @validated(
        numbers=["array-like"],
        n_bits=[Interval(Integral, 1, None, closed="left")],
        bitorder=_BIT_ORDER,
        offset=[Integral],
    )
    def from_integers(
        cls,
        numbers: ArrayLike,
        n_bits: int,
        *,
        bitorder: Literal["little", "big"] = "big",
        offset: int = 0,
    ) -> "PackedCodes":
        """Read codes that are stored as integers, of 8, 16, 32 or 64 bits each.

        Parameters
        ----------
        numbers : array-like of shape (n_samples,) or (n_samples, n_columns) of int
            Signed bytes, words or hashes, of any integer type, also integers of Python of
            64 bits, some above and some below ``2**63``. Negative numbers are those of
            two's complement: -1 is all ones.

        n_bits : int
            Number of bits of a code, which all columns share equally.

        bitorder : {"little", "big"}, default="big"
            Whether bit 0 of a code is the least or the most significant of the first
            number.

        offset : int, default=0
            Added to the numbers first: 128 for bytes that were packed minus 128, as
            ``"binary"`` embeddings of sentence-transformers, Cohere and Voyage are.

        Returns
        -------
        codes : PackedCodes
            The codes.

        Raises
        ------
        ValueError
            If numbers are no integers, or do not fit into `n_bits`.

        Examples
        --------
        >>> from sklearn_talr.codes import PackedCodes, unpack_codes
        >>> unpack_codes(PackedCodes.from_integers([[-127]], n_bits=8, offset=128))
        array([[0, 0, 0, 0, 0, 0, 0, 1]], dtype=uint8)
        """
        numbers = _as_integers(numbers)
        if numbers.size:
            numbers = numbers.reshape(len(numbers), -1)
        else:
            numbers = numbers[:, None]
        n_columns = numbers.shape[1]
        n_bytes = -(-n_bits // 8)
        size = n_bytes / max(1, n_columns)  # bytes of a number
        if not _fit_words(numbers, size, offset):
            wrong_types = ""
            if not _are_integers(numbers):
                kinds = ", ".join(sorted(kind.__name__ for kind in _kinds(numbers)))
                wrong_types = f" Got entries of {kinds}."
            raise ValueError(
                f"numbers must be integers of {8 * size:g} bits, which is n_bits={n_bits} "
                f"divided by {n_columns} columns and must be 8, 16, 32 or 64, after "
                f"adding offset={offset}. For bytes that were packed minus 128 set "
                "offset=128. Floats have lost digits of hashes: read hashes with "
                f"dtype='uint64'.{wrong_types}"
            )
        n_values = 256 ** int(size)
        if numbers.dtype == object:
            # Python's integers have no size, so NumPy would refuse to wrap them around.
            residues = [int(number) % n_values for number in numbers.flat]
            numbers = np.array(residues, dtype=np.uint64).reshape(numbers.shape)
        words = np.ascontiguousarray(numbers).astype(f"u{size:.0f}")  # two's complement
        words += words.dtype.type(offset % n_values)
        words = words.astype(words.dtype.newbyteorder(bitorder), copy=False)
        return cls(words.view(np.uint8), n_bits, bitorder)

    @classmethod
    @validated(
        texts=["array-like"],
        n_bits=[Interval(Integral, 1, None, closed="left"), None],
        base=[Options(Integral, {2, 16})],
    )
    def from_strings(
        cls, texts: ArrayLike, n_bits: int | None = None, *, base: Literal[2, 16] = 2
    ) -> "PackedCodes":
        """Read codes that are written as binary or hexadecimal numbers, bit 0 first.

        Parameters
        ----------
        texts : array-like of shape (n_samples,) of str
            Such as :func:`~sklearn_talr.export.to_bit_strings` writes, and columns ``bit``
            of PostgreSQL hold. Hashes of images by ImageHash and PDQ have base 16.

        n_bits : int, default=None
            Number of bits of a code. If digits have more, the first of these must be 0, as
            ImageHash writes them. None means all that the digits have.

        base : {2, 16}, default=2
            Whether a digit is one bit, or four, the most significant first.

        Returns
        -------
        codes : PackedCodes
            The codes, in little bit order.

        Raises
        ------
        ValueError
            If strings differ in length, have other characters, or do not hold `n_bits`.

        Examples
        --------
        >>> from sklearn_talr.codes import PackedCodes, unpack_codes
        >>> unpack_codes(PackedCodes.from_strings(["101", "001"]))
        array([[1, 0, 1],
               [0, 0, 1]], dtype=uint8)
        >>> unpack_codes(PackedCodes.from_strings(["1e", "0f"], n_bits=5, base=16))
        array([[1, 1, 1, 1, 0],
               [0, 1, 1, 1, 1]], dtype=uint8)
        """
        texts = np.asarray(texts, dtype=object).ravel().tolist()
        digits = "01" if base == 2 else hexdigits
        bits = _bits_of_digits(texts, digits, base)
        if bits is None:
            fits = False
        else:
            n_leading = bits.shape[1] - (n_bits or bits.shape[1])
            fits = n_leading >= 0 and not bits[:, :n_leading].any()
        if not fits:
            raise ValueError(
                f"texts must be strings of equal length of the characters {digits}, which "
                f"base={base} has, and hold n_bits={n_bits} bits after leading zeros."
            )
        return as_packed(bits[:, n_leading:])

    @property
    def lengths(self) -> NDArray[np.uint8] | None:
        """Bytes that a hasher has stored beside the codes, or None."""
        return self.terms.lengths if len(self.terms.length_table) else None

    @property
    def nbytes(self) -> int:
        """Bytes of the codes and of their terms."""
        return self.data.nbytes + self.terms.nbytes

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.data), self.n_bits

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: Any) -> "PackedCodes":
        """Select rows (a slice, a mask or an index array); the result stays packed."""
        if isinstance(rows, tuple):  # scikit-learn indexes with (rows, ...)
            rows = rows[0]
        if isinstance(rows, Integral):
            rows = [rows]
        terms = self.terms.rows(rows)
        return wrap_bytes(self.data[rows], self.n_bits, self.bitorder, terms=terms)

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.uint8]:
        """Return the bits, never the bytes: `np.asarray` must not change the meaning."""
        if copy is False:
            raise ValueError("unpacking codes makes a copy; call with copy=None.")
        bits = np.unpackbits(self.data, axis=1, count=self.n_bits, bitorder=self.bitorder)
        return bits.astype(dtype or np.uint8, copy=False)

    def __repr__(self) -> str:
        return (
            f"PackedCodes(n_samples={len(self)}, n_bits={self.n_bits}, "
            f"bitorder={self.bitorder!r})"
        )


@validated(codes=_CODES, bitorder=_BIT_ORDER)
def pack_codes(
    codes: ArrayLike, *, bitorder: Literal["little", "big"] = "little"
) -> PackedCodes:
    """Pack codes of zeros and ones eight to the byte.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes. Packed codes are returned in the bit order `bitorder`.

    bitorder : {"little", "big"}, default="little"
        Order of the bits within a byte, see :class:`PackedCodes`.

    Returns
    -------
    packed : PackedCodes
        The bytes with `n_bits` and `bitorder`.

    Raises
    ------
    ValueError
        If `codes` holds anything but zeros and ones, no code at all, or is not 2-D.

    Examples
    --------
    >>> from sklearn_talr.codes import pack_codes
    >>> pack_codes([[1, 0, 1]]).data
    array([[5]], dtype=uint8)
    >>> pack_codes([[1, 0, 1]], bitorder="big").data
    array([[160]], dtype=uint8)
    """
    return as_packed(codes, bitorder)


@validated()
def unpack_codes(packed: PackedCodes) -> NDArray[np.uint8]:
    """Give the bits of packed codes, one to the byte.

    Parameters
    ----------
    packed : PackedCodes
        Packed codes, as :func:`pack_codes` returns them. Wrap bytes of other origin in
        :class:`PackedCodes` first, which states their length and bit order.

    Returns
    -------
    codes : ndarray of shape (n_samples, n_bits), dtype uint8
        Zeros and ones.

    Raises
    ------
    TypeError
        If `packed` is a bare array, which declares neither code length nor bit order.

    Examples
    --------
    >>> from sklearn_talr.codes import pack_codes, unpack_codes
    >>> unpack_codes(pack_codes([[1, 0, 1]]))
    array([[1, 0, 1]], dtype=uint8)
    """
    if not isinstance(packed, PackedCodes):
        raise TypeError(
            f"packed must be PackedCodes, got {type(packed).__name__}. Declare the length "
            "and the bit order of the bytes: PackedCodes(bytes, n_bits=..., bitorder=...)."
        )
    return np.asarray(packed)


@validated(parts=[list, tuple])
def concatenate_codes(parts: Sequence[PackedCodes]) -> PackedCodes:
    """Join packed codes of one hasher, one after another.

    Parameters
    ----------
    parts : list or tuple of PackedCodes
        Codes of one length, with as many factors and addends. Some may hold no code.

    Returns
    -------
    codes : PackedCodes
        All codes, in little bit order, with their factors and addends.

    Raises
    ------
    TypeError
        If a part is not PackedCodes.

    ValueError
        If all parts are empty, or their codes differ in length or in number of terms.

    Examples
    --------
    >>> from sklearn_talr.codes import concatenate_codes, pack_codes
    >>> concatenate_codes([pack_codes([[0, 1]]), pack_codes([[1, 1], [0, 0]])])
    PackedCodes(n_samples=3, n_bits=2, bitorder='little')
    """
    for part in parts:
        if not isinstance(part, PackedCodes):
            raise TypeError(f"parts must be PackedCodes, got {type(part).__name__}.")
    parts = [as_packed(part) for part in parts if len(part)]
    kinds = {(part.n_bits, part.terms.n_terms) for part in parts}
    if len(kinds) != 1:
        raise ValueError(
            "parts must hold codes of one hasher, got these numbers of bits and of terms: "
            f"{sorted(kinds)}."
        )
    data = np.concatenate([part.data for part in parts])
    terms = CodeTerms.join([part.terms for part in parts])
    return wrap_bytes(data, parts[0].n_bits, terms=terms)


@validated(query_codes=_CODES, database_codes=_CODES)
def hamming_distances(
    query_codes: ArrayLike, database_codes: ArrayLike
) -> NDArray[np.int32]:
    """Count the differing bits of every pair of codes.

    Parameters
    ----------
    query_codes : array-like of shape (n_queries, n_bits) of 0/1, or PackedCodes
        Codes of the queries.

    database_codes : array-like of shape (n_database, n_bits) of 0/1, or PackedCodes
        Codes of the database.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_database), dtype int32
        Distances in [0, n_bits]. Signed, so that ``-distances`` is a ranking score.

    Raises
    ------
    ValueError
        If the two sides differ in length, or one holds no codes.

    Examples
    --------
    >>> from sklearn_talr.codes import hamming_distances
    >>> hamming_distances([[0, 0, 0]], [[0, 0, 1], [1, 1, 1]])
    array([[1, 3]], dtype=int32)
    """
    names = "query_codes", "database_codes"
    refuse_unlike_labels(query_codes, database_codes, names, axis=1)
    queries, database = code_words(query_codes, database_codes)
    distances = np.zeros((len(queries), len(database)), dtype=np.int32)
    for query_word, database_word in zip(queries.T, database.T):
        distances += np.bitwise_count(query_word[:, None] ^ database_word)
    return distances


def as_packed(codes, bitorder="little", input_name="codes"):
    """Do what :func:`pack_codes` does, for callers that have checked their parameters.

    Errors call the codes by `input_name`.
    """
    if isinstance(codes, PackedCodes):
        if not len(codes):
            raise ValueError(f"{input_name} must hold at least one code, got {codes}.")
        if codes.bitorder == bitorder:
            return codes
        data = np.packbits(np.asarray(codes), axis=1, bitorder=bitorder)
        return wrap_bytes(data, codes.n_bits, bitorder, terms=codes.terms)
    codes = as_numpy(codes, input_name)
    refuse_no_bits(codes, input_name)
    bits = read_features(codes, input_name)
    bits = check_array(bits, dtype=None, input_name=input_name)
    refuse_integers(bits, input_name)
    are_numbers = bits.dtype.kind in "biuf"
    if not are_numbers or np.any((bits != 0) & (bits != 1)):
        raise ValueError(
            f"{input_name} must hold zeros and ones only. For activations pass "
            "`activations > 0`, for codes of -1/+1 `codes > 0`, and for packed bytes "
            "PackedCodes(bytes, n_bits, bitorder)."
        )
    data = np.packbits(bits.astype(bool, copy=False), axis=1, bitorder=bitorder)
    return wrap_bytes(data, bits.shape[1], bitorder)


def wrap_bytes(data, n_bits, bitorder="little", *, terms=NO_TERMS):
    """Make packed codes of bytes and CodeTerms that are right, without a check."""
    packed = PackedCodes.__new__(PackedCodes)
    packed.data = data
    packed.n_bits = n_bits
    packed.bitorder = bitorder
    packed.terms = terms
    return packed


def _read_terms(terms, n_codes):
    """Terms of `n_codes` codes, of an array of factors and perhaps addends, checked."""
    if terms is None:
        return NO_TERMS
    if isinstance(terms, CodeTerms):
        if terms.values is not None and len(terms.values) != n_codes:
            raise ValueError(
                f"terms must be of {n_codes} codes, got terms of {len(terms.values)}. Pass "
                "the rows that belong to the codes, terms.rows(rows)."
            )
        return terms
    terms = check_array(terms, dtype=np.float32, input_name="terms")
    if terms.shape not in ((n_codes, 1), (n_codes, 2)):
        raise ValueError(
            f"terms must have shape ({n_codes}, 1) or ({n_codes}, 2), a factor and "
            f"perhaps an addend for each code, got {terms.shape}."
        )
    return CodeTerms(terms)


def _bits_of_digits(texts, digits, base):
    """Bits of strings of digits, or None unless all are of one length and of such digits.

    Returns an array of shape (n_texts, n_bits), the most significant bit first.
    """
    lengths = {len(text) if isinstance(text, str) else 0 for text in texts}
    if len(lengths) != 1 or 0 in lengths:
        return None
    joined = "".join(texts)
    if not set(joined) <= set(digits):
        return None
    value_of_character = np.zeros(128, dtype=np.uint8)
    value_of_character[list(digits.encode())] = [int(digit, base) for digit in digits]
    characters = np.frombuffer(joined.encode(), dtype=np.uint8)
    n_bits_of_digit = 1 if base == 2 else 4
    values = value_of_character[characters]
    bits_of_values = np.unpackbits(values[:, None], axis=1)  # (n_characters, 8)
    return bits_of_values[:, -n_bits_of_digit:].reshape(len(texts), -1)


def _as_integers(numbers):
    """Integers as an array of an integer type, or of Python's integers as objects.

    Entries of other types are returned as they are; texts are refused.
    """
    numbers = as_numpy(numbers, "numbers")
    is_list = isinstance(numbers, list | tuple)
    values = np.asarray(numbers, dtype=object if is_list else None)
    if any(issubclass(kind, str | bytes) for kind in _kinds(values)):
        raise ValueError(
            "numbers are texts. Pass PackedCodes.from_strings(texts, base=16), or base=2 "
            "if their digits are bits."
        )
    return values


def _kinds(values):
    """Types of the entries of an array, of Python if they are objects."""
    if values.dtype == object:
        return set(map(type, values.flat))
    return {values.dtype.type}


def _fit_words(numbers, size, offset):
    """Whether numbers are integers that fit into words of `size` bytes after an offset."""
    has_integers = numbers.size and _are_integers(numbers)
    if not has_integers or size not in (1, 2, 4, 8):
        return False
    least = int(numbers.min()) + offset
    most = int(numbers.max()) + offset
    n_values = 256 ** int(size)
    # Negative numbers are those of two's complement, so half of the values are positive.
    return -n_values <= 2 * least and most < (n_values >> (least < 0))


def _are_integers(values):
    """Whether the entries of an array are integers, and not booleans."""
    kinds = _kinds(values)
    return bool not in kinds and all(issubclass(kind, Integral) for kind in kinds)


def refuse_integers(bits, input_name):
    """Raise ValueError if an array holds integers of several bits each.

    Small integers of wide signed types may be activations. A column of hashes becomes one
    of huge whole floats if its table lacks some of them.
    """
    largest = _largest_magnitude_of_bits(bits)
    if largest is None:
        return
    low = bits.min()
    high = bits.max()
    if high > largest or low < -largest:
        raise ValueError(
            f"{input_name} holds integers from {low} to {high}, "
            "which look like packed codes. For unsigned bytes pass "
            "PackedCodes(bytes, n_bits, bitorder), for signed bytes and for hashes "
            "PackedCodes.from_integers(numbers, n_bits), and for activations "
            f"{input_name} > 0."
        )


def _largest_magnitude_of_bits(values):
    """The largest magnitude in an array that is no packed code, or None if any will do."""
    kind = values.dtype.kind
    if not values.size:
        return None
    if kind == "u" or (kind == "i" and values.dtype.itemsize == 1):
        return 1
    if kind == "i" or (kind == "O" and _are_integers(values)):
        return _LARGEST_ACTIVATION
    if kind == "f" and (values.ndim == 1 or values.shape[1] == 1):
        are_whole = np.all(np.isfinite(values)) and not np.any(values % 1)
        if are_whole:
            return _LARGEST_NO_HASH
    return None


def refuse_no_bits(codes, input_name):
    """Raise ValueError if codes are texts, bytes or numbers of several bits each."""
    refuse_bytes(
        codes,
        input_name,
        problem="and nothing says how many are a code",
        remedy=f"Pass PackedCodes(np.frombuffer({input_name}, 'u1').reshape(-1, n_bytes), "
        "n_bits, bitorder).",
    )
    refuse_single_value(
        codes,
        input_name,
        shape="codes of shape (n_samples, n_bits), or PackedCodes",
        remedy=f"A hash is PackedCodes.from_integers([{input_name}], n_bits), and text of "
        f"digits is PackedCodes.from_strings([{input_name}]).",
    )
    values = _values_of_codes(codes)
    if values is None:
        return
    is_column = values.ndim == 1 or values.shape[1:] == (1,)
    first = None
    if is_column and values.dtype.kind in "OSUT":
        first = next(iter(values.flat), None)
    if isinstance(first, str):
        raise ValueError(
            f"{input_name} are strings. Pass PackedCodes.from_strings({input_name}), with "
            "base=16 if they are hexadecimal."
        )
    if isinstance(first, bytes | bytearray | memoryview):
        is_array = values.dtype.kind == "S"
        joined = f"{input_name}.tobytes()" if is_array else f"b''.join({input_name})"
        raise ValueError(
            f"{input_name} are strings of bytes, which have two readings. Packed bits are "
            f"PackedCodes(np.frombuffer({joined}, 'u1').reshape(len({input_name}), -1), "
            "n_bits, bitorder), and digits in text are PackedCodes.from_strings([text"
            f".decode() for text in {input_name}]), with base=16 if they are hexadecimal."
        )
    if values.ndim in (1, 2):
        refuse_integers(values, input_name)


def _values_of_codes(codes):
    """Codes as an array of NumPy, as they are read; None if they are left to later checks.

    Tensors, also in lists, are read later, and rows of unequal length refused later.
    """
    if isinstance(codes, list | tuple):
        if any(hasattr(row, "layout") for row in codes):
            return None
        if any(isinstance(row, bytearray | memoryview) for row in codes):
            # NumPy would take a bytearray apart, into its numbers.
            codes = list(map(bytes, codes))
        try:
            return np.array(codes, dtype=object)
        except ValueError:
            return None
    if hasattr(codes, "__array__") and not hasattr(codes, "layout"):
        return np.asarray(codes)
    return None


def refuse_terms(codes, input_name):
    """Raise ValueError if the ranking of codes needs more than their bits."""
    if isinstance(codes, PackedCodes) and codes.terms.n_terms:
        raise ValueError(
            f"{input_name} have factors or addends, such as codes of AdditiveHasher, and "
            "rank poorly by Hamming distance. Rank them with weighted queries: with "
            "HashedNeighbors(hasher), with WeightedHammingNeighbors and query_weights, or "
            "in SQL, after an export with weighted=True. "
            "If the Hamming distance is meant, pass their bits, "
            f"PackedCodes({input_name}.data, {input_name}.n_bits, {input_name}.bitorder), "
            "and perhaps order the results by weighted_scores(query_weights, codes)."
        )
    return codes


def code_words(query_codes, database_codes):
    """Lay both sets of codes out as unsigned words, the widest that fit.

    Returns two arrays of shape (n, n_words) and one dtype, uint8 to uint64, zero padded:
    XOR and popcount run on whole words. Raises ValueError when the lengths differ.
    """
    queries = as_packed(query_codes, input_name="query_codes")
    database = as_packed(database_codes, input_name="database_codes")
    if queries.n_bits != database.n_bits:
        raise ValueError(
            f"query_codes have {queries.n_bits} bits and database_codes "
            f"{database.n_bits}; both must come from the same hash function."
        )
    return as_words(queries.data), as_words(database.data)


def as_words(data):
    """View packed rows as the widest unsigned words that fit, zero padded.

    Rows that are whole words are not copied, so that a file of codes may be mapped.
    """
    n_bytes = data.shape[1]
    size = next((size for size in (1, 2, 4) if n_bytes <= size), 8)
    word = f"u{size}"
    is_aligned = data.flags.c_contiguous and data.ctypes.data % size == 0
    if n_bytes % size == 0 and is_aligned:
        return data.view(word)
    n_words = -(-n_bytes // size)
    padded = np.zeros((len(data), n_words * size), dtype=np.uint8)
    padded[:, :n_bytes] = data
    return padded.view(word)
