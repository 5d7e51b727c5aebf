"""What `fit` of two views is given, checked: features of both sides and their pairs."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...affinity import BaseAffinity, JudgmentAffinity, fit_affinity, resolve_affinity
from .._base import check_features
from ._pairs import AffinePairs, JudgedPairs, has_contrast


class Views(NamedTuple):
    """Checked items, queries, and who is relevant to whom.

    Parameters
    ----------
    X, X_query : {ndarray, CSR}
        Features of items and of queries; one and the same array if each row is both.

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
    """

    X: object
    X_query: object
    seen: dict
    seen_query: dict
    affinity: BaseAffinity
    pairs: object
    classes: tuple | None = None
    are_partners: bool = False

    @property
    def are_same_rows(self):
        """Whether each row is an item and a query."""
        return self.X_query is self.X


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
    return views


def check_query_features(hasher, X_query):
    """Check features of queries as those of items, with names of their own in errors."""
    try:
        return check_features(hasher, X_query)
    except (ValueError, TypeError) as error:
        raise type(error)(f"X_query cannot be used: {error}") from error


def judgments_by_query(affinity, X, y):
    """Judgments of items as `y` of `fit` has them, with a row for each query.

    Without judgments row i of the queries belongs to row i of the items.
    """
    if y is None:
        return sp.eye_array(np.shape(X)[0], dtype=np.int64, format="csr")
    if getattr(y, "ndim", 2) != 2 or not isinstance(affinity, JudgmentAffinity):
        raise ValueError(
            "y_query is None, so y must be judgments, with a row for each item and a "
            "column for each query, as fit was given."
        )
    return affinity.check_targets(y).T.tocsr()


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
    return Views(X, X, seen, seen, affinity, pairs, classes)


def _judged_views(hasher, y, X, X_query, seen, seen_query):
    """Columns of `y` are queries; without `y` row i of the views belong together."""
    affinity = _affinity_of_judgments(hasher.affinity)
    if y is None:
        if X.shape[0] != X_query.shape[0]:
            raise ValueError(
                "Without y row i of X_query belongs to row i of X, but X has "
                f"{X.shape[0]} rows and X_query {X_query.shape[0]}. Pass judgments as y, "
                "or labels as y and y_query."
            )
        judgments = sp.eye_array(X.shape[0], dtype=np.int64, format="csr")
    else:
        judgments = _checked_judgments(affinity, y, X.shape[0], X_query.shape[0])
    affinity = affinity.fit_clone(judgments)
    ignores_unjudged = hasher.unjudged == "ignore"
    pairs = JudgedPairs(judgments, affinity.levels_, ignores_unjudged)
    views = Views(X, X_query, seen, seen_query, affinity, pairs)
    return views._replace(are_partners=y is None)


def _affinity_of_judgments(affinity):
    if isinstance(affinity, str):
        return JudgmentAffinity()
    if isinstance(affinity, JudgmentAffinity):
        return affinity
    raise ValueError(
        f"affinity={affinity!r} compares targets of both sides, but y_query is None. Pass "
        "the targets of the queries as y_query, or leave affinity='auto' for judgments."
    )


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
    targets_query = affinity.check_targets(y_query)
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


def _classes(affinity, *targets):
    """Targets of both sides, if they are classes or labels."""
    known = all(affinity.memberships(of_side) is not None for of_side in targets)
    return targets if known else None


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
