"""The search of an index: a scan of all codes, in blocks of queries and in threads.

:func:`search_blocks` is the whole of an engine: it takes an index and a request and
generates Found, one for each block of queries. Another engine would stand beside it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._core.threads import map_in_threads, slices
from ..codes import CodeTerms
from ..codes._scores import fixed, signs_of_bits
from ._filters import Eligible
from ._index import Index
from ._requests import SearchRequest

_QUERIES_PER_BLOCK = 32

# Threads share the codes of a single block of queries if there are twice as many codes.
_MIN_CODES_PER_THREAD = 2**18


class Found(NamedTuple):
    """The items that queries have found, query by query, by distance, then by row.

    Parameters
    ----------
    counts : ndarray of shape (n_queries,), dtype int64
        Number of items that each query has found.

    rows, distances : ndarray of shape (n_found,)
        Rows of these items, and their distances.

    tied_rows : list of ndarray of int64, default=None
        Rows at the distance of the last neighbor of each query. None if the request is
        without ties.
    """

    counts: np.ndarray
    rows: np.ndarray
    distances: np.ndarray
    tied_rows: list | None = None

    @classmethod
    def concatenate(cls, blocks):
        """The items that all queries have found, from the Found of blocks of queries."""
        blocks = list(blocks)
        if len(blocks) == 1:
            return blocks[0]
        return cls(
            counts=np.concatenate([found.counts for found in blocks]),
            rows=np.concatenate([found.rows for found in blocks]),
            distances=np.concatenate([found.distances for found in blocks]),
        )

    def split(self, values):
        """Values of the items as a list of arrays, one for each query."""
        return np.split(values, np.cumsum(self.counts)[:-1])

    def nearest(self, n_neighbors):
        """The first items of each query."""
        starts = np.cumsum(self.counts) - self.counts
        places = np.arange(len(self.rows)) - np.repeat(starts, self.counts)
        is_near = places < n_neighbors
        counts = np.minimum(self.counts, n_neighbors)
        return Found(counts, self.rows[is_near], self.distances[is_near])

    def tied_with_last(self, n_neighbors):
        """Rows at the distance of the last neighbor of each query, as a list of arrays."""
        starts = np.cumsum(self.counts) - self.counts
        ends = starts + self.counts
        has_items = self.counts > 0
        last_places = np.minimum(starts + n_neighbors, ends)[has_items] - 1
        last_distances = self.distances[last_places]
        is_tied = self.distances == np.repeat(last_distances, self.counts[has_items])
        n_tied_before = np.concatenate(([0], np.cumsum(is_tied)))
        n_tied = np.diff(n_tied_before[np.append(starts, ends[-1])])
        return np.split(self.rows[is_tied], np.cumsum(n_tied)[:-1])


def search(index, request):
    """Find items for all queries of a request.

    Parameters
    ----------
    index : Index
        The items.

    request : SearchRequest
        The request.

    Returns
    -------
    found : Found
        The items that the queries have found. With ties: the neighbors alone, and the ties
        in ``tied_rows``.
    """
    blocks = search_blocks(index, request)
    if not request.with_ties:
        return Found.concatenate(blocks)
    nearest = []
    tied_rows = []
    for found in blocks:
        nearest.append(found.nearest(request.n_neighbors))
        tied_rows += found.tied_with_last(request.n_neighbors)
    return Found.concatenate(nearest)._replace(tied_rows=tied_rows)


def search_blocks(index, request):
    """Generate the items that blocks of queries find, one block after another.

    The items found depend neither on the blocks nor on the threads that share them.

    Parameters
    ----------
    index : Index
        The items.

    request : SearchRequest
        The request.

    Yields
    ------
    found : Found
        The items that the next block of queries has found. With ties: all items up to the
        distance of the last neighbor.
    """
    if request.n_candidates is not None and not request.queries.are_bits:
        request = _with_candidates(index, request)
    scan = _Scan.plan(index, request)
    blocks = scan.blocks_of_queries()
    parts = scan.parts_of_items(len(blocks))
    tasks = [(block, part) for block in blocks for part in parts]
    hits = map_in_threads(scan.find_hits, tasks, request.n_jobs)
    for block in blocks:
        yield scan.merge(block, [next(hits) for _ in parts])


def _with_candidates(index, request):
    """The request for weights, of which each may find its candidates by bits alone.

    Candidates are the items nearest to the signs of the weights, with all items that tie.
    """
    signs = signs_of_bits(request.queries.values, index.n_bits)
    by_bits = request._replace(
        queries=request.queries._replace(values=signs),
        n_neighbors=max(request.n_candidates, request.n_neighbors),
        n_candidates=None,
        with_ties=True,
    )
    candidates = [
        np.sort(rows)
        for found in search_blocks(index, by_bits)
        for rows in found.split(found.rows)
    ]
    return request._replace(eligible=Eligible(rows_by_query=candidates))


class _Part(NamedTuple):
    """Some of the items.

    Parameters
    ----------
    rows : slice, or ndarray of int64
        Rows of the items, ascending.

    words : ndarray of shape (n_words, n_items), unsigned
        Codes of the items, as `columns_of` lays them out.

    terms : CodeTerms or None
        Factors and addends of the items. None if queries are bits, which need none.
    """

    rows: slice | np.ndarray
    words: np.ndarray
    terms: CodeTerms | None


class _Hits(NamedTuple):
    """Pairs of a query and an item near to it, from a block of queries and some items.

    Parameters
    ----------
    query : ndarray of shape (n_hits,) of int64
        Place of the query in its block.

    rows, distances : ndarray of shape (n_hits,)
        Row of the item, and its distance.
    """

    query: np.ndarray
    rows: np.ndarray
    distances: np.ndarray

    @classmethod
    def concatenate(cls, parts):
        """The hits in all parts of the items."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            query=np.concatenate([hits.query for hits in parts]),
            rows=np.concatenate([hits.rows for hits in parts]),
            distances=np.concatenate([hits.distances for hits in parts]),
        )

    def take(self, places):
        """The hits at these places."""
        return _Hits(self.query[places], self.rows[places], self.distances[places])


