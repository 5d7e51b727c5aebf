"""The ties of some queries in ranking order: the tables that every kernel reads.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items of one tie: all, and relevant ones
t, tp       items ranked before the tie: all, and relevant ones
k           cutoff: ranks 1..k count
take        how many ranks of a tie are within the cutoff
==========  ==================================================================

Tables of counts, arrays of scores and runs all become one flat table of *cells*, the
relevant items of one grade in one tie, query after query. A tie without relevant items adds
nothing to any measure, so it is left out: t may rise by more than n from one tie to the
next. Documents that a run has not retrieved are one tie after the last rank, which no
cutoff reaches.
"""

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..histogram._rankings import sort_rows

ALL_RANKS = 0  # the cutoff that None stands for
CELLS_PER_BLOCK = 2**15  # of the tables of a block of queries, which then stay in cache
_EXACT_GRADES = 32  # sums of gains of smaller integers are exact in any order


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
        Number of items before each in one particular ranking, where cells are single items.
    """

    query: np.ndarray
    t: np.ndarray
    n: np.ndarray
    grade: np.ndarray
    count: np.ndarray
    n_items: np.ndarray
    place: np.ndarray = None

    @classmethod
    def of_counts(cls, counts, levels):
        """Cells of a table of counts, (n_queries, n_levels, n_ties), levels from 0 on."""
        n = counts.sum(axis=1)
        end = np.cumsum(n, axis=1)
        t, n_items = (end - n).ravel(), n.sum(axis=1)
        by_tie = counts[:, 1:].transpose(0, 2, 1).ravel()
        cell = np.flatnonzero(by_tie > 0)  # four times as fast as that of integers
        tie, level = np.divmod(cell, max(1, len(levels) - 1))
        query = tie // max(1, n.shape[1])
        return cls(query, t[tie], n.ravel()[tie], levels[level + 1], by_tie[cell], n_items)

    @classmethod
    def of_scores(cls, affinity, score):
        """Cells of two tables (n_queries, n_columns); a score of -inf holds no item."""
        order, begins, n_items = sort_rows(score)
        affinity = np.take_along_axis(affinity, order, axis=1)
        cell = np.flatnonzero(affinity)
        grade = affinity.ravel()[cell]
        starts = np.flatnonzero(begins)
        tie = np.cumsum(begins)[cell] - 1
        query = cell // max(1, score.shape[1])
        first = query * score.shape[1]
        size = np.append(starts[1:], score.size)[tie] - starts[tie]
        if grade.dtype.kind == "f" or grade.max(initial=0) >= _EXACT_GRADES:
            # Their gains are added by size, lest the order of the database show.
            grade = grade[np.lexsort((grade, tie))]
        return cls(query, starts[tie] - first, size, grade, np.ones_like(size), n_items)

    def _of(self, kept, **changes):
        columns = "query", "t", "n", "grade", "count", "place"
        columns = {name: getattr(self, name) for name in columns}
        columns = {name: c if c is None else c[kept] for name, c in columns.items()}
        return replace(self, **{**columns, **changes})

    def at_least(self, rel):
        """Cells of grades from `rel` on; 1 keeps all that are relevant at all."""
        kept = self.grade > 0 if rel == 1 else self.grade >= rel
        return self if kept.all() else self._of(kept)

    def select(self, queries):
        """Cells of some queries, whose numbers ascend."""
        number = np.full(len(self.n_items), -1)
        number[queries] = np.arange(len(queries))
        kept = number[self.query] >= 0
        new = number[self.query[kept]]
        return self._of(kept, query=new, n_items=self.n_items[queries])

    def in_order(self, order):
        """Give every cell a tie of its own, in the "worst" or "best" order, or by `place`.

        Items that remain tied have equal grades, so that no order among them changes a
        measure.
        """
        if order == "listed":
            gap = self.place.max(initial=0) + 1
            by_place = np.argsort(self.query * gap + self.place)
            place = self.place[by_place]
            return self._of(by_place, t=place, n=self.count[by_place])
        first = self.starts
        size = np.diff(first, append=len(self.t))
        before = np.cumsum(self.count) - self.count
        before -= np.repeat(before[first], size)  # in the tie, and of lower grade
        in_tie = np.repeat(np.add.reduceat(self.count, first), size)
        if order == "worst":
            return replace(self, t=self.t + self.n - in_tie + before, n=self.count)
        # Backwards within each tie
        mirrored = np.repeat(2 * first + size - 1, size) - np.arange(len(self.t))
        t = self.t + in_tie - before - self.count
        return self._of(mirrored, t=t[mirrored], n=self.count[mirrored])

    @cached_property
    def starts(self):
        """The first cell of each tie."""
        begins = np.ones(len(self.t), dtype=bool)
        begins[1:] = (self.t[1:] != self.t[:-1]) | (self.query[1:] != self.query[:-1])
        return np.flatnonzero(begins)

    @cached_property
    def ideal(self):
        """The best ranking of all relevant items, in which only equal grades are tied."""
        query, grade, n_queries = self.query, self.grade, len(self.n_items)
        n_grades = int(grade.max(initial=0)) + 1
        if grade.dtype.kind == "i" and n_grades * n_queries <= 2 * len(grade) + 2**12:
            cell = query * n_grades + (n_grades - 1 - grade)
            counts = np.bincount(cell, self.count).astype(np.int64)
            cell = np.flatnonzero(counts)
            query, n, grade = cell // n_grades, counts[cell], n_grades - 1 - cell % n_grades
        else:
            order = np.lexsort((-grade, query))
            query, n, grade = query[order], self.count[order], grade[order]
        n_relevant = np.bincount(query, n, n_queries).astype(np.int64)
        t = np.cumsum(n) - n - np.append(0, np.cumsum(n_relevant))[query]
        return Cells(query, t, n, grade, n, np.maximum(self.n_items, n_relevant))


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
        Sizes of the ties, and what is ranked before them, query after query, each with an
        empty tie at its end.

    n_items, n_relevant, n_listed : ndarray of shape (n_queries, 1) of int64
        Number of ranked items of each query, of its relevant ones, ranked or not, and of
        ranked and relevant ones together.
    """

    def __init__(self, cells, order="expected", unbroken=None):
        self.cells, self.order = cells, order
        self._unbroken = cells if unbroken is None else unbroken
        first = cells.starts
        query = cells.query[first]
        self._place = np.arange(len(query)) + query
        n_ties = np.bincount(query, minlength=len(cells.n_items))
        self._last = np.cumsum(n_ties + 1)[:, None] - 1
        self._first = self._last - n_ties[:, None]
        self.n_items = cells.n_items[:, None]
        self.n = self._with_empty_ties(cells.n[first])
        self.t = self._with_empty_ties(cells.t[first])
        after = (self.t + self.n)[self._last - 1]  # perhaps what is not ranked
        self.t[self._last] = np.maximum(self.n_items, np.where(n_ties[:, None], after, 0))
        self.p = self._with_empty_ties(np.add.reduceat(cells.count, first))
        self.tp, _ = self.sums(self.p)
        self.n_relevant = self.tp[self._last]

    def _with_empty_ties(self, values):
        table = np.zeros(len(self._place) + len(self._last), dtype=values.dtype)
        table[self._place] = values
        return table

    def cut_at(self, cutoffs):
        """Look where cutoffs fall.

        Parameters
        ----------
        cutoffs : ndarray of shape (n_cutoffs,) or (n_queries, n_cutoffs) of int64
            `ALL_RANKS` is a cutoff at the last rank of each query.

        Returns
        -------
        ties : Ties
            The same ties with attributes of shape (n_queries, n_cutoffs): the cutoffs as
            ranks, `k`; those of them that there are, `reached`; the tie that each cutoff
            divides, `cut`; and how many ranks of this tie are within the cutoff, `take`.
        """
        ties = copy(self)
        ties.cutoffs = cutoffs
        ties.k = np.where(cutoffs == ALL_RANKS, self.n_items, cutoffs)
        ties.reached = np.minimum(ties.k, self.n_items)
        ends = self.t + self.n
        # Ascending as a whole
        offset = (ends.max(initial=0) + 1) * np.arange(len(self._last))[:, None]
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
        sums = np.add.reduceat(terms, bounds)[::2].reshape(self.cut.shape)
        return np.where(self.cut > first, sums, 0)

    def sums(self, table):
        """Of each tie the sum of a table's entries before it, and that of its query."""
        before = np.cumsum(table) - table
        before -= self.spread(before[self._first])
        return before, self.spread(before[self._last])

    def spread(self, values):
        """Give each tie the value of its query, of shape (n_queries, 1)."""
        return np.repeat(values[:, 0], np.diff(self._last[:, 0], prepend=-1))

    @cached_property
    def n_listed(self):
        """Items of each query's list: those ranked, then relevant ones that are not."""
        is_missing = self.t >= self.spread(self.n_items)
        return self.n_items + self.sums(self.p * is_missing)[0][self._last]

    @property
    def divided(self):
        """n, p, t, tp and take of the tie that each cutoff divides."""
        return (*map(self.at_cut, (self.n, self.p, self.t, self.tp)), self.take)

    @property
    def first_relevant(self):
        """n, p, t of each query's first tie with relevant items, and take per cutoff."""
        n, p, t = (table[self._first] for table in (self.n, self.p, self.t))
        return n, p, t, np.clip(self.reached - t, 0, n)

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


