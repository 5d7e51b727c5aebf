"""What `fit` of two views is given: features of both sides, and which item is relevant."""

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
from ._base import check_features, errors_told

_PAIRS_PER_BLOCK = 2**22


class Views(NamedTuple):
    """Checked items, queries, and who is relevant to whom.

    Parameters
    ----------
    X, X_query : {ndarray, CSR}
        Features of items and of queries, or what teachers say of these.

    seen, seen_query : dict
        Fitted attributes that say which features were seen.

    pairs : Pairs
        Affinities of queries and items.

    teacher, query_teacher : object, default=None
        ``teacher.transform(X)`` makes of features what X is of training rows.
    """

    X: object
    X_query: object
    seen: dict
    seen_query: dict
    pairs: object
    teacher: object = None
    query_teacher: object = None

    def taught(self, X, X_query, teacher, query_teacher):
        """The views as their teachers see them."""
        seen, seen_query = ({"n_features_in_": rows.shape[1]} for rows in (X, X_query))
        return Views(X, X_query, seen, seen_query, self.pairs, teacher, query_teacher)


def check_views(hasher, X, y, X_query, y_query, groups=None, groups_query=None):
    """Check the features and targets of both sides.

    Returns
    -------
    views : Views
        Features, and pairs of them.

    Raises
    ------
    ValueError
        If features and targets do not fit, nothing is relevant to any query, or all is
        equally so.
    """
    _refuse_unlike_rows(X, y, X_query, y_query, groups, groups_query)
    X, seen = check_features(hasher, X)
    affinity, same_rows, unjudged = hasher.affinity, X_query is None, None
    if not same_rows:
        with errors_told("X_query cannot be used: {}"):
            X_query, seen_query = check_features(hasher, X_query)
    if same_rows and y_query is not None:
        raise ValueError(
            "y_query is passed to fit, but X_query is not. Pass the features of the "
            "queries as X_query."
        )
    elif same_rows and y is None:
        raise ValueError(
            f"{type(hasher).__name__} requires y to be passed, but the target y is None. "
            "Pass labels or judgments; or queries as X_query, of which row i belongs to "
            "row i of X."
        )
    elif same_rows:
        # Each row is an item and a query, which does not look for itself.
        affinity, targets, levels = fit_affinity(affinity, X, y)
        X_query, seen_query, targets_query = X, seen, targets
    elif y_query is not None:
        # Targets of both sides are compared by an affinity.
        if y is None:
            raise ValueError(
                "y_query is passed to fit, but y is not. Pass targets of both."
            )
        affinity, targets = resolve_affinity(affinity, X, y)
        message = "y_query must be targets in the form of y: {}"
        with errors_told(f"{message} For judgments as y leave y_query=None."):
            targets_query = affinity.check_targets(y_query)
        if targets_query.shape[0] != X_query.shape[0]:
            raise ValueError(
                "X_query and y_query must have the same number of samples, got "
                f"{X_query.shape[0]} and {targets_query.shape[0]}."
            )
        affinity = affinity.fit_clone(targets)
        levels = affinity.levels_between(targets_query, targets)
    else:
        # Columns of `y` are queries; without `y` row i of the views belong together.
        affinity = JudgmentAffinity() if isinstance(affinity, str) else affinity
        if not isinstance(affinity, JudgmentAffinity):
            raise ValueError(
                f"affinity={affinity!r} compares targets of both sides, but y_query is "
                "None. Pass the targets of the queries as y_query, or leave "
                "affinity='auto' for judgments."
            )
        targets_query = judgments_by_query(affinity, X, y, X_query)
        affinity, unjudged = affinity.fit_clone(targets_query), hasher.unjudged
        targets, levels = np.arange(X.shape[0]), affinity.levels_
    if same_rows and groups_query is not None and groups is not None:
        raise ValueError(
            "groups_query is passed to fit, but X_query is not, so each row is a query and "
            "an item of one group. Pass groups alone, or the features of the queries as "
            "X_query."
        )
    groups = (groups if same_rows and groups_query is None else groups_query), groups
    pairs = Pairs(affinity, targets_query, targets, levels, same_rows, unjudged, groups)
    if not has_contrast(pairs):
        if unjudged == "ignored":
            raise ValueError(
                'Under unjudged="ignored" y must store both relevant and irrelevant pairs, '
                "irrelevant ones as zeros that are stored. Store some, or set "
                'unjudged="irrelevant".'
            )
        raise ValueError(
            "Nothing is relevant to any query, or all items are equally relevant to all "
            "queries, so every ranking is as good as any other. Check y and y_query."
        )
    return Views(X, X_query, seen, seen_query, pairs)


