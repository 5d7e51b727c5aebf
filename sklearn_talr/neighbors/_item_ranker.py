"""Items that are ranked for queries, as an estimator whose samples are the queries."""

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
from ._hashed_neighbors import HashedNeighbors, RoutesToHasher


@parameters
class ItemRanker(RoutesToHasher, BaseEstimator):
    """Rank given items for queries of another kind: the samples are queries.

    Cross-validation holds out samples. To learn how a hasher of two views ranks items for
    *queries* that it has not seen, queries must be the samples. This estimator has them so:
    the items are parameters, and `fit` learns from queries. `GridSearchCV` and
    `cross_val_score` then hold out queries, and every query is answered from all items.

    Queries that share relevant items are alike. Hold them out together, by
    :func:`~sklearn_talr.affinity.query_groups` and ``GroupKFold``: else the scores are too
    high.

    Parameters
    ----------
    hasher : hasher of two views, or Pipeline or search that ends in one
        The hasher; `fit` fits a clone of it to items and queries. A hasher that is fitted
        already stays as it is inside ``sklearn.frozen.FrozenEstimator``.

    X_items : {array-like, sparse matrix} of shape (n_items, n_features)
        Features of the items. A clone of this estimator has the same object, not a copy.

    y_items : targets of length n_items, default=None
        What is known of the items.

        * Labels or label indicators, if `y` of `fit` has those of the queries.
        * Judgments of shape (n_items, n_queries), dense or sparse, a column for each query
          of all folds. `y` of `fit` then has the numbers of the columns of its queries.
        * None: `y` of `fit` has judgments, a row for each query. `cross_val_score` takes no
          sparse `y`; `GridSearchCV` does.

    groups_items : array-like of shape (n_items,), default=None
        Labels of groups, where `score` gets those of queries, too.

    query : {"auto", "bits", "weights"}, default="auto"
        How the codes are asked, as for :class:`HashedNeighbors`.

    scoring : str, Measure or callable, default="AP"
        Tie-aware metric that `score` averages, as for :class:`HashedNeighbors`.

    affinity : "auto" or affinity oracle, default="auto"
        Decides who is similar to whom, for `score`. ``"auto"`` takes the oracle that the
        hasher was fitted with.

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
    HashedNeighbors : The index, to search in.
    sklearn_talr.affinity.query_groups : Queries that must be held out together.

    Examples
    --------
    Right halves of digits are items, left halves of other digits are queries, and a query
    and an item of one class are judged relevant:

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

    __metadata_request__score = {"groups": False}  # which folds are mostly made by

    @with_callbacks
    def fit(self, X: Rows, y: Any, **fit_params: Any) -> Self:
        """Fit the hasher to the items and to these queries, and store codes of all items.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_query_features)
            Features of the queries.

        y : targets of length n_queries
            Labels or indicators where `y_items` has labels or indicators. Numbers of
            columns of `y_items` where these are judgments. Without `y_items` judgments of
            shape (n_queries, n_items), dense or sparse.

        **fit_params : dict
            Passed to `fit` of the hasher, by metadata routing where it is enabled.

        Returns
        -------
        self : ItemRanker
            The fitted estimator.

        Raises
        ------
        TypeError
            If the hasher has no function for queries.

        ValueError
            If a parameter, `X` or `y` is not what it should be. The estimator is then
            what it was before.
        """
        self._validate_params()
        unfitted = FittedHasher.of(self.hasher)
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
        if judgments is None:
            y_items, queries = self.y_items, {"X_query": X, "y_query": y}
        else:
            y_items, queries = judgments.T.tocsr(), {"X_query": X}
        # The hasher is given the queries, under the names by which its `fit` takes them.
        hasher = self.hasher
        if unfitted.is_frozen:
            queries = {}
        elif routing_enabled():
            hasher = clone(hasher)
            FittedHasher.of(hasher).hasher.set_fit_request(**dict.fromkeys(queries, True))
        else:
            path = "".join(f"{step}__" for step in unfitted.names)
            queries = {f"{path}{name}": value for name, value in queries.items()}
        index = HashedNeighbors(
            hasher, query=self.query, scoring=self.scoring, affinity=self.affinity
        )
        progress = Progress(self, X, y, n_fits=1)
        with progress.nested("fit-index")(index):
            index.fit(self.X_items, y_items, **queries, **fit_params)
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
        index, X = self._ask(X)
        return index.kneighbors(X, n_neighbors, return_distance)

    def score(
        self, X: Rows, y: Any, sample_weight: Column = None, *, groups: Column = None
    ) -> float:
        """Tie-aware measure of the ranking of all items for queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_query_features)
            Features of the queries.

        y : targets of length n_queries
            Targets of the queries, as for `fit`.

        sample_weight : array-like of shape (n_queries,), default=None
            Weights of the queries, at least 0.

        groups : array-like of shape (n_queries,), default=None
            Labels of groups of the queries. Items of the query's own group do not count.

        Returns
        -------
        score : float
            Mean of the measure over the queries that have something relevant; NaN, with a
            warning, if none has.
        """
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, sample_weight, ("X", "sample_weight"))
        refuse_unlike_labels(X, groups, ("X", "groups"))
        refuse_unlike_labels(self.X_items, self.groups_items, ("X_items", "groups_items"))
        index, X = self._ask(X)
        judgments = self._judgments(y)
        groups = {"groups_query": groups, "groups_database": self.groups_items}
        y = y if judgments is None else judgments
        return index.score(X, y, sample_weight, **groups)

    def __sklearn_clone__(self) -> Self:
        bare = copy.copy(self)
        bare.X_items = bare.y_items = None  # which would be copied
        cloned = super(ItemRanker, bare).__sklearn_clone__()
        cloned.X_items, cloned.y_items = self.X_items, self.y_items
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.hasher).input_tags.sparse
        tags.target_tags.required = True
        return tags

    def _ask(self, X):
        """The fitted index, and features of queries that it may be asked by."""
        check_is_fitted(self)
        X = read_for(FittedHasher.of(self.hasher).hasher, X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.index_, X

    def _judgments(self, y):
        """Judgments with a row for each query; None where both sides have labels."""
        if y is None:
            raise ValueError(
                "ItemRanker requires y to be passed, but the target y is None. Pass "
                "judgments of the items, or labels of the queries."
            )
        affinity, shape = JudgmentAffinity(), np.shape(y)
        if self.y_items is None and len(shape) != 2:
            raise ValueError(
                "y must be judgments of shape (n_queries, n_items). If it has labels of "
                "the queries, pass y_items, the labels of the items. If it has numbers of "
                "queries, pass y_items of shape (n_items, n_queries), the judgments."
            )
        if self.y_items is None:
            judgments = affinity.check_targets(y)
        elif len(shape) == 1 and np.shape(self.y_items)[1:] > (1,):
            judgments = affinity.check_targets(self.y_items)
            numbers = affinity.check_targets(y)
            affinity.levels_between(numbers, judgments)  # refuses numbers of no column
            judgments = judgments[:, numbers].T.tocsr()
        else:
            return None
        affinity.check_width(judgments, num_samples(self.X_items))
        return judgments
