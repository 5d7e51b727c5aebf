"""Questions to a database by weighted Hamming distance."""

from functools import partial

import numpy as np

from ..affinity._resolve import checked_targets
from ..histogram._weighted import weighted_histograms
from ._by_bits import SearchByBits
from ._checks import check_n_neighbors, check_weighted_radius
from ._columns import read_weights
from ._results import Ranking
from ._votes import Vote
from ._weighted_scan import WeightedScanner


class SearchByWeights:
    """Answers of a database to weighted queries.

    Parameters
    ----------
    fitted : Fitted
        The database.

    n_candidates : int or None
        How many items that are nearest by Hamming distance are compared by weights; None
        compares all.

    **how : dict
        Parameters of SearchByBits: how to find the candidates, and `n_jobs`.
    """

    def __init__(self, fitted, n_candidates=None, **how):
        self._fitted = fitted
        self._store = fitted.store
        self._n_jobs = how["n_jobs"]
        self._n_candidates = n_candidates
        self._how = how

    def nearest(self, X, n_neighbors, return_tied=False):
        """Distances, indices and ties of the nearest items, see `nearest_items`."""
        queries = self._queries(X)
        n_neighbors = check_n_neighbors(n_neighbors, self._store.n_items)
        distances, indices, tied = [], [], []
        for nearest in self._at_least(queries, n_neighbors):
            query, index, distance = nearest.items(self._store)
            starts = np.searchsorted(query, np.arange(nearest.n_queries))
            places = starts[:, None] + np.arange(n_neighbors)
            distances.append(distance[places])
            indices.append(index[places])
            if return_tied:
                last = distance == distances[-1][query, -1]
                tied += np.split(index[last], _ends(nearest, query[last]))
        return np.concatenate(distances), np.concatenate(indices), tied

    def within(self, X, radius):
        """Distances and indices of all items within a radius, query by query."""
        if self._store.terms is not None:
            raise ValueError(
                "radius has no meaning for codes whose scores have factors, such as those "
                "of AdditiveHasher. Ask for n_neighbors."
            )
        queries, radius = self._queries(X), check_weighted_radius(radius)
        scanner = WeightedScanner(self._store, self._n_jobs)
        for nearest in scanner.within(queries, radius):
            query, index, distance = nearest.items(self._store)
            ends = _ends(nearest, query)
            yield from zip(np.split(distance, ends), np.split(index, ends))

    def predict(self, X, n_neighbors):
        """What the nearest items vote for."""
        queries = self._queries(X)
        n_neighbors = check_n_neighbors(n_neighbors, self._store.n_items)
        vote = Vote(self._store, self._fitted.targets, n_neighbors)
        answers = self._at_least(queries, n_neighbors)
        return vote.elect(nearest.as_found() for nearest in answers)

    def rank(self, X):
        """All items by distance, as a Ranking."""
        n_items = self._store.n_items
        answers = WeightedScanner(self._store, self._n_jobs).at_least(
            self._queries(X), n_items
        )
        shape = -1, n_items
        parts = [nearest.items(self._store)[1:] for nearest in answers]
        indices, distances = (np.concatenate(p).reshape(shape) for p in zip(*parts))
        ties = np.zeros(distances.shape, dtype=np.int64)
        np.cumsum(np.diff(distances, axis=1) > 0, axis=1, out=ties[:, 1:])
        return Ranking(distances, indices, ties)

    def histograms(self, X, y):
        """The items by affinity and score, a table for each block of queries."""
        weights, codes = self._weights(X), self._fitted.codes
        affinity, y_database = self._fitted.targets
        if affinity is None:
            y = np.asarray(y)
            return weighted_histograms(weights, codes, None, y, None, n_jobs=self._n_jobs)
        y_query, y_database = checked_targets(affinity, y), y_database[self._fitted.indices]
        return weighted_histograms(
            weights, codes, affinity, y_query, y_database, n_jobs=self._n_jobs
        )

    def _queries(self, X):
        if X is None:
            raise ValueError(
                "X is needed: the items are known by their bits alone, and queries have "
                "weights."
            )
        weights, columns = self._weights(X), self._store.columns
        n_spare = 8 * len(columns) * columns.dtype.itemsize - weights.shape[1]
        return np.pad(weights, ((0, 0), (0, n_spare))) if n_spare else weights

    def _weights(self, X):
        """Checked weights of the bits, shape (n_queries, n_bits), float32."""
        return read_weights(X, self._fitted.columns)

    def _at_least(self, queries, n_items):
        shortlist = None
        if self._n_candidates is not None:
            by_bits = SearchByBits(self._fitted, **self._how)
            n_candidates = max(self._n_candidates, n_items)
            shortlist = partial(by_bits.shortlist, n_items=n_candidates)
        scanner = WeightedScanner(self._store, self._n_jobs, shortlist)
        return scanner.at_least(queries, n_items)


def _ends(nearest, query):
    """Where the items of each query but the last end."""
    return np.searchsorted(query, np.arange(1, nearest.n_queries))
