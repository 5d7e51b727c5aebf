"""Which way a question is answered, by whom, and in which blocks of queries."""

import sys
from importlib.util import find_spec

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.parallel import Parallel, delayed

from ..codes import word_distances
from ._buckets import BucketSearcher
from ._cost import ball_cost, index_cost, n_tables_for, scan_cost, table_widths
from ._faiss import FaissHash, FaissMultiHash, FaissScanner
from ._found import join
from ._scan import Scanner, first_limits

_QUERIES_PER_BLOCK = 256
_FOUND_PER_BLOCK = 2**24
_SAMPLE_QUERIES, _SAMPLE_CODES = 8, 1_024  # tell how many are found
_QUERIES_TO_ESTIMATE = 8


def search(store, algorithm, backend, n_jobs, question, queries, argument):
    """Ask a searcher about blocks of queries.

    Parameters
    ----------
    store : CodeStore

    algorithm, backend, n_jobs : parameters of HammingNeighbors

    question : {"within", "at_least"}
        Method of the searcher.

    queries : ndarray of shape (n_queries, n_words), unsigned

    argument : int
        The radius or the number of items.

    Yields
    ------
    rows : slice
        Consecutive queries.

    found : Found
        What they found.
    """
    searcher = get_searcher(store, algorithm, backend, len(queries))
    ask = getattr(searcher, question)
    size = _block_size(store, question, queries, argument)
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    blocks = list(gen_batches(len(queries), size))
    return zip(blocks, parallel(delayed(ask)(queries[b], argument) for b in blocks))


def _block_size(store, question, queries, argument):
    """Queries that will not find more codes together than fit into memory."""
    queries, codes = queries[:_SAMPLE_QUERIES], store.words[:_SAMPLE_CODES]
    radius = argument
    if question == "at_least":
        radius = first_limits(store, queries, argument)[:, None]
    near = word_distances(queries, codes, np.uint16) <= radius
    expected = len(store) * near.mean(axis=1).max()
    expected += len(store) / 256  # what the sample may have missed
    return int(max(4, min(_QUERIES_PER_BLOCK, _FOUND_PER_BLOCK // expected)))


def get_searcher(store, algorithm, backend, n_queries):
    """The searcher of an algorithm; what it needs is made once for a store."""
    if backend == "faiss" and find_spec("faiss") is None:
        raise ImportError(
            "backend='faiss' needs faiss. Install faiss-cpu, or set backend='numpy', which "
            "finds the same neighbors."
        )
    if algorithm == "auto":
        store.n_asked += n_queries
        return _Cheapest(store, backend)
    return _searcher(store, algorithm, backend)


def _searcher(store, algorithm, backend):
    key = algorithm, _settle(backend, algorithm)
    if key not in store.searchers:
        store.searchers[key] = _make_searcher(store, *key)
    return store.searchers[key]


def _settle(backend, algorithm):
    """Under "auto" faiss scans where it is loaded already: importing it is slow.

    Buckets are looked up by NumPy, which is not slower at that.
    """
    if backend != "auto":
        return backend
    return "faiss" if algorithm == "brute" and "faiss" in sys.modules else "numpy"


def _make_searcher(store, algorithm, backend):
    if backend == "faiss":
        kinds = {"brute": FaissScanner, "lookup": FaissHash, "multi_index": FaissMultiHash}
        return kinds[algorithm](store)
    if algorithm == "brute":
        return Scanner(store)
    n_tables = 1 if algorithm == "lookup" else n_tables_for(store)
    return BucketSearcher(store, _searcher(store, "brute", backend), n_tables)


class _Cheapest:
    """Decides by cost. Queries so far share that of tables which are yet to be made."""

    def __init__(self, store, backend):
        self._store = store
        self._backend = backend

    def within(self, queries, radius):
        return self._choose(radius).within(queries, radius)

    def at_least(self, queries, n_items):
        """A few queries tell by their radius what to expect of the others."""
        first, rest = queries[:_QUERIES_TO_ESTIMATE], queries[_QUERIES_TO_ESTIMATE:]
        scanner = _searcher(self._store, "brute", self._backend)
        parts = [scanner.at_least(first, n_items)]
        if not len(rest):
            return parts[0]
        radius = int(np.median(parts[0].radius()))
        parts.append(self._choose(radius).at_least(rest, n_items))
        everyone = np.arange(len(queries))
        rows = [everyone[: len(first)], everyone[len(first) :]]
        return join(parts, rows, len(queries))

    def _choose(self, radius):
        store, costs = self._store, {"brute": scan_cost(self._store)}
        for algorithm, n_tables in ("lookup", 1), ("multi_index", n_tables_for(store)):
            costs[algorithm] = ball_cost(
                store, table_widths(store.n_bits, n_tables), radius
            )
            if (algorithm, _settle(self._backend, algorithm)) not in store.searchers:
                costs[algorithm] += index_cost(store, n_tables) / store.n_asked
        return _searcher(store, min(costs, key=costs.get), self._backend)
