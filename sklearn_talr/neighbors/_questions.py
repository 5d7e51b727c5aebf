"""Questions to a database: by Hamming distance, and by weights of bits."""

import numpy as np

from ..codes import PackedCodes, hamming_distances
from ..codes._door import as_words, signs_of_bits, size_of_words
from ..histogram import RankingHistogram, hamming_histogram
from ..histogram._door import weighted_histograms
from ._among import answers_among, check_enough, read_among
from ._answers import (
    items_by_query,
    looked_up,
    nearest_items,
    ranking_by_bits,
    ranking_of,
)
from ._checks import check_n_neighbors, check_radius, check_weighted_radius
from ._columns import read_weights
from ._cost import CANDIDATE, scan_cost
from ._index import CodeIndex
from ._scan import Scanner
from ._votes import Vote
from ._weighted_scan import WeightedScanner


class Search:
    """Answers of a database to queries, whatever these are.

    A child defines how queries are read, how a store is asked, and how pairs are compared.

    Parameters
    ----------
    fitted : Fitted
        The database.

    n_jobs : int, default=None
        Number of threads.
    """

    def __init__(self, fitted, n_jobs=None):
        self._fitted = fitted
        self.store = fitted.store
        self.n_jobs = n_jobs

    def nearest(self, X, n_neighbors, return_tied=False, among=None):
        """Distances, indices and ties of the nearest items, see `nearest_items`."""
        queries, own = self._read(X)
        n_neighbors = self._check_n_neighbors(n_neighbors, own)
        answers = self._answers("at_least", queries, own, n_neighbors, among)
        return nearest_items(answers, n_neighbors, return_tied)

    def within(self, X, radius, among=None):
        """Distances and indices of all items within a radius, query by query."""
        queries, own = self._read(X)
        radius = self._check_radius(radius, queries)
        return items_by_query(self._answers("within", queries, own, radius, among))

    def predict(self, X, n_neighbors):
        """Labels that the nearest items vote for."""
        queries, _ = self._read(X)
        n_neighbors = self._check_n_neighbors(n_neighbors)
        vote = Vote(self.store, self._fitted.targets, n_neighbors)
        answers = self._answers("at_least", queries, None, n_neighbors)
        return vote.elect(found for *_, found in answers)

    def rank(self, X):
        """All items by distance, as a Ranking."""
        return ranking_of(*self.nearest(X, self.store.n_items)[:2])

    def ask(self, store, question, queries, argument):
        """Answers (rows, found) of a store to blocks of queries, see `CodeIndex.ask`."""
        raise NotImplementedError

    def compare(self, queries, query, code):
        """Distances of pairs of a query and a code."""
        raise NotImplementedError

    def _answers(self, question, queries, own, argument, among=None):
        """Answers as :mod:`~._answers` takes them."""
        if among is not None:
            allowed = read_among(among, self.store, len(queries))
            if question == "at_least":
                check_enough(allowed, own, argument)
            return answers_among(self, allowed, question, queries, own, argument)
        if question == "at_least":
            argument += own is not None
        blocks = self.ask(self.store, question, queries, argument)
        return (
            (self.store, None if own is None else own[rows], found)
            for rows, found in blocks
        )

    def _check_n_neighbors(self, n_neighbors, own=None):
        return check_n_neighbors(n_neighbors, self.store.n_items - (own is not None))

    def _checked_targets(self, y):
        """Targets of the queries and of the items."""
        affinity, y_database = self._fitted.targets
        y = affinity.check_targets(y)
        affinity.check_width(y, y_database.shape[0])
        return y, y_database[self._fitted.indices]


