"""Arrays for callers, made of the codes that a search has found.

Each function takes `answers`, an iterable of (store, own, found) for consecutive blocks of
queries: the store that was searched, the indices of the queries where they are items (or
None), and a `Found`.
"""

import numpy as np
from scipy.sparse import csr_array

from .._threads import slices
from ..codes._door import word_distances
from ._found import ranked_items
from ._results import Lookup, Ranking, ragged

_ITEMS_PER_BLOCK = 2**22


def nearest_items(answers, n_neighbors, return_tied=False):
    """The first items of each query.

    Parameters
    ----------
    answers : iterable of (CodeStore, ndarray or None, Found)
        Codes within the smallest radius that holds as many items as are wanted.

    n_neighbors : int
        Number of neighbors of each query, itself not counted.

    return_tied : bool, default=False
        Whether to find also the items that are tied with the last neighbor.

    Returns
    -------
    distances, indices : ndarray of shape (n_queries, n_neighbors)
        The neighbors, ascending by distance, then by index.

    tied : list of arrays of int64
        Indices of the items at the distance of the last neighbor, for each query; empty
        unless they are asked for.
    """
    distances, indices, tied = [], [], []
    for store, own, found in answers:
        most, last = n_neighbors + (own is not None), []
        for ends, distance, index in ranked_items(found, store, own, most):
            places = np.concatenate(([0], ends[:-1]))[:, None] + np.arange(n_neighbors)
            distances.append(distance[places])
            indices.append(index[places])
            last.append(distances[-1][:, -1])
        if return_tied:
            shell = found.at(np.concatenate(last))
            tied += [items for _, items in items_by_query([(store, own, shell)])]
    return np.concatenate(distances), np.concatenate(indices), tied


def items_by_query(answers):
    """Generate the distances and indices of all items found by each query."""
    for store, own, found in answers:
        for ends, distance, index in ranked_items(found, store, own):
            yield from zip(np.split(distance, ends[:-1]), np.split(index, ends[:-1]))


def ranking_by_bits(store, queries):
    """All items by Hamming distance, tied ones by index, as a Ranking."""
    items, codes = store.items()
    shape = len(queries), len(items)
    distances, indices = np.empty(shape, np.int64), np.empty(shape, np.int64)
    for rows in slices(shape[0], max(1, _ITEMS_PER_BLOCK // shape[1])):
        by_code = word_distances(queries[rows], store.words, store.distance_type)
        by_item = by_code[:, codes]
        order = np.argsort(by_item, axis=1, kind="stable")  # tied items stay by index
        distances[rows] = np.take_along_axis(by_item, order, axis=1)
        indices[rows] = items[order]
    return ranking_of(distances, indices)


def ranking_of(distances, indices):
    """Sorted items with the ties among them, as a Ranking."""
    ties = np.zeros(distances.shape, dtype=np.int64)
    np.cumsum(np.diff(distances, axis=1) > 0, axis=1, out=ties[:, 1:])
    return Ranking(distances, indices, ties)


def graph_of(distances, indices, n_samples, mode):
    """Neighbors as a CSR array of shape (n_queries, n_samples)."""
    values = np.ones_like(distances) if mode == "connectivity" else distances
    ends = np.arange(0, indices.size + 1, indices.shape[1])
    shape = len(indices), n_samples
    return csr_array((values.ravel().astype(float), indices.ravel(), ends), shape=shape)


def looked_up(answers, radius=None):
    """Whole shells and what they cost, as a Lookup.

    `radius` is that up to which the buckets were looked up. None means up to the farthest
    code that a query has found.
    """
    answers = list(answers)
    distances, indices = zip(*items_by_query(answers))
    of_blocks = [found for *_, found in answers]
    radii = np.concatenate([found.radius() for found in of_blocks])
    return Lookup(
        ragged(distances),
        ragged(indices),
        radii if radius is None else np.full_like(radii, radius),
        np.concatenate([found.n_buckets for found in of_blocks]),
        np.concatenate([found.n_candidates for found in of_blocks]),
    )
