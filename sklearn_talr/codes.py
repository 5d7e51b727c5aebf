"""Binary codes: bits, packed bytes, and the Hamming distances between them.

A *code* is a row of ``n_bits`` bits. It comes in two forms that every function of this
package accepts: an array of zeros and ones, shape (n_samples, n_bits), or the
:class:`PackedCodes` that :func:`pack_codes` returns, eight bits to the byte. A packed
array always says how many of its bits count and in which order they lie, so that 7 bits
are never taken for 8 and little-endian bytes are never compared with big-endian ones.
"""

import operator
from numbers import Integral

import numpy as np
from sklearn.utils import check_array

__all__ = [
    "PackedCodes",
    "extend_codes",
    "hamming_distances",
    "pack_codes",
    "unpack_codes",
]

_BIT_ORDERS = ("little", "big")


class PackedCodes:
    """Codes packed eight bits to the byte, with their length and bit order.

    Made by :func:`pack_codes`; make one yourself only from bytes that another system
    packed.

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

    Attributes
    ----------
    shape : tuple of int
        ``(n_samples, n_bits)``, the shape of the unpacked codes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_talr.codes import PackedCodes
    >>> codes = PackedCodes(np.array([[5]], dtype=np.uint8), n_bits=3)
    >>> np.asarray(codes)
    array([[1, 0, 1]], dtype=uint8)
    """

    def __init__(self, data, n_bits, bitorder="little"):
        self.data = np.asarray(data)
        self.n_bits = operator.index(n_bits)
        self.bitorder = _check_bitorder(bitorder)
        self._check_layout()

    def _check_layout(self):
        if self.n_bits < 1:
            raise ValueError(f"n_bits must be at least 1, got {self.n_bits}.")
        n_bytes = -(-self.n_bits // 8)
        if self.data.dtype != np.uint8 or self.data.ndim != 2:
            raise ValueError(
                "data must be a 2-D uint8 array of packed bytes, got "
                f"{self.data.ndim}-D {self.data.dtype}. Use pack_codes to pack bits."
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

    @property
    def shape(self):
        return len(self.data), self.n_bits

    def __len__(self):
        return len(self.data)

    def __getitem__(self, rows):
        """Select rows (a slice, a mask or an index array); the result stays packed."""
        if isinstance(rows, tuple):  # scikit-learn indexes with (rows, ...)
            rows = rows[0]
        data = np.atleast_2d(self.data[rows])
        return PackedCodes(data, self.n_bits, self.bitorder)

    def __array__(self, dtype=None, copy=None):
        """Return the bits, never the bytes: `np.asarray` must not change the meaning."""
        if copy is False:
            raise ValueError("unpacking codes makes a copy; call with copy=None.")
        return unpack_codes(self).astype(dtype or np.uint8, copy=False)

    def __repr__(self):
        return (
            f"PackedCodes(n_samples={len(self)}, n_bits={self.n_bits}, "
            f"bitorder={self.bitorder!r})"
        )


def pack_codes(codes, *, bitorder="little"):
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
        If `codes` holds anything but zeros and ones, is empty or not 2-D.

    Examples
    --------
    >>> from sklearn_talr.codes import pack_codes
    >>> pack_codes([[1, 0, 1]]).data
    array([[5]], dtype=uint8)
    >>> pack_codes([[1, 0, 1]], bitorder="big").data
    array([[160]], dtype=uint8)
    """
    _check_bitorder(bitorder)
    if isinstance(codes, PackedCodes):
        if codes.bitorder == bitorder:
            return codes
        codes = unpack_codes(codes)
    bits = check_array(codes, dtype=None, input_name="codes")
    if bits.dtype.kind not in "biuf" or np.any((bits != 0) & (bits != 1)):
        raise ValueError(
            "codes must hold zeros and ones only. Activations become codes by "
            "`activations > 0`, codes of -1/+1 by `codes > 0`, and packed bytes by "
            "PackedCodes(bytes, n_bits, bitorder)."
        )
    data = np.packbits(bits.astype(bool, copy=False), axis=1, bitorder=bitorder)
    return PackedCodes(data, bits.shape[1], bitorder)


def unpack_codes(packed):
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
    return np.unpackbits(packed.data, axis=1, count=packed.n_bits, bitorder=packed.bitorder)


def extend_codes(codes, n_extra, *, same=True):
    """Append bits that carry no information, the same to every code.

    With these two constructions Jiang, Li and Li show what a retrieval metric overlooks.
    The database is extended with the default in both of them, the queries by either:

    * ``same=True`` (LSHSE): queries and database share the new bits, so every distance
      stays what it was. The codes are only longer, and the buckets within a radius more.
    * ``same=False`` (LSHDE): queries and database disagree in all new bits, so every
      distance grows by `n_extra`. The ranking stays, but every ball up to radius
      ``n_extra - 1`` is empty.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes.

    n_extra : int
        Number of bits to append, at least 0.

    same : bool, default=True
        Whether the new bits equal those of a database that is extended with the default:
        zeros if True, ones if False.

    Returns
    -------
    extended : ndarray of shape (n_samples, n_bits + n_extra), or PackedCodes
        Of the kind given: PackedCodes of the same bit order, or an array of the same
        dtype.

    Raises
    ------
    ValueError
        If `codes` holds anything but zeros and ones, or `n_extra` is not a non-negative
        integer, or `same` is not a bool.

    See Also
    --------
    sklearn_talr.metrics.radius_aware_map : The metric that tells the three apart.

    References
    ----------
    Jiang, Li and Li, "On the Evaluation Metric for Hashing", section 4.1.

    Examples
    --------
    >>> from sklearn_talr.codes import extend_codes, hamming_distances
    >>> queries, database = [[0, 1]], [[0, 1], [1, 1]]
    >>> extend_codes(queries, 3, same=False)
    array([[0, 1, 1, 1, 1]])
    >>> hamming_distances(queries, database)
    array([[0, 1]], dtype=int32)
    >>> database = extend_codes(database, 3)
    >>> hamming_distances(extend_codes(queries, 3, same=True), database)
    array([[0, 1]], dtype=int32)
    >>> hamming_distances(extend_codes(queries, 3, same=False), database)
    array([[3, 4]], dtype=int32)
    """
    if not isinstance(n_extra, Integral) or isinstance(n_extra, bool) or n_extra < 0:
        raise ValueError(f"n_extra must be a non-negative integer, got {n_extra!r}.")
    if not isinstance(same, bool | np.bool_):
        raise ValueError(f"same must be True or False, got {same!r}.")
    packed = pack_codes(codes)  # checks that these are codes
    bits = unpack_codes(packed) if isinstance(codes, PackedCodes) else np.asarray(codes)
    new_bits = np.full((len(bits), n_extra), not same, dtype=bits.dtype)
    extended = np.concatenate((bits, new_bits), axis=1)
    if isinstance(codes, PackedCodes):
        return pack_codes(extended, bitorder=codes.bitorder)
    return extended


def hamming_distances(query_codes, database_codes):
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
        If the two sides differ in length.

    Examples
    --------
    >>> from sklearn_talr.codes import hamming_distances
    >>> hamming_distances([[0, 0, 0]], [[0, 0, 1], [1, 1, 1]])
    array([[1, 3]], dtype=int32)
    """
    queries, database = code_words(query_codes, database_codes)
    return word_distances(queries, database, dtype=np.int32)


def code_words(query_codes, database_codes):
    """Lay both sets of codes out as unsigned words, the widest that fit.

    Returns two arrays of shape (n, n_words) and one dtype, uint8 to uint64, zero padded:
    XOR and popcount run on whole words. Raises ValueError when the lengths differ.
    """
    queries = pack_codes(query_codes)
    database = pack_codes(database_codes)
    if queries.n_bits != database.n_bits:
        raise ValueError(
            f"query_codes have {queries.n_bits} bits and database_codes "
            f"{database.n_bits}; both must come from the same hash function."
        )
    return as_words(queries.data), as_words(database.data)


def word_distances(queries, database, dtype):
    """Hamming distances between two arrays of words as made by :func:`code_words`."""
    distances = np.zeros((len(queries), len(database)), dtype=dtype)
    for query_word, database_word in zip(queries.T, database.T):
        distances += np.bitwise_count(query_word[:, None] ^ database_word)
    return distances


def as_words(data):
    """View packed rows as the widest unsigned words that fit, zero padded."""
    n_bytes = data.shape[1]
    word = next((size for size in (1, 2, 4) if n_bytes <= size), 8)
    padded = np.zeros((len(data), -(-n_bytes // word) * word), dtype=np.uint8)
    padded[:, :n_bytes] = data
    return padded.view(f"u{word}")


def _check_bitorder(bitorder):
    if bitorder not in _BIT_ORDERS:
        raise ValueError(f"bitorder must be 'little' or 'big', got {bitorder!r}.")
    return bitorder
