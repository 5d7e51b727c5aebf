"""What `fit` of two views is given: features of both sides, and which item is relevant."""

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from .._compat import num_samples
from ..affinity import BaseAffinity, JudgmentAffinity, fit_affinity, resolve_affinity
from ._base import check_features, warn_caller

_PAIRS_PER_BLOCK = 2**22
UNKNOWN = -1  # in place of the index of a level


class Views(NamedTuple):
    """Checked items, queries, and who is relevant to whom.

    Parameters
    ----------
    X, X_query : {ndarray, CSR}
        Features of items and of queries.

    seen, seen_query : dict
        Fitted attributes that say which features were seen.

    affinity : BaseAffinity
        Fitted.

    pairs : JudgedPairs or AffinePairs
        Affinities of queries and items.

    classes : tuple of two targets, or None
        Labels or label indicators of items and of queries, where both are known.

    are_partners : bool
        Whether nothing is known but that row i of one view belongs to row i of the other.

    are_same_rows : bool
        Whether each row is an item and a query, and no queries were given.

    are_sparse : bool
        Whether most items are relevant to no query, so that judgments tell nothing of them.
    """

    X: object
    X_query: object
    seen: dict
    seen_query: dict
    affinity: BaseAffinity
    pairs: object
    classes: tuple | None = None
    are_partners: bool = False
    are_same_rows: bool = False
    are_sparse: bool = False


def check_views(hasher, X, y, X_query, y_query):
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
    X, seen = check_features(hasher, X)
    if X_query is None:
        views = _views_of_same_rows(hasher, X, y, y_query, seen)
    else:
        X_query, seen_query = check_query_features(hasher, X_query)
        features = X, X_query, seen, seen_query
        if y_query is None:
            views = _judged_views(hasher, y, *features)
        else:
            views = _views_with_targets(hasher, y, y_query, *features)
    if not has_contrast(views.pairs):
        raise ValueError(_no_contrast(views.pairs, hasher.unjudged))
    if views.are_sparse:
        warn_caller(_sparse(views.pairs))
    return views


def check_query_features(hasher, X_query):
    """Check features of queries as those of items, with names of their own in errors."""
    try:
        return check_features(hasher, X_query)
    except (ValueError, TypeError) as error:
        raise type(error)(f"X_query cannot be used: {error}") from error


def judgments_by_query(affinity, X, y, X_query):
    """Judgments of items as `y` of `fit` has them, with a row for each query.

    Without judgments row i of the queries belongs to row i of the items.
    """
    n_items, n_queries = num_samples(X), num_samples(X_query)
    if y is None:
        return _judgments_of_partners(n_items, n_queries)
    if getattr(y, "ndim", 2) != 2 or not isinstance(affinity, JudgmentAffinity):
        raise ValueError(
            "y_query is None, so y must be judgments, with a row for each item and a "
            "column for each query, as fit was given."
        )
    return _checked_judgments(affinity, y, n_items, n_queries).T.tocsr()


def _views_of_same_rows(hasher, X, y, y_query, seen):
    """Each row is an item and a query, which does not look for itself."""
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
    affinity, targets, levels = fit_affinity(hasher.affinity, X, y)
    pairs = AffinePairs(affinity, targets, targets, levels, same_rows=True)
    classes = _classes(affinity, targets, targets)
    return Views(X, X, seen, seen, affinity, pairs, classes, are_same_rows=True)


def _judged_views(hasher, y, X, X_query, seen, seen_query):
    """Columns of `y` are queries; without `y` row i of the views belong together."""
    affinity = _affinity_of_judgments(hasher.affinity)
    sizes = X.shape[0], X_query.shape[0]
    if y is None:
        judgments = _judgments_of_partners(*sizes)
    else:
        judgments = _checked_judgments(affinity, y, *sizes)
    affinity = affinity.fit_clone(judgments)
    ignores_unjudged = hasher.unjudged == "ignore"
    pairs = JudgedPairs(judgments, affinity.levels_, ignores_unjudged)
    views = Views(X, X_query, seen, seen_query, affinity, pairs)
    are_sparse = 2 * pairs.n_items_known() < pairs.n_items
    return views._replace(are_partners=y is None, are_sparse=are_sparse)


def _affinity_of_judgments(affinity):
    if isinstance(affinity, str):
        return JudgmentAffinity()
    if isinstance(affinity, JudgmentAffinity):
        return affinity
    raise ValueError(
        f"affinity={affinity!r} compares targets of both sides, but y_query is None. Pass "
        "the targets of the queries as y_query, or leave affinity='auto' for judgments."
    )


def _judgments_of_partners(n_items, n_queries):
    if n_items != n_queries:
        raise ValueError(
            f"Without y row i of X_query belongs to row i of X, but X has {n_items} rows "
            f"and X_query {n_queries}. Pass judgments as y, or labels as y and y_query."
        )
    return sp.eye_array(n_items, dtype=np.int64, format="csr")


def _checked_judgments(affinity, y, n_items, n_queries):
    shape = np.shape(y)
    if len(shape) != 2 or shape != (n_items, n_queries):
        raise ValueError(
            "Without y_query y must be judgments, with a row for each row of X and a "
            f"column for each row of X_query: shape ({n_items}, {n_queries}), got "
            f"{shape}. Labels of items need labels of queries as y_query."
        )
    return affinity.check_targets(y)


def _views_with_targets(hasher, y, y_query, X, X_query, seen, seen_query):
    """Targets of both sides are compared by an affinity."""
    if y is None:
        raise ValueError("y_query is passed to fit, but y is not. Pass targets of both.")
    affinity, targets = resolve_affinity(hasher.affinity, X, y)
    targets_query = _checked_query_targets(affinity, y_query)
    if targets_query.shape[0] != X_query.shape[0]:
        raise ValueError(
            "X_query and y_query must have the same number of samples, got "
            f"{X_query.shape[0]} and {targets_query.shape[0]}."
        )
    affinity = affinity.fit_clone(targets)
    levels = affinity.levels_between(targets_query, targets)
    pairs = AffinePairs(affinity, targets_query, targets, levels, same_rows=False)
    classes = _classes(affinity, targets, targets_query)
    return Views(X, X_query, seen, seen_query, affinity, pairs, classes)


def _checked_query_targets(affinity, y_query):
    """Check targets of queries as those of items, with a name of their own in errors."""
    try:
        return affinity.check_targets(y_query)
    except (ValueError, TypeError) as error:
        raise type(error)(
            f"y_query must be targets in the form of y: {error} For judgments as y leave "
            "y_query=None."
        ) from error


def _classes(affinity, *targets):
    """Targets of both sides, if they are classes or labels."""
    known = all(affinity.memberships(of_side) is not None for of_side in targets)
    return targets if known else None


def _sparse(pairs):
    return (
        f"y has only {pairs.n_items_known()} of {pairs.n_items} items that are relevant to "
        "any query, and judgments tell nothing of the others. If both views have good "
        "features of one kind, such as embeddings by one model, codes that know no "
        "judgments may rank better: compare with ITQHasher or AdditiveHasher."
    )


def _no_contrast(pairs, unjudged):
    if unjudged == "ignore" and isinstance(pairs, JudgedPairs):
        return (
            'Under unjudged="ignore" y must store both relevant and irrelevant pairs, '
            "irrelevant ones as zeros that are stored. Store some, or set "
            'unjudged="irrelevant".'
        )
    return (
        "Nothing is relevant to any query, or all items are equally relevant to all "
        "queries, so every ranking is as good as any other. Check y and y_query."
    )


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
