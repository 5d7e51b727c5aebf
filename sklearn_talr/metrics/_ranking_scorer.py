"""Scorers that let model selection see a tie-aware metric of grouped queries."""

from numbers import Real

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from .._compat import validate_params
from ..measures import parse_measures
from ..measures._evaluation import score_arrays, settled_for_arrays

__all__ = ["make_ranking_scorer"]


@validate_params(
    {"measure": "no_validation", "zero_division": [Real]},
    prefer_skip_nested_validation=True,
)
def make_ranking_scorer(measure="nDCG", *, zero_division=np.nan):
    """Make a scorer for rankers, classifiers and regressors that score items of queries.

    The scorer ranks the items of each query by `decision_function`, or by `predict` where
    there is none, and averages the measure over the queries. `groups` tell the queries
    apart. A search hands them on under
    ``sklearn.set_config(enable_metadata_routing=True)``, and to the scorer it does so
    unasked.

    Parameters
    ----------
    measure : str, Measure, or sequence of them, default="nDCG"
        A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name. With
        a sequence the scorer returns several scores, and a search needs to be told by
        `refit` which of them counts.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean.

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
        If `measure` is not known, or is one of runs only.

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
    settled_for_arrays(measures)
    return _RankingScorer(measures, single, zero_division)


class _RankingScorer:
    """A class rather than a closure, so that it can be pickled and printed."""

    def __init__(self, measures, single, zero_division):
        self.measures = measures
        self.single = single
        self.zero_division = zero_division

    def __call__(self, estimator, X, y, *, groups=None):
        if groups is None:
            raise ValueError(
                "make_ranking_scorer needs groups, the query of each sample. A search "
                "hands them on after sklearn.set_config(enable_metadata_routing=True). If "
                "all samples are one ranking, give them all the same group."
            )
        score = getattr(estimator, "decision_function", None) or estimator.predict
        measures = self.measures[0] if self.single else self.measures
        values = score_arrays(measures, y, score(X), groups, None, True, self.zero_division)
        if self.single:
            return values
        return dict(zip(map(str, self.measures), values.tolist()))

    def get_metadata_routing(self):
        """Tell scikit-learn that `groups` are wanted."""
        request = MetadataRequest(owner=repr(self))
        request.score.add_request(param="groups", alias=True)
        return request

    def __repr__(self):
        return (
            f"make_ranking_scorer({shown_measures(self.measures, self.single)}, "
            f"zero_division={self.zero_division!r})"
        )


def shown_measures(measures, single):
    """Names of measures of arrays with their gains, as a scorer prints them."""
    names = list(map(str, settled_for_arrays(measures)))
    return repr(names[0] if single else names)
