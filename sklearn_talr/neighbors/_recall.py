"""Recall of an index: the share of the true neighbors that it finds."""

import numpy as np

from .._threads import slices

_CELLS_PER_BLOCK = 2**22
_ROUNDING = 16  # of products, in units of the last place of the largest


class TrueNeighbors:
    """The items nearest to queries by their features, and how many of them are found.

    Whatever is as near as the last true neighbor is one, too.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_features)
        Features of the queries.

    items : ndarray of shape (n_items, n_features)
        Features of the items.

    n_neighbors : int
        Number of true neighbors of a query.

    metric : {"cosine", "euclidean", "inner_product"}
        What is near.

    Attributes
    ----------
    items : ndarray of shape (n_items, n_features)
        The items.
    """

    def __init__(self, queries, items, n_neighbors, metric):
        self.items, self._n_neighbors, self._queries = items, n_neighbors, queries
        if metric == "cosine":
            queries, items = _unit(queries), _unit(items)
        elif metric == "euclidean":
            queries, items = _centered(queries, items)
        else:
            queries, items = _scaled(queries), _scaled(items)
        squares = (items**2).sum(axis=1) / 2 if metric == "euclidean" else 0
        lengths = [np.sqrt((rows**2).sum(axis=1).max()) for rows in (queries, items)]
        largest = np.max(squares) + lengths[0] * lengths[1]
        step, self._true = max(1, _CELLS_PER_BLOCK // len(items)), []
        for rows in slices(len(queries), step):
            near = queries[rows] @ items.T - squares
            last = np.partition(near, -n_neighbors, axis=1)[:, -n_neighbors, None]
            margin = _ROUNDING * np.finfo(near.dtype).eps * largest
            self._true += map(np.flatnonzero, near >= last - margin)

    def recalls(self, index):
        """Share of the true neighbors of each query that an index of the items finds.

        Where items tie, it is the mean over their orders, if the index tells of ties.
        """
        k = self._n_neighbors
        if index.n_rescored is not None:
            found = index.kneighbors(self._queries, k, return_distance=False)
            pairs = zip(found, self._true)
            return np.array([np.isin(*pair).sum() / k for pair in pairs])
        found = index.kneighbors(self._queries, k, return_tied=True)
        recalls = np.empty(len(self._true))
        for query, (distances, indices, tied) in enumerate(zip(*found)):
            true = self._true[query]
            nearer = indices[distances < distances[-1]]
            share = np.isin(tied, true).mean()
            recalls[query] = np.isin(nearer, true).sum() + (k - len(nearer)) * share
        return recalls / k


def _unit(rows):
    """Rows of unit length; those of zeros stay."""
    rows = _scaled(rows, axis=1)
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return rows / np.where(lengths == 0, 1, lengths)


def _centered(queries, items):
    """Both less the mean of the items, which rounds nothing that tells them apart."""
    both = _scaled(np.concatenate((queries, items)))
    centered = both - both[len(queries) :].mean(axis=0, dtype=np.float64)
    centered = _scaled(centered).astype(both.dtype)
    return centered[: len(queries)], centered[len(queries) :]


def _scaled(rows, axis=None):
    """Rows times powers of two, so that squares neither overflow nor vanish."""
    largest = np.abs(rows).max(axis=axis, keepdims=True)
    return np.ldexp(rows, -np.frexp(largest)[1])