@dataclass(frozen=True, eq=False)
class _Scan:
    """The search of one request, in tasks: each compares a block of queries with a part.

    Parameters
    ----------
    index : Index
        The items.

    request : SearchRequest
        The request.

    is_query_by_query : bool
        Whether a block is a single query, which is compared with its own eligible rows.

    buckets : Buckets or None
        Tables in which codes within the radius are looked up. None compares all codes.
    """

    index: Index
    request: SearchRequest
    is_query_by_query: bool
    buckets: object

    @classmethod
    def plan(cls, index, request):
        """Choose how to search."""
        eligible = request.eligible
        queries = request.queries
        buckets = None
        if request.is_within_radius and queries.are_bits and eligible.has_all_rows:
            buckets = index.lookup.buckets_for(index, request.radius, queries.n_queries)
        # Items dropped from a search within a radius are not replaced by farther items, so
        # queries can be searched together at no cost.
        is_query_by_query = eligible.rows_by_query is not None or (
            not request.is_within_radius and eligible.pays_query_by_query(index.n_items)
        )
        return cls(index, request, is_query_by_query, buckets)

    def blocks_of_queries(self):
        """Slices of queries that are searched together."""
        n_together = 1 if self.is_query_by_query else _QUERIES_PER_BLOCK
        return list(slices(self.request.queries.n_queries, n_together))

    def parts_of_items(self, n_blocks):
        """Parts of the items that every block is compared with.

        None stands for the rows that the single query of a block may find.
        """
        shared_rows = self.request.eligible.shared_rows
        if self.is_query_by_query:
            return [None]
        if shared_rows is not None:
            return [self._part(shared_rows)]
        n_items = self.index.n_items
        n_parts = 1
        are_many = n_items > 2 * _MIN_CODES_PER_THREAD
        if n_blocks == 1 and self.buckets is None and are_many:
            n_threads = effective_n_jobs(self.request.n_jobs)
            n_parts = min(n_threads, n_items // _MIN_CODES_PER_THREAD)
        return [self._part(rows) for rows in slices(n_items, -(-n_items // n_parts))]

    def _part(self, rows):
        terms = None
        if not self.request.queries.are_bits:
            terms = CodeTerms(*map(fixed, self.index.terms.rows(rows)))
        if isinstance(rows, slice):
            words = fixed(self.index.words[:, rows])
        else:
            words = fixed(np.take(self.index.words, rows, axis=1))
        return _Part(rows, words, terms)

    def find_hits(self, task):
        """Find the items of a part that are near to a block of queries."""
        block, part = task
        if part is None:
            n_items = self.index.n_items
            part = self._part(self.request.eligible.rows_of(block.start, n_items))
        if self.buckets is not None:
            counts, places, distances = self._look_up(block, part)
        elif self.request.queries.are_bits:
            counts, places, distances = self._compare_bits(block, part)
        else:
            counts, places, distances = self._compare_weights(block, part)
        if isinstance(part.rows, slice):
            rows = places + part.rows.start
        else:
            rows = part.rows[places]
        return _Hits(np.repeat(np.arange(len(counts)), counts), rows, distances)

    def _look_up(self, block, part):
        queries = self._words_of(block, part)
        return self.buckets.within(queries, part.words, self.request.radius)

    def _compare_bits(self, block, part):
        from .._loops._search import TILE, hamming_scan

        n_bits = self.index.n_bits
        radius = n_bits
        if self.request.is_within_radius:
            radius = min(self.request.radius, n_bits)
        return hamming_scan(
            self._words_of(block, part),
            part.words,
            n_bits,
            self._n_wanted(block),
            radius,
            self._keeps_ties,
            np.empty(TILE, dtype=np.uint16 if n_bits < 2**16 else np.uint32),
        )

    def _compare_weights(self, block, part):
        from .._loops._search import weighted_scan

        weights = self.request.queries.values
        counts, places, scores = weighted_scan(
            fixed(np.ascontiguousarray(weights[block])),
            part.words,
            part.terms,
            self.index.has_distances(weights),
            self._n_wanted(block),
            self.request.radius if self.request.is_within_radius else np.inf,
            self._keeps_ties,
        )
        return counts, places, 0.0 - scores

    @property
    def _keeps_ties(self):
        """Whether all items at the last distance are wanted; within a radius they are."""
        return self.request.with_ties or self.request.is_within_radius

    def _words_of(self, block, part):
        """Queries of a block as words; a copy, since bytes may lie where words may not."""
        octets = self.request.queries.values[block].copy()
        return fixed(np.ascontiguousarray(octets.view(part.words.dtype)))

    def _n_wanted(self, block):
        """Items to find for each query of a block; 0 finds all within the radius.

        Items that a query must not find may be among them, and are dropped afterwards.
        """
        if self.request.is_within_radius:
            return 0
        n_neighbors = self.request.n_neighbors
        left_out = self.request.eligible.left_out
        if left_out is None or self.is_query_by_query:
            return n_neighbors
        n_left_out = np.diff(left_out.indptr[block.start : block.stop + 1])
        return n_neighbors + int(n_left_out.max())

    def merge(self, block, parts):
        """What a block of queries finds, from the hits in all parts of the items."""
        hits = _Hits.concatenate(parts)
        order = np.lexsort((hits.rows, hits.distances, hits.query))
        if self.request.eligible.left_out is not None and not self.is_query_by_query:
            order = order[~self._are_left_out(block, hits)[order]]
        hits = hits.take(order)
        n_queries = block.stop - block.start
        hits = hits.take(self._are_wanted(hits, n_queries))
        distances = hits.distances
        if self.request.queries.are_bits:
            distances = distances.astype(np.int64)
        return Found(np.bincount(hits.query, minlength=n_queries), hits.rows, distances)

    def _are_left_out(self, block, hits):
        """Whether hits are pairs that the request leaves out."""
        left_out = self.request.eligible.left_out[block]
        n_items = self.index.n_items
        query = np.repeat(np.arange(left_out.shape[0]), np.diff(left_out.indptr))
        pairs = query * n_items + left_out.indices
        return np.isin(hits.query * n_items + hits.rows, pairs)

    def _are_wanted(self, hits, n_queries):
        """Whether sorted hits are within the radius, or neighbors, or tied with them."""
        if self.request.is_within_radius:
            return hits.distances <= self.request.radius
        n_neighbors = self.request.n_neighbors
        n_hits = len(hits.query)
        starts = np.searchsorted(hits.query, np.arange(n_queries))
        are_wanted = np.arange(n_hits) - starts[hits.query] < n_neighbors
        if self.request.with_ties and n_hits:
            ends = np.append(starts[1:], n_hits)
            last_places = np.minimum(starts + n_neighbors, ends) - 1
            last_distances = hits.distances[last_places]
            are_wanted |= hits.distances <= last_distances[hits.query]
        return are_wanted
