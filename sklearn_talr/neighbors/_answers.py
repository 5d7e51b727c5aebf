"""The search of an index: blocks of queries, parts of the items, and merged answers."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._core.threads import map_in_threads, slices
from ..codes import CodeTerms
from ..codes._scores import fixed
from ._filters import ALL_ROWS, Eligible
from ._index import Index

_QUERIES_PER_BLOCK = 32
_CODES_PER_THREAD = 2**18  # from which on threads share the codes of a single block


class Queries(NamedTuple):
    """What is asked for.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_bytes) of uint8, or (n_queries, n_weights)
        Packed codes, or weights in float32. Distances to weights are minus the scores.
        If nothing but weights of bits counts, they are sums of the weights of differing
        bits.

    own : ndarray of shape (n_queries,) of int64, or None
        Row of each query, if the queries are items: no item finds itself.

    X : object
        The queries as a user gave them, or the features of the items; None if there are
        none.
    """

    values: np.ndarray
    own: np.ndarray | None
    X: object

    @property
    def n_queries(self):
        """Number of queries."""
        return len(self.values)

    @property
    def are_bits(self):
        """Whether queries are codes, and not weights."""
        return self.values.dtype.kind == "u"


class Answers(NamedTuple):
    """What some queries have found, query by query, by distance, then by row.

    Parameters
    ----------
    counts : ndarray of shape (n_queries,), dtype int64
        How many items each query has found.

    rows, distances : ndarray of shape (n_found,)
        Rows of these items, and their distances.
    """

    counts: np.ndarray
    rows: np.ndarray
    distances: np.ndarray


class Nearest(NamedTuple):
    """The nearest items of all queries, query by query, by distance, then by row.

    Parameters
    ----------
    counts : ndarray of shape (n_queries,), dtype int64
        How many items each query has found.

    rows, distances : ndarray of shape (n_found,)
        Rows of these items, and their distances.

    tied : list of ndarray of int64
        Rows at the distance of the last of each query. Empty if nobody wants them.
    """

    counts: np.ndarray
    rows: np.ndarray
    distances: np.ndarray
    tied: list

    def split(self, values):
        """Values of the items as a list of arrays, one for each query."""
        return np.split(values, np.cumsum(self.counts)[:-1])


class _Part(NamedTuple):
    """Some of the items: their rows, a slice or ascending, their words, and their terms."""

    rows: slice | np.ndarray
    words: np.ndarray
    terms: CodeTerms | None  # None if queries are bits, which no terms matter to


class _Found(NamedTuple):
    """What a block of queries has found in a part: query, row and distance of each item."""

    query: np.ndarray
    rows: np.ndarray
    distances: np.ndarray


@dataclass(frozen=True, eq=False)
class _Search:
    """What is searched for what, see `answers`."""

    index: Index
    queries: np.ndarray
    k: int
    radius: float
    whole: bool
    eligible: Eligible
    are_of_each: bool  # queries are searched one by one, among rows of their own
    buckets: object

    @property
    def by_bits(self):
        """Whether queries are codes, and not weights."""
        return self.queries.dtype.kind == "u"

    def parts(self, n_blocks, n_jobs):
        """Parts of the items that blocks meet. None: each block has a part of its own."""
        if self.are_of_each:
            return [None]
        if self.eligible.shared is not None:
            return [self._part(self.eligible.shared)]
        n_items, n_parts = self.index.n_items, 1
        if n_blocks == 1 and self.buckets is None and n_items > 2 * _CODES_PER_THREAD:
            n_parts = min(effective_n_jobs(n_jobs), n_items // _CODES_PER_THREAD)
        return [self._part(rows) for rows in slices(n_items, -(-n_items // n_parts))]

    def _part(self, rows):
        terms = None
        if not self.by_bits:
            terms = CodeTerms(*map(fixed, self.index.terms.rows(rows)))
        if isinstance(rows, slice):
            words = self.index.words[:, rows]
        else:
            words = fixed(np.take(self.index.words, rows, axis=1))
        return _Part(rows, words, terms)

    def scan(self, task):
        """Find items of a part near to a block of queries."""
        block, part = task
        if part is None:
            part = self._part(self.eligible.rows_of(block.start, self.index.n_items))
        if self.buckets is not None:
            queries = self._words_of(block, part)
            counts, found, distances = self.buckets.within(queries, part.words, self.radius)
        elif self.by_bits:
            counts, found, distances = self._scan_bits(block, part)
        else:
            counts, found, distances = self._scan_weights(block, part)
        is_slice = isinstance(part.rows, slice)
        rows = found + part.rows.start if is_slice else part.rows[found]
        return _Found(np.repeat(np.arange(len(counts)), counts), rows, distances)

    def _words_of(self, block, part):
        """Queries of a block as words; a copy, since bytes may lie where words may not."""
        return fixed(
            np.ascontiguousarray(self.queries[block].copy().view(part.words.dtype))
        )

    def _n_wanted(self, block):
        """Items to find, of which k remain when what is left out has been dropped."""
        left_out = self.eligible.left_out
        if left_out is None or self.are_of_each or self.k == 0:
            return self.k
        return self.k + int(np.diff(left_out.indptr[block.start : block.stop + 1]).max())

    def _scan_bits(self, block, part):
        from .._loops._search import TILE, hamming_scan

        n_bits = self.index.n_bits
        tile = np.empty(TILE, dtype=np.uint16 if n_bits < 2**16 else np.uint32)
        n_wanted, radius = self._n_wanted(block), min(self.radius, n_bits)
        queries = self._words_of(block, part)
        return hamming_scan(queries, part.words, n_bits, n_wanted, radius, self.whole, tile)

    def _scan_weights(self, block, part):
        from .._loops._search import weighted_scan

        queries = fixed(np.ascontiguousarray(self.queries[block]))
        as_costs = self.index.has_distances(self.queries)
        n_wanted = self._n_wanted(block)
        counts, found, scores = weighted_scan(
            queries, part.words, part.terms, as_costs, n_wanted, self.radius, self.whole
        )
        return counts, found, 0.0 - scores

    def merge(self, block, of_parts):
        """Answers to a block of queries, of what it has found in all parts."""
        found = of_parts[0]
        if len(of_parts) > 1:
            found = _Found(*map(np.concatenate, zip(*of_parts)))
        order = np.lexsort((found.rows, found.distances, found.query))
        if self.eligible.left_out is not None and not self.are_of_each:
            order = order[~self._are_left_out(block, found)[order]]
        found = _Found(*(array[order] for array in found))
        n_queries = block.stop - block.start
        kept = self._are_kept(found, n_queries)
        distances = found.distances[kept]
        if self.by_bits:
            distances = distances.astype(np.int64)
        counts = np.bincount(found.query[kept], minlength=n_queries)
        return Answers(counts, found.rows[kept], distances)

    def _are_left_out(self, block, found):
        left_out, n_items = self.eligible.left_out[block], self.index.n_items
        query = np.repeat(np.arange(left_out.shape[0]), np.diff(left_out.indptr))
        pairs = query * n_items + left_out.indices
        return np.isin(found.query * n_items + found.rows, pairs)

    def _are_kept(self, found, n_queries):
        """Which items are within the radius, or among the k nearest and what ties them."""
        query, distances = found.query, found.distances
        if self.k == 0:
            return distances <= self.radius
        starts = np.searchsorted(query, np.arange(n_queries))
        kept = np.arange(len(query)) - starts[query] < self.k
        if self.whole and len(query):
            ends = np.append(starts[1:], len(query))
            lasts = distances[np.minimum(starts + self.k, ends) - 1]
            kept |= distances <= lasts[query]
        return kept


def answers(
    index, queries, k, radius=np.inf, *, whole=True, eligible=ALL_ROWS, n_jobs=None
):
    """Generate answers to blocks of queries.

    They depend neither on the blocks nor on the threads that share them.

    Parameters
    ----------
    index : Index
        The items.

    queries : ndarray of shape (n_queries, n_bytes) or (n_queries, n_weights)
        Packed codes or weights, see `Queries`.

    k : int
        Items to find for each query: those within the smallest distance that holds as many,
        or all if there are fewer. 0 asks for those within a radius.

    radius : int or float, default=inf
        Greatest distance, if k is 0.

    whole : bool, default=True
        Whether all items at the distance of the last are wanted. If not, k are found, of
        smallest row.

    eligible : Eligible, default=ALL_ROWS
        Rows that may be found.

    n_jobs : int, default=None
        Number of threads.

    Yields
    ------
    answers : Answers
        Answers to the next block of queries.
    """
    is_lookup = queries.dtype.kind == "u" and k == 0
    are_of_each, buckets = eligible.are_of_each(index.n_items), None
    if is_lookup and eligible.shared is None and eligible.of_each is None:
        buckets = index.buckets_within(radius, len(queries))
    if buckets is not None or (k == 0 and eligible.of_each is None):
        are_of_each = False  # nothing more is found for what is dropped
    search = _Search(index, queries, k, radius, whole, eligible, are_of_each, buckets)
    n_together = 1 if are_of_each else _QUERIES_PER_BLOCK
    blocks = list(slices(len(queries), n_together))
    parts = search.parts(len(blocks), n_jobs)
    tasks = [(block, part) for block in blocks for part in parts]
    found = map_in_threads(search.scan, tasks, n_jobs)
    for block in blocks:
        yield search.merge(block, [next(found) for _ in parts])


def nearest(blocks, k, with_ties):
    """Put answers together.

    Parameters
    ----------
    blocks : iterable of Answers
        Answers to blocks of queries; of whole ties if these are wanted.

    k : int
        Number of neighbors.

    with_ties : bool
        Whether to keep what is tied with the last neighbor.

    Returns
    -------
    nearest : Nearest
        Of each query the k nearest items, or all that it has found if there are fewer.
    """
    blocks, tied = list(blocks), []
    if with_ties:
        tied = [rows for block in blocks for rows in _tied_with_last(block, k)]
        blocks = [_first(block, k) for block in blocks]
    return Nearest(*map(np.concatenate, zip(*blocks)), tied)


def _first(block, k):
    """The first k items of each query."""
    starts = np.cumsum(block.counts) - block.counts
    places = np.arange(len(block.rows)) - np.repeat(starts, block.counts)
    is_first = places < k
    counts = np.minimum(block.counts, k)
    return Answers(counts, block.rows[is_first], block.distances[is_first])


def _tied_with_last(block, k):
    """Rows at the distance of the k-th item of each query, or of its last."""
    starts = np.cumsum(block.counts) - block.counts
    ends = starts + block.counts
    lasts = block.distances[np.minimum(starts + k, ends)[block.counts > 0] - 1]
    is_last = block.distances == np.repeat(lasts, block.counts[block.counts > 0])
    n_tied = np.diff(np.concatenate(([0], np.cumsum(is_last)))[np.append(starts, ends[-1])])
    return np.split(block.rows[is_last], np.cumsum(n_tied)[:-1])