def _refuse_unlike_rows(X, y, X_query, y_query, groups, groups_query):
    """Raise ValueError if tables of one side have labels that disagree."""
    refuse_unlike_labels(X, y, ("X", "y"))
    refuse_unlike_labels(X, groups, ("X", "groups"))
    refuse_unlike_labels(X_query, y_query, ("X_query", "y_query"))
    refuse_unlike_labels(X_query, groups_query, ("X_query", "groups_query"))
    if X_query is not None and y_query is None and hasattr(y, "iloc"):
        refuse_unlike_labels(X_query, y.T, ("X_query", "y.T"))  # columns are queries


def judgments_by_query(affinity, X, y, X_query):
    """Judgments of items, with a row for each query, from `y` as `fit` has it.

    Without `y` row i of the queries belongs to row i of the items.
    """
    n_items, n_queries = num_samples(X), num_samples(X_query)
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
        Checked targets of both sides. Of judgments a CSR of shape (n_queries, n_items), and
        the numbers of its columns.

    levels : ndarray of shape (n_levels,)
        Values of the affinity, in ascending order, first 0.

    same_rows : bool, default=False
        Whether query i is item i, which it is not asked to find.

    unjudged : {"irrelevant", "ignored"}, default=None
        What judgments mean that are not stored. None if targets are no judgments.

    groups : tuple of two array-likes, default=None
        Groups of queries and of items, within which pairs do not count.
    """

    def __init__(
        self, affinity, y_query, y_item, levels, same_rows=False, unjudged=None, groups=None
    ):
        self.affinity, self.levels = affinity, levels
        self.n_items, self.n_queries = y_item.shape[0], y_query.shape[0]
        self.same_rows, self._y_query, self._y_item = same_rows, y_query, y_item
        asked = JudgmentAffinity(unjudged="ignored") if unjudged == "ignored" else affinity
        self._of_pairs = leave_out_groups(
            asked,
            y_query,
            y_item,
            groups_query=groups[0] if groups else None,
            groups_database=groups[1] if groups else None,
            exclude_self=same_rows,
            names=("groups_query", "groups"),
        )
        self._members = [affinity.memberships(y) for y in (y_query, y_item)]
        self.judgments = None if unjudged is None else y_query

    @property
    def classes(self):
        """`ClassTargets` of items and of queries; None if targets name no classes."""
        if None in self._members:
            return None
        of_query, of_item = self._members
        return _class_targets(self._y_item, of_item), _class_targets(
            self._y_query, of_query
        )

    @cached_property
    def _steps(self):
        """CSR arrays by which relevant items are drawn in turn, or None.

        Of judgments it is one step from queries to items, of classes or labels one to these
        and one from there. Those of too few items are left out.
        """
        if self.judgments is not None:
            return [self.relevant(np.arange(self.n_queries))]
        if None in self._members:
            return None
        (labels, queries), (item_labels, items) = self._members
        if labels is not None:  # columns are the distinct labels of a side
            common = np.intersect1d(labels, item_labels)
            queries = queries[:, np.isin(labels, common)]
            items = items[:, np.isin(item_labels, common)]
        queries, items = sp.csr_array(queries), sp.csr_array(items.T)
        large = np.diff(items.indptr) >= 1 + self.same_rows
        return [queries[:, large], items[large]]

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
        affinity, y_query, y_item = self._of_pairs
        index = places_of(affinity, y_query[queries], y_item[items], self.levels)
        return index.astype(np.int32)

    def blocks(self, queries):
        """Yield `level_index` of some queries and all items, some queries at a time."""
        items, n_rows = np.arange(self.n_items), max(1, _PAIRS_PER_BLOCK // self.n_items)
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

    def similar(self):
        """Who is similar among items, and among queries: by judgments, who shares some."""
        sides, affinity, levels = (self._y_item, self._y_query), self.affinity, self.levels
        if self.judgments is not None:
            relevant = self._steps[0].astype(np.uint8)
            sides, affinity = (relevant.T.tocsr(), relevant), SharedLabelAffinity(True)
            levels = np.array([0, 1])
        return [SimilarRows(affinity, targets, levels) for targets in sides]

    def has_relevant(self):
        """Whether each query has something relevant; True where that takes long to see."""
        if self._steps is None:
            return np.ones(self.n_queries, dtype=bool)
        return np.diff(self._steps[0].indptr) > 0

    def n_items_known(self):
        """Number of items that are relevant to any query, by judgments."""
        return len(np.unique(self.judgments.indices[self.judgments.data > 0]))

    def draw_relevant(self, queries, rng):
        """Draw a relevant item of each query that has one, where targets name them."""
        if self._steps is None:
            return np.empty(0, dtype=np.intp)
        for matrix in self._steps:
            rows = matrix[queries]
            sizes = np.diff(rows.indptr)
            having = np.flatnonzero(sizes)
            places = (rng.random_sample(len(having)) * sizes[having]).astype(np.intp)
            queries = rows.indices[rows.indptr[having] + places]
        return queries


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
    found = set()
    for index in pairs.blocks(np.arange(pairs.n_queries)):
        found.update(np.flatnonzero(np.bincount(index[index >= 0])))
        if len(found) > 1:
            return True
    return False
