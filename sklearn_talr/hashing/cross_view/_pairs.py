"""Which item is relevant to which query: by judgments, or by targets of both sides."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

_PAIRS_PER_BLOCK = 2**22
UNKNOWN = -1  # in place of the index of a level


class JudgedPairs:
    """Pairs whose affinities are listed in a sparse matrix.

    Parameters
    ----------
    judgments : CSR of shape (n_items, n_queries)
        Checked grades. Stored zeros are judged not relevant.

    levels : ndarray of shape (n_levels,)
        Grades in ascending order, first 0.

    ignores_unjudged : bool
        Whether a missing entry is unknown, rather than not relevant.
    """

    def __init__(self, judgments, levels, ignores_unjudged):
        self.n_items, self.n_queries = judgments.shape
        self.levels = self.gain_levels = levels
        self.by_query = judgments.T.tocsr()
        self._missing = UNKNOWN if ignores_unjudged else 0

    def level_index(self, queries, items):
        """Places of the affinities among the levels, -1 where nothing is known.

        Parameters
        ----------
        queries, items : ndarrays of int
            Rows of both views; items are different.

        Returns
        -------
        index : ndarray of shape (n_queries, n_items), dtype int32
        """
        place = np.full(self.n_items, -1)
        place[items] = np.arange(len(items))
        rows = self.by_query[queries]
        columns = place[rows.indices]
        found = columns >= 0
        row = np.repeat(np.arange(len(queries)), np.diff(rows.indptr))[found]
        index = np.full((len(queries), len(items)), self._missing, dtype=np.int32)
        index[row, columns[found]] = np.searchsorted(self.levels, rows.data[found])
        return index

    def grades(self, queries):
        """Affinities of some queries, a CSR of floats of shape (n_queries, n_items)."""
        return sp.csr_array(self.by_query[queries], dtype=np.float64)

    def relevant(self, queries):
        """Relevant items of some queries, a CSR of ones of shape (n_queries, n_items)."""
        return _where_positive(self.grades(queries))

    def has_relevant(self):
        """Whether each query has something relevant."""
        return np.diff(self.relevant(np.arange(self.n_queries)).indptr) > 0

    def n_items_known(self):
        """Number of items that are relevant to any query."""
        return len(np.unique(self.by_query.indices[self.by_query.data > 0]))

    def draw_relevant(self, queries, rng):
        """Draw a relevant item of each query that has one."""
        return _one_of_each_row(self.relevant(queries), rng)


class AffinePairs:
    """Pairs whose affinities follow from the targets of both sides.

    Parameters
    ----------
    affinity : BaseAffinity
        Fitted oracle.

    y_query, y_item : targets
        Checked targets of both sides.

    levels : ndarray of shape (n_levels,)
        Values of the affinity, in ascending order, first 0.

    same_rows : bool
        Whether query i is item i, which it is not asked to find.
    """

    def __init__(self, affinity, y_query, y_item, levels, same_rows):
        self.n_items, self.n_queries = y_item.shape[0], y_query.shape[0]
        self.levels, self.gain_levels = levels, affinity.gain_levels(levels)
        self._affinity = affinity
        self._y_query, self._y_item = y_query, y_item
        self._same_rows = same_rows

    @cached_property
    def _groups(self):
        """Queries and items by class, once comparing them has shown that they fit."""
        both = self._y_query, self._y_item
        return _groups_of_both(self._affinity, *both, 1 + self._same_rows)

    def level_index(self, queries, items):
        """Places of the affinities among the levels, as of `JudgedPairs`."""
        targets = self._y_query[queries], self._y_item[items]
        index = self._affinity.level_index(*targets, self.levels).astype(np.int32)
        if self._same_rows:
            index[queries[:, None] == items] = UNKNOWN
        return index

    def grades(self, queries):
        """Affinities of some queries, as of `JudgedPairs`; 0 where nothing is known."""
        items, n_rows = np.arange(self.n_items), max(1, _PAIRS_PER_BLOCK // self.n_items)
        levels = np.asarray(self.levels, dtype=np.float64)
        blocks = [
            sp.csr_array(levels[np.maximum(self.level_index(queries[rows], items), 0)])
            for rows in gen_batches(len(queries), n_rows)
        ]
        return sp.vstack(blocks, format="csr")

    def relevant(self, queries):
        """Relevant items of some queries, as of `JudgedPairs`."""
        return _where_positive(self.grades(queries))

    def has_relevant(self):
        """Whether each query has something relevant; True where that takes long to see."""
        if self._groups is None:
            return np.ones(self.n_queries, dtype=bool)
        return np.diff(self._groups[0].indptr) > 0

    def draw_relevant(self, queries, rng):
        """Draw a relevant item of each query, where targets name classes or labels."""
        if self._groups is None:
            return np.empty(0, dtype=np.intp)
        of_queries, of_classes = self._groups
        shared = _one_of_each_row(of_queries[queries], rng)
        return _one_of_each_row(of_classes[shared], rng)


def has_contrast(pairs):
    """Whether any two known pairs differ in their affinity."""
    smallest, largest = len(pairs.levels), 0
    items, n_rows = np.arange(pairs.n_items), max(1, _PAIRS_PER_BLOCK // pairs.n_items)
    for rows in gen_batches(pairs.n_queries, n_rows):
        index = pairs.level_index(np.arange(rows.start, rows.stop), items)
        known = index >= 0
        smallest = min(smallest, index.min(where=known, initial=len(pairs.levels)))
        largest = max(largest, index.max(where=known, initial=0))
        if largest > smallest:
            return True
    return False


def _where_positive(grades):
    """Ones where grades are above 0, and nothing elsewhere."""
    relevant = sp.csr_array(grades > 0, dtype=np.float64)
    relevant.eliminate_zeros()
    return relevant


def _groups_of_both(affinity, y_query, y_item, n_least):
    """Classes or labels of queries, and items of each class or label, as CSR arrays.

    Left out are classes and labels of fewer items than `n_least`.
    """
    of_queries, of_items = affinity.memberships(y_query), affinity.memberships(y_item)
    if of_queries is None or of_items is None:
        return None
    (labels, queries), (item_labels, items) = of_queries, of_items
    if labels is not None:  # columns are the distinct labels of a side
        common = np.intersect1d(labels, item_labels)
        queries = queries[:, np.isin(labels, common)]
        items = items[:, np.isin(item_labels, common)]
    queries, items = sp.csr_array(queries), sp.csr_array(items.T)
    large = np.diff(items.indptr) >= n_least
    return queries[:, large], items[large]


def _one_of_each_row(matrix, rng):
    """Draw a stored column of each row that has any."""
    sizes = np.diff(matrix.indptr)
    rows = np.flatnonzero(sizes)
    places = (rng.random_sample(len(rows)) * sizes[rows]).astype(np.intp)
    return matrix.indices[matrix.indptr[rows] + places]