class SearchByBits(Search):
    """Answers to queries that are codes.

    Parameters
    ----------
    fitted : Fitted
        The database.

    algorithm, n_jobs : parameters of HammingNeighbors
        How to search.
    """

    pair_cost = CANDIDATE

    def __init__(self, fitted, algorithm="auto", n_jobs=None):
        super().__init__(fitted, n_jobs)
        self._algorithm = algorithm

    def ask(self, store, question, queries, argument):
        """Answers by the algorithm; parts of the database are compared."""
        index, algorithm = self._fitted.index, self._algorithm
        if store is not self.store:
            index, algorithm = CodeIndex(store), "brute"
        return index.ask(
            question, queries, argument, algorithm=algorithm, n_jobs=self.n_jobs
        )

    def at_least(self, queries, n_items, allowed):
        """Allowed codes near to queries, all within a radius that holds so many items."""
        return Scanner(self.store).at_least(queries, n_items, allowed)

    def compare(self, queries, query, code):
        """Hamming distances of pairs of a query and a code."""
        return self.store.distances(queries, query, code).astype(np.int64)

    def scan_cost(self):
        """Cost of comparing a query with all codes."""
        return scan_cost(self.store)

    def rank(self, X):
        """All items by distance, as a Ranking; distances are sorted as small integers."""
        return ranking_by_bits(self.store, self._read(X)[0])

    def lookup(self, X, n_neighbors, radius):
        """Items that a lookup of buckets finds; one of number and radius is None."""
        queries, _ = self._read(X)
        if radius is None:
            question, argument = "at_least", self._check_n_neighbors(n_neighbors)
        else:
            radius = self._check_radius(radius, queries)
            question, argument = "within", radius
        if self._algorithm == "auto":
            self._algorithm = "lookup"
        return looked_up(self._answers(question, queries, None, argument), radius)

    def histograms(self, X, y):
        """The items by affinity and distance to all queries, in one table."""
        affinity = self._fitted.targets.affinity
        queries, codes = self._fitted.read(X), self._fitted.codes
        if affinity is None:
            yield RankingHistogram.from_scores(y, -hamming_distances(queries, codes))
            return
        targets = self._checked_targets(y)
        # Whoever asks by bits means them, whatever factors their scores have.
        bits = (PackedCodes(each.data, each.n_bits) for each in (queries, codes))
        yield hamming_histogram(*bits, affinity, *targets, n_jobs=self.n_jobs)

    def _read(self, X):
        """Words of the queries, and their own indices where the items are the queries."""
        if X is not None:
            return as_words(self._fitted.read(X).data), None
        own, codes = self.store.items()
        return self.store.words[codes], own

    def _check_radius(self, radius, queries):
        return check_radius(radius, self.store.n_bits)


class SearchByWeights(Search):
    """Answers to weighted queries.

    Parameters
    ----------
    fitted : Fitted
        The database.

    n_candidates : int, default=None
        Number of items nearest by Hamming distance that are compared by weights; None
        compares all.

    algorithm, n_jobs : parameters of HammingNeighbors
        How to find the candidates.
    """

    pair_cost = 20 * CANDIDATE

    def __init__(self, fitted, n_candidates=None, algorithm="auto", n_jobs=None):
        super().__init__(fitted, n_jobs)
        self._n_candidates = n_candidates
        self._algorithm = algorithm

    def ask(self, store, question, queries, argument):
        """Answers by comparing with all codes of a store."""
        return WeightedScanner(store, self.n_jobs).ask(question, queries, argument)

    def at_least(self, queries, n_items, allowed):
        """Allowed codes near to queries, all within a distance that holds so many items."""
        return WeightedScanner(self.store, allowed=allowed).at_least(queries, n_items)

    def compare(self, queries, query, code):
        """Weighted distances of pairs of a query and a code."""
        return WeightedScanner(self.store).compare(queries, query, code)

    def scan_cost(self):
        """Cost of comparing a query with all codes."""
        return 2 * scan_cost(self.store)

    def histograms(self, X, y):
        """The items by affinity and score, a table for each block of queries."""
        affinity = self._fitted.targets.affinity
        targets = (np.asarray(y), None) if affinity is None else self._checked_targets(y)
        weights, _ = read_weights(X, self._fitted.columns)
        yield from weighted_histograms(
            weights, self._fitted.codes, affinity, *targets, n_jobs=self.n_jobs
        )

    def _answers(self, question, queries, own, argument, among=None):
        if self._n_candidates is None or question == "within":
            return super()._answers(question, queries, own, argument, among)
        signs = signs_of_bits(queries, self._n_bytes)
        bits = as_words(np.packbits(signs, axis=1, bitorder="little"))
        by_bits = SearchByBits(self._fitted, self._algorithm, self.n_jobs)
        how = "at_least", bits, own, max(self._n_candidates, argument)
        if among is None:
            answers = by_bits._answers(*how)
        else:
            allowed = read_among(among, self.store, len(queries))
            answers = answers_among(by_bits, allowed, *how)
        lists = [items for _, items in items_by_query(answers)]
        return super()._answers(question, queries, own, argument, lists)

    def _read(self, X):
        """Weights spread over the bytes of the store; no query is an item."""
        if X is None:
            raise ValueError(
                "X is needed: the items are known by their bits alone, and queries have "
                "weights."
            )
        weights, words = read_weights(X, self._fitted.columns)
        return words.spread(weights, self._n_bytes), None

    @property
    def _n_bytes(self):
        """Bytes of a code in the store, those that fill the last word included."""
        columns = self.store.columns
        return len(columns) * columns.dtype.itemsize

    def _check_radius(self, radius, queries):
        if self.store.terms is not None:
            raise ValueError(
                "radius has no meaning for codes whose scores have factors, such as those "
                "of AdditiveHasher. Ask for n_neighbors."
            )
        if size_of_words(queries, self._n_bytes) > 1:
            raise ValueError(
                "radius has no meaning for queries that weigh words of several bits: their "
                "scores are no distances. Ask for n_neighbors."
            )
        return check_weighted_radius(radius)