class TiesOfCounts(Ties):
    """Ties of a table of counts in random order, which need no cells.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels, n_ties) of int64

    levels : ndarray of shape (n_levels,) of int64
        Affinities, ascending from 0.
    """

    def __init__(self, counts, levels):
        self.order, self._levels = "expected", levels
        self._counts = np.pad(counts, ((0, 0), (0, 0), (0, 1)))
        n, p = self._counts.sum(axis=1), self._counts[:, 1:].sum(axis=1)
        t, tp = (np.cumsum(table, axis=1) - table for table in (n, p))
        self.n_items, self.n_relevant = t[:, -1:], tp[:, -1:]
        is_kept = p > 0
        is_kept[:, -1] = True
        self._kept, tables = np.flatnonzero(is_kept), (n, p, t, tp)
        self.n, self.p, self.t, self.tp = (c.ravel()[self._kept] for c in tables)
        n_ties = is_kept.sum(axis=1)[:, None]
        self._last = np.cumsum(n_ties)[:, None] - 1
        self._first = self._last - n_ties + 1

    @cached_property
    def cells(self):
        """The relevant items by tie and grade."""
        return Cells.of_counts(self._counts, self._levels)

    def at_least(self, rel):
        """What has the items of grades from `rel` on, these ties or their cells."""
        return self.cells.at_least(rel) if np.any(self._levels[1:] < rel) else self

    @property
    def ideal(self):
        """The ties of the ranking by descending grade, at the same cutoffs."""
        totals = self._counts[:, :0:-1].sum(axis=2)
        cell = np.flatnonzero(totals > 0)
        query, level = np.divmod(cell, max(1, totals.shape[1]))
        n, end = totals.ravel()[cell], np.cumsum(totals, axis=1).ravel()[cell]
        grade = self._levels[::-1][level]
        cells = Cells(query, end - n, n, grade, n, self.n_items[:, 0])
        return Ties(cells).cut_at(self.cutoffs)

    def gains(self, gain):
        """Sum of the gains of each tie; `gain` maps an array of affinities to gains."""
        found = 1 + np.flatnonzero(self._counts[:, 1:].any(axis=(0, 2)))
        gains = gain(self._levels[found]) @ self._counts[:, found]
        return gains.ravel()[self._kept]
