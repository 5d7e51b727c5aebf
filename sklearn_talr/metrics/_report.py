"""All metrics at once, of two sets of codes or of a fitted hasher."""

from functools import partial
from numbers import Integral, Real

import numpy as np

from .._compat import HasMethods, StrOptions, validate_params
from ..histogram import hamming_histogram
from ._estimators import QUERY, estimator_histograms, query_of
from ._metric import CUTOFFS, TieBreakingRange, evaluate
from ._queries import average_queries, check_weights
from ._radius import (
    lookup_cost,
    radius_aware_precision,
    radius_precision,
    radius_recall,
)
from ._registry import METRICS, PARAMS
from ._ties import check_cutoffs, cutoff_suffix

__all__ = ["retrieval_report", "retrieval_report_from_estimator"]

_OF_REPORT = PARAMS | {
    "k": CUTOFFS,
    "zero_division": [Real],
    "sample_weight": ["array-like", None],
    "radius": [Integral, None],
    "as_frame": ["boolean", StrOptions({"auto"})],
}


@validate_params(
    {
        "query_codes": ["array-like"],
        "database_codes": ["array-like"],
        "affinity": "no_validation",
        "y_query": "no_validation",
        "y_database": "no_validation",
        "exclude_self": ["boolean"],
    }
    | _OF_REPORT,
    prefer_skip_nested_validation=True,
)
def retrieval_report(
    query_codes,
    database_codes,
    affinity,
    y_query,
    y_database,
    *,
    k=None,
    exclude_self=False,
    denominator="relevant",
    gain="exponential",
    log_base=2,
    zero_division=np.nan,
    sample_weight=None,
    radius=None,
    as_frame="auto",
):
    """Worst, expected and best value of every metric, averaged over the queries.

    Distances are counted once; every number is read from that table.

    Parameters
    ----------
    query_codes, database_codes : array-like of shape (n, n_bits) of 0/1, or PackedCodes
        Codes of the queries and of the database.

    affinity : "auto" or affinity oracle
        Who is similar to whom, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by the
        form of `y_query`.

    y_query, y_database : targets of length n_queries and n_database
        Labels, indicators, feature rows or a PrecomputedAffinity, as the oracle takes
        them.

    k : int, sequence of int or None, default=None
        Cutoff, or several; names of metrics then end in ``@k``. None, also in a sequence,
        means all ranks, also in a sequence, and adds nothing to the names.

    exclude_self : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself.

    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        What the average precision divides by, see :func:`tie_aware_average_precision`.

    gain : {"exponential", "linear"}, default="exponential"
        Gain of DCG and NDCG: ``2**affinity - 1``, or the affinity itself.

    log_base : float, default=2
        Base of the logarithm of DCG's discount, above 1. It cancels in NDCG.

    zero_division : float, default=np.nan
        Value, in all metrics, of a query with nothing relevant. NaN leaves the query out of
        all means. The fraction of empty lookups has a place for every query.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the means.

    radius : int or None, default=None
        Also report hash lookup within this Hamming radius: precision, recall, RAMAP, the
        fraction of queries that find nothing, and the number of buckets to look up. Ties
        do not matter to these, so worst, expected and best are equal.

    as_frame : bool or "auto", default="auto"
        True returns a pandas DataFrame, False a dict; "auto" a DataFrame if pandas is
        installed.

    Returns
    -------
    report : DataFrame or dict of dict
        ``report.loc[name, column]`` or ``report[name][column]``; columns are "worst",
        "expected" and "best".

    Raises
    ------
    ValueError
        If codes and targets differ in length, or code lengths differ.

    ImportError
        If ``as_frame=True`` and pandas is not installed.

    See Also
    --------
    retrieval_report_from_estimator : The report on a fitted hasher.
    tie_breaking_range : One metric, per query.
    sklearn_talr.histogram.hamming_histogram : The table.

    Examples
    --------
    Each query ties its only relative with a stranger:

    >>> from sklearn_talr.metrics import retrieval_report
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> report = retrieval_report(
    ...     codes, codes, "auto", [0, 0, 1, 1], [0, 0, 1, 1], exclude_self=True, k=[1, 2]
    ... )
    >>> report.loc[["precision@1", "average_precision@2", "hit_rate@2"]]
                         worst  expected  best
    precision@1            0.0      0.50   1.0
    average_precision@2    0.5      0.75   1.0
    hit_rate@2             1.0      1.00   1.0
    """
    count = partial(
        _hamming_histograms,
        query_codes,
        database_codes,
        affinity,
        y_query,
        y_database,
        exclude_self=exclude_self,
    )
    params = {"denominator": denominator, "gain": gain, "log_base": log_base}
    return _report(count, k, params, zero_division, sample_weight, radius, as_frame)


