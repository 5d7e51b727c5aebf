"""The ties of a table of counts: a row for each query, a column for each tie."""

from functools import cached_property

import numpy as np

from ._ranked_items import RankedItems
from ._ties import Ladder, Ties


class HistogramLadder(Ladder):
    """Sizes of ties as a matrix.

    Parameters
    ----------
    n : ndarray of shape (n_queries, n_ties) of int
        Sizes of the ties. Tables get a column for the empty ties.
    """

    def __init__(self, n):
        self.n = self.with_empty_ties(n)
        self.t = _before(self.n)
        self.n_items = self.t[:, -1:]

    def with_empty_ties(self, values):
        """Append a column of zeros."""
        closed = np.zeros((values.shape[0], values.shape[1] + 1), dtype=values.dtype)
        closed[:, :-1] = values
        return closed

    def at_cut(self, table):
        """Entries of a table (n_queries, n_ties + 1) for the ties that are divided."""
        return np.take_along_axis(table, self.cut, axis=1)

    def sum_before_cut(self, terms):
        """Sum of the terms of the ties that lie wholly within each cutoff."""
        return self.at_cut(_before(terms))

    def _place_of_rank(self, reached):
        ends = self.t[:, 1:]
        row = np.arange(len(ends))[:, None]
        gap = ends.max(initial=0) + 1
        keys = (ends + row * gap).ravel()  # ascending as a whole
        place = np.searchsorted(keys, reached + row * gap, side="right")
        return place - row * ends.shape[1]


class HistogramTies(HistogramLadder, Ties):
    """Ties of a block of a histogram, in random order or broken by affinity.

    Items that remain tied when ties are broken have equal affinity, so no order among
    them changes a measure. For a measure of relevance two kinds of items are enough,
    whatever the number of levels.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels, n_ties) of int64

    levels : ndarray of shape (n_levels,)
        Affinities, 0 first. The levels above 0 are relevant.

    order : {"expected", "worst", "best"}
    """

    def __init__(self, counts, levels, order="expected"):
        self.counts, self.levels, self.order = counts, levels, order
        n = counts.sum(axis=1)
        p = n - counts[:, 0]
        if order != "expected":
            kinds = self._sorted(np.stack([n - p, p], axis=2))
            n, p = _flat(kinds), _flat(kinds * self._sorted(np.array([0, 1])))
        super().__init__(n)
        self.p = self.with_empty_ties(p)
        self.tp = _before(self.p)
        self.n_relevant = self.tp[:, -1:]

    @cached_property
    def tied(self):
        """The ties before they were broken, at the same cutoffs."""
        return HistogramTies(self.counts, self.levels).cut_at(self.cutoffs)

    @cached_property
    def items(self):
        """The relevant items one by one."""
        if self.order != "expected":
            return HistogramTies(self.counts, self.levels).items.in_order(self.order)
        counts = self.counts[:, 1:].transpose(0, 2, 1)
        query, tie, level = np.nonzero(counts)
        columns = query, self.t[query, tie], self.n[query, tie], self.levels[level + 1]
        n_alike = counts[query, tie, level]
        return RankedItems(*(np.repeat(c, n_alike) for c in columns), self.n_items[:, 0])

    def at_first_relevant(self, table):
        """Entries of a table for the first tie of each query with relevant items."""
        first = np.argmax(self.p > 0, axis=1)[:, None]
        return np.take_along_axis(table, first, axis=1)

    def graded(self, gain):
        """Ties of this order, whatever the affinity, and the sum of gains of each."""
        gains = gain(self.levels)
        if self.order == "expected":
            return self, self.with_empty_ties(gains @ self.counts)
        counts = self._sorted(self.counts.transpose(0, 2, 1))
        return self._ladder(_flat(counts), _flat(counts * self._sorted(gains)))

    def ideal(self, gain):
        """Ties of the ranking by descending affinity, and the sum of gains of each."""
        counts = self.counts.sum(axis=2)[:, ::-1]
        return self._ladder(counts, counts * gain(self.levels)[::-1])

    def _ladder(self, n, gains):
        ladder = HistogramLadder(n).cut_at(self.cutoffs)
        return ladder, ladder.with_empty_ties(gains)

    def _sorted(self, by_affinity):
        return by_affinity[..., ::-1] if self.order == "best" else by_affinity


def _before(table):
    """Sum of the columns before each column."""
    sums = np.zeros_like(table)
    np.cumsum(table[:, :-1], axis=1, out=sums[:, 1:])
    return sums


def _flat(table):
    n_queries, n_ties, n_kinds = table.shape
    return table.reshape(n_queries, n_ties * n_kinds)
