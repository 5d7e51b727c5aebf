"""The index: codes, and the searchers that answer questions about them."""

import sys
from importlib.util import find_spec

import numpy as np
from joblib import effective_n_jobs

from .._threads import map_in_threads, slices
from ..codes._distances import word_distances
from ._buckets import BucketSearcher, make_tables
from ._choice import Choice, Experience
from ._cost import n_tables_for
from ._faiss import FaissHash, FaissMultiHash, FaissScanner
from ._found import first_limits
from ._scan import Scanner

_QUERIES_PER_BLOCK = 1_024
_FOUND_PER_BLOCK = 2**24
_SAMPLE_QUERIES, _SAMPLE_CODES = 8, 1_024  # tell how many are found


class CodeIndex:
    """Codes and the searchers of them, each of which is made when first asked for.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.
    """

    def __init__(self, store):
        self.store = store
        self.experience = Experience()
        self._searchers = {}
        self._tables = {}

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

        Returns
        -------
        answers : iterable of (slice, Found)
            Consecutive queries, and what they found.
        """
        searcher = self._choose(algorithm, backend, len(queries))
        ask = getattr(searcher, question)
        if len(queries) == 1:
            return [(slice(0, 1), ask(queries, argument))]
        size = _block_size(self.store, question, queries, argument)
        size = min(size, -(-len(queries) // effective_n_jobs(n_jobs)))
        blocks = list(slices(len(queries), size))
        if len(blocks) == 1:
            return [(blocks[0], ask(queries, argument))]
        found = map_in_threads(lambda b: ask(queries[b], argument), blocks, n_jobs)
        return zip(blocks, found)

    def searcher(self, algorithm, backend):
        """The searcher of an algorithm other than "auto"."""
        if _settle(backend, algorithm) == "numpy" and algorithm != "brute":
            return self.bucket_searcher(algorithm, backend)
        key = algorithm, _settle(backend, algorithm)
        if key not in self._searchers:
            self._searchers[key] = _make_searcher(self.store, *key)
        return self._searchers[key]

    def bucket_searcher(self, algorithm, backend):
        """The searcher that looks buckets up by NumPy, and compares by the backend."""
        n_tables = self._n_tables(algorithm)
        if n_tables not in self._tables:
            self._tables[n_tables] = make_tables(self.store, n_tables)
        return BucketSearcher(
            self.store, self.searcher("brute", backend), self._tables[n_tables]
        )

    def has_tables(self, algorithm):
        """Whether the tables of an algorithm are made already."""
        return self._n_tables(algorithm) in self._tables

    def _n_tables(self, algorithm):
        return 1 if algorithm == "lookup" else n_tables_for(self.store)

    def _choose(self, algorithm, backend, n_queries):
        if backend == "faiss" and find_spec("faiss") is None:
            raise ImportError(
                "backend='faiss' needs faiss. Install faiss-cpu, or set backend='numpy', "
                "which finds the same neighbors."
            )
        if algorithm == "auto":
            return Choice(self, backend, n_queries)
        return self.searcher(algorithm, backend)


def _make_searcher(store, algorithm, backend):
    if backend == "numpy":
        return Scanner(store)
    kinds = {"brute": FaissScanner, "lookup": FaissHash, "multi_index": FaissMultiHash}
    return kinds[algorithm](store)


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
