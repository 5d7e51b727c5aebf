"""Scorers that let model selection see a tie-aware retrieval metric."""

from functools import partial
from numbers import Real

import numpy as np

from .._compat import validate_params
from ._estimators import QUERY, estimator_histograms, query_of
from ._metric import CUTOFFS
from ._queries import average_queries
from ._registry import METRIC_NAME, METRICS, check_params
from ._ties import check_cutoffs, cutoff_suffix

__all__ = ["make_retrieval_scorer"]


@validate_params(
    {
        "metric": METRIC_NAME,
        "k": CUTOFFS,
        "affinity": "no_validation",
        "database": "no_validation",
        "query": QUERY,
        "zero_division": [Real],
    },
    prefer_skip_nested_validation=True,
)
def make_retrieval_scorer(
    metric="average_precision",
    *,
    k=None,
    affinity="auto",
    database="rest",
    query="auto",
    zero_division=np.nan,
    **params,
):
    """Make a scorer for hashers, and for Pipelines that end in one.

    The scorer computes codes of the samples it is given and ranks, for each of them, the
    database as the hasher's codes are to be asked. Ties are averaged over, so that no
    ordering of the data can help a short code over a long one.

    Parameters
    ----------
    metric : {"average_precision", "dcg", "f1", "hit_rate", "ndcg", "precision", \
            "recall", "reciprocal_rank"}, default="average_precision"
        The tie-aware metric.

    k : int, sequence of int or None, default=None
        Only the first k ranks count. None means all ranks, also in a sequence. With a
        sequence the scorer returns several scores, and a search needs to be told by
        `refit` which of them counts.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` takes the oracle the hasher was fitted with, and
        the form of `y` if it has none.

    database : "rest" or tuple (X, y), default="rest"
        ``"rest"``: each sample is a query against the other samples given to the scorer
        (the held-out fold). A tuple: every sample queries this fixed database.

    query : {"auto", "bits", "weights"}, default="auto"
        How codes are asked.

        * ``"bits"``: queries are binary codes, too, compared by Hamming distance.
        * ``"weights"``: queries have the weights that `query_weights` of the hasher gives,
          and codes are ranked by :func:`~sklearn_talr.codes.weighted_scores`.
        * ``"auto"``: each hasher is asked in the way that its codes are made for, by its
          `default_query`: AdditiveHasher by weights, all others by bits. The scorer tells
          which by ``scorer.query_of(estimator)``.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant. NaN leaves the query out of the mean.

    **params : dict
        What else the metric takes: `denominator` of the average precision, `gain` and
        `log_base` of DCG and NDCG.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None) -> float``, for the ``scoring`` parameter of
        `GridSearchCV`, `cross_val_score` and the like. It can be pickled. If `k` is a
        sequence it returns a dict such as ``{"ndcg@10": 0.5, "ndcg": 0.75}``, which
        `GridSearchCV` and `cross_validate` take.

    Raises
    ------
    TypeError
        If the metric does not take one of the `params`.

    ValueError
        If a parameter has a value that is not listed above.

    Notes
    -----
    Without `y` the affinity is by distance: thresholds are those the hasher was fitted
    with, and distances are taken in the space it was fitted in, that is after the earlier
    steps of the Pipeline.

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
    check_cutoffs(k)
    check_params(metric, params, "make_retrieval_scorer")
    is_pair = isinstance(database, tuple) and len(database) == 2
    if not is_pair and not (isinstance(database, str) and database == "rest"):
        raise ValueError(f"database must be 'rest' or a tuple (X, y), got {database!r}.")
    return _RetrievalScorer(metric, k, affinity, database, query, zero_division, params)


class _RetrievalScorer:
    """A class rather than a closure, so that it can be pickled and printed."""

    def __init__(self, metric, k, affinity, database, query, zero_division, params):
        self.metric = metric
        self.k = k
        self.affinity = affinity
        self.database = database
        self.query = query
        self.zero_division = zero_division
        self.params = params

    def __call__(self, estimator, X, y=None):
        histograms = estimator_histograms(
            estimator, X, y, self.affinity, self.database, self.query
        )
        metric = partial(
            METRICS[self.metric],
            k=self.k,
            zero_division=self.zero_division,
            **self.params,
        )
        means = average_queries(np.concatenate(list(map(metric, histograms))))
        cutoffs, single = check_cutoffs(self.k)
        if single:
            return means
        names = [self.metric + cutoff_suffix(cutoff) for cutoff in cutoffs]
        return dict(zip(names, means.tolist()))

    def query_of(self, estimator):
        """Whether a fitted estimator is asked by "bits" or by "weights"."""
        return query_of(estimator, self.query)

    def __repr__(self):
        params = {"zero_division": self.zero_division} | self.params
        return (
            f"make_retrieval_scorer({self.metric!r}, k={self.k}, "
            f"affinity={self.affinity!r}, "
            f"database={'rest' if isinstance(self.database, str) else '(X, y)'!r}, "
            f"query={self.query!r}, "
            f"{', '.join(f'{name}={value!r}' for name, value in params.items())})"
        )
