"""The inner loops of search: distances and weighted sums of a pass of codes, and maxima.

NumPy and SciPy do the work until numba, where it is installed, has compiled its own loops.
Neither holds the interpreter's lock meanwhile. Distances are the same by both. Weighted
sums may differ in their last digits.
"""

import threading
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from ..codes._door import add_entries, maxima_by_entries

# Bytes of codes that SciPy looks up, and words that NumPy compares, in about a second.
# After so much work it pays to assume that more will follow, and to load numba.
_WORK_BEFORE_NUMBA = 1_000_000_000
_TOKENS_AT_ONCE = 8  # that SciPy looks up at once


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


def most_queries_by_tables():
    """Queries up to which tables cost less than products of matrices do.

    Products unpack the codes for all queries at once.
    """
    return 32 if numba.loops is None else 96


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
    columns = columns[:, first : first + sums.shape[1]]

    def bytes_of(codes):
        return np.ascontiguousarray(columns[:, codes].T).view(np.uint8)

    add_entries(tables, sums.shape[1], bytes_of, sums)


def write_maxima(by_entry, documents, unit, maxima):
    """Write the highest score of each token of queries in each document.

    The parameters are those of `maxima_by_entries`.
    """
    loops = numba.after(documents.data.size * maxima.shape[1] // _TOKENS_AT_ONCE)
    if loops is None:
        maxima_by_entries(by_entry, documents, unit, maxima)
    else:
        loops.compiled_maxima(by_entry, *documents[:2], unit, documents.starts, maxima)
