"""One real-valued query against all codes, by tables of what each byte adds to a score.

Two kernels do it, with the same parameters and the same result but for rounding. `KERNELS`
tells which of them does it when. Neither holds the interpreter's lock while it adds up.
"""

import threading

import numpy as np
from scipy.sparse import csr_array

from ..histogram._kernels import numba_is_installed

_CODES_PER_PASS = 2**16
_LEAST_ROWS, _MOST_ROWS = 2**8, 2**12  # codes whose places in the tables stay in the cache
_SAMPLE = 2**10  # codes that tell about where the best are
_BYTES_OF_A_WORD = 8
_NO_TERMS = np.zeros((0, 1), dtype=np.float32)

# Bytes that SciPy looks up in about a second. Once so many have been looked up in a process
# it pays to assume that more will follow, and to load numba and have it compile.
_BYTES_BEFORE_NUMBA = 1_000_000_000

_looked_up = 0


def find(tables, columns, terms, *arguments):
    """Find codes whose scores reach a limit; see `find_by_scipy`, which tells it all."""
    global _looked_up
    _looked_up += len(tables) * columns.shape[1]
    kernel, _ = _kernel()
    return kernel(tables, columns, terms, *arguments)


def pays_for(n_queries):
    """Whether as many queries cost less by tables than by products of matrices."""
    _, most = _kernel()
    return n_queries <= most


def _kernel():
    """The kernel of now, and the number of queries that it pays for."""
    return next(rest for condition, *rest in KERNELS if condition())


def find_by_numba(tables, columns, terms, *arguments):
    """Everything in one compiled loop.

    It is compiled once for all kinds of codes: words are as long as they can be, and arrays
    are not to be written to, as those of files.
    """
    from ._compiled import find

    columns = _to_be_read(columns, np.uint64)
    if len(tables) < _BYTES_OF_A_WORD:
        tables = np.pad(tables, ((0, _BYTES_OF_A_WORD - len(tables)), (0, 0)))
    terms = _to_be_read(_NO_TERMS if terms is None else terms, np.float32)
    return find(tables, columns, terms, *arguments)


def _to_be_read(array, dtype):
    array = np.ascontiguousarray(array, dtype=dtype).view()
    array.flags.writeable = False
    return array


def find_by_scipy(tables, columns, terms, units, lowest, n_wanted, margin, start, stop):
    """Products of a sparse matrix and the tables, then NumPy.

    Parameters
    ----------
    tables : ndarray of shape (n_bytes, 256), dtype float32
        What each value of each byte adds to the score.

    columns : ndarray of shape (n_words, n_codes), unsigned
        Words of the codes.

    terms : ndarray of shape (n_codes, 1) or (n_codes, 2), dtype float32, or None
        Factors, and addends, of the scores.

    units : tuple of two floats
        What factors, and addends, are multiplied by.

    lowest : float
        The limit to begin with.

    n_wanted : int
        Number of codes after which the limit may rise to the score of the last of the best,
        less the margin. 0 means that it stays.

    margin : float
        What scores that are equal may differ by.

    start, stop : int
        The codes to look at.

    Returns
    -------
    codes : ndarray of int64
        Codes whose scores reach the last limit, in ascending order.
    """
    products = _Products.of(len(tables), stop - start)
    codes, reached = np.zeros(0, np.int64), np.zeros(0, np.float32)
    for first in range(start, stop, _CODES_PER_PASS):
        part = slice(first, min(first + _CODES_PER_PASS, stop))
        scores = products.sums(tables, columns[:, part])
        if terms is not None:
            apply_units(scores, terms[part], units)
        if n_wanted and first == start:
            step = max(1, len(scores) // max(_SAMPLE, 4 * n_wanted))
            lowest = _raised(lowest, scores[::step], n_wanted, margin)
        hits = np.flatnonzero(scores >= lowest)
        codes = np.concatenate((codes, hits + first))
        reached = np.concatenate((reached, scores[hits]))
        if n_wanted:
            lowest = _raised(lowest, reached, n_wanted, margin)
            kept = reached >= lowest
            codes, reached = codes[kept], reached[kept]
    return codes


def apply_units(scores, terms, units):
    """Multiply scores by factors, and add addends, in their units and in place.

    Scores may have rows for several queries, each with a unit of addends.
    """
    factor_unit, addend_unit = units
    scores *= terms[:, 0] * np.float32(factor_unit)
    if terms.shape[1] > 1:
        scores += terms[:, 1].astype(np.float64) * addend_unit


def _raised(lowest, scores, n_wanted, margin):
    """The limit, now that these scores are known."""
    if len(scores) < n_wanted:
        return lowest
    place = len(scores) - n_wanted
    return max(lowest, np.partition(scores, place)[place] - np.float32(margin))


class _Products:
    """A sparse matrix with a row for each code of a pass, of the places to look up.

    Its products with a vector add up what stands there. It is made once for each thread
    and length of a code, and its places are replaced from pass to pass.
    """

    _of_thread = threading.local()

    def __init__(self, n_rows, n_bytes):
        shape = n_rows, n_bytes
        ones, places = np.ones(shape, np.float32), np.zeros(shape, np.int32)
        ends = n_bytes * np.arange(len(ones) + 1, dtype=np.int32)
        entries = ones.ravel(), places.ravel(), ends
        self._matrix = csr_array(entries, shape=(len(ones), 256 * n_bytes), copy=False)
        self._places = self._matrix.indices.reshape(shape)
        self._firsts = 256 * np.arange(n_bytes, dtype=np.int32)

    @classmethod
    def of(cls, n_bytes, n_codes):
        """That of the calling thread, with no more rows than so many codes need."""
        n_rows = 1 << (n_codes - 1).bit_length()
        shape = max(_LEAST_ROWS, min(n_rows, _MOST_ROWS)), n_bytes
        made = vars(cls._of_thread).setdefault("made", {})
        if shape not in made:
            made[shape] = cls(*shape)
        return made[shape]

    def sums(self, tables, columns):
        """What the bytes of codes add up to, shape (n_codes,), float32."""
        sums = np.empty(columns.shape[1], dtype=np.float32)
        for first in range(0, len(sums), len(self._places)):
            words = columns[:, first : first + len(self._places)]
            octets = np.ascontiguousarray(words.T).view(np.uint8)
            np.add(octets, self._firsts, out=self._places[: len(octets)])
            part = sums[first : first + len(octets)]
            part[:] = (self._matrix @ tables.ravel())[: len(octets)]
        return sums


class _Compiler:
    """Has numba compile its kernel, in a thread of its own, while SciPy goes on.

    That takes seconds, for which no query shall wait.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._thread = None
        self._is_done = False

    def is_done(self):
        """Whether numba can take over; begins to compile once that pays."""
        if not self._is_done and _looked_up > _BYTES_BEFORE_NUMBA:
            with self._lock:
                if self._thread is None and numba_is_installed():
                    self._thread = threading.Thread(target=self._compile)
                    self._thread.start()
        return self._is_done

    def _compile(self):
        tables = np.zeros((_BYTES_OF_A_WORD, 256), dtype=np.float32)
        columns = np.zeros((1, 1), dtype=np.uint64)
        find_by_numba(tables, columns, None, (1.0, 1.0), -np.inf, 1, 0.0, 0, 1)
        self._is_done = True


def _always():
    return True


# (condition, kernel, queries up to which it costs less than products of matrices do, which
# unpack the codes for all queries at once). The first whose condition holds is taken.
KERNELS = (
    (_Compiler().is_done, find_by_numba, 96),
    (_always, find_by_scipy, 15),
)
