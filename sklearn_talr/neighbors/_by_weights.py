"""Questions to a database by weighted Hamming distance."""

from functools import partial

import numpy as np

from ..codes import WeightedCodes
from ..histogram._weighted_rankings import weighted_histograms
from ._by_bits import SearchByBits
from ._checks import check_n_neighbors, check_weighted_radius
from ._columns import read_weights
from ._fitted import n_terms
from ._results import Ranking
from ._votes import Vote
from ._weighted_scan import WeightedScanner


class SearchByWeights:
    """Answers of a database to real-valued queries.

    Parameters
    ----------
    fitted : Fitted
        The database.

    neighbors : HammingNeighbors
        Whose parameters say how to search.
    """

    def __init__(self, fitted, neighbors):
        self._fitted = fitted
        self._store = fitted.store
        self._n_jobs = neighbors.n_jobs
        self._n_candidates = neighbors.n_candidates
        self._neighbors = neighbors

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
        y_query, y_database = affinity.check_targets(y), y_database[self._fitted.indices]
        return weighted_histograms(
            weights, codes, affinity, y_query, y_database, n_jobs=self._n_jobs
        )

    def lookup(self, X, n_neighbors, radius):
        """Refuse what is done by bits alone."""
        raise ValueError(
            "lookup finds buckets by Hamming distance. Set metric='hamming', or ask "
            "kneighbors with n_candidates."
        )

    def _queries(self, X):
        if X is None:
            raise ValueError(
                "X is needed with metric='weighted_hamming': the items are known by their "
                "bits alone. Pass the query_weights of their features."
            )
        weights, columns = self._weights(X), self._store.columns
        n_spare = 8 * len(columns) * columns.dtype.itemsize - weights.shape[1]
        return np.pad(weights, ((0, 0), (0, n_spare))) if n_spare else weights

    def _weights(self, X):
        """Checked weights of the bits, shape (n_queries, n_bits), float32."""
        if isinstance(X, WeightedCodes) and _n_terms_of(X) != n_terms(self._store.terms):
            raise ValueError(
                "The scores of X have terms that the codes of the database lack. Fit the "
                "very array that `transform` of the hasher returns, or what `encode` does."
            )
        return read_weights(X, self._fitted.columns)

    def _at_least(self, queries, n_items):
        shortlist = None
        if self._n_candidates is not None:
            by_bits = SearchByBits(self._fitted, self._neighbors)
            n_candidates = max(self._n_candidates, n_items)
            shortlist = partial(by_bits.shortlist, n_items=n_candidates)
        scanner = WeightedScanner(self._store, self._n_jobs, shortlist)
        return scanner.at_least(queries, n_items)


def _n_terms_of(codes):
    """Number of terms of a row, without finding them."""
    return n_terms(codes._own) + (codes._factors is not None)


def _ends(nearest, query):
    """Where the items of each query but the last end."""
    return np.searchsorted(query, np.arange(1, nearest.n_queries))
