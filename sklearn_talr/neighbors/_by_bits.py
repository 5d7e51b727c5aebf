"""Questions to a database by Hamming distance."""

import numpy as np

from ..affinity._resolve import checked_targets
from ..codes import hamming_distances
from ..codes._packed import as_words
from ..histogram import RankingHistogram, hamming_histogram
from ._answers import looked_up, nearest_items, rank_items, split_by_query
from ._checks import check_n_neighbors, check_radius
from ._votes import Vote


class SearchByBits:
    """Answers of a database to queries that are codes.

    Parameters
    ----------
    fitted : Fitted
        The database.

    algorithm, backend, n_jobs : parameters of HammingNeighbors
        How to search.
    """

    def __init__(self, fitted, algorithm="auto", backend="auto", n_jobs=None):
        self._fitted = fitted
        self._store = fitted.store
        self._params = {"algorithm": algorithm, "backend": backend, "n_jobs": n_jobs}

    def nearest(self, X, n_neighbors, return_tied=False):
        """Distances, indices and ties of the nearest items, see `nearest_items`."""
        queries, own = self._queries(X)
        n_neighbors = self._check_n_neighbors(n_neighbors, own)
        answers = self._ask("at_least", queries, n_neighbors + (own is not None))
        return nearest_items(self._store, answers, n_neighbors, own, return_tied)

    def within(self, X, radius):
        """Distances and indices of all items within a radius, query by query."""
        queries, own = self._queries(X)
        radius = check_radius(radius, self._store.n_bits)
        for rows, found in self._ask("within", queries, radius):
            part = None if own is None else own[rows]
            yield from split_by_query(self._store, found, part)

    def predict(self, X, n_neighbors):
        """What the nearest items vote for."""
        queries, _ = self._queries(X)
        n_neighbors = self._check_n_neighbors(n_neighbors)
        vote = Vote(self._store, self._fitted.targets, n_neighbors)
        answers = self._ask("at_least", queries, n_neighbors)
        return vote.elect(found for _, found in answers)

    def lookup(self, X, n_neighbors, radius):
        """What a lookup of buckets finds; one of number and radius is None."""
        queries, _ = self._queries(X)
        if radius is None:
            question, argument = "at_least", self._check_n_neighbors(n_neighbors)
        else:
            radius = check_radius(radius, self._store.n_bits)
            question, argument = "within", radius
        algorithm = self._params["algorithm"]
        algorithm = "lookup" if algorithm == "auto" else algorithm
        changes = {"algorithm": algorithm, "backend": "numpy"}
        answers = self._ask(question, queries, argument, **changes)
        return looked_up(self._store, answers, radius)

    def rank(self, X):
        """All items by distance, as a Ranking."""
        return rank_items(self._store, self._queries(X)[0])

    def histograms(self, X, y):
        """The items by affinity and distance to all queries, in one table."""
        affinity, y_database = self._fitted.targets
        queries, codes = self._fitted.read(X), self._fitted.codes
        if affinity is None:
            yield RankingHistogram.from_scores(y, -hamming_distances(queries, codes))
            return
        y_query, y_database = checked_targets(affinity, y), y_database[self._fitted.indices]
        n_jobs = self._params["n_jobs"]
        yield hamming_histogram(
            queries, codes, affinity, y_query, y_database, n_jobs=n_jobs
        )

    def shortlist(self, words, n_items):
        """Codes of the nearest items of each query, so many with all that are tied."""
        lists = []
        for _, found in self._ask("at_least", words, n_items, n_jobs=1):
            order = np.argsort(found.query, kind="stable")
            rows = np.arange(1, len(found.n_buckets))
            ends = np.searchsorted(found.query[order], rows)
            lists += np.split(found.code[order], ends)
        return lists

    def _queries(self, X):
        """Words of the queries, and their own indices where the items are the queries."""
        if X is not None:
            return as_words(self._fitted.read(X).data), None
        own, codes = self._store.items()
        return self._store.words[codes], own

    def _ask(self, question, queries, argument, **changes):
        return self._fitted.index.ask(question, queries, argument, **self._params | changes)

    def _check_n_neighbors(self, n_neighbors, own=None):
        return check_n_neighbors(n_neighbors, self._store.n_items - (own is not None))
