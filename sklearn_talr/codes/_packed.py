"""Codes as bits and as packed bytes."""

from numbers import Integral, Number
from string import hexdigits

import numpy as np
from sklearn.utils import check_array

from .._core.compat import Hidden, Interval, Options, StrOptions, validated
from .._core.types import Any, ArrayLike, DTypeLike, Literal, NDArray, Sequence
from .._core.validation import as_numpy, read_features, refuse_unlike_labels
from ._factors import Terms

NO_TERMS = Terms()
_MOST_ACTIVE = 31  # of integers that may be activations; some packed byte is larger
_LEAST_HASH = 2**24  # of whole floats in a single column, beyond which float32 has gaps
# Bytes are refused by errors of their own.
_CODES = ["array-like", *map(Hidden, (bytes, bytearray, memoryview))]
_BIT_ORDER = [StrOptions({"little", "big"})]


class PackedCodes:
    """Codes packed eight bits to the byte, with their length and bit order.

    Made by :func:`pack_codes`; make one yourself only from what another system packed: of
    bytes, as below, of numbers by `from_integers`, and of text by `from_strings`.

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

    terms : array-like of shape (n_samples, 1) or (n_samples, 2), default=None
        Factor of each code's score by a weighted query, and perhaps an addend, see
        :func:`weighted_scores`. None means 1 and 0.

    Attributes
    ----------
    shape : tuple of int
        ``(n_samples, n_bits)``, the shape of the unpacked codes.

    terms : ndarray of shape (n_samples, 1) or (n_samples, 2), dtype float32, or None
        Factors and addends of the codes. Those of a hasher, such as
        :class:`~sklearn_talr.hashing.AdditiveHasher`, are kept in a byte each. Codes with
        terms are ranked by weighted queries: their Hamming distances say little.

    lengths : ndarray of shape (n_samples,), dtype uint8, or None
        Bytes that a hasher has stored beside the codes, such as those of the lengths of the
        rows, from which addends follow.

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
                f"{self.n_bits} bits take {n_bytes} bytes a row, but data has "
                f"{self.data.shape[1]}."
            )
        spare = 8 * n_bytes - self.n_bits
        used = 0xFF >> spare if self.bitorder == "little" else (0xFF << spare) & 0xFF
        if spare and np.any(self.data[:, -1] & (0xFF ^ used)):
            raise ValueError(
                f"data has bits set beyond n_bits={self.n_bits}: the length or the "
                f"bitorder={self.bitorder!r} does not match these bytes."
            )
        self._terms = NO_TERMS
        if terms is not None:
            terms = check_array(terms, dtype=np.float32, input_name="terms")
            n_codes = len(self.data)
            if terms.shape not in ((n_codes, 1), (n_codes, 2)):
                raise ValueError(
                    f"terms must have shape ({n_codes}, 1) or ({n_codes}, 2), a factor and "
                    f"perhaps an addend for each code, got {terms.shape}."
                )
            self._terms = Terms(terms)

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
        numbers = numbers.reshape(len(numbers), -1) if numbers.size else numbers[:, None]
        size = -(-n_bits // 8) / max(1, numbers.shape[1])
        are_integers = _are_integers(numbers)
        fits = are_integers and numbers.size and size in (1, 2, 4, 8)
        if fits:
            least, most, n_values = numbers.min(), numbers.max(), 256 ** int(size)
            least, most = int(least) + offset, int(most) + offset
            fits = -n_values <= 2 * least and most < (n_values >> (least < 0))
        if not fits:
            kinds = ", ".join(sorted(kind.__name__ for kind in _kinds(numbers)))
            wrong_type = "" if are_integers else f" Got entries of {kinds}."
            raise ValueError(
                f"numbers must be integers of {8 * size:g} bits, of 8, 16, 32 or 64, as "
                f"n_bits={n_bits} and their {numbers.shape[1]} columns tell, after adding "
                f"offset={offset}. Of bytes packed minus 128 offset is 128. Floats have "
                f"lost digits of hashes: read these with dtype='uint64'.{wrong_type}"
            )
        if numbers.dtype == object:  # of Python, which know no size
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
        digits, width = ("01", 1) if base == 2 else (hexdigits, 4)
        lengths = {len(text) if isinstance(text, str) else 0 for text in texts}
        fits = len(lengths) == 1 and 0 not in lengths and set("".join(texts)) <= set(digits)
        if fits:
            table = np.zeros(128, dtype=np.uint8)
            table[list(digits.encode())] = [int(digit, base) for digit in digits]
            values = table[np.frombuffer("".join(texts).encode(), dtype=np.uint8)]
            bits = np.unpackbits(values[:, None], axis=1)[:, -width:]
            bits = bits.reshape(len(texts), -1)
            n_more = bits.shape[1] - (n_bits or bits.shape[1])
            fits = n_more >= 0 and not bits[:, :n_more].any()
        if not fits:
            raise ValueError(
                f"texts must be strings of equal length of the characters {digits}, as "
                f"base={base} says, and of n_bits={n_bits} bits after zeros."
            )
        return as_packed(bits[:, n_more:])

    @classmethod
    def _of(cls, data, n_bits, bitorder="little", terms=NO_TERMS):
        """Make packed codes of bytes and Terms that are known to be right, unchecked."""
        packed = cls.__new__(cls)
        packed.data, packed.n_bits, packed.bitorder = data, n_bits, bitorder
        packed._terms = terms
        return packed

    @property
    def terms(self) -> NDArray[np.float32] | None:
        """Factors, and perhaps addends, of the scores of the codes."""
        return self._terms.values

    @property
    def lengths(self) -> NDArray[np.uint8] | None:
        """Bytes that a hasher has stored beside the codes, or None."""
        return self._terms.lengths if len(self._terms.length_table) else None

    @property
    def nbytes(self) -> int:
        """Bytes of the codes and of their terms."""
        return self.data.nbytes + self._terms.nbytes

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
        terms = self._terms.rows(rows)
        return PackedCodes._of(self.data[rows], self.n_bits, self.bitorder, terms)

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.uint8]:
        """Return the bits, never the bytes: `np.asarray` must not change the meaning."""
        if copy is False:
            raise ValueError("unpacking codes makes a copy; call with copy=None.")
        how = {"count": self.n_bits, "bitorder": self.bitorder}
        bits = np.unpackbits(self.data, axis=1, **how)
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
        The codes. Packed codes come back in the asked bit order.

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
        What :func:`pack_codes` returned. Wrap bytes of other origin in
        :class:`PackedCodes` first, which states their length and bit order.

    Returns
    -------
    codes : ndarray of shape (n_samples, n_bits), dtype uint8
        Zeros and ones.

    Raises
    ------
    TypeError
        If `packed` is a bare array, whose length and bit order nobody knows.

    Examples
    --------
    >>> from sklearn_talr.codes import pack_codes, unpack_codes
    >>> unpack_codes(pack_codes([[1, 0, 1]]))
    array([[1, 0, 1]], dtype=uint8)
    """
    if not isinstance(packed, PackedCodes):
        raise TypeError(
            f"packed must be PackedCodes, got {type(packed).__name__}. Say what the "
            "bytes mean: PackedCodes(bytes, n_bits=..., bitorder=...)."
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
    kinds = {(part.n_bits, part._terms.n_terms) for part in parts}
    if len(kinds) != 1:
        raise ValueError(
            "parts must hold codes of one hasher, got these numbers of bits and of terms: "
            f"{sorted(kinds)}."
        )
    data = np.concatenate([part.data for part in parts])
    terms = Terms.join([part._terms for part in parts])
    return PackedCodes._of(data, parts[0].n_bits, "little", terms)


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
        return PackedCodes._of(data, codes.n_bits, bitorder, codes._terms)
    codes = as_numpy(codes, input_name)
    refuse_no_bits(codes, input_name)
    bits = read_features(codes, input_name)
    bits = check_array(bits, dtype=None, input_name=input_name)
    refuse_integers(bits, input_name)
    if bits.dtype.kind not in "biuf" or np.any((bits != 0) & (bits != 1)):
        raise ValueError(
            f"{input_name} must hold zeros and ones only. Activations become codes by "
            "`activations > 0`, codes of -1/+1 by `codes > 0`, and packed bytes by "
            "PackedCodes(bytes, n_bits, bitorder)."
        )
    data = np.packbits(bits.astype(bool, copy=False), axis=1, bitorder=bitorder)
    return PackedCodes._of(data, bits.shape[1], bitorder)


def _as_integers(numbers):
    """Integers as an array of an integer type, or of Python's integers as objects.

    Entries of other types are returned as they are; texts are refused.
    """
    numbers = as_numpy(numbers, "numbers")
    is_list = isinstance(numbers, list | tuple)
    values = np.asarray(numbers, dtype=object if is_list else None)
    if any(issubclass(kind, str | bytes) for kind in _kinds(values)):
        raise ValueError(
            "numbers are texts. Read them by PackedCodes.from_strings(texts, base=16), or "
            "base=2 if their digits are bits."
        )
    return values


def _kinds(values):
    """Types of the entries of an array."""
    return set(map(type, values.flat)) if values.dtype == object else {values.dtype.type}


def _are_integers(values):
    return all(issubclass(kind, Integral) and kind is not bool for kind in _kinds(values))


def refuse_integers(bits, input_name):
    """Raise ValueError if an array holds integers of several bits each.

    Small ones of wide signed types may be activations. One column of huge whole floats is
    what becomes of hashes in a table that lacks some.
    """
    kind, size, most = bits.dtype.kind, bits.dtype.itemsize, _MOST_ACTIVE
    if not bits.size or kind not in "iufO":
        return
    if kind == "u" or size == 1:
        most = 1
    if kind == "O" and not _are_integers(bits):
        return
    if kind == "f":
        is_column = bits.ndim == 1 or bits.shape[1] == 1
        most = _LEAST_HASH
        if not is_column or not np.all(np.isfinite(bits)) or np.any(bits % 1):
            return
    if bits.max() > most or bits.min() < -most:
        raise ValueError(
            f"{input_name} holds integers from {bits.min()} to {bits.max()}, "
            "which look like packed codes. Make codes of unsigned bytes by "
            "PackedCodes(bytes, n_bits, bitorder), of signed ones and of hashes by "
            "PackedCodes.from_integers(numbers, n_bits), and of activations by "
            f"{input_name} > 0."
        )


def refuse_no_bits(codes, input_name):
    """Raise ValueError if codes are texts, bytes or numbers of several bits each."""
    is_flat = isinstance(codes, memoryview) and codes.ndim == 1
    if is_flat or isinstance(codes, bytes | bytearray):
        raise ValueError(
            f"{input_name} are {len(codes)} bytes, and nothing says how many are a code. "
            f"Pass PackedCodes(np.frombuffer({input_name}, 'u1').reshape(-1, n_bytes), "
            "n_bits, bitorder)."
        )
    if isinstance(codes, str | Number) or getattr(codes, "ndim", None) == 0:
        raise ValueError(
            f"{input_name} must be codes of shape (n_samples, n_bits), or PackedCodes, got "
            f"the single value {codes!r}."
        )
    if isinstance(codes, list | tuple):
        if any(hasattr(row, "layout") for row in codes):  # tensors, read row by row
            return
        are_bytes = any(isinstance(row, bytearray | memoryview) for row in codes)
        try:  # NumPy would take other bytes apart
            values = np.array(list(map(bytes, codes)) if are_bytes else codes, dtype=object)
        except ValueError:  # rows are arrays of unequal length, which errors name later
            return
    elif hasattr(codes, "__array__") and not hasattr(codes, "layout"):
        values = np.asarray(codes)
    else:
        return
    is_column = values.ndim == 1 or values.shape[1:] == (1,)
    first = (
        next(iter(values.flat), None) if values.dtype.kind in "OSUT" and is_column else None
    )
    if isinstance(first, str):
        raise ValueError(
            f"{input_name} are strings. Make codes of text by "
            "PackedCodes.from_strings(texts), with base=16 if it is hexadecimal."
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


def refuse_terms(codes, input_name):
    """Raise ValueError where the ranking of codes needs more than their bits."""
    if isinstance(codes, PackedCodes) and codes._terms.n_terms:
        raise ValueError(
            f"{input_name} have factors or addends, such as codes of AdditiveHasher, and "
            "rank poorly by Hamming distance. Rank them by weights: by "
            "HashedNeighbors(hasher), by WeightedHammingNeighbors with query_weights, or "
            "in SQL, where exports take weighted=True. "
            "If the Hamming distance is meant, pass their bits, "
            f"PackedCodes({input_name}.data, {input_name}.n_bits, {input_name}.bitorder), "
            "and perhaps order what is found by weighted_scores(query_weights, codes)."
        )
    return codes


def with_factors_and_addends(packed):
    """The same codes, each with a factor and an addend: 1 and 0 for codes without them.

    A code with a factor of 0 that its hasher gave it has no direction. Its addend is minus
    infinity, so that it comes last.
    """
    terms = Terms(packed._terms.pairs(len(packed)))
    return PackedCodes._of(packed.data, packed.n_bits, packed.bitorder, terms)


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
    word = next((size for size in (1, 2, 4) if n_bytes <= size), 8)
    is_aligned = data.flags.c_contiguous and data.ctypes.data % word == 0
    if n_bytes % word == 0 and is_aligned:
        return data.view(f"u{word}")
    padded = np.zeros((len(data), -(-n_bytes // word) * word), dtype=np.uint8)
    padded[:, :n_bytes] = data
    return padded.view(f"u{word}")
