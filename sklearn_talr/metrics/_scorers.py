"""Scorers for model selection of hashers and rankers by tie-aware measures."""

from numbers import Real

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from .._core.compat import StrOptions, validated
from .._core.fitted_hasher import QUERIES, FittedHasher
from .._core.parameters import parameters
from .._core.types import Affinity, Any, Callable, Column, Literal
from .._core.validation import as_numpy, refuse_unlike_labels
from ..affinity import resolve_affinity
from ..affinity._excluded import leave_out_groups
from ..histogram import hamming_histogram
from ..histogram._hamming import weighted_histograms
from ..measures import parse_measures
from ..measures._base import Measures
from ..measures._evaluation import (
    average_queries,
    completed_for_arrays,
    evaluate_histogram,
    score_arrays,
)

QUERY = [StrOptions(QUERIES)]


def estimator_histograms(
    estimator,
    X,
    y,
    *,
    affinity,
    database,
    query,
    groups_query=None,
    groups_database=None,
):
    """Encode samples with a fitted hasher, and count the items in each tie per query.

    The parameters mean what they mean for :func:`make_retrieval_scorer` and its scorer.

    Yields
    ------
    histogram : RankingHistogram
        Counts of consecutive queries. If queries are bits, there is one, a
        HammingHistogram.
    """
    hasher = FittedHasher.from_estimator(estimator)
    exclude_self = isinstance(database, str)
    if exclude_self and hasher.has_two_views:
        raise ValueError(
            "database='rest' ranks the samples against each other, but the hasher was "
            "fitted to queries of another kind (X_query). Score queries, and pass "
            "database=(X_items, y_items), or (X_items, None) if y has judgments of all "
            "items."
        )
    X_items, y_items = (X, None) if exclude_self else database
    refuse_unlike_labels(X, y, ("X", "y"))
    refuse_unlike_labels(X, groups_query, ("X", "groups"))
    refuse_unlike_labels(X_items, y_items, ("X of database", "y of database"))
    refuse_unlike_labels(X_items, groups_database, ("X of database", "groups_database"))
    X = hasher.read(X)
    X_items = X if exclude_self else hasher.read(X_items)
    affinity, y_query, y_items = _settle_both_sides(
        hasher, X, y, X_items, y_items, affinity=affinity, exclude_self=exclude_self
    )
    affinity, y_query, y_items = leave_out_groups(
        affinity,
        y_query,
        y_items,
        groups_query=groups_query,
        groups_database=groups_query if exclude_self else groups_database,
        exclude_self=exclude_self,
    )
    if hasher.query_form(query) == "weights":
        weights = as_numpy(hasher.query_weights(X))
        yield from weighted_histograms(
            weights, hasher.encode(X_items), affinity, y_query, y_items
        )
        return
    query_codes, item_codes = _encode(hasher, X, X_items, exclude_self=exclude_self)
    yield hamming_histogram(query_codes, item_codes, affinity, y_query, y_items)


def _settle_both_sides(hasher, X, y, X_items, y_items, *, affinity, exclude_self):
    """The affinity of queries and items, and the targets of both that it takes."""
    if y_items is not None:
        # The form of many items is less ambiguous than the form of few queries.
        affinity, y_items = _settle_targets(hasher, X_items, y_items, affinity)
    oracle, y_query = _settle_targets(hasher, X, y, affinity)
    if exclude_self:
        y_items = y_query
    elif y_items is None and oracle.by_number:
        # The targets of these items are their numbers.
        y_items = oracle.targets_of(X_items)
        oracle.check_width(y_query, len(y_items))
    elif y_items is None:
        _, y_items = _settle_targets(hasher, X_items, None, affinity)
    return oracle, y_query, y_items


def _encode(hasher, X, X_items, *, exclude_self):
    """Codes of the queries and of the items; with `exclude_self` they are the same."""
    if hasattr(hasher.hasher, "encode_query"):
        return hasher.encode_query(X), hasher.encode(X_items)
    query_codes = hasher.transform(X)
    item_codes = query_codes if exclude_self else hasher.transform(X_items)
    return query_codes, item_codes


def name_of(estimator, query="bits"):
    """Name of the hasher's class for a legend, with a note if queries are weighted."""
    hasher = FittedHasher.from_estimator(estimator)
    is_weighted = hasher.query_form(query) == "weights"
    return hasher.name + (", weighted queries" if is_weighted else "")


def _settle_targets(hasher, X, y, affinity):
    """The affinity of the samples, and their targets in the form that it takes."""
    if isinstance(affinity, str):
        affinity = hasher.affinity_of(affinity)
        if y is not None and getattr(affinity, "comes_with_targets", False):
            # The targets hold their own affinity matrix.
            affinity = "auto"
    if y is None:
        if not getattr(affinity, "by_distance", False):
            raise ValueError(
                "Scoring without y needs an affinity by distance with known thresholds. "
                "Pass y, or affinity=ThresholdAffinity().fit(X_train) to "
                "make_retrieval_scorer."
            )
        X = hasher.prepare(X)
    return resolve_affinity(affinity, X, y)


