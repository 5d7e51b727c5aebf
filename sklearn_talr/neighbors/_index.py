"""The index: codes, and the searchers that answer questions about them."""

import sys
from importlib.util import find_spec

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.parallel import Parallel, delayed

from ..codes import word_distances
from ._buckets import BucketSearcher
from ._cost import ball_cost, index_cost, n_tables_for, scan_cost, table_widths
from ._faiss import FaissHash, FaissMultiHash, FaissScanner
from ._found import first_limits, join
from ._scan import Scanner

_QUERIES_PER_BLOCK = 256
_FOUND_PER_BLOCK = 2**24
_SAMPLE_QUERIES, _SAMPLE_CODES = 8, 1_024  # tell how many are found
_QUERIES_TO_ESTIMATE = 8


class CodeIndex:
    """Codes and the searchers of them, each of which is made when first asked for.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.
    """

    def __init__(self, store):
        self.store = store
        self._searchers = {}
        self._n_asked = 0  # queries for which the cheapest way was chosen

    def __getstate__(self):
        return {"store": self.store}

    def __setstate__(self, state):
        self.__init__(**state)

    def ask(self, question, queries, argument, *, algorithm, backend, n_jobs):
        """Ask about blocks of queries.

        Parameters
        ----------
        question : {"within", "at_least"}
            Which codes lie within a radius, or within the smallest radius that holds at
            least so many items.

        queries : ndarray of shape (n_queries, n_words), unsigned
            Words of the queries.

        argument : int
            The radius or the number of items.

        algorithm, backend, n_jobs : parameters of HammingNeighbors

        Yields
        ------
        rows : slice
            Consecutive queries.

        found : Found
            What they found.
        """
        searcher = self._choose(algorithm, backend, len(queries))
        ask = getattr(searcher, question)
        size = _block_size(self.store, question, queries, argument)
        parallel = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
        blocks = list(gen_batches(len(queries), size))
        return zip(blocks, parallel(delayed(ask)(queries[b], argument) for b in blocks))

    def searcher(self, algorithm, backend):
        """The searcher of an algorithm other than "auto"."""
        key = algorithm, _settle(backend, algorithm)
        if key not in self._searchers:
            self._searchers[key] = self._make_searcher(*key)
        return self._searchers[key]

    def has(self, algorithm, backend):
        """Whether that searcher is made already."""
        return (algorithm, _settle(backend, algorithm)) in self._searchers

    def _choose(self, algorithm, backend, n_queries):
        if backend == "faiss" and find_spec("faiss") is None:
            raise ImportError(
                "backend='faiss' needs faiss. Install faiss-cpu, or set backend='numpy', "
                "which finds the same neighbors."
            )
        if algorithm == "auto":
            self._n_asked += n_queries
            return _Cheapest(self, backend, self._n_asked)
        return self.searcher(algorithm, backend)

    def _make_searcher(self, algorithm, backend):
        if backend == "faiss":
            kinds = {"brute": FaissScanner, "lookup": FaissHash}
            return kinds.get(algorithm, FaissMultiHash)(self.store)
        if algorithm == "brute":
            return Scanner(self.store)
        n_tables = 1 if algorithm == "lookup" else n_tables_for(self.store)
        return BucketSearcher(self.store, self.searcher("brute", backend), n_tables)


def _settle(backend, algorithm):
    """Under "auto" faiss scans where it is loaded already: importing it is slow.

    Buckets are looked up by NumPy, which is not slower at that.
    """
    if backend != "auto":
        return backend
    return "faiss" if algorithm == "brute" and "faiss" in sys.modules else "numpy"


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


class _Cheapest:
    """Decides by cost. Queries so far share that of tables which are yet to be made."""

    def __init__(self, index, backend, n_asked):
        self._index = index
        self._backend = backend
        self._n_asked = n_asked

    def within(self, queries, radius):
        return self._choose(radius).within(queries, radius)

    def at_least(self, queries, n_items):
        """A few queries tell by their radius what to expect of the others."""
        first, rest = queries[:_QUERIES_TO_ESTIMATE], queries[_QUERIES_TO_ESTIMATE:]
        scanner = self._index.searcher("brute", self._backend)
        parts = [scanner.at_least(first, n_items)]
        if not len(rest):
            return parts[0]
        radius = int(np.median(parts[0].radius()))
        parts.append(self._choose(radius).at_least(rest, n_items))
        everyone = np.arange(len(queries))
        rows = [everyone[: len(first)], everyone[len(first) :]]
        return join(parts, rows, len(queries))

    def _choose(self, radius):
        index, store = self._index, self._index.store
        costs = {"brute": scan_cost(store)}
        for algorithm, n_tables in ("lookup", 1), ("multi_index", n_tables_for(store)):
            costs[algorithm] = ball_cost(
                store, table_widths(store.n_bits, n_tables), radius
            )
            if not index.has(algorithm, self._backend):
                costs[algorithm] += index_cost(store, n_tables) / self._n_asked
        return index.searcher(min(costs, key=costs.get), self._backend)
