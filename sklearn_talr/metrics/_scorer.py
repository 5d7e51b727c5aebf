"""Scorers that let model selection see a tie-aware retrieval metric."""

from numbers import Real

import numpy as np

from .._compat import validate_params
from ..measures import parse_measures
from ..measures._evaluation import (
    average_queries,
    evaluate_histogram,
    settled_for_arrays,
)
from ._estimators import QUERY, estimator_histograms, query_of
from ._ranking_scorer import shown_measures

__all__ = ["make_retrieval_scorer"]


@validate_params(
    {
        "measure": "no_validation",
        "affinity": "no_validation",
        "database": "no_validation",
        "query": QUERY,
        "zero_division": [Real],
    },
    prefer_skip_nested_validation=True,
)
def make_retrieval_scorer(
    measure="AP",
    *,
    affinity="auto",
    database="rest",
    query="auto",
    zero_division=np.nan,
):
    """Make a scorer for hashers, and for Pipelines that end in one.

    The scorer computes codes of the samples it is given and ranks, for each of them, the
    database as the hasher's codes are to be asked. Ties are averaged over, so that no
    ordering of the data can help a short code over a long one.

    Parameters
    ----------
    measure : str, Measure, or sequence of them, default="AP"
        A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name. With
        a sequence the scorer returns several scores, and a search needs to be told by
        `refit` which of them counts.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` takes the oracle the hasher was fitted with, and
        the form of `y` if it has none.

    database : "rest" or tuple (X, y), default="rest"
        ``"rest"``: each sample is a query against the other samples given to the scorer
        (the held-out fold). A tuple: every sample queries this fixed database. A hasher
        of two views needs a tuple, if it was fitted with ``X_query``: samples are queries
        then. Where `y` has judgments of shape (n_queries, n_items), the tuple is
        ``(X_items, None)``.

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

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None) -> float``, for the ``scoring`` parameter of
        `GridSearchCV`, `cross_val_score` and the like. It can be pickled. If `measure` is a
        sequence it returns a dict whose keys are the names, such as ``{"nDCG@10": 0.5,
        "nDCG": 0.75}``, which `GridSearchCV` and `cross_validate` take.

    Raises
    ------
    ValueError
        If `measure` is not known, or is one of runs only, or a parameter has a value that
        is not listed above.

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
    measures, single = parse_measures(measure)
    settled_for_arrays(measures)
    is_pair = isinstance(database, tuple) and len(database) == 2
    if not is_pair and not (isinstance(database, str) and database == "rest"):
        raise ValueError(f"database must be 'rest' or a tuple (X, y), got {database!r}.")
    return _RetrievalScorer(measures, single, affinity, database, query, zero_division)


class _RetrievalScorer:
    """A class rather than a closure, so that it can be pickled and printed."""

    def __init__(self, measures, single, affinity, database, query, zero_division):
        self.measures = measures
        self.single = single
        self.affinity = affinity
        self.database = database
        self.query = query
        self.zero_division = zero_division

    def __call__(self, estimator, X, y=None):
        histograms = estimator_histograms(
            estimator, X, y, self.affinity, self.database, self.query
        )
        values = np.concatenate(
            [evaluate_histogram(self.measures, h, self.zero_division) for h in histograms]
        )
        if self.single:
            return average_queries(values[:, 0])
        return dict(zip(map(str, self.measures), average_queries(values).tolist()))

    def query_of(self, estimator):
        """Whether a fitted estimator is asked by "bits" or by "weights"."""
        return query_of(estimator, self.query)

    def __repr__(self):
        return (
            f"make_retrieval_scorer({shown_measures(self.measures, self.single)}, "
            f"affinity={self.affinity!r}, "
            f"database={'rest' if isinstance(self.database, str) else '(X, y)'!r}, "
            f"query={self.query!r}, zero_division={self.zero_division!r})"
        )
