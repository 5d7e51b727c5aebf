"""The ties of queries of any lengths in flat arrays, of ties with relevant items alone.

Kernels read these tables as they read those of :class:`~._ties.Ties`, in which the symbols
are explained. A tie without relevant items adds nothing to any metric, so it is left out: t
may rise by more than n from one tie to the next.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..histogram._rankings import sort_rows
from ._ties import ALL_RANKS

_EXACT_GRADES = 32  # sums of gains of smaller integers are exact in any order


@dataclass(frozen=True)
class RankedItems:
    """Relevant items of some queries, and the ties they are in.

    Parameters
    ----------
    query, t, n : ndarray of shape (n_relevant_items,) of int64
        Query of each item, number of items ranked before its tie, and size of the tie.
        Items are sorted by query, then by t, then by grade.

    grade : ndarray of shape (n_relevant_items,) of int64 or float64
        Affinities, above 0.

    n_items : ndarray of shape (n_queries,) of int64
        Number of ranked items of each query.

    missing_query, missing_grade : ndarray of shape (n_missing,), default=None
        Relevant items that are not ranked at all. They count among all relevant ones, and
        in the ideal ranking.

    place : ndarray of shape (n_relevant_items,) of int64, default=None
        Number of items before each in one particular ranking.
    """

    query: np.ndarray
    t: np.ndarray
    n: np.ndarray
    grade: np.ndarray
    n_items: np.ndarray
    missing_query: np.ndarray = None
    missing_grade: np.ndarray = None
    place: np.ndarray = None

    @cached_property
    def begins(self):
        """Whether each item is the first of its tie."""
        begins = np.ones(len(self.t), dtype=bool)
        same = (self.t[1:] == self.t[:-1]) & (self.query[1:] == self.query[:-1])
        np.logical_not(same, out=begins[1:])
        return begins

    @cached_property
    def n_relevant(self):
        """Number of relevant items of each query, ranked or missing."""
        ranked = np.bincount(self.query, minlength=len(self.n_items))
        if self.missing_query is None:
            return ranked
        return ranked + np.bincount(self.missing_query, minlength=len(ranked))

    @cached_property
    def ideal(self):
        """Query, place and grade of all relevant items in the best ranking of all."""
        query, grade = self.query, self.grade
        if self.missing_query is not None:
            query = np.append(query, self.missing_query)
            grade = np.append(grade, self.missing_grade)
        order = np.lexsort((-grade, query))
        query = query[order]
        return query, _number_within(query, len(self.n_items)), grade[order]

    def select(self, queries):
        """Items of some queries, whose numbers ascend."""
        number = np.full(len(self.n_items), -1)
        number[queries] = np.arange(len(queries))
        kept, missing = number[self.query] >= 0, number[self.missing_query] >= 0
        return RankedItems(
            query=number[self.query[kept]],
            t=self.t[kept],
            n=self.n[kept],
            grade=self.grade[kept],
            n_items=self.n_items[queries],
            missing_query=number[self.missing_query[missing]],
            missing_grade=self.missing_grade[missing],
            place=self.place[kept],
        )

    def in_order(self, order):
        """Give every item a place of its own.

        Parameters
        ----------
        order : {"worst", "best", "listed"}
            Ties by ascending or descending grade, or the ranking that `place` tells.

        Returns
        -------
        items : RankedItems
            Ties of one item each.
        """
        if order == "listed":
            by_place = np.lexsort((self.place, self.query))
            return self._alone(self.place[by_place], self.grade[by_place])
        first = np.flatnonzero(self.begins)
        p = np.diff(first, append=len(self.t))
        place = np.arange(len(self.t))
        within = place - np.repeat(first, p)
        if order == "worst":
            irrelevant = self.n - np.repeat(p, p)
            return self._alone(self.t + irrelevant + within, self.grade)
        mirrored = place + np.repeat(p, p) - 1 - 2 * within
        return self._alone(self.t + within, self.grade[mirrored])

    def _alone(self, t, grade):
        return replace(self, t=t, n=np.ones_like(t), grade=grade, place=None)


def rank_items(affinity, score):
    """Find the relevant items of a table of affinities and scores, in ranking order.

    Parameters
    ----------
    affinity : ndarray of shape (n_queries, n_columns) of int64 or float64

    score : ndarray of shape (n_queries, n_columns) of any real type
        Higher is better. Cells of -inf hold no item.

    Returns
    -------
    items : RankedItems
    """
    order, begins, n_items = sort_rows(score)
    affinity = np.take_along_axis(affinity, order, axis=1)
    cell = np.flatnonzero(affinity)
    grade = affinity.ravel()[cell]
    starts = np.flatnonzero(begins)
    tie = np.cumsum(begins)[cell] - 1
    query = cell // max(1, score.shape[1])
    first = query * score.shape[1]
    end = np.append(starts[1:], score.size)[tie]
    if grade.dtype.kind == "f" or grade.max(initial=0) >= _EXACT_GRADES:
        # Their gains are added by size, lest the order of the database show.
        grade = grade[np.lexsort((grade, tie))]
    return RankedItems(query, starts[tie] - first, end - starts[tie], grade, n_items)


class RaggedLadder:
    """Sizes of ties, best first, and where the cutoffs fall among them.

    Every query ends with an empty tie, in which a cutoff falls that leaves nothing out.

    Parameters
    ----------
    query : ndarray of shape (n_ties,) of int64
        Query of each tie, ascending.

    n, t : ndarray of shape (n_ties,) of int64
        Size of each tie, and number of items ranked before it.

    n_items : ndarray of shape (n_queries,) of int64

    cutoffs : ndarray of shape (n_cutoffs,) or (n_queries, n_cutoffs) of int64
        `ALL_RANKS` is a cutoff at the last rank of each query.

    Attributes
    ----------
    n, t : ndarray of shape (n_ties + n_queries,) of int64
        With the empty ties.

    n_items : ndarray of shape (n_queries, 1) of int64

    k, cut, take : ndarray of shape (n_queries, n_cutoffs) of int64
        The cutoffs, the last tie that each may divide, and how many ranks of it are within.
    """

    def __init__(self, query, n, t, n_items, cutoffs):
        self._place = np.arange(len(query)) + query
        n_ties = np.bincount(query, minlength=len(n_items))
        self._last = np.cumsum(n_ties + 1)[:, None] - 1
        self._first = self._last - n_ties[:, None]
        self.n_items = n_items[:, None]
        self.n = self.with_empty_ties(n)
        self.t = self.with_empty_ties(t, n_items)
        self.k = np.where(cutoffs == ALL_RANKS, self.n_items, cutoffs)
        reached = np.minimum(self.k, self.n_items)
        self.cut = self._count_ties_within(reached)
        self.take = np.clip(reached - self.at_cut(self.t), 0, self.at_cut(self.n))

    def with_empty_ties(self, values, last=0):
        """Insert the value of the tie that ends each query."""
        table = np.empty(len(self._place) + len(self._last), dtype=values.dtype)
        table[self._place] = values
        table[self._last[:, 0]] = last
        return table

    def repeat(self, of_queries):
        """Repeat the value of each query for all of its ties."""
        return np.repeat(of_queries, np.diff(self._last[:, 0], prepend=-1))

    def at_cut(self, table):
        """Entries of a table (n_ties + n_queries,) for the ties that are divided."""
        return table[self.cut]

    def sum_before_cut(self, terms):
        """Sum of the terms of the ties that lie wholly within each cutoff.

        No term of another query takes part, so that none can change the last digit.
        """
        first = np.broadcast_to(self._first, self.cut.shape)
        bounds = np.stack((first, self.cut), axis=-1).ravel()
        if not bounds.size:
            return np.zeros(self.cut.shape)
        sums = np.add.reduceat(terms, bounds)[::2].reshape(self.cut.shape)
        return np.where(self.cut > first, sums, 0)

    def _count_ties_within(self, reached):
        row = np.arange(len(self._last))[:, None]
        gap = self.n_items.max(initial=0) + 1
        ends = self.t + self.n + self.repeat(gap * row[:, 0])  # ascending as a whole
        within = np.searchsorted(ends, reached + gap * row, side="right")
        return np.minimum(within, self._last)


class RaggedTies(RaggedLadder):
    """Ties with their relevant items, in random order or broken.

    Parameters
    ----------
    items : RankedItems
        The relevant items.

    cutoffs : ndarray of shape (n_cutoffs,) or (n_queries, n_cutoffs) of int64

    Attributes
    ----------
    p, tp : ndarray of shape (n_ties + n_queries,) of int64
        Relevant items of each tie, and before it.

    n_relevant : ndarray of shape (n_queries, 1) of int64
        Relevant items of each query, ranked or missing.

    items : RankedItems
    """

    order = "expected"

    def __init__(self, items, cutoffs):
        self.items, self.cutoffs = items, cutoffs
        first = np.flatnonzero(items.begins)
        p = np.diff(first, append=len(items.t))
        query = items.query[first]
        super().__init__(query, items.n[first], items.t[first], items.n_items, cutoffs)
        self.p = self.with_empty_ties(p)
        ranked = np.bincount(items.query, minlength=len(items.n_items))
        before = np.cumsum(self.p) - self.p
        self.tp = before - self.repeat(np.cumsum(ranked) - ranked)
        self.n_relevant = items.n_relevant[:, None]

    @cached_property
    def divided(self):
        """n, p, t, tp and take of the tie that each cutoff divides."""
        tables = self.n, self.p, self.t, self.tp
        return (*map(self.at_cut, tables), self.take)

    @cached_property
    def first_relevant(self):
        """n, p, t of each query's first tie with relevant items, and take per cutoff."""
        n, p, t = (table[self._first] for table in (self.n, self.p, self.t))
        return n, p, t, np.clip(self.k - t, 0, n)

    def graded(self, gain):
        """Ties, and the sum of gains of each."""
        tie = np.cumsum(self.items.begins) - 1
        n_ties = len(self._place)
        sums = np.bincount(tie, gain(self.items.grade), minlength=n_ties)
        return self, self.with_empty_ties(sums)

    def ideal(self, gain):
        """The best ranking of all relevant items, one at a time, and the gain of each."""
        query, place, grade = self.items.ideal
        most = np.maximum(self.n_items, self.n_relevant)[:, 0]
        ladder = RaggedLadder(query, np.ones_like(place), place, most, self.cutoffs)
        return ladder, ladder.with_empty_ties(gain(grade))


def _number_within(query, n_queries):
    """Number of items of the same query before each; `query` ascends."""
    sizes = np.bincount(query, minlength=n_queries)
    return np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
