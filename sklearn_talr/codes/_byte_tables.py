"""Sums over codes by tables of what each value of each byte adds."""

import threading
from math import gcd

import numpy as np
from scipy.sparse import csr_array

from .._threads import slices
from ._words import signs_of, size_of_words

_LEAST_ROWS, MOST_ROWS = 2**8, 2**12  # codes whose places in the tables stay in the cache
_TABLES_AT_ONCE = 16  # queries whose tables stay in the cache


def tables_of(spread, n_bytes):
    """What each value of each byte adds to the score of a code.

    Parameters
    ----------
    spread : ndarray of shape (n_queries, n_columns), dtype float32
        Weights, see `Words.spread`.

    n_bytes : int
        Bytes of a code.

    Returns
    -------
    tables : ndarray of shape (n_queries, n_bytes, 256), dtype float32
    """
    size = size_of_words(spread, n_bytes)
    if size == 1:
        # BLAS does not share products of eight bytes out to threads.
        bits = spread.reshape(-1, gcd(n_bytes, 8), 8)
        tables = bits @ signs_of(np.arange(256, dtype=np.uint8)[:, None]).T
    else:
        tables = tables_of_words(spread, size)
        if size == 4:
            first, second = tables[:, ::2, None, :], tables[:, 1::2, :, None]
            tables = first + second
    return tables.reshape(len(spread), n_bytes, 256)


def tables_of_words(spread, size):
    """What each value of each word of several bits adds to the score of a code.

    Sums have the same order whatever queries there are.

    Parameters
    ----------
    spread : ndarray of shape (n_queries, n_columns)
        Weights, see `Words.spread`.

    size : {4, 8}
        Bits of a word.

    Returns
    -------
    tables : ndarray of shape (n_queries, n_words, 2 ** size), of the type of the weights
    """
    n_values = 2**size
    tables = spread.reshape(-1, n_values).T.copy()
    # A fast Walsh-Hadamard transform: bit by bit, weights of products with the bit are
    # subtracted where it is a zero, and added where it is a one.
    for bit in range(size):
        halves = tables.reshape(-1, 2, 2**bit, tables.shape[1])
        of_zero, of_one = halves[:, 0], halves[:, 1]
        added = of_zero + of_one
        of_zero -= of_one
        of_one[...] = added
    return np.ascontiguousarray(tables.T).reshape(len(spread), -1, n_values)


def exact_tables(spread, n_bytes):
    """What each value of each byte adds to the score of a code, query by query.

    Sums have the same order whatever queries there are.

    Parameters
    ----------
    spread : ndarray of shape (n_queries, n_columns), dtype float64
        Weights, see `Words.spread`.

    n_bytes : int
        Bytes of a code.

    Returns
    -------
    tables : ndarray of shape (n_bytes, 256, n_queries), dtype float64
    """
    size = size_of_words(spread, n_bytes)
    if size > 1:
        tables = tables_of_words(spread, size)
        if size == 4:
            tables = tables[:, ::2, None, :] + tables[:, 1::2, :, None]
    else:
        tables = np.zeros((len(spread), n_bytes, 1))
        for weights in np.moveaxis(spread.reshape(len(spread), n_bytes, 8, 1), 2, 0):
            tables = np.concatenate((tables - weights, tables + weights), axis=2)
    tables = tables.reshape(len(spread), n_bytes, 256)
    return np.ascontiguousarray(np.moveaxis(tables, 0, 2))


def sums_of_entries(octets, by_entry):
    """Sums of the entries of tables at the bytes of codes.

    Parameters
    ----------
    octets : ndarray of shape (n_codes, n_bytes), dtype uint8
        The codes, at most `MOST_ROWS`.

    by_entry : ndarray of shape (n_bytes, 256, n_queries), dtype float32
        The tables.

    Returns
    -------
    sums : ndarray of shape (n_codes, n_queries), dtype float32
    """
    matrix = _Places.of(octets.shape[1], len(octets))
    return matrix.sums(octets, by_entry.reshape(-1, by_entry.shape[2]))


def add_entries(tables, n_codes, bytes_of, sums):
    """Write the sums of the entries of tables at the bytes of codes.

    Parameters
    ----------
    tables : ndarray of shape (n_queries, n_bytes, 256), dtype float32

    n_codes : int

    bytes_of : callable
        ``bytes_of(part)`` returns the bytes of a slice of the codes, shape
        (n_codes, n_bytes).

    sums : ndarray of shape (n_queries, n_codes), dtype float32
        Where the sums are written.
    """
    matrix = _Places.of(tables.shape[1], n_codes)
    for queries in slices(len(tables), _TABLES_AT_ONCE):
        by_entry = tables[queries].reshape(queries.stop - queries.start, -1).T
        by_entry = np.ascontiguousarray(by_entry)
        for codes in slices(n_codes, matrix.n_rows):
            matrix.add_entries(bytes_of(codes), by_entry, out=sums[queries, codes])


class _Places:
    """A sparse matrix with a row for each code of a pass, of its places in the tables.

    The product with a table adds up the entries at these places. A matrix is made once for
    each thread and length of a code, and its places are replaced from pass to pass.
    """

    _of_thread = threading.local()

    def __init__(self, n_rows, n_bytes):
        self.n_rows = n_rows
        ones = np.ones(n_rows * n_bytes, dtype=np.float32)
        places = np.zeros(n_rows * n_bytes, dtype=np.int32)
        ends = n_bytes * np.arange(n_rows + 1, dtype=np.int32)
        shape = n_rows, 256 * n_bytes
        self._matrix = csr_array((ones, places, ends), shape=shape, copy=False)
        self._places = self._matrix.indices.reshape(n_rows, n_bytes)
        self._firsts = 256 * np.arange(n_bytes, dtype=np.int32)

    @classmethod
    def of(cls, n_bytes, n_codes):
        """The matrix of the calling thread, with no more rows than so many codes need."""
        n_rows = 1 << (n_codes - 1).bit_length()
        shape = max(_LEAST_ROWS, min(n_rows, MOST_ROWS)), n_bytes
        made = vars(cls._of_thread).setdefault("made", {})
        if shape not in made:
            made[shape] = cls(*shape)
        return made[shape]

    def add_entries(self, octets, by_entry, out):
        """Add up entries at the bytes of each code, in a column for each query."""
        if by_entry.shape[1] == 1:  # which SciPy multiplies faster as a vector
            out[0] = self.sums(octets, by_entry[:, 0])
        else:
            out[:] = self.sums(octets, by_entry).T

    def sums(self, octets, by_entry):
        """Sums of entries at the bytes of each code, a row for each code."""
        np.add(octets, self._firsts, out=self._places[: len(octets)])
        return (self._matrix @ by_entry)[: len(octets)]