@validate_params(
    {
        "estimator": [HasMethods("transform")],
        "X_query": "no_validation",
        "y_query": "no_validation",
        "X_database": "no_validation",
        "y_database": "no_validation",
        "affinity": "no_validation",
        "query": QUERY,
    }
    | _OF_REPORT,
    prefer_skip_nested_validation=True,
)
def retrieval_report_from_estimator(
    estimator,
    X_query,
    y_query,
    X_database,
    y_database,
    *,
    affinity="auto",
    query="auto",
    k=None,
    denominator="relevant",
    gain="exponential",
    log_base=2,
    zero_division=np.nan,
    sample_weight=None,
    radius=None,
    as_frame="auto",
):
    """Encode by a fitted hasher, and report every metric averaged over the queries.

    The parameters are in the order that `from_estimator` of the displays has.

    Parameters
    ----------
    estimator : fitted hasher, or Pipeline that ends in one
        What makes the codes.

    X_query : array-like of shape (n_queries, n_features)
        Features of the queries.

    y_query : targets of length n_queries
        Targets of the queries, as the affinity takes them; None with an affinity by
        distance.

    X_database : array-like of shape (n_database, n_features)
        Features of the database.

    y_database : targets of length n_database
        Targets of the database.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` takes the oracle the hasher was fitted with, and
        the form of `y_query` if it has none.

    query : {"auto", "bits", "weights"}, default="auto"
        How codes are asked, as for :func:`make_retrieval_scorer`: by bits, by weights, or
        as the hasher wants it. There is no `radius` by weights.

    k : int, sequence of int or None, default=None
        Cutoff, or several; names of metrics then end in ``@k``. None, also in a sequence,
        means all ranks, also in a sequence, and adds nothing to the names.

    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        What the average precision divides by, see :func:`tie_aware_average_precision`.

    gain : {"exponential", "linear"}, default="exponential"
        Gain of DCG and NDCG: ``2**affinity - 1``, or the affinity itself.

    log_base : float, default=2
        Base of the logarithm of DCG's discount, above 1. It cancels in NDCG.

    zero_division : float, default=np.nan
        Value, in all metrics, of a query with nothing relevant. NaN leaves the query out of
        all means. The fraction of empty lookups has a place for every query.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the means.

    radius : int or None, default=None
        Also report hash lookup within this Hamming radius: precision, recall, RAMAP, the
        fraction of queries that find nothing, and the number of buckets to look up. Ties
        do not matter to these, so worst, expected and best are equal.

    as_frame : bool or "auto", default="auto"
        True returns a pandas DataFrame, False a dict; "auto" a DataFrame if pandas is
        installed.

    Returns
    -------
    report : DataFrame or dict of dict
        ``report.loc[name, column]`` or ``report[name][column]``; columns are "worst",
        "expected" and "best". The columns of a DataFrame are named by the query, "bits" or
        "weights".

    Raises
    ------
    ValueError
        If features and targets differ in length, or the estimator is not fitted.

    ImportError
        If ``as_frame=True`` and pandas is not installed.

    See Also
    --------
    retrieval_report : The report on codes.
    RetrievalCurveDisplay.from_estimator : A picture.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_talr.hashing import ITQHasher
    >>> from sklearn_talr.metrics import retrieval_report_from_estimator
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = ITQHasher(n_bits=16, random_state=0).fit(X[300:])
    >>> report = retrieval_report_from_estimator(
    ...     hasher, X[:300], y[:300], X[300:], y[300:], k=[10, None]
    ... )
    >>> report.loc[["precision@10", "average_precision"]].round(1)
    bits               worst  expected  best
    precision@10         0.7       0.8   0.9
    average_precision    0.5       0.6   0.7
    """
    query = query_of(estimator, query)
    if query == "weights" and radius is not None:
        raise ValueError("radius is a Hamming distance; pass query='bits' with it.")
    database = X_database, y_database
    count = partial(
        estimator_histograms, estimator, X_query, y_query, affinity, database, query
    )
    params = {"denominator": denominator, "gain": gain, "log_base": log_base}
    report = _report(count, k, params, zero_division, sample_weight, radius, as_frame)
    if not isinstance(report, dict):
        report.columns.name = query
    return report


