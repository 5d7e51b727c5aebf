"""The ties of some queries in ranking order: the tables that every kernel reads.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items of one tie: all, and relevant ones
t, tp       items ranked before the tie: all, and relevant ones
k           cutoff: ranks 1..k count
take        how many ranks of a tie are within the cutoff
==========  ==================================================================

Rankings come in two layouts. The ties of a table of counts are the columns of a matrix
(:class:`HistogramTies`); the ties of arrays and of runs, where queries differ in length,
stand one after another in flat arrays (:class:`~._ranked_items.RaggedTies`). Both layouts
have the names of :class:`Ladder` and :class:`Ties`, and a kernel uses no others.
"""

from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property

import numpy as np

ALL_RANKS = 0  # the cutoff that None stands for
CELLS_PER_BLOCK = 2**15  # of the tables of a block of queries, which then stay in cache


class Ladder(ABC):
    """Sizes of ties, best first, and where the cutoffs fall among them.

    Every query ends with an empty tie, in which a cutoff falls that leaves nothing out.

    Attributes
    ----------
    n, t : ndarray of int64
        Size of each tie, and number of items before it, with the empty ties.

    n_items : ndarray of shape (n_queries, 1) of int64
        Number of ranked items of each query.
    """

    def cut_at(self, cutoffs):
        """Look where cutoffs fall.

        Parameters
        ----------
        cutoffs : ndarray of shape (n_cutoffs,) or (n_queries, n_cutoffs) of int64
            `ALL_RANKS` is a cutoff at the last rank of each query.

        Returns
        -------
        ladder : object of the same class
            The same ties with `cutoffs`, and as attributes of shape (n_queries, n_cutoffs)
            the cutoffs as ranks, `k`; the tie that each cutoff divides, `cut`; and how many
            ranks of this tie are within the cutoff, `take`.
        """
        ladder = copy(self)
        ladder.cutoffs = cutoffs
        ladder.k = np.where(cutoffs == ALL_RANKS, self.n_items, cutoffs)
        reached = np.minimum(ladder.k, self.n_items)
        ladder.cut = self._place_of_rank(reached)
        take = reached - ladder.at_cut(self.t)
        ladder.take = np.clip(take, 0, ladder.at_cut(self.n))
        return ladder

    @abstractmethod
    def with_empty_ties(self, values):
        """Values of all ties, with a 0 for the empty tie that ends each query."""

    @abstractmethod
    def at_cut(self, table):
        """Entries of a table of all ties for the ties that are divided."""

    @abstractmethod
    def sum_before_cut(self, terms):
        """Sum of the terms of the ties that lie wholly within each cutoff."""

    @abstractmethod
    def _place_of_rank(self, reached):
        """Index of the tie after the last one that ends within each rank."""


class Ties(Ladder):
    """Ties with their relevant items, in random order or broken.

    Attributes
    ----------
    p, tp : ndarray of int64
        Relevant items of each tie, and before it, with the empty ties.

    n_relevant : ndarray of shape (n_queries, 1) of int64
        Relevant items of each query.

    order : {"expected", "worst", "best"}
        Whether items of a tie are in random order, or broken so that a measure is least or
        greatest.

    tied : Ties
        The ties before they were broken, at the same cutoffs.

    items : RankedItems
        The relevant items one by one.
    """

    order = "expected"

    @cached_property
    def divided(self):
        """n, p, t, tp and take of the tie that each cutoff divides."""
        tables = self.n, self.p, self.t, self.tp
        return (*map(self.at_cut, tables), self.take)

    @cached_property
    def first_relevant(self):
        """n, p, t of each query's first tie with relevant items, and take per cutoff."""
        n, p, t = map(self.at_first_relevant, (self.n, self.p, self.t))
        return n, p, t, np.clip(self.k - t, 0, n)

    def sum_before_tied(self, terms):
        """Sum of the terms up to the tie that each cutoff divided before it was broken."""
        t = self.tied.divided[2]
        return np.where(t > 0, self.cut_at(t).sum_before_cut(terms), 0)

    @abstractmethod
    def at_first_relevant(self, table):
        """Entries of a table for the first tie of each query with relevant items."""

    @abstractmethod
    def graded(self, gain):
        """Ties of this order, whatever the affinity, and the sum of gains of each.

        `gain` maps an array of affinities to gains.
        """

    @abstractmethod
    def ideal(self, gain):
        """Ties of the ranking by descending affinity, and the sum of gains of each."""
