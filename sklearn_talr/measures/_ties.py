"""The ties of some queries in ranking order: the tables that every kernel reads.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items of one tie: all, and relevant ones
t, tp       items ranked before the tie: all, and relevant ones
k           cutoff: ranks 1..k count
take        how many ranks of a tie are within the cutoff
==========  ==================================================================

Three kinds of data are rankings with ties, and all become the same two tables::

    y_true, y_score          codes, or y_true, y_score         judgments and a run
          |                              |                             |
          v                              v                             v
       Rankings                  RankingHistogram                DocumentTable
    sort and block            count by level and tie          look up by document
          |                              |                             |
          | Cells.from_scores            | Cells.from_counts           | runs
          +------------------------------+-----------------------------+
                                         v
                                       Cells      at_least(rel), in_order("worst")
                                         |
                                         v
                                       Ties       cut_at(cutoffs), ideal
                                         |
                                         v
                             Measure.kernel -> values

* ``Rankings`` hold an affinity and a score for each item, as two tables or as flat arrays
  with groups, and hand them out in blocks of queries of about the same length.
* A ``RankingHistogram`` counts items. It is public, its memory does not depend on the
  size of the database, and parts of a database add up. A kernel could not read it: most of
  its ties hold nothing relevant.
* A ``DocumentTable`` holds documents by name, judged ones and retrieved ones apart.
* ``Cells`` are the relevant items of one grade in one tie, query after query. They alone
  know grades, so that ties are broken here, and the ideal ranking is made here.
* ``Ties`` are the sums that formulas are written in, n, p, t and tp, and where cutoffs fall
  among them. Tables of several cutoffs and several values of `rel` read the same cells.

A tie without relevant items adds nothing to any measure, so it is left out: t may rise by
more than n from one tie to the next. Documents that a run has not retrieved are one tie
after the last rank, which no cutoff reaches.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..histogram._rankings import sort_rows

ALL_RANKS = 0  # the cutoff for None
CELLS_PER_BLOCK = 2**15  # cells of the tables of a block of queries, which stay in cache
# Sums of the gains of smaller integers are exact in any order.
_EXACT_GRADES = 32
# Grades of a query are counted in a table if it has at most this number of cells beyond two
# per cell of the data. Otherwise they are sorted.
_FEW_CELLS = 2**12


@dataclass(frozen=True)
class Cells:
    """Relevant items of some queries by tie and grade.

    Parameters
    ----------
    query, t, n, count : ndarray of shape (n_cells,) of int64
        Query of each cell, number of items ranked before its tie, size of the tie, and
        number of the tie's items that have the grade. Cells are sorted by query, then by t,
        then by grade; several may have the same.

    grade : ndarray of shape (n_cells,) of int64 or float64
        Affinities, above 0.

    n_items : ndarray of shape (n_queries,) of int64
        Number of ranked items of each query.

    place : ndarray of shape (n_cells,) of int64, default=None
        Number of items before each cell in one particular ranking, if cells are single
        items.
    """

    query: np.ndarray
    t: np.ndarray
    n: np.ndarray
    grade: np.ndarray
    count: np.ndarray
    n_items: np.ndarray
    place: np.ndarray = None

    @classmethod
    def from_counts(cls, counts, levels):
        """Cells of a table of counts, (n_queries, n_levels, n_ties), levels from 0 on."""
        tie_sizes = counts.sum(axis=1)
        tie_ends = np.cumsum(tie_sizes, axis=1)
        # flatnonzero is four times as fast for booleans as for integers.
        relevant = counts[:, 1:].transpose(0, 2, 1).ravel()
        cell = np.flatnonzero(relevant > 0)
        tie, level = np.divmod(cell, max(1, len(levels) - 1))
        return cls(
            query=tie // max(1, tie_sizes.shape[1]),
            t=(tie_ends - tie_sizes).ravel()[tie],
            n=tie_sizes.ravel()[tie],
            grade=levels[level + 1],
            count=relevant[cell],
            n_items=tie_sizes.sum(axis=1),
        )

    @classmethod
    def from_scores(cls, affinity, score):
        """Cells of two tables (n_queries, n_columns); a score of -inf holds no item."""
        order, begins, n_items = sort_rows(score)
        ranked_affinity = np.take_along_axis(affinity, order, axis=1)
        cell = np.flatnonzero(ranked_affinity)
        grade = ranked_affinity.ravel()[cell]
        tie_starts = np.flatnonzero(begins)
        tie_sizes = np.diff(tie_starts, append=score.size)
        tie = np.cumsum(begins)[cell] - 1
        query = cell // max(1, score.shape[1])
        if grade.dtype.kind == "f" or grade.max(initial=0) >= _EXACT_GRADES:
            # Gains are added in the order of their size, so that the order of the database
            # changes no digit.
            grade = grade[np.lexsort((grade, tie))]
        return cls(
            query=query,
            t=tie_starts[tie] - query * score.shape[1],
            n=tie_sizes[tie],
            grade=grade,
            count=np.ones_like(tie),
            n_items=n_items,
        )

    def take(self, rows):
        """Some of the cells, or all of them in another order."""
        return replace(
            self,
            query=self.query[rows],
            t=self.t[rows],
            n=self.n[rows],
            grade=self.grade[rows],
            count=self.count[rows],
            place=None if self.place is None else self.place[rows],
        )

    def at_least(self, rel):
        """Cells of grades from `rel` on; 1 keeps all that are relevant at all."""
        is_relevant = self.grade > 0 if rel == 1 else self.grade >= rel
        return self if is_relevant.all() else self.take(is_relevant)

    def select(self, queries):
        """Cells of some queries, whose numbers ascend."""
        new_number = np.full(len(self.n_items), -1)
        new_number[queries] = np.arange(len(queries))
        selected = self.take(new_number[self.query] >= 0)
        return replace(
            selected, query=new_number[selected.query], n_items=self.n_items[queries]
        )

    def in_order(self, order):
        """Give every cell a tie of its own, in the "worst" or "best" order, or by `place`.

        Items that remain tied have equal grades, so that no order among them changes a
        measure.
        """
        if order == "listed":
            return self._by_place()
        first = self.starts
        n_cells = np.diff(first, append=len(self.t))  # cells of each tie
        # In the worst order irrelevant items come first, then the cells by ascending grade.
        before = np.cumsum(self.count) - self.count
        n_lower = before - np.repeat(before[first], n_cells)  # items of the tie
        n_relevant = np.repeat(np.add.reduceat(self.count, first), n_cells)
        if order == "worst":
            return replace(self, t=self.t + self.n - n_relevant + n_lower, n=self.count)
        # The best order runs through the cells of each tie backwards.
        best = replace(self, t=self.t + n_relevant - n_lower - self.count, n=self.count)
        first_plus_last = np.repeat(2 * first + n_cells - 1, n_cells)
        return best.take(first_plus_last - np.arange(len(self.t)))

    def _by_place(self):
        """Cells in the order of one particular ranking, each a tie of its own."""
        gap = self.place.max(initial=0) + 1
        ranked = self.take(np.argsort(self.query * gap + self.place))
        return replace(ranked, t=ranked.place, n=ranked.count)

    @cached_property
    def starts(self):
        """The first cell of each tie."""
        begins = np.ones(len(self.t), dtype=bool)
        begins[1:] = self.t[1:] != self.t[:-1]
        begins[1:] |= self.query[1:] != self.query[:-1]
        return np.flatnonzero(begins)

    @cached_property
    def ideal(self):
        """The best ranking of all relevant items, in which only equal grades are tied."""
        n_queries = len(self.n_items)
        n_grades = int(self.grade.max(initial=0)) + 1
        is_small = n_grades * n_queries <= 2 * len(self.grade) + _FEW_CELLS
        if self.grade.dtype.kind == "i" and is_small:
            falling = n_grades - 1 - self.grade
            table = np.bincount(self.query * n_grades + falling, self.count)
            cell = np.flatnonzero(table)
            query, place = np.divmod(cell, n_grades)
            grade = n_grades - 1 - place
            count = table[cell].astype(np.int64)
        else:
            order = np.lexsort((-self.grade, self.query))
            query = self.query[order]
            grade = self.grade[order]
            count = self.count[order]
        n_relevant = np.bincount(query, count, n_queries).astype(np.int64)
        n_of_earlier_queries = np.append(0, np.cumsum(n_relevant))
        return Cells(
            query=query,
            t=np.cumsum(count) - count - n_of_earlier_queries[query],
            n=count,
            grade=grade,
            count=count,
            n_items=np.maximum(self.n_items, n_relevant),
        )


class TiedItems(NamedTuple):
    """Symbols of the formulas, one value for each tie.

    Parameters
    ----------
    n, p : ndarray of int
        Items of the tie: all, and relevant ones.

    t, tp : ndarray of int
        Items ranked before the tie: all, and relevant ones.

    take : ndarray of int
        How many ranks of the tie are within the cutoff.
    """

    n: np.ndarray
    p: np.ndarray
    t: np.ndarray
    tp: np.ndarray
    take: np.ndarray


class FirstTie(NamedTuple):
    """The first tie of each query that has a relevant item, before which nothing is.

    Parameters
    ----------
    n, p, t : ndarray of shape (n_queries, 1) of int
        As in `TiedItems`. n and p are 0 if nothing is relevant.

    take : ndarray of shape (n_queries, n_cutoffs) of int
        How many ranks of the tie are within each cutoff.
    """

    n: np.ndarray
    p: np.ndarray
    t: np.ndarray
    take: np.ndarray


class Ties:
    """Ties with their relevant items, best first, in random order or broken.

    Every query ends with an empty tie, in which a cutoff falls that leaves nothing out.

    Parameters
    ----------
    cells : Cells

    order : {"expected", "worst", "best"}, default="expected"
        Whether items of a tie are in random order, or broken so that a measure is least or
        greatest.

    unbroken : Cells, default=None
        The cells before their ties were broken; None if these are they.

    Attributes
    ----------
    n, p, t, tp : ndarray of shape (n_ties + n_queries,) of int64
        Sizes of the ties, and numbers of items before them, query after query. Each query
        ends with an empty tie.

    n_items, n_relevant, n_listed : ndarray of shape (n_queries, 1) of int64
        Number of ranked items of each query, of its relevant ones, ranked or not, and of
        ranked and relevant ones together.

    cutoffs, k, reached, cut, take : ndarray of shape (n_queries, n_cutoffs) of int64
        Places of the cutoffs, which `cut_at` adds.
    """

    def __init__(self, cells, order="expected", unbroken=None):
        self.cells = cells
        self.order = order
        self._unbroken = cells if unbroken is None else unbroken
        first_cells = cells.starts
        query = cells.query[first_cells]
        n_ties = np.bincount(query, minlength=len(cells.n_items))[:, None]
        # Each query before has one empty tie.
        self._place = np.arange(len(query)) + query
        self._last = np.cumsum(n_ties + 1)[:, None] - 1  # the empty tie of each query
        self._first = self._last - n_ties
        self.n_items = cells.n_items[:, None]
        self.n = self._with_empty_ties(cells.n[first_cells])
        self.t = self._with_empty_ties(cells.t[first_cells])
        # The last tie before the empty one may hold items that are not ranked.
        end = (self.t + self.n)[self._last - 1]
        end = np.where(n_ties, end, 0)
        self.t[self._last] = np.maximum(self.n_items, end)
        self.p = self._with_empty_ties(np.add.reduceat(cells.count, first_cells))
        self.tp, _ = self.sums(self.p)
        self.n_relevant = self.tp[self._last]

    def _with_empty_ties(self, values):
        n_ties = len(self._place) + len(self._last)
        table = np.zeros(n_ties, dtype=values.dtype)
        table[self._place] = values
        return table

    def cut_at(self, cutoffs):
        """Find the places of cutoffs.

        Parameters
        ----------
        cutoffs : ndarray of shape (n_cutoffs,) or (n_queries, n_cutoffs) of int64
            `ALL_RANKS` is a cutoff at the last rank of each query.

        Returns
        -------
        ties : Ties
            The same ties with attributes of shape (n_queries, n_cutoffs): the cutoffs as
            ranks, `k`; the cutoffs as far as there are ranks, `reached`; the tie that each
            cutoff divides, `cut`; and how many ranks of this tie are within the cutoff,
            `take`.
        """
        ties = copy(self)
        ties.cutoffs = cutoffs
        ties.k = np.where(cutoffs == ALL_RANKS, self.n_items, cutoffs)
        ties.reached = np.minimum(ties.k, self.n_items)
        # With an offset for each query, the ends of all ties ascend as a whole.
        ends = self.t + self.n
        gap = ends.max(initial=0) + 1
        offset = gap * np.arange(len(self._last))[:, None]
        ends += self.spread(offset)
        place = np.searchsorted(ends, ties.reached + offset, side="right")
        ties.cut = np.minimum(place, self._last)
        ties.take = np.clip(ties.reached - ties.at_cut(self.t), 0, ties.at_cut(self.n))
        return ties

    def at_cut(self, table):
        """Entries of a table of all ties for the ties that are divided."""
        return table[self.cut]

    def sum_before_cut(self, terms):
        """Sum of the terms of the ties that lie wholly within each cutoff.

        No term of another query takes part, so that none can change the last digit.
        """
        first = np.broadcast_to(self._first, self.cut.shape)
        bounds = np.stack((first, self.cut), axis=-1).ravel()
        # Sums between the second bound and the next first one are of no use.
        sums = np.add.reduceat(terms, bounds)[::2]
        return np.where(self.cut > first, sums.reshape(self.cut.shape), 0)

    def sums(self, table):
        """Sum of a table's entries before each tie, and over all ties of its query."""
        before = np.cumsum(table) - table
        before -= self.spread(before[self._first])
        return before, self.spread(before[self._last])

    def spread(self, values):
        """Give each tie the value of its query, of shape (n_queries, 1)."""
        n_ties = np.diff(self._last[:, 0], prepend=-1)
        return np.repeat(values[:, 0], n_ties)

    @cached_property
    def n_listed(self):
        """Items of each query's list: the ranked ones, then relevant ones that are not."""
        is_missing = self.t >= self.spread(self.n_items)
        n_missing, _ = self.sums(self.p * is_missing)
        return self.n_items + n_missing[self._last]

    @property
    def whole(self):
        """All ties, `TiedItems` of shape (n_ties + n_queries,), with all of their ranks."""
        return TiedItems(n=self.n, p=self.p, t=self.t, tp=self.tp, take=self.n)

    @property
    def divided(self):
        """The tie that each cutoff divides, `TiedItems` of shape (n_queries, n_cutoffs)."""
        return TiedItems(
            n=self.at_cut(self.n),
            p=self.at_cut(self.p),
            t=self.at_cut(self.t),
            tp=self.at_cut(self.tp),
            take=self.take,
        )

    @property
    def first_relevant(self):
        """The first tie of each query that has relevant items, a `FirstTie`."""
        n = self.n[self._first]
        t = self.t[self._first]
        return FirstTie(
            n=n, p=self.p[self._first], t=t, take=np.clip(self.reached - t, 0, n)
        )

    @property
    def tied(self):
        """The ties before they were broken, at the same cutoffs."""
        return Ties(self._unbroken).cut_at(self.cutoffs)

    @property
    def ideal(self):
        """The ties of the ranking by descending grade, at the same cutoffs."""
        return Ties(self._unbroken.ideal).cut_at(self.cutoffs)

    def gains(self, gain):
        """Sum of the gains of each tie; `gain` maps an array of affinities to gains."""
        gains = gain(self.cells.grade) * self.cells.count
        return self._with_empty_ties(np.add.reduceat(gains, self.cells.starts))
