"""The ties of some queries in ranking order: the tables that every kernel reads.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items of one tie: all, and relevant ones
t, tp       items ranked before the tie: all, and relevant ones
k           cutoff: ranks 1..k count
take        how many ranks of a tie are within the cutoff
==========  ==================================================================
"""

from functools import cached_property
from numbers import Integral

import numpy as np

ALL_RANKS = 0  # the cutoff that None stands for
CELLS_PER_BLOCK = 2**15  # of the tables of a block of queries, which then stay in cache


def check_cutoffs(k):
    """Return the cutoffs as an array, and whether `k` is a single one.

    None becomes `ALL_RANKS`, by itself and in a sequence.
    """
    single = k is None or np.ndim(k) == 0
    given = [k] if single else list(k)
    if not given:
        raise ValueError("k must hold at least one cutoff, got an empty sequence.")
    for cutoff in given:
        is_integer = isinstance(cutoff, Integral) and not isinstance(cutoff, bool)
        if cutoff is not None and not (is_integer and 1 <= cutoff < 2**63):
            raise ValueError(
                "k must be a positive integer below 2**63, None for all ranks, or a "
                f"sequence of them, got {k!r}."
            )
    return np.array([ALL_RANKS if c is None else c for c in given], dtype=np.int64), single


def cutoff_suffix(cutoff):
    """What follows the name of a metric at this cutoff."""
    return "" if cutoff == ALL_RANKS else f"@{cutoff}"


class Ladder:
    """Sizes of ties, best first, and where the cutoffs fall among them.

    Every row ends with an empty tie, in which a cutoff falls that leaves nothing out.

    Parameters
    ----------
    n : ndarray of shape (n_queries, n_ties) of int
        Sizes of the ties.

    cutoffs : ndarray of shape (n_cutoffs,) of int64
        `ALL_RANKS` is a cutoff at the last rank of each query.

    Attributes
    ----------
    n, t : ndarray of shape (n_queries, n_ties + 1) of int64
        Size of each tie, and number of items before it.

    n_items : ndarray of shape (n_queries, 1) of int64
        Number of ranked items of each query.

    k : ndarray of shape (n_queries, n_cutoffs) of int64
        The cutoffs.

    cut, take : ndarray of shape (n_queries, n_cutoffs) of int64
        The tie that each cutoff divides, and how many of its ranks are within.
    """

    def __init__(self, n, cutoffs):
        self.n = with_empty_tie(n)
        self.t = before(self.n)
        self.n_items = self.t[:, -1:]
        self.k = np.where(cutoffs == ALL_RANKS, self.n_items, cutoffs)
        reached = np.minimum(self.k, self.n_items)
        self.cut = _count_at_most(self.t[:, 1:], reached)
        self.take = reached - self.at_cut(self.t)

    def at_cut(self, table):
        """Entries of a table (n_queries, n_ties + 1) for the ties that are divided."""
        return np.take_along_axis(table, self.cut, axis=1)

    def sum_before_cut(self, terms):
        """Sum of the terms of the ties that lie wholly within each cutoff."""
        return self.at_cut(before(terms))


class Ties(Ladder):
    """Ties with their relevant items: all that a metric of relevance needs to know.

    Attributes
    ----------
    p, tp : ndarray of shape (n_queries, n_ties + 1) of int64
        Relevant items of each tie, and before it.

    n_relevant : ndarray of shape (n_queries, 1) of int64
        Relevant items of each query.
    """

    order = "expected"

    def __init__(self, n, p, cutoffs):
        super().__init__(n, cutoffs)
        self.p = with_empty_tie(p)
        self.tp = before(self.p)
        self.n_relevant = self.tp[:, -1:]
        self.cutoffs = cutoffs

    @cached_property
    def divided(self):
        """n, p, t, tp and take of the tie that each cutoff divides."""
        tables = self.n, self.p, self.t, self.tp
        return (*map(self.at_cut, tables), self.take)

    @cached_property
    def first_relevant(self):
        """n, p, t of each query's first tie with relevant items, and take per cutoff."""
        first = np.argmax(self.p > 0, axis=1)[:, None]
        n, p, t = (
            np.take_along_axis(table, first, axis=1) for table in (self.n, self.p, self.t)
        )
        return n, p, t, np.clip(self.k - t, 0, n)


class HistogramTies(Ties):
    """Ties of a block of a histogram, in random order or broken by affinity.

    Items that remain tied when ties are broken have equal affinity, so no order among
    them changes a metric. For a metric of relevance two kinds of items are enough,
    whatever the number of levels.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels, n_distances)

    levels : ndarray of shape (n_levels,)

    cutoffs : ndarray of shape (n_cutoffs,)

    order : {"expected", "worst", "best"}
    """

    def __init__(self, counts, levels, cutoffs, order="expected"):
        self.counts = counts.astype(np.int64, copy=False)  # differences must have a sign
        self.levels = levels
        self.order = order
        n = self.counts.sum(axis=1)
        p = n - self.counts[:, 0]
        if order == "expected":
            super().__init__(n, p, cutoffs)
        else:
            self.tied = Ties(n, p, cutoffs)
            kinds = self._sorted(np.stack([n - p, p], axis=2))
            relevant = self._sorted(np.array([0, 1]))
            super().__init__(_flat(kinds), _flat(kinds * relevant), cutoffs)

    def sum_before_tie(self, terms):
        """Sum of the terms of what the divided ties, before they were broken, follow."""
        return np.take_along_axis(before(terms), 2 * self.tied.cut, axis=1)

    def graded(self, gain):
        """Ties of this order, whatever the affinity, and the sum of gains of each."""
        gains = gain(self.levels)
        if self.order == "expected":
            return self, with_empty_tie(gains @ self.counts)
        counts = self._sorted(self.counts.transpose(0, 2, 1))
        sums = counts * self._sorted(gains)
        return Ladder(_flat(counts), self.cutoffs), with_empty_tie(_flat(sums))

    def ideal(self, gain):
        """Ties of the ranking by descending affinity, and the sum of gains of each."""
        counts = self.counts.sum(axis=2)[:, ::-1]
        sums = counts * gain(self.levels)[::-1]
        return Ladder(counts, self.cutoffs), with_empty_tie(sums)

    def _sorted(self, by_affinity):
        return by_affinity[..., ::-1] if self.order == "best" else by_affinity


def with_empty_tie(table):
    """Append a column of zeros."""
    closed = np.zeros((table.shape[0], table.shape[1] + 1), dtype=table.dtype)
    closed[:, :-1] = table
    return closed


def before(table):
    """Sum of the columns before each column."""
    sums = np.zeros_like(table)
    np.cumsum(table[:, :-1], axis=1, out=sums[:, 1:])
    return sums


def _count_at_most(ends, limits):
    """How many entries of each ascending row of `ends` are at most each limit."""
    row = np.arange(len(ends))[:, None]
    gap = ends.max(initial=0) + 1
    keys = (ends + row * gap).ravel()  # ascending as a whole
    return np.searchsorted(keys, limits + row * gap, side="right") - row * ends.shape[1]


def _flat(table):
    n_queries, n_ties, n_kinds = table.shape
    return table.reshape(n_queries, n_ties * n_kinds)
