"""Scorers that let model selection see a tie-aware metric of grouped queries."""

from numbers import Real

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from .._compat import validate_params
from ._metric import CUTOFFS
from ._registry import METRIC_NAME, METRICS, check_params
from ._ties import check_cutoffs, cutoff_suffix

__all__ = ["make_ranking_scorer"]


@validate_params(
    {"metric": METRIC_NAME, "k": CUTOFFS, "zero_division": [Real]},
    prefer_skip_nested_validation=True,
)
def make_ranking_scorer(metric="ndcg", *, k=None, zero_division=np.nan, **params):
    """Make a scorer for rankers, classifiers and regressors that score items of queries.

    The scorer ranks the items of each query by `decision_function`, or by `predict` where
    there is none, and averages the metric over the queries. `groups` tell the queries
    apart. A search hands them on under
    ``sklearn.set_config(enable_metadata_routing=True)``, and to the scorer it does so
    unasked.

    Parameters
    ----------
    metric : {"average_precision", "dcg", "f1", "hit_rate", "ndcg", "precision", \
            "recall", "reciprocal_rank"}, default="ndcg"
        The tie-aware metric.

    k : int, sequence of int or None, default=None
        Only the first k ranks count. None means all ranks, also in a sequence. With a
        sequence the scorer returns several scores, and a search needs to be told by
        `refit` which of them counts.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean.

    **params : dict
        What else the metric takes: `denominator` of the average precision, `gain` and
        `log_base` of DCG and NDCG.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y, *, groups) -> float``, for the ``scoring`` parameter of
        `GridSearchCV`, `cross_validate` and the like. It can be pickled. `y` holds the
        affinities: non-negative integers, with ``gain="linear"`` any non-negative numbers.
        If `k` is a sequence it returns a dict such as ``{"ndcg@10": 0.5, "ndcg": 0.75}``.
        Called without `groups` it raises a ValueError.

    Raises
    ------
    TypeError
        If the metric does not take one of the `params`.

    ValueError
        If a parameter has a value that is not listed above.

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
    ...         scoring=make_ranking_scorer("ndcg", k=2),
    ...         params={"groups": groups},
    ...     )
    >>> np.sort(result["test_score"]).round(3)
    array([0.807, 0.898, 1.   ])
    """
    check_cutoffs(k)
    check_params(metric, params, "make_ranking_scorer")
    return _RankingScorer(metric, k, zero_division, params)


class _RankingScorer:
    """A class rather than a closure, so that it can be pickled and printed."""

    def __init__(self, metric, k, zero_division, params):
        self.metric = metric
        self.k = k
        self.zero_division = zero_division
        self.params = params

    def __call__(self, estimator, X, y, *, groups=None):
        if groups is None:
            raise ValueError(
                "make_ranking_scorer needs groups, the query of each sample. A search "
                "hands them on after sklearn.set_config(enable_metadata_routing=True). If "
                "all samples are one ranking, give them all the same group."
            )
        score = getattr(estimator, "decision_function", None) or estimator.predict
        values = METRICS[self.metric].of_scores(
            y, score(X), groups, self.k, None, True, self.zero_division, **self.params
        )
        cutoffs, single = check_cutoffs(self.k)
        if single:
            return values
        names = [self.metric + cutoff_suffix(cutoff) for cutoff in cutoffs]
        return dict(zip(names, values.tolist()))

    def get_metadata_routing(self):
        """Tell scikit-learn that `groups` are wanted."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="groups", alias=True)
        return request

    def __repr__(self):
        params = {"zero_division": self.zero_division} | self.params
        return (
            f"make_ranking_scorer({self.metric!r}, k={self.k}, "
            f"{', '.join(f'{name}={value!r}' for name, value in params.items())})"
        )
