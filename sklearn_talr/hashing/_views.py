"""Data of a fit of two views: features of both sides, and which item is relevant."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from .._core.compat import num_samples
from .._core.validation import refuse_unlike_labels
from ..affinity import JudgmentAffinity, SharedLabelAffinity, fit_affinity, resolve_affinity
from ..affinity._base import places_of
from ..affinity._excluded import leave_out_groups
from ..features._similar_rows import SimilarRows
from ._base import check_features, errors_in_message

_PAIRS_PER_BLOCK = 2**22


@dataclass(frozen=True)
class View:
    """Rows of one side, items or queries.

    Parameters
    ----------
    X : {ndarray, CSR} of shape (n_rows, n_features)
        Features of the rows, or coordinates that a teacher gives them.

    seen : dict
        Fitted attributes with the number and the names of the features.

    teacher : object, default=None
        Its ``transform`` gives new rows coordinates like those in `X`. None: `X` are
        features.
    """

    X: object
    seen: dict
    teacher: object = None

    def taught(self, X, teacher):
        """The view in the coordinates that a teacher gives its rows."""
        return View(X, {"n_features_in_": X.shape[1]}, teacher)


class Views(NamedTuple):
    """Checked items and queries, and who is relevant to whom."""

    items: View
    queries: View
    pairs: "Pairs"


def check_views(hasher, X, y, X_query, y_query, groups=None, groups_query=None):
    """Check the features and targets of both sides.

    Returns
    -------
    views : Views
        Features of both sides, and pairs of their rows.

    Raises
    ------
    ValueError
        If features and targets do not fit, nothing is relevant to any query, or all is
        equally so.
    """
    _refuse_unlike_rows(X, y, X_query, y_query, groups, groups_query)
    items = _check_view(hasher, X)
    same_rows = X_query is None
    if same_rows:
        queries = items
        targets = _check_targets_of_same_rows(hasher, items, y, y_query)
        if groups_query is None:
            groups_query = groups
        elif groups is not None:
            raise ValueError(
                "groups_query is passed to fit, but X_query is not, so each row is a query "
                "and an item of one group. Pass groups alone, or the features of the "
                "queries as X_query."
            )
    else:
        with errors_in_message("X_query cannot be used: {}"):
            queries = _check_view(hasher, X_query)
        if y_query is None:
            targets = _check_judgments(hasher, items, queries, y)
        else:
            targets = _check_targets_of_both_sides(hasher, items, queries, y, y_query)
    pairs = Pairs(
        targets.affinity,
        targets.y_query,
        targets.y_item,
        targets.levels,
        targets.unjudged,
        same_rows=same_rows,
        groups_query=groups_query,
        groups_item=groups,
    )
    _refuse_no_contrast(pairs)
    return Views(items, queries, pairs)


def _check_view(hasher, X):
    X, seen = check_features(hasher, X)
    return View(X, seen)


class _PairTargets(NamedTuple):
    """Checked targets of both sides, and the oracle of their affinities, see `Pairs`."""

    affinity: object
    y_query: object
    y_item: object
    levels: np.ndarray
    unjudged: str | None = None


def _check_targets_of_same_rows(hasher, items, y, y_query):
    """Targets of rows that are items and queries, which do not look for themselves."""
    if y_query is not None:
        raise ValueError(
            "y_query is passed to fit, but X_query is not. Pass the features of the "
            "queries as X_query."
        )
    if y is None:
        raise ValueError(
            f"{type(hasher).__name__} requires y to be passed, but the target y is None. "
            "Pass labels or judgments; or queries as X_query, of which row i belongs to "
            "row i of X."
        )
    affinity, targets, levels = fit_affinity(hasher.affinity, items.X, y)
    return _PairTargets(affinity, targets, targets, levels)


def _check_targets_of_both_sides(hasher, items, queries, y, y_query):
    """Targets of items and of queries, which an affinity compares."""
    if y is None:
        raise ValueError(
            "y_query is passed to fit, but y is not. Pass targets of both sides."
        )
    affinity, y_item = resolve_affinity(hasher.affinity, items.X, y)
    message = "y_query must be targets in the form of y: {}"
    with errors_in_message(f"{message} For judgments as y leave y_query=None."):
        y_query = affinity.check_targets(y_query)
    if y_query.shape[0] != queries.X.shape[0]:
        raise ValueError(
            "X_query and y_query must have the same number of samples, got "
            f"{queries.X.shape[0]} and {y_query.shape[0]}."
        )
    affinity = affinity.fit_clone(y_item)
    return _PairTargets(affinity, y_query, y_item, affinity.levels_between(y_query, y_item))


def _check_judgments(hasher, items, queries, y):
    """Judgments, whose columns are queries; without `y` row i belongs to row i."""
    affinity = hasher.affinity
    if isinstance(affinity, str):
        affinity = JudgmentAffinity()
    if not isinstance(affinity, JudgmentAffinity):
        raise ValueError(
            f"affinity={affinity!r} compares targets of both sides, but y_query is None. "
            "Pass the targets of the queries as y_query, or leave affinity='auto' for "
            "judgments."
        )
    judgments = judgments_by_query(affinity, items.X, y, queries.X)
    affinity = affinity.fit_clone(judgments)
    item_numbers = np.arange(items.X.shape[0])
    return _PairTargets(
        affinity, judgments, item_numbers, affinity.levels_, hasher.unjudged
    )


def _refuse_no_contrast(pairs):
    """Raise ValueError if any ranking is as good as any other."""
    if has_contrast(pairs):
        return
    if pairs.ignores_unjudged:
        raise ValueError(
            'Under unjudged="ignored" y must store both relevant and irrelevant pairs, '
            "irrelevant ones as zeros that are stored. Store some, or set "
            'unjudged="irrelevant".'
        )
    raise ValueError(
        "Nothing is relevant to any query, or all items are equally relevant to all "
        "queries, so every ranking is as good as any other. Check y and y_query."
    )


def _refuse_unlike_rows(X, y, X_query, y_query, groups, groups_query):
    """Raise ValueError if tables of one side have labels that disagree."""
    refuse_unlike_labels(X, y, ("X", "y"))
    refuse_unlike_labels(X, groups, ("X", "groups"))
    refuse_unlike_labels(X_query, y_query, ("X_query", "y_query"))
    refuse_unlike_labels(X_query, groups_query, ("X_query", "groups_query"))
    if X_query is not None and y_query is None and hasattr(y, "iloc"):
        # The columns of judgments are queries.
        refuse_unlike_labels(X_query, y.T, ("X_query", "y.T"))


def judgments_by_query(affinity, X, y, X_query):
    """Judgments with a row per query, from `y` with a row per item.

    Without `y` row i of the queries belongs to row i of the items.
    """
    n_items = num_samples(X)
    n_queries = num_samples(X_query)
    if y is None:
        if n_items != n_queries:
            raise ValueError(
                f"Without y row i of X_query belongs to row i of X, but X has {n_items} "
                f"rows and X_query {n_queries}. Pass judgments as y, or labels as y and "
                "y_query."
            )
        return sp.eye_array(n_items, dtype=np.int64, format="csr")
    if not isinstance(affinity, JudgmentAffinity):
        raise ValueError(
            "y_query is None, so y must be judgments, with a row for each item and a "
            "column for each query, as fit was given."
        )
    if np.shape(y) != (n_items, n_queries):
        raise ValueError(
            "Without y_query y must be judgments, with a row for each row of X and a "
            f"column for each row of X_query: shape ({n_items}, {n_queries}), got "
            f"{np.shape(y)}. Labels of items need labels of queries as y_query."
        )
    return affinity.check_targets(y).T.tocsr()


class Pairs:
    """Pairs of queries and items, whose affinities follow from the targets of both.

    Parameters
    ----------
    affinity : BaseAffinity
        Fitted oracle.

    y_query, y_item : targets
        Checked targets of both sides. For judgments: a CSR matrix of shape (n_queries,
        n_items), and the numbers of its columns.

    levels : ndarray of shape (n_levels,)
        Values of the affinity, in ascending order, first 0.

    unjudged : {"irrelevant", "ignored"}, default=None
        What judgments mean that are not stored. None if targets are no judgments.

    same_rows : bool, default=False
        Whether query i is item i, which it does not look for.

    groups_query, groups_item : array-like, default=None
        Groups of queries and of items. Pairs of one group do not count.
    """

    def __init__(
        self,
        affinity,
        y_query,
        y_item,
        levels,
        unjudged=None,
        *,
        same_rows=False,
        groups_query=None,
        groups_item=None,
    ):
        self.affinity = affinity
        self.levels = levels
        self.n_queries = y_query.shape[0]
        self.n_items = y_item.shape[0]
        self.same_rows = same_rows
        self.judgments = None if unjudged is None else y_query
        self.ignores_unjudged = unjudged == "ignored"
        self._y_query = y_query
        self._y_item = y_item
        pair_affinity = affinity
        if self.ignores_unjudged:
            pair_affinity = JudgmentAffinity(unjudged="ignored")
        self._compared = leave_out_groups(
            pair_affinity,
            y_query,
            y_item,
            groups_query=groups_query,
            groups_database=groups_item,
            exclude_self=same_rows,
            names=("groups_query", "groups"),
        )
        self._query_members = affinity.memberships(y_query)
        self._item_members = affinity.memberships(y_item)

    @property
    def _name_classes(self):
        """Whether the targets of both sides name classes."""
        return self._query_members is not None and self._item_members is not None

    @property
    def classes(self):
        """`ClassTargets` of items and of queries; None if targets name no classes."""
        if not self._name_classes:
            return None
        item_classes = _class_targets(self._y_item, self._item_members)
        query_classes = _class_targets(self._y_query, self._query_members)
        return item_classes, query_classes

    @cached_property
    def _steps(self):
        """CSR arrays by which relevant items are drawn in turn, or None.

        For judgments there is one step, from queries to items. For classes or labels the
        first step goes to these, and the second one from these to items. Classes of too few
        items are left out.
        """
        if self.judgments is not None:
            return [self.relevant(np.arange(self.n_queries))]
        if not self._name_classes:
            return None
        query_labels, queries = self._query_members
        item_labels, items = self._item_members
        if query_labels is not None:
            # The columns of each side are its own distinct labels.
            common = np.intersect1d(query_labels, item_labels)
            queries = queries[:, np.isin(query_labels, common)]
            items = items[:, np.isin(item_labels, common)]
        queries = sp.csr_array(queries)
        items = sp.csr_array(items.T)
        is_large = np.diff(items.indptr) >= 1 + self.same_rows
        return [queries[:, is_large], items[is_large]]

    def level_index(self, queries, items):
        """Places of the affinities among the levels, -1 where pairs do not count.

        Parameters
        ----------
        queries, items : ndarrays of int
            Rows of both views; items are different.

        Returns
        -------
        index : ndarray of shape (n_queries, n_items), dtype int32
        """
        affinity, y_query, y_item = self._compared
        index = places_of(affinity, y_query[queries], y_item[items], self.levels)
        return index.astype(np.int32)

    def blocks(self, queries):
        """Yield `level_index` of some queries and all items, some queries at a time."""
        items = np.arange(self.n_items)
        n_rows = max(1, _PAIRS_PER_BLOCK // self.n_items)
        for rows in gen_batches(len(queries), n_rows):
            yield self.level_index(queries[rows], items)

    def grades(self, queries):
        """Affinities of some queries, a CSR of floats of shape (n_queries, n_items)."""
        if self.judgments is not None:
            grades = sp.csr_array(self.judgments[queries], dtype=np.float64)
            grades.data = np.maximum(grades.data, 0)
            return grades
        levels = np.asarray(self.levels, dtype=np.float64)
        blocks = (levels[np.maximum(index, 0)] for index in self.blocks(queries))
        return sp.vstack(list(map(sp.csr_array, blocks)), format="csr")

    def relevant(self, queries):
        """Relevant items of some queries, a CSR of ones of shape (n_queries, n_items)."""
        relevant = sp.csr_array(self.grades(queries) > 0, dtype=np.float64)
        relevant.eliminate_zeros()
        return relevant

    def similar_items(self):
        """Which items are similar; by judgments those relevant to a common query."""
        if self.judgments is None:
            return SimilarRows(self.affinity, self._y_item, self.levels)
        return _similar_by_judgments(self._steps[0].T.tocsr())

    def similar_queries(self):
        """Which queries are similar; by judgments those with a common relevant item."""
        if self.judgments is None:
            return SimilarRows(self.affinity, self._y_query, self.levels)
        return _similar_by_judgments(self._steps[0])

    def has_relevant(self):
        """Whether each query has a relevant item; True if that takes long to find out."""
        if self._steps is None:
            return np.ones(self.n_queries, dtype=bool)
        return np.diff(self._steps[0].indptr) > 0

    def n_items_known(self):
        """Number of items that judgments call relevant to any query."""
        return len(np.unique(self.judgments.indices[self.judgments.data > 0]))

    def draw_relevant(self, queries, rng):
        """Draw a relevant item of each query that has one; none if targets name none."""
        if self._steps is None:
            return np.empty(0, dtype=np.intp)
        for matrix in self._steps:
            rows = matrix[queries]
            sizes = np.diff(rows.indptr)
            nonempty = np.flatnonzero(sizes)
            draws = rng.random_sample(len(nonempty))
            places = (draws * sizes[nonempty]).astype(np.intp)
            queries = rows.indices[rows.indptr[nonempty] + places]
        return queries


def _similar_by_judgments(relevant):
    """Rows are similar if the matrix of what is relevant has a common 1 in both."""
    affinity = SharedLabelAffinity(binary=True)
    return SimilarRows(affinity, relevant.astype(np.uint8), np.array([0, 1]))


class ClassTargets(NamedTuple):
    """Targets of one view that name classes or labels.

    Parameters
    ----------
    y : ndarray or CSR of length n_samples
        Class labels, or label indicators.

    has_class : ndarray of shape (n_samples,) of bool
        Whether each sample is known to be of a class. One whose label is ignored is not. Of
        label indicators all are, as a row of zeros says that it has none of the labels.
    """

    y: object
    has_class: np.ndarray


def _class_targets(y, members):
    labels, is_member = members
    if labels is None:
        return ClassTargets(y, np.ones(y.shape[0], dtype=bool))
    return ClassTargets(y, np.diff(is_member.indptr) > 0)


def has_contrast(pairs):
    """Whether any two known pairs differ in their affinity."""
    level_places = set()
    for index in pairs.blocks(np.arange(pairs.n_queries)):
        level_places.update(np.flatnonzero(np.bincount(index[index >= 0])))
        if len(level_places) > 1:
            return True
    return False