@validated(zero_division=[Real])
def make_ranking_scorer(
    measure: Measures = "nDCG", *, zero_division: float = np.nan
) -> Callable[..., Any]:
    """Make a scorer for rankers, classifiers and regressors that score items of queries.

    The scorer ranks the items of each query by `decision_function`, or else by
    `predict_proba` of the positive class, or else by `predict`, and averages the measure
    over the queries. `groups` are the queries of the samples. A search passes `groups` to
    the scorer if metadata routing is on:
    ``sklearn.set_config(enable_metadata_routing=True)``. The scorer requests them itself.

    Parameters
    ----------
    measure : str, Measure, or sequence of them, default="nDCG"
        A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name. With
        a sequence the scorer returns several scores, and `refit` of a search names the one
        to select by.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, *, groups) -> float``, for the ``scoring`` parameter of
        `GridSearchCV`, `cross_validate` and the like. It can be pickled. `y` holds the
        affinities: non-negative integers, with ``nDCG(dcg="log2")`` any non-negative
        numbers. If `measure` is a sequence it returns a dict whose keys are the names,
        such as ``{"nDCG@10": 0.5, "nDCG": 0.75}``. Called without `groups` it raises a
        ValueError.

    Raises
    ------
    ValueError
        If `measure` is not known, or is a measure of runs only.

    See Also
    --------
    make_retrieval_scorer : The scorer of hashers, whose queries rank all other samples.

    Examples
    --------
    A regressor on grades, one feature and three queries. Cross-validation keeps queries
    whole:

    >>> import numpy as np
    >>> import sklearn
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import GroupKFold, cross_validate
    >>> from sklearn_talr.metrics import make_ranking_scorer
    >>> X = np.array([[0.0], [1.0], [2.0], [0.0], [2.0], [2.0], [0.0], [0.0], [1.0]])
    >>> y, groups = [0, 1, 2, 0, 2, 1, 0, 1, 1], [7, 7, 7, 8, 8, 8, 9, 9, 9]
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     result = cross_validate(
    ...         Ridge(),
    ...         X,
    ...         y,
    ...         cv=GroupKFold(3),
    ...         scoring=make_ranking_scorer("nDCG@2"),
    ...         params={"groups": groups},
    ...     )
    >>> np.sort(result["test_score"]).round(3)
    array([0.807, 0.898, 1.   ])
    """
    measures, single = parse_measures(measure)
    completed_for_arrays(measures)
    return _RankingScorer(measures, single, zero_division)


