"""Search: every query is compared with every code, or with those that it may find.

Answers come for blocks of queries, as three arrays: how many items each query has found,
and the rows and distances of these items, query by query, by distance, then by row. So they
depend neither on the blocks nor on the threads that share them.
"""

from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._threads import map_in_threads, slices
from ..codes._door import (
    arrays_of_terms,
    columns_of,
    fixed,
    precision,
    tables_of,
    word_size,
)

_QUERIES_PER_BLOCK = 32
_CODES_PER_THREAD = 2**18  # from which on threads share the codes of a single block


class BitQueries(NamedTuple):
    """Queries that are codes.

    Parameters
    ----------
    index : Index

    words : ndarray of shape (n_queries, n_words)
        Codes of the queries, of the type of the words of the index.
    """

    index: object
    words: np.ndarray

    @classmethod
    def of(cls, index, data):
        """The queries of packed bytes."""
        return cls(index, np.ascontiguousarray(columns_of(data).T))

    def find(self, queries, rows, k, radius, whole):
        """Counts, rows and distances of some of the items near to some of the queries."""
        from .._loops._search import hamming_scan

        n_bits = self.index.columns.n_bits
        words = _columns(self.index.words, rows)
        radius = n_bits if radius is None else radius
        queries = fixed(self.words[queries])
        counts, found, distances = hamming_scan(queries, words, n_bits, k, radius, whole)
        return counts, found, distances.astype(np.int64)


class WeightQueries(NamedTuple):
    """Queries that are weights. Distances are minus the scores.

    Where nothing but weights of bits counts they are sums of the weights of differing bits.

    Parameters
    ----------
    index : Index

    weights : ndarray of shape (n_queries, n_weights), dtype float32
    """

    index: object
    weights: np.ndarray

    @property
    def are_distances(self):
        """Whether what is found has distances, and not scores alone."""
        n_bits = self.index.columns.n_bits
        return (
            self.index.terms.n_terms == 0 and word_size(n_bits, self.weights.shape[1]) == 1
        )

    def find(self, queries, rows, k, radius, whole):
        """Counts, rows and distances of some of the items near to some of the queries.

        Scores in float32 tell which items may be among those that are wanted. These are
        compared in float64.
        """
        from .._loops._search import weighted_scan, write_scores_of_pairs

        weights, n_bits = (
            self.weights[queries].astype(np.float64),
            self.index.columns.n_bits,
        )
        tables = tables_of(weights, n_bits, as_costs=self.are_distances)
        exponents, margins = precision(tables, self.index.terms)
        lowest = np.full(len(weights), -np.inf)
        if radius is not None:
            with np.errstate(over="ignore"):  # beyond all distances
                lowest = np.ldexp(np.full(len(weights), -radius), -exponents) - margins
        units = np.ldexp(1.0, -exponents)
        scaled = (tables * units[:, None, None]).astype(np.float32)
        units = units.astype(np.float32)
        words = _columns(self.index.words, rows)
        terms = arrays_of_terms(
            self.index.terms.rows(slice(None) if rows is None else rows)
        )
        how = words, terms, units, k, lowest, margins
        counts, found = weighted_scan(fixed(scaled), *how)
        scores = np.empty(len(found))
        write_scores_of_pairs(fixed(tables), words, terms, counts, found, scores)
        return counts, found, 0.0 - scores


def _columns(words, rows):
    if rows is None or isinstance(rows, slice):
        return words if rows is None else words[:, rows]
    return fixed(np.take(words, rows, axis=1))


def answers(
    queries, n_queries, k, radius=None, *, whole=True, allowed=None, own=None, n_jobs=None
):
    """Generate answers to blocks of queries.

    Parameters
    ----------
    queries : BitQueries or WeightQueries

    n_queries : int

    k : int
        Items to find for each query: those within the smallest distance that holds as many.
        0 asks for those within a radius.

    radius : int or float, default=None
        Greatest distance, where k is 0.

    whole : bool, default=True
        Whether all items at the distance of the last are wanted. If not, k are found, of
        smallest row.

    allowed : ndarray of shape (n_allowed,) or list of such arrays, default=None
        Rows that may be found, ascending, by all queries or by each. None means all.

    own : ndarray of shape (n_queries,), default=None
        Rows of the queries, where they are items, which they do not find.

    n_jobs : int, default=None
        Number of threads.
    """
    index = queries.index
    size = 1 if isinstance(allowed, list) else _QUERIES_PER_BLOCK
    blocks = list(slices(n_queries, size))
    n_parts = 1
    if len(blocks) == 1 and allowed is None and index.n_items > 2 * _CODES_PER_THREAD:
        n_parts = min(effective_n_jobs(n_jobs), index.n_items // _CODES_PER_THREAD)
    parts = (
        [None]
        if n_parts == 1
        else list(slices(index.n_items, -(-index.n_items // n_parts)))
    )
    wanted = k + (k > 0 and own is not None)

    def find(task):
        block, part = task
        rows = allowed[block.start] if isinstance(allowed, list) else allowed
        rows = rows if part is None else part
        counts, found, distances = queries.find(block, rows, wanted, radius, whole)
        if part is not None:
            found = found + part.start
        elif rows is not None:
            found = rows[found]
        return np.repeat(np.arange(len(counts)), counts), found, distances

    found = map_in_threads(find, [(b, part) for b in blocks for part in parts], n_jobs)
    for block in blocks:
        triples = [next(found) for _ in parts]
        of_block = triples[0] if len(parts) == 1 else map(np.concatenate, zip(*triples))
        query, rows, distances = of_block
        order = np.lexsort((rows, distances, query))
        if own is not None:
            order = order[rows[order] != own[block][query[order]]]
        query, rows, distances = query[order], rows[order], distances[order]
        if k == 0:
            kept = distances <= radius
        else:
            starts = np.searchsorted(query, np.arange(block.stop - block.start))
            kept = np.arange(len(query)) - starts[query] < k
            if whole:
                lasts = distances[np.minimum(starts + k, len(query)) - 1]
                kept |= distances <= lasts[query]
        counts = np.bincount(query[kept], minlength=block.stop - block.start)
        yield counts, rows[kept], distances[kept]