def _report(count, k, params, zero_division, sample_weight, radius, as_frame):
    """Check what is cheap to check, count, and average.

    `count` returns histograms of consecutive queries, one alone if there is a radius.
    Public functions alone call it, so that a warning points at their callers.
    """
    cutoffs, _ = check_cutoffs(k)
    data_frame = _data_frame(as_frame)
    parts = []
    for histogram in count():
        parts.append(_ranking_values(histogram, cutoffs, zero_division, params))
    names = [name + cutoff_suffix(cutoff) for name in METRICS for cutoff in cutoffs]
    values = np.concatenate(parts)
    weights = check_weights(sample_weight, len(values))
    if radius is not None:
        lookup_names, lookup = _lookup_values(histogram, radius, zero_division)
        names, values = names + lookup_names, np.concatenate((values, lookup), axis=1)
    table = dict(zip(names, average_queries(values, weights, stacklevel=5)))
    if radius is not None:
        table |= _lookup_constants(histogram, radius, weights)
    columns = TieBreakingRange._fields
    if data_frame is not None:
        return data_frame.from_dict(table, orient="index", columns=columns)
    return {name: dict(zip(columns, map(float, row))) for name, row in table.items()}


def _hamming_histograms(*codes_and_targets, exclude_self):
    yield hamming_histogram(*codes_and_targets, exclude_self=exclude_self)


def _ranking_values(histogram, cutoffs, zero_division, params):
    """Values of shape (n_queries, n_names, 3), all cutoffs of a metric together."""
    kernels = [
        partial(metric.kernel, **{name: params[name] for name in metric.params})
        for metric in METRICS.values()
    ]
    values = [
        evaluate(kernels, histogram, cutoffs, zero_division, order)
        for order in TieBreakingRange._fields
    ]
    values = np.stack(values, axis=-1).transpose(1, 0, 2, 3)
    return values.reshape(len(histogram), -1, values.shape[-1])


def _lookup_values(histogram, radius, zero_division):
    """Names of the metrics of hash lookup, and values of shape (n_queries, n_names, 3).

    No order of ties changes them, so that the three values are equal.
    """
    values = (
        radius_precision(histogram, radius, zero_division=zero_division),
        radius_recall(histogram, radius, zero_division=zero_division),
        radius_aware_precision(histogram, radius, zero_division),
    )
    columns = np.stack([of_all_radii[:, -1] for of_all_radii in values], axis=1)
    names = ["radius_precision", "radius_recall", "radius_aware_map"]
    return [f"{name}@{radius}" for name in names], _thrice(columns)


def _lookup_constants(histogram, radius, weights):
    """What is known of queries with nothing relevant, and of no query at all."""
    empty = histogram.counts[:, :, : radius + 1].sum(axis=(1, 2)) == 0
    cost = lookup_cost(histogram.n_bits, radius)[-1]
    return {
        f"empty_lookup_fraction@{radius}": _thrice(
            average_queries(empty.astype(float), weights)
        ),
        f"lookup_cost@{radius}": _thrice(cost),
    }


def _thrice(values):
    return np.repeat(np.asarray(values)[..., None], 3, axis=-1)


def _data_frame(as_frame):
    """The class of the result, or None for a dict."""
    if not as_frame:
        return None
    try:
        from pandas import DataFrame
    except ImportError as error:
        if as_frame == "auto":
            return None
        raise ImportError(
            "as_frame=True needs pandas: install it, or pass as_frame=False for a dict."
        ) from error
    return DataFrame