@parameters
class _Scorer:
    """A class rather than a closure, so that it can be pickled and printed."""

    measures: list
    single: bool
    zero_division: float

    wants_groups = False

    def set_score_request(self, *, groups):
        """Request `groups` from scikit-learn, or metadata of another name as `groups`."""
        self.wants_groups = groups
        return self

    def get_metadata_routing(self):
        """Tell scikit-learn whether `groups` are wanted."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="groups", alias=self.wants_groups)
        return request

    def _by_name(self, values):
        """The value of the single measure, or a dict of values by names of measures."""
        if self.single:
            return float(values[0])
        return dict(zip(map(str, self.measures), values.tolist()))

    def _shown(self):
        """Names of the measures with their gains, as a scorer prints them."""
        names = [str(measure) for measure in completed_for_arrays(self.measures)]
        return repr(names[0] if self.single else names)


class _RankingScorer(_Scorer):
    """The scorer that `make_ranking_scorer` returns."""

    wants_groups = True

    def __call__(self, estimator, X, y=None, *, groups=None):
        if y is None:
            raise ValueError(
                "make_ranking_scorer needs y, the affinities of the samples, got None."
            )
        if groups is None:
            raise ValueError(
                "make_ranking_scorer needs groups, the query of each sample. A search "
                "passes them on after sklearn.set_config(enable_metadata_routing=True). "
                "Functions without metadata routing, such as permutation_importance, need "
                "functools.partial(scorer, groups=groups) with the groups of the scored "
                "samples. If all samples are one ranking, give them all the same group."
            )
        refuse_unlike_labels(X, y, ("X", "y"))
        refuse_unlike_labels(X, groups, ("X", "groups"))
        score = _item_scores(estimator, X)
        means = score_arrays(
            self.measures,
            y,
            score,
            groups=groups,
            sample_weight=None,
            average=True,
            zero_division=self.zero_division,
        )
        return self._by_name(means)

    def __repr__(self):
        return f"make_ranking_scorer({self._shown()}, zero_division={self.zero_division!r})"


def _item_scores(estimator, X):
    """The score of each sample, which ranks the items of a query."""
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(X)
    elif hasattr(estimator, "predict_proba"):
        scores = estimator.predict_proba(X)
    else:
        return estimator.predict(X)
    if np.ndim(scores) != 2:
        return scores
    if scores.shape[1] > 2:
        raise ValueError(
            "make_ranking_scorer needs one score per sample, but "
            f"{type(estimator).__name__} has {scores.shape[1]} classes. Fit it to y > 0, "
            "or fit a regressor to the grades."
        )
    return scores[:, -1]


@validated(query=QUERY, zero_division=[Real])
def make_retrieval_scorer(
    measure: Measures = "AP",
    *,
    affinity: Affinity = "auto",
    database: Literal["rest"] | tuple[Any, Any] = "rest",
    groups_database: Column = None,
    query: Literal["auto", "bits", "weights"] = "auto",
    zero_division: float = np.nan,
) -> Callable[..., Any]:
    """Make a scorer for hashers, and for Pipelines and searches that end in one.

    The scorer encodes the samples and ranks the database for each of them. The value is
    the mean over all orders of tied items, so the order of the data gives no advantage to
    short codes.

    Parameters
    ----------
    measure : str, Measure, or sequence of them, default="AP"
        A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name. With
        a sequence the scorer returns several scores, and `refit` of a search names the one
        to select by.

    affinity : "auto" or affinity object, default="auto"
        Definition of similarity. ``"auto"`` takes the affinity that the hasher was fitted
        with. If it has none, the form of `y` decides.

    database : "rest" or tuple (X, y), default="rest"
        ``"rest"``: each sample is a query against the other samples passed to the scorer
        (the held-out fold). A tuple: every sample queries this fixed database. A hasher of
        two views that was fitted with ``X_query`` needs a tuple; the samples are then
        queries. If `y` has judgments of shape (n_queries, n_items), the tuple is
        ``(X_items, None)``.

    groups_database : array-like of shape (n_database,), default=None
        Groups of the items of such a tuple, if the scorer gets `groups` of the queries.
        Items of the query's own group are ignored.

    query : {"auto", "bits", "weights"}, default="auto"
        How queries are compared with codes.

        * ``"bits"``: queries are binary codes as well, compared by Hamming distance.
        * ``"weights"``: queries are real-valued (asymmetric distance). They have the
          weights that `query_weights` of the hasher returns, and
          :func:`~sklearn_talr.codes.weighted_scores` ranks the codes.
        * ``"auto"``: the `default_query` of the hasher, which is "weights" for
          AdditiveHasher and "bits" for all others. ``scorer.query_of(estimator)`` returns
          it.

    zero_division : float, default=np.nan
        Value of a query without relevant items. NaN leaves the query out of the mean.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None, *, groups=None) -> float``, for the ``scoring``
        parameter of `GridSearchCV`, `cross_val_score` and similar functions. Pairs of
        samples of the same group are ignored; a search passes `groups` on with metadata
        routing, after ``scorer.set_score_request(groups=True)``. The scorer can be pickled.
        If `measure` is a sequence, it returns a dict by name, such as ``{"nDCG@10": 0.5,
        "nDCG": 0.75}``, which `GridSearchCV` and `cross_validate` take.

    Raises
    ------
    ValueError
        If `measure` is not known or is a measure of runs only, or a parameter has a value
        that is not listed above.

    Notes
    -----
    Without `y` the affinity is by distance. Its thresholds are from the hasher's fit, and
    distances are measured in the feature space of the hasher, after the earlier steps of
    the Pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn_talr.hashing import LSHHasher
    >>> from sklearn_talr.metrics import make_retrieval_scorer
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = LSHHasher(n_bits=16, random_state=0)
    >>> scores = cross_val_score(hasher, X, y, cv=3, scoring=make_retrieval_scorer())
    >>> scores.shape
    (3,)
    """
    measures, single = parse_measures(measure)
    completed_for_arrays(measures)
    is_pair = isinstance(database, tuple) and len(database) == 2
    is_rest = isinstance(database, str) and database == "rest" and groups_database is None
    if not is_pair and not is_rest:
        message = (
            "database must be 'rest' or a tuple (X, y), and groups_database needs a tuple"
        )
        raise ValueError(f"{message}, got {database!r}.")
    return _RetrievalScorer(
        measures=measures,
        single=single,
        zero_division=zero_division,
        affinity=affinity,
        database=database,
        groups_database=groups_database,
        query=query,
    )


@parameters
class _RetrievalScorer(_Scorer):
    """The scorer that `make_retrieval_scorer` returns."""

    affinity: object
    database: object
    groups_database: object
    query: str

    def __call__(self, estimator, X, y=None, *, groups=None):
        histograms = estimator_histograms(
            estimator,
            X,
            y,
            affinity=self.affinity,
            database=self.database,
            query=self.query,
            groups_query=groups,
            groups_database=self.groups_database,
        )
        values = [
            evaluate_histogram(self.measures, histogram, self.zero_division)
            for histogram in histograms
        ]
        return self._by_name(average_queries(np.concatenate(values)))

    def query_of(self, estimator):
        """The kind of query that a fitted estimator gets, "bits" or "weights"."""
        return FittedHasher.from_estimator(estimator).query_form(self.query)

    def __repr__(self):
        database = "rest" if isinstance(self.database, str) else "(X, y)"
        return (
            f"make_retrieval_scorer({self._shown()}, "
            f"affinity={self.affinity!r}, "
            f"database={database!r}, "
            f"query={self.query!r}, zero_division={self.zero_division!r})"
        )
