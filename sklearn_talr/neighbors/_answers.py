"""Arrays for callers, made of the codes that a search has found.

Each function takes `answers`, an iterable of (store, own, found) for consecutive blocks of
queries: the store that was searched, the indices of the queries where they are items (or
None), and a `Found`.
"""

import numpy as np
from scipy.sparse import csr_array

from ._found import ranked_items
from ._results import Lookup, Ranking, ragged


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


def ranking_of(answers, n_items):
    """All items of each query with their ties, as a Ranking."""
    distances, indices, _ = nearest_items(answers, n_items)
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
