"""Codes as bytes and as strings of bits."""

import numpy as np

from ..codes import pack_codes, unpack_codes

__all__ = ["to_bit_strings", "to_bytes"]


def to_bytes(codes, bitorder="little"):
    """Pack codes into rows of bytes.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes.

    bitorder : {"little", "big"}, default="little"
        Whether bit 0 of a code is the least ("little") or the most ("big") significant
        bit of byte 0. faiss and sqlite-vec are little-endian; `numpy.packbits` and the
        "ubinary" of sentence-transformers are big-endian.

    Returns
    -------
    octets : ndarray of shape (n_samples, ceil(n_bits / 8)), dtype uint8
        Contiguous bytes; the spare bits of the last are zero. ``octets[i].tobytes()`` is
        the code of sample i as a blob.

    Raises
    ------
    ValueError
        If `codes` holds anything but zeros and ones.

    Examples
    --------
    >>> from sklearn_talr.export import to_bytes
    >>> to_bytes([[1, 0, 1]])
    array([[5]], dtype=uint8)
    >>> to_bytes([[1, 0, 1]], bitorder="big")
    array([[160]], dtype=uint8)
    """
    return np.ascontiguousarray(pack_codes(codes, bitorder=bitorder).data)


def to_bit_strings(codes):
    """Write codes as strings of "0" and "1", bit 0 first.

    This is the literal form of ``bit(n)`` in PostgreSQL and of ``BIT`` in DuckDB.

    Parameters
    ----------
    codes : array-like of shape (n_samples, n_bits) of 0/1 or bool, or PackedCodes
        The codes.

    Returns
    -------
    strings : list of str
        One string of n_bits characters for each sample.

    Examples
    --------
    >>> from sklearn_talr.export import to_bit_strings
    >>> to_bit_strings([[1, 0, 1], [0, 0, 1]])
    ['101', '001']
    """
    bits = unpack_codes(pack_codes(codes))
    characters = (bits + ord("0")).view(f"S{bits.shape[1]}")[:, 0]
    return characters.astype(str).tolist()
