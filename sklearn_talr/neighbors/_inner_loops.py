"""The two inner loops of search: distances and weighted sums of a pass of codes.

NumPy and SciPy do the work until numba, where it is installed, has compiled its own loops.
Neither holds the interpreter's lock meanwhile. Distances are the same by both. Weighted
sums may differ in their last digits.
"""

import threading
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from scipy.sparse import csr_array

_LEAST_ROWS, _MOST_ROWS = 2**8, 2**12  # codes whose places in the tables stay in the cache

# Bytes of codes that SciPy looks up, and words that NumPy compares, in about a second.
# After so much work it pays to assume that more will follow, and to load numba.
_WORK_BEFORE_NUMBA = 1_000_000_000


class Numba:
    """The compiled loops, once there are some.

    To import and to compile takes seconds. So a thread of its own does it, for which no
    query waits.
    """

    def __init__(self):
        self.loops = None
        self._work = 0
        self._lock = threading.Lock()
        self._thread = None

    def after(self, work):
        """The module of the compiled loops, or None; counts what work there was."""
        self._work += work
        if self.loops is None and self._work > _WORK_BEFORE_NUMBA:
            with self._lock:
                if self._thread is None and find_spec("numba"):
                    self._thread = threading.Thread(target=self._load)
                    self._thread.start()
        return self.loops

    def _load(self):
        self.loops = import_module("._compiled", __package__)


numba = Numba()


def add_distances(queries, columns, first, distances, xor, ones):
    """Hamming distances of queries to the codes from the first on.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_words), unsigned
        Words of the queries.

    columns : ndarray of shape (n_words, n_all_codes), unsigned
        Words of the codes.

    first : int
        Number of the first code.

    distances : ndarray of shape (n_queries, n_codes), uint8 or uint16
        Where the distances are written.

    xor, ones : ndarray of shape (n_queries, n_codes), of the words' type and uint8
        Room for what NumPy makes on its way.
    """
    loops = numba.after(distances.size * len(columns))
    if loops is not None and columns.dtype == np.uint64:
        queries = np.ascontiguousarray(queries)
        loops.compiled_distances(queries, columns, first, distances)
        return
    columns = columns[:, first : first + distances.shape[1]]
    for place, (query_word, code_word) in enumerate(zip(queries.T, columns)):
        np.bitwise_xor(query_word[:, None], code_word, out=xor)
        if place == 0:
            np.bitwise_count(xor, out=distances)
        else:
            distances += np.bitwise_count(xor, out=ones)


def compare(store, queries, query, code):
    """Hamming distances of pairs of a query and a code, in the store's small type."""
    distances = np.zeros(len(query), dtype=store.distance_type)
    for query_word, codes in zip(queries.T, store.columns):
        distances += np.bitwise_count(query_word[query] ^ codes[code])
    return distances


def most_queries_by_tables():
    """Queries up to which tables cost less than products of matrices do.

    Products unpack the codes for all queries at once.
    """
    return 15 if numba.loops is None else 96


def add_sums(tables, columns, first, sums):
    """Weighted sums of the codes from the first on.

    Parameters
    ----------
    tables : ndarray of shape (n_queries, n_bytes, 256), dtype float32
        Number that each value of each byte adds to a sum.

    columns : ndarray of shape (n_words, n_all_codes), unsigned
        Words of the codes.

    first : int
        Number of the first code.

    sums : ndarray of shape (n_queries, n_codes), dtype float32
        Where the sums are written.
    """
    n_bytes = tables.shape[1]
    loops = numba.after(sums.size * n_bytes)
    if loops is not None and columns.dtype == np.uint64:
        loops.compiled_sums(tables, columns, first, sums)
        return
    products = _Products.of(n_bytes, sums.shape[1])
    columns = columns[:, first : first + sums.shape[1]]
    tables = tables.reshape(len(tables), -1)
    for start in range(0, sums.shape[1], products.n_rows):
        part = slice(start, start + products.n_rows)
        octets = np.ascontiguousarray(columns[:, part].T).view(np.uint8)
        products.multiply(octets, tables, out=sums[:, part])


class _Products:
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
        shape = max(_LEAST_ROWS, min(n_rows, _MOST_ROWS)), n_bytes
        made = vars(cls._of_thread).setdefault("made", {})
        if shape not in made:
            made[shape] = cls(*shape)
        return made[shape]

    def multiply(self, octets, tables, out):
        """Add up entries of the tables of each query at the bytes of each code."""
        np.add(octets, self._firsts, out=self._places[: len(octets)])
        for table, sums in zip(tables, out):
            sums[:] = (self._matrix @ table)[: len(octets)]
