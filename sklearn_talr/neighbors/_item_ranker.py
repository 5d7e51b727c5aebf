"""An estimator that ranks given items for queries: its samples are the queries."""

import copy

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._core.compat import (
    HasMethods,
    StrOptions,
    num_samples,
    routing_enabled,
    with_callbacks,
)
from .._core.fitted_hasher import QUERIES, FittedHasher, read_for
from .._core.parameters import KW_ONLY, parameters
from .._core.progress import Progress
from .._core.state import replace_fitted, validate_aside
from .._core.types import Affinity, Any, Callable, Column, Literal, Rows, Self
from .._core.validation import refuse_unlike_labels
from ..affinity import JudgmentAffinity
from ._hashed_neighbors import HashedNeighbors
from ._with_hasher import RoutesToHasher


@parameters
class ItemRanker(RoutesToHasher, BaseEstimator):
    """Rank given items for queries of another kind, to cross-validate over queries.

    Cross-validation holds out samples. To measure how a hasher of two views ranks items for
    held-out *queries*, queries must be the samples. In this estimator the items are
    parameters, and `fit` learns from queries. `GridSearchCV` and `cross_val_score` then
    hold out queries, and rank all items for each of them.

    Queries that share relevant items are alike. Hold them out together with
    :func:`~sklearn_talr.affinity.query_groups` and ``GroupKFold``, or the scores are too
    high.

    Parameters
    ----------
    hasher : hasher of two views, or Pipeline or search that ends in one
        The hasher; `fit` fits a clone of it to items and queries. Pass a fitted hasher as
        ``sklearn.frozen.FrozenEstimator(hasher)``: it is not fitted again.

    X_items : {array-like, sparse matrix} of shape (n_items, n_features)
        Features of the items. A clone of this estimator holds the same object, not a copy.

    y_items : targets of length n_items, default=None
        Targets of the items.

        * Labels or label indicators, if `y` of `fit` has labels or indicators of the
          queries.
        * Judgments of shape (n_items, n_queries), dense or sparse, with a column for each
          query of all folds. `y` of `fit` then has the column numbers of its queries.
        * None: `y` of `fit` has judgments, with a row for each query. `cross_val_score`
          takes no sparse `y`; `GridSearchCV` does.

    groups_items : array-like of shape (n_items,), default=None
        Group labels of the items, if `score` is given group labels of the queries.

    query : {"auto", "bits", "weights"}, default="auto"
        How queries are compared with codes, as for :class:`HashedNeighbors`.

    scoring : str, Measure or callable, default="AP"
        Tie-aware measure that `score` averages, as for :class:`HashedNeighbors`.

    affinity : "auto" or affinity object, default="auto"
        Defines which items are similar to a query, for `score`. ``"auto"`` takes the
        affinity object that the hasher was fitted with.

    Attributes
    ----------
    index_ : HashedNeighbors
        The fitted hasher and the codes of all items.

    n_features_in_ : int
        Number of features of a query.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features of queries, if `fit` saw any.

    See Also
    --------
    HashedNeighbors : The index for searches.
    sklearn_talr.affinity.query_groups : Groups of queries to hold out together.

    Examples
    --------
    Right halves of digits are items, left halves of other digits are queries. An item is
    relevant to a query of the same class:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_talr.hashing import CrossViewHasher
    >>> from sklearn_talr.neighbors import ItemRanker
    >>> X, y = load_digits(return_X_y=True)
    >>> left = np.arange(64) % 8 < 4
    >>> X_items, X_query = X[:1000, ~left], X[1000:, left]
    >>> hasher = CrossViewHasher(n_bits=16, max_iter=10, random_state=0)
    >>> ranker = ItemRanker(hasher, X_items, y[:1000])
    >>> scores = cross_val_score(ranker, X_query, y[1000:], cv=3)
    >>> bool(scores.min() > 0.5)
    True
    """

    _parameter_constraints = {
        "hasher": [HasMethods("fit")],
        "X_items": ["array-like", "sparse matrix"],
        "y_items": "no_validation",
        "groups_items": ["array-like", None],
        "query": [StrOptions(QUERIES)],
        "scoring": [str, callable],
        "affinity": [StrOptions({"auto"}), callable],
    }

    hasher: Any
    X_items: Rows
    y_items: Any = None
    _: KW_ONLY
    groups_items: Column = None
    query: Literal["auto", "bits", "weights"] = "auto"
    scoring: str | Callable[..., Any] = "AP"
    affinity: Affinity = "auto"

    # Groups mostly define the folds of a cross-validation, and not the pairs to ignore.
    __metadata_request__score = {"groups": False}

    @with_callbacks
    def fit(self, X: Rows, y: Any, **fit_params: Any) -> Self:
        """Fit the hasher to the items and to these queries, and store codes of all items.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_query_features)
            Features of the queries.

        y : targets of length n_queries
            Labels or indicators, if `y_items` has labels or indicators. Numbers of columns
            of `y_items`, if these are judgments. Without `y_items`: judgments of shape
            (n_queries, n_items), dense or sparse.

        **fit_params : dict
            Passed to `fit` of the hasher, by metadata routing if it is enabled.

        Returns
        -------
        self : ItemRanker
            The fitted estimator.

        Raises
        ------
        TypeError
            If the hasher has no function for queries.

        ValueError
            If a parameter, `X` or `y` is invalid. The estimator is then unchanged.
        """
        self._validate_params()
        unfitted = FittedHasher.from_estimator(self.hasher)
        X = read_for(unfitted.hasher, X)
        _, seen = validate_aside(self, X, skip_check_array=True)  # the hasher checks X
        if not hasattr(unfitted.hasher, "transform_query"):
            raise TypeError(
                "hasher must be one of two views, with a method `transform_query`, or a "
                f"Pipeline that ends in one, got {self.hasher!r}."
            )
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(self.X_items, self.y_items, ("X_items", "y_items"))
        judgments = self._judgments(y)
        queries = {"X_query": X}
        if judgments is None:
            queries["y_query"] = y
        hasher, query_params = _pass_queries(self.hasher, queries)
        index = HashedNeighbors(
            hasher, query=self.query, scoring=self.scoring, affinity=self.affinity
        )
        y_items = self.y_items if judgments is None else judgments.T.tocsr()
        progress = Progress(self, X, y, n_fits=1)
        with progress.nested("fit-index")(index):
            index.fit(self.X_items, y_items, **query_params, **fit_params)
        return replace_fitted(self, progress.finish({"index_": index, **seen}))

    def kneighbors(
        self, X: Rows, n_neighbors: int = 10, return_distance: bool = True
    ) -> Any:
        """Find the items nearest to each query.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_query_features)
            Features of the queries.

        n_neighbors : int, default=10
            Number of items.

        return_distance : bool, default=True
            Whether to return distances.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Distances, ascending. Only if `return_distance`.

        indices : ndarray of shape (n_queries, n_neighbors)
            Rows of `X_items`, ascending within a distance.
        """
        index, X = self._read_queries(X)
        return index.kneighbors(X, n_neighbors, return_distance)

    def score(
        self, X: Rows, y: Any, sample_weight: Column = None, *, groups: Column = None
    ) -> float:
        """Compute a tie-aware measure of the ranking of all items for queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_query_features)
            Features of the queries.

        y : targets of length n_queries
            Targets of the queries, as for `fit`.

        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the queries, at least 0.

        groups : array-like of shape (n_queries,), default=None
            Group labels of the queries. Items of the query's own group are ignored.

        Returns
        -------
        score : float
            Mean of the measure over the queries that have a relevant item; NaN, with a
            warning, if no query has one.
        """
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, sample_weight, ("X", "sample_weight"))
        refuse_unlike_labels(X, groups, ("X", "groups"))
        refuse_unlike_labels(self.X_items, self.groups_items, ("X_items", "groups_items"))
        index, X = self._read_queries(X)
        judgments = self._judgments(y)
        return index.score(
            X,
            y if judgments is None else judgments,
            sample_weight,
            groups_query=groups,
            groups_database=self.groups_items,
        )

    def __sklearn_clone__(self) -> Self:
        # scikit-learn would copy the items.
        without_items = copy.copy(self)
        without_items.X_items = None
        without_items.y_items = None
        cloned = super(ItemRanker, without_items).__sklearn_clone__()
        cloned.X_items = self.X_items
        cloned.y_items = self.y_items
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.hasher).input_tags.sparse
        tags.target_tags.required = True
        return tags

    def _read_queries(self, X):
        """The fitted index, and features of queries, checked."""
        check_is_fitted(self)
        X = read_for(FittedHasher.from_estimator(self.hasher).hasher, X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.index_, X

    def _judgments(self, y):
        """Judgments with a row for each query; None if queries and items have labels."""
        if y is None:
            raise ValueError(
                "ItemRanker requires y to be passed, but the target y is None. Pass "
                "judgments of the items, or labels of the queries."
            )
        affinity = JudgmentAffinity()
        y_ndim = len(np.shape(y))
        if self.y_items is None and y_ndim != 2:
            raise ValueError(
                "y must be judgments of shape (n_queries, n_items). If it has labels of "
                "the queries, pass y_items, the labels of the items. If it has numbers of "
                "queries, pass y_items of shape (n_items, n_queries), the judgments."
            )
        if self.y_items is None:
            judgments = affinity.check_targets(y)
        elif y_ndim == 1 and np.shape(self.y_items)[1:] > (1,):
            judgments = affinity.check_targets(self.y_items)
            numbers = affinity.check_targets(y)
            affinity.levels_between(numbers, judgments)  # Refuses numbers without a column.
            judgments = judgments[:, numbers].T.tocsr()
        else:
            return None
        affinity.check_width(judgments, num_samples(self.X_items))
        return judgments


def _pass_queries(hasher, queries):
    """Prepare that `fit` passes queries to a hasher, at any depth of Pipelines.

    Parameters
    ----------
    hasher : estimator
        The parameter `hasher`.

    queries : dict
        Arguments of the hasher's `fit`, by name.

    Returns
    -------
    hasher : estimator
        The hasher; under metadata routing a clone that requests the queries.

    params : dict
        Arguments for `fit` of an estimator that holds the hasher. Empty if it is frozen.
    """
    unfitted = FittedHasher.from_estimator(hasher)
    if unfitted.is_frozen:
        return hasher, {}
    if routing_enabled():
        hasher = clone(hasher)
        FittedHasher.from_estimator(hasher).hasher.set_fit_request(
            **dict.fromkeys(queries, True)
        )
        return hasher, queries
    path = "".join(f"{step}__" for step in unfitted.names)
    return hasher, {f"{path}{name}": value for name, value in queries.items()}
