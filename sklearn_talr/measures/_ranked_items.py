"""The relevant items of queries of any lengths, and their ties, in flat arrays.

Symbols are those of :mod:`._ties`. A tie without relevant items adds nothing to any
measure, so it is left out: t may rise by more than n from one tie to the next.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..histogram._door import sort_rows
from ._ties import Ladder, Ties

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

    broken : RankedItems, default=None
        The items as they were before their ties were broken.

    order : {"expected", "worst", "best"}, default="expected"
        What the order of tied items is for. The order of one particular ranking leaves
        no ties, and is called "expected" too.
    """

    query: np.ndarray
    t: np.ndarray
    n: np.ndarray
    grade: np.ndarray
    n_items: np.ndarray
    missing_query: np.ndarray = None
    missing_grade: np.ndarray = None
    place: np.ndarray = None
    broken: "RankedItems" = None
    order: str = "expected"

    @cached_property
    def begins(self):
        """Whether each item is the first of its tie."""
        begins = np.ones(len(self.t), dtype=bool)
        begins[1:] = (self.t[1:] != self.t[:-1]) | (self.query[1:] != self.query[:-1])
        return begins

    @cached_property
    def n_relevant(self):
        """Number of relevant items of each query, ranked or missing."""
        return np.bincount(self._relevant()[0], minlength=len(self.n_items))

    @cached_property
    def ideal(self):
        """The best ranking of all relevant items: query, t, n and grade of its ties.

        Only items of equal grade are tied in it.
        """
        if self.broken is not None:
            return self.broken.ideal
        query, grade = self._relevant()
        n_grades = int(grade.max(initial=0)) + 1
        if (
            grade.dtype.kind == "i"
            and n_grades * len(self.n_items) <= 2 * len(grade) + 2**12
        ):
            counts = np.bincount(query * n_grades + (n_grades - 1 - grade))
            cell = np.flatnonzero(counts)
            query, n, grade = cell // n_grades, counts[cell], n_grades - 1 - cell % n_grades
        else:
            order = np.lexsort((-grade, query))
            query, n, grade = query[order], np.ones(len(order), np.int64), grade[order]
        before = np.cumsum(n) - n
        first = np.append(0, np.cumsum(self.n_relevant))[query]
        return query, before - first, n, grade

    def _relevant(self):
        if self.missing_query is None:
            return self.query, self.grade
        return (
            np.append(self.query, self.missing_query),
            np.append(self.grade, self.missing_grade),
        )

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
            gap = self.n_items.max(initial=0) + 1
            by_place = np.argsort(self.query * gap + self.place)
            return self._alone(self.place[by_place], self.grade[by_place])
        first = np.flatnonzero(self.begins)
        p = np.diff(first, append=len(self.t))
        place = np.arange(len(self.t))
        if order == "worst":
            after = np.repeat(first + p, p) - place  # itself and relevant items after it
            return self._alone(self.t + self.n - after, self.grade, order)
        mirrored = np.repeat(2 * first + p - 1, p) - place
        t = self.t + place - np.repeat(first, p)
        return self._alone(t, self.grade[mirrored], order)

    def _alone(self, t, grade, order="expected"):
        n = np.ones_like(t)
        return replace(self, t=t, n=n, grade=grade, place=None, broken=self, order=order)


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


class RaggedLadder(Ladder):
    """Sizes of ties, the ties of one query after those of another.

    Parameters
    ----------
    query : ndarray of shape (n_ties,) of int64
        Query of each tie, ascending.

    n, t : ndarray of shape (n_ties,) of int64
        Size of each tie, and number of items ranked before it. Tables get an entry for the
        empty tie of each query: they have shape (n_ties + n_queries,).

    n_items : ndarray of shape (n_queries,) of int64
    """

    def __init__(self, query, n, t, n_items):
        self._place = np.arange(len(query)) + query
        n_ties = np.bincount(query, minlength=len(n_items))
        self._last = np.cumsum(n_ties + 1)[:, None] - 1
        self._first = self._last - n_ties[:, None]
        self.n_items = n_items[:, None]
        self.n = self.with_empty_ties(n)
        self.t = self.with_empty_ties(t)
        self.t[self._last] = self.n_items

    def with_empty_ties(self, values):
        """Insert a 0 at the end of each query."""
        table = np.zeros(len(self._place) + len(self._last), dtype=values.dtype)
        table[self._place] = values
        return table

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

    def _place_of_rank(self, reached):
        row = np.arange(len(self._last))
        gap = self.n_items.max(initial=0) + 1
        offset = np.repeat(gap * row, np.diff(self._last[:, 0], prepend=-1))
        ends = self.t + self.n + offset  # ascending as a whole
        place = np.searchsorted(ends, reached + gap * row[:, None], side="right")
        return np.minimum(place, self._last)


class RaggedTies(RaggedLadder, Ties):
    """Ties of relevant items, in random order or broken.

    Parameters
    ----------
    items : RankedItems
        The relevant items. Those that are not ranked count in `n_relevant`.
    """

    def __init__(self, items):
        self.items, self.order = items, items.order
        if items.broken is None:
            first = np.flatnonzero(items.begins)
            p = np.diff(first, append=len(items.t))
            super().__init__(
                items.query[first], items.n[first], items.t[first], items.n_items
            )
        else:
            p = items.n  # relevant items alone
            super().__init__(items.query, items.n, items.t, items.n_items)
        self.p = self.with_empty_ties(p)
        before = np.cumsum(self.p) - self.p
        n_ties = np.diff(self._last[:, 0], prepend=-1)
        self.tp = before - np.repeat(before[self._first[:, 0]], n_ties)
        self.n_relevant = items.n_relevant[:, None]

    @cached_property
    def tied(self):
        """The ties before they were broken, at the same cutoffs."""
        return RaggedTies(self.items.broken).cut_at(self.cutoffs)

    def at_first_relevant(self, table):
        """Entries of a table for the first tie of each query with relevant items."""
        return table[self._first]

    def graded(self, gain):
        """Ties, and the sum of gains of each."""
        gains = gain(self.items.grade)
        if self.items.broken is None and len(gains):
            gains = np.add.reduceat(gains, np.flatnonzero(self.items.begins))
        return self, self.with_empty_ties(gains)

    def ideal(self, gain):
        """Ties of the ranking by descending grade, and the sum of gains of each."""
        query, t, n, grade = self.items.ideal
        most = np.maximum(self.n_items, self.n_relevant)[:, 0]
        ladder = RaggedLadder(query, n, t, most).cut_at(self.cutoffs)
        return ladder, ladder.with_empty_ties(n * gain(grade))
