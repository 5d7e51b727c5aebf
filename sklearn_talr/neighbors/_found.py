"""What a searcher finds for a block of queries, and how items follow from it.

Every searcher answers two questions, about distinct codes: which lie within a radius, and
which lie within the smallest radius that holds at least so many items. Whole shells only:
all that is tied with something found is found, so that ties can be ordered, shared or
returned by whoever asks.
"""

from typing import NamedTuple

import numpy as np

from .._threads import slices
from ..codes._distances import word_distances
from ._store import ranges

_ITEMS_PER_PASS = 2**22
_SAMPLE = 1_024  # codes from which the first limits are taken
_QUERIES_PER_SAMPLE = 64


class Found(NamedTuple):
    """Distinct codes near the queries of a block, in any order.

    Parameters
    ----------
    query, code, distance : ndarray of shape (n_found,)
        Which query found which code, and their Hamming distance.

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

    def within(self, radius):
        """Only the codes within a radius, one for all queries or one for each."""
        radius = np.broadcast_to(radius, self.n_buckets.shape)
        return self._keep(self.distance <= radius[self.query])

    def at(self, radius):
        """Only the codes at the radius of each query."""
        return self._keep(self.distance == radius[self.query])

    def _keep(self, kept):
        return self._replace(
            query=self.query[kept], code=self.code[kept], distance=self.distance[kept]
        )

    def radius(self):
        """Distance of the farthest code of each query, -1 if it found none."""
        farthest = np.full(len(self.n_buckets), -1)
        np.maximum.at(farthest, self.query, self.distance)
        return farthest


def nothing_found(n_queries):
    """The answer before anything is looked up."""
    none = np.zeros(0, dtype=np.int64)
    zeros = np.zeros(n_queries, dtype=np.int64)
    return Found(none, none, none, zeros, zeros.copy())


def join(parts, rows, n_queries):
    """One answer from answers about some of the queries each.

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
    return Found(
        np.concatenate(query),
        np.concatenate([part.code for part in parts]),
        np.concatenate([part.distance for part in parts]),
        n_buckets,
        n_candidates,
    )


def first_limits(store, queries, n_items, n_codes=_SAMPLE):
    """A radius for each query that is sure to hold so many items, if there are.

    About `n_codes` codes are looked at. Each stands for one item at least.
    """
    n_codes = max(n_codes, 4 * n_items)
    limits = np.full(len(queries), store.n_bits)
    if n_items <= min(n_codes, len(store)):
        sample = store.columns[:, :n_codes].T
        for rows in slices(len(queries), _QUERIES_PER_SAMPLE):
            distances = word_distances(queries[rows], sample, np.uint16)
            limits[rows] = np.partition(distances, n_items - 1, axis=1)[:, n_items - 1]
    return limits


def nearest_shells(found, store, n_items):
    """Only the codes within the smallest radius that holds so many items.

    Returns
    -------
    found : Found
        No code where the codes found hold fewer items.

    enough : ndarray of shape (n_queries,) of bool
        Where they hold as many.
    """
    n_queries, n_distances = len(found.n_buckets), store.n_bits + 1
    cells = found.query * n_distances + found.distance
    counts = np.bincount(cells, store.sizes(found.code), n_queries * n_distances)
    held = np.cumsum(counts.reshape(n_queries, n_distances), axis=1) >= n_items
    enough = held[:, -1]
    return found.within(np.where(enough, held.argmax(axis=1), -1)), enough


def ranked_items(found, store, most=None):
    """Items of the codes found, by query, distance and index.

    Parameters
    ----------
    found : Found

    store : CodeStore

    most : int, default=None
        Items wanted of each query: no code gives more of its own.

    Yields
    ------
    ends : ndarray of shape (n,)
        Where the items of the next n queries end in what follows.

    distance, index : ndarray of shape (n_items,) of int64
        Distances and indices, query after query.
    """
    sizes = store.sizes(found.code)
    if most is not None:
        sizes = np.minimum(sizes, most)
    n_queries = len(found.n_buckets)
    totals = np.bincount(found.query, sizes, minlength=n_queries).astype(np.int64)
    order = np.argsort(found.query, kind="stable")
    found_ends = np.cumsum(np.bincount(found.query, minlength=n_queries))
    for start, stop in _passes(totals):
        first = found_ends[start - 1] if start else 0
        part = order[first : found_ends[stop - 1]]
        ends = np.cumsum(totals[start:stop])
        group = (found.query[part] - start) * (store.n_bits + 1) + found.distance[part]
        items = store.members[ranges(store.starts[found.code[part]], sizes[part])]
        yield ends, *_sort_items(group, items, sizes[part], store)


def _sort_items(group, items, sizes, store):
    """Sort by group, then index: one 64-bit key holds both."""
    shift = np.uint64(max(store.n_indices - 1, 1).bit_length())
    keys = np.repeat(group.astype(np.uint64) << shift, sizes)
    keys |= items.astype(np.uint64)
    keys.sort()
    index = (keys & ((np.uint64(1) << shift) - np.uint64(1))).astype(np.int64)
    distance = ((keys >> shift) % np.uint64(store.n_bits + 1)).astype(np.int64)
    return distance, index


def _passes(totals):
    """Runs of queries whose items fit into memory together, (start, stop) of each."""
    start, held = 0, 0
    for query, total in enumerate(totals.tolist()):
        if query > start and held + total > _ITEMS_PER_PASS:
            yield start, query
            start, held = query, 0
        held += total
    yield start, len(totals)
