"""What callers get, made of the codes that a search has found."""

import numpy as np
from scipy.sparse import csr_array

from .._threads import slices
from ..codes._distances import word_distances
from ._found import ranked_items
from ._results import Lookup, Ranking, ragged

_ITEMS_PER_BLOCK = 2**22


def nearest_items(store, answers, n_neighbors, own, return_tied):
    """The first items of each query.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.

    answers : iterable of (slice, Found)
        Block by block, the codes within the smallest radius that holds as many items as
        are wanted, the query itself included where it is an item.

    n_neighbors : int
        Number of neighbors of each query.

    own : ndarray of shape (n_queries,) or None
        Indices of the queries where they are items, which are not their own neighbors.

    return_tied : bool
        Whether to find also what is tied with the last neighbor.

    Returns
    -------
    distances, indices : ndarray of shape (n_queries, n_neighbors) of int64
        The neighbors, ascending by distance, then by index.

    tied : list of arrays of int64
        Indices of the items at the distance of the last neighbor, for each query; empty
        unless they are asked for.
    """
    n_items = n_neighbors + (own is not None)
    distances, indices, tied = [], [], []
    for rows, found in answers:
        distance, index = _first_items(store, found, n_items)
        block_own = None if own is None else own[rows]
        if own is not None:
            distance, index = _leave_out(block_own, distance, index)
        distances.append(distance)
        indices.append(index)
        if return_tied:
            shell = found.at(distance[:, -1])
            tied += [items for _, items in split_by_query(store, shell, block_own)]
    return np.concatenate(distances), np.concatenate(indices), tied


def split_by_query(store, found, own=None):
    """Generate distances and indices of all items found by each query, but its own."""
    query = 0
    for ends, distance, index in ranked_items(found, store):
        for start, stop in zip([0, *ends[:-1].tolist()], ends.tolist()):
            part = slice(start, stop)
            if own is None:
                yield distance[part], index[part]
            else:
                others = index[part] != own[query]
                yield distance[part][others], index[part][others]
            query += 1


def graph_of(distances, indices, n_samples, mode):
    """Neighbors as a CSR array of shape (n_queries, n_samples)."""
    values = np.ones_like(distances) if mode == "connectivity" else distances
    ends = np.arange(0, indices.size + 1, indices.shape[1])
    shape = len(indices), n_samples
    return csr_array((values.ravel().astype(float), indices.ravel(), ends), shape=shape)


def rank_items(store, queries):
    """All items by distance, tied ones by index, as a Ranking."""
    items, codes = store.items()
    shape = len(queries), len(items)
    distances, indices = np.empty(shape, np.int64), np.empty(shape, np.int64)
    for rows in slices(shape[0], max(1, _ITEMS_PER_BLOCK // shape[1])):
        by_code = word_distances(queries[rows], store.words, np.uint16)
        by_item = by_code[:, codes]
        order = np.argsort(by_item, axis=1, kind="stable")  # ties stay by index
        distances[rows] = np.take_along_axis(by_item, order, axis=1)
        indices[rows] = items[order]
    ties = np.zeros(shape, dtype=np.int64)
    np.cumsum(np.diff(distances, axis=1) > 0, axis=1, out=ties[:, 1:])
    return Ranking(distances, indices, ties)


def looked_up(store, answers, radius=None):
    """Whole shells and what they cost, as a Lookup.

    `radius` is that up to which the buckets were looked up. None means up to the farthest
    code that a query has found.
    """
    blocks = [(found, list(split_by_query(store, found))) for _, found in answers]
    items = [pair for _, pairs in blocks for pair in pairs]
    radii = [
        found.radius() if radius is None else np.full(len(pairs), radius)
        for found, pairs in blocks
    ]
    return Lookup(
        ragged([distance for distance, _ in items]),
        ragged([index for _, index in items]),
        np.concatenate(radii),
        np.concatenate([found.n_buckets for found, _ in blocks]),
        np.concatenate([found.n_candidates for found, _ in blocks]),
    )


def _first_items(store, found, n_items):
    distances, indices = [], []
    for ends, distance, index in ranked_items(found, store, most=n_items):
        places = np.concatenate(([0], ends[:-1]))[:, None] + np.arange(n_items)
        distances.append(distance[places])
        indices.append(index[places])
    return np.concatenate(distances), np.concatenate(indices)


def _leave_out(own, distances, indices):
    """Drop the query itself, or the last item where it is tied with too many to show."""
    others = indices != own[:, None]
    others[others.all(axis=1), -1] = False
    shape = len(own), indices.shape[1] - 1
    return distances[others].reshape(shape), indices[others].reshape(shape)
