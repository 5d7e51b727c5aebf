"""Distinct codes that a searcher has found for a block of queries, and their items.

Every searcher answers two questions about the distinct codes of a store. `within` finds the
codes within a radius. `at_least` finds the codes within the smallest radius that holds a
number of items. Both find whole shells: with a code they find all codes at its distance. So
ties can be ordered, shared or returned later.
"""

from typing import NamedTuple

import numpy as np

from .._threads import slices
from ..codes._door import word_distances

_ITEMS_PER_PASS = 2**22
_QUERIES_PER_SAMPLE = 64


class Found(NamedTuple):
    """Distinct codes near the queries of a block, in any order.

    Parameters
    ----------
    query, code : ndarray of shape (n_found,) of int64
        Pairs of a query and a code that it has found.

    distance : ndarray of shape (n_found,) of int64 or float64
        Distance of each pair.

    n_buckets : ndarray of shape (n_queries,) of int64
        Buckets that each query looked up, empty or not.

    n_candidates : ndarray of shape (n_queries,) of int64
        Codes that each query was compared with.
    """

    query: np.ndarray
    code: np.ndarray
    distance: np.ndarray
    n_buckets: np.ndarray
    n_candidates: np.ndarray

    @classmethod
    def of(cls, query, code, distance, n_queries, n_candidates=0):
        """Codes that were found without a bucket."""
        n_buckets = np.zeros(n_queries, dtype=np.int64)
        return cls(query, code, distance, n_buckets, n_buckets + n_candidates)

    def within(self, radius):
        """Only the codes within a radius, one for all queries or one for each."""
        limits = radius[self.query] if np.ndim(radius) else radius
        return self._keep(self.distance <= limits)

    def at(self, radius):
        """Only the codes at the radius of each query."""
        return self._keep(self.distance == radius[self.query])

    def _keep(self, kept):
        return Found(*(values[kept] for values in self[:3]), *self[3:])

    def radius(self):
        """Distance of the farthest code of each query, less than 0 if it found none."""
        nothing = -np.inf if self.distance.dtype.kind == "f" else -1
        farthest = np.full(len(self.n_buckets), nothing, dtype=self.distance.dtype)
        np.maximum.at(farthest, self.query, self.distance)
        return farthest


def join(parts, rows, n_queries):
    """Join answers to some of the queries each to one answer to all.

    Parameters
    ----------
    parts : list of Found

    rows : list of ndarray of int
        The queries of each part.

    n_queries : int
        Number of queries in all.
    """
    n_buckets, n_candidates = np.zeros((2, n_queries), dtype=np.int64)
    for part, index in zip(parts, rows):
        n_buckets[index] += part.n_buckets
        n_candidates[index] += part.n_candidates
    query = [np.asarray(index)[part.query] for part, index in zip(parts, rows)]
    code, distance = (np.concatenate(of_parts) for of_parts in list(zip(*parts))[1:3])
    return Found(np.concatenate(query), code, distance, n_buckets, n_candidates)


def first_limits(store, queries, n_items, n_codes=1_024, allowed=None):
    """A radius for each query that is sure to hold so many items, if there are.

    About `n_codes` codes are looked at, or as many allowed codes. Each stands for one item
    at least. `allowed` is an `AllowedCodes`; None allows all codes.
    """
    n_codes = max(n_codes, 4 * n_items)
    if allowed is not None:
        n_codes = int(n_codes / allowed.share)
    limits = np.full(len(queries), store.n_bits)
    if n_items <= min(n_codes, len(store)):
        sample = store.columns[:, :n_codes].T
        for rows in slices(len(queries), _QUERIES_PER_SAMPLE):
            distances = word_distances(queries[rows], sample, np.uint16)
            if allowed is not None:
                query = np.arange(rows.start, rows.stop)[:, None]
                distances[~allowed.pairs(query, np.arange(len(sample)))] = store.n_bits
            limits[rows] = np.partition(distances, n_items - 1, axis=1)[:, n_items - 1]
    return limits


def nearest_shells(found, store, n_items):
    """Only the codes within the smallest radius of each query that holds so many items.

    All codes of a query are kept if they hold fewer.
    """
    if not len(found.query):
        return found
    counts = np.bincount(found.query, minlength=len(found.n_buckets))
    if store.all_differ and counts.max() <= n_items:
        return found
    order, ends = np.lexsort((found.distance, found.query)), np.cumsum(counts)
    starts = ends - counts
    if store.all_differ:
        last = starts + n_items - 1
    else:
        held = np.cumsum(store.sizes(found.code[order]))
        before = np.concatenate(([0], held))[starts]
        last = np.searchsorted(held, before + n_items)
    return found.within(found.distance[order[np.minimum(last, ends - 1)]])


def ranked_items(found, store, own=None, most=None):
    """Items of the codes found, by query, distance and index.

    Parameters
    ----------
    found : Found

    store : CodeStore

    own : ndarray of shape (n_queries,), default=None
        Indices of the queries where they are items, which they do not find.

    most : int, default=None
        Items wanted of each query: no code gives more of its own.

    Yields
    ------
    ends : ndarray of shape (n,)
        Where the items of the next n queries end in the two other arrays.

    distance, index : ndarray of shape (n_items,)
        Distances and indices, query after query.
    """
    sizes = None if store.all_differ else store.sizes(found.code)
    if sizes is not None and most is not None:
        sizes = np.minimum(sizes, most)
    for queries, pairs in _passes(found, sizes):
        query, code, distance = (values[pairs] for values in found[:3])
        items = store.items_of(code, None if sizes is None else sizes[pairs])
        if sizes is not None:
            query, distance = (np.repeat(v, sizes[pairs]) for v in (query, distance))
        query = query - queries.start
        counts = np.bincount(query, minlength=queries.stop - queries.start)
        ends = np.cumsum(counts)
        distance, index = _sort_items(query, distance, items, store)
        if own is not None:
            others = index != np.repeat(own[queries], counts)
            ends = np.concatenate(([0], np.cumsum(others)))[ends]
            distance, index = distance[others], index[others]
        yield ends, distance, index


def _sort_items(query, distance, items, store):
    """Sort items by query, distance and index."""
    if distance.dtype.kind == "f":
        order = np.lexsort((items, distance, query))
        return distance[order], items[order].astype(np.int64)
    # One 64-bit key holds all three.
    shift = np.uint64(max(store.n_indices - 1, 1).bit_length())
    keys = (query * (store.n_bits + 1) + distance).astype(np.uint64) << shift
    keys |= items.astype(np.uint64)
    keys.sort()
    index = (keys & ((np.uint64(1) << shift) - np.uint64(1))).astype(np.int64)
    return ((keys >> shift) % np.uint64(store.n_bits + 1)).astype(np.int64), index


def _passes(found, sizes):
    """Slices of queries whose items fit into memory together, and their pairs.

    `sizes` are the numbers of items of the codes found, None if each has one.
    """
    n_queries = len(found.n_buckets)
    if (len(found.query) if sizes is None else sizes.sum()) <= _ITEMS_PER_PASS:
        yield slice(0, n_queries), slice(None)
        return
    order = np.argsort(found.query, kind="stable")
    ends = np.cumsum(np.bincount(found.query, minlength=n_queries)).tolist()
    totals = np.bincount(found.query, sizes, minlength=n_queries).tolist()
    start, held = 0, 0
    for query, total in enumerate([*totals, np.inf]):
        if query > start and held + total > _ITEMS_PER_PASS:
            pairs = order[ends[start - 1] if start else 0 : ends[query - 1]]
            yield slice(start, query), pairs
            start, held = query, 0
        held += total
