"""The index of a database: its codes, the tables of them, and who answers a question."""

from itertools import chain

import numpy as np
from joblib import effective_n_jobs

from .._threads import map_in_threads, slices
from ..codes._door import word_distances
from ._buckets import BucketSearcher, make_tables
from ._choice import Choice
from ._cost import n_tables_for
from ._found import first_limits
from ._scan import Scanner

_QUERIES_PER_BLOCK = 1_024
_FOUND_PER_BLOCK = 2**24
_SAMPLE_QUERIES, _SAMPLE_CODES = 8, 1_024  # tell how many are found


class CodeIndex:
    """Codes and the tables of them, which are made when first needed.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.
    """

    def __init__(self, store):
        self.store = store
        self._tables = {}
        self._choice = Choice(store, self._tables)

    def __getstate__(self):
        return {"store": self.store}

    def __setstate__(self, state):
        self.__init__(**state)

    def ask(self, question, queries, argument, *, algorithm, n_jobs):
        """Answer a question about blocks of queries.

        Parameters
        ----------
        question : {"within", "at_least"}
            Whether to find the codes within a radius, or within the smallest radius that
            holds at least so many items.

        queries : ndarray of shape (n_queries, n_words), unsigned
            Words of the queries.

        argument : int
            The radius or the number of items.

        algorithm, n_jobs : parameters of HammingNeighbors

        Returns
        -------
        answers : iterable of (slice, Found)
            Consecutive queries, and the codes that they found.
        """
        if algorithm != "auto":
            searcher = self.searcher(self._n_tables(algorithm))
            return self._in_blocks(searcher, question, queries, argument, n_jobs)
        n_unknown = self._choice.n_unknown(question, argument)
        first, rest = [], slice(n_unknown, None)
        if n_unknown > 0:
            head = queries[:n_unknown]
            first = list(self._in_blocks(self.searcher(0), question, head, argument, 1))
            for rows, found in first:
                self._choice.see(question, argument, head[rows], found)
        n_tables = self._choice.n_tables(question, argument, len(queries))
        if n_unknown >= len(queries):
            return first
        searcher = self.searcher(n_tables)
        others = self._in_blocks(searcher, question, queries[rest], argument, n_jobs)
        moved = ((slice(b.start + n_unknown, b.stop + n_unknown), f) for b, f in others)
        return chain(first, moved)

    def searcher(self, n_tables):
        """Who looks up in so many tables, or compares with all codes if there are none."""
        if not n_tables:
            return Scanner(self.store)
        if n_tables not in self._tables:
            self._tables[n_tables] = make_tables(self.store, n_tables)
        return BucketSearcher(self.store, Scanner(self.store), self._tables[n_tables])

    def _n_tables(self, algorithm):
        several = n_tables_for(self.store)
        return {"brute": 0, "lookup": 1, "multi_index": several}[algorithm]

    def _in_blocks(self, searcher, question, queries, argument, n_jobs):
        """Share the queries out to threads, in blocks that do not find too much."""
        ask, n_queries = getattr(searcher, question), len(queries)
        if n_queries == 1:
            return [(slice(0, 1), ask(queries, argument))]
        size = _block_size(self.store, question, queries, argument)
        blocks = list(
            slices(n_queries, min(size, -(-n_queries // effective_n_jobs(n_jobs))))
        )
        return zip(
            blocks, map_in_threads(lambda b: ask(queries[b], argument), blocks, n_jobs)
        )


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
