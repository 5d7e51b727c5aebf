"""Reports: several measures at once, of two sets of codes or of a fitted hasher."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_consistent_length

from .._arrays import check_groups, refuse_unlike_labels
from .._compat import HasMethods, StrOptions, num_samples, optional, validated
from .._hashers import FittedHasher
from .._types import Affinity, Any, ArrayLike, Column, Count, Literal
from ..histogram import RankingHistogram, hamming_histogram
from ..inference import mean_interval
from ..measures import TieBreakingRange, parse_measures
from ..measures._base import Measures
from ..measures._evaluation import (
    average_queries,
    check_weights,
    completed_for_arrays,
    histogram_range,
)
from ._lookup import lookup_cost, radius_aware_precision, radius_precision, radius_recall
from ._scorers import QUERY, estimator_histograms


@validated(histogram=[RankingHistogram], zero_division=[Real])
def tie_breaking_range(
    histogram: RankingHistogram, measure: Measures = "AP", *, zero_division: float = np.nan
) -> TieBreakingRange:
    """Worst, expected and best value of a measure over all orders of tied items.

    A measurement that breaks ties by accident (by database order, say) may report any
    value between worst and best; the expected value is the tie-aware measure.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    measure : str, Measure, or sequence of them, default="AP"
        A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name; or
        several.

    zero_division : float, default=np.nan
        Value of a query with nothing relevant; NaN lets averages leave the query out.

    Returns
    -------
    range : TieBreakingRange
        Named tuple of ``worst``, ``expected`` and ``best``, each of shape (n_queries,), or
        (n_queries, n_measures) if `measure` is a sequence.

    Raises
    ------
    ValueError
        If `measure` is not known, or is one of runs only.

    Notes
    -----
    Worst and best are reached by sorting every tie by affinity, except of
    ``AP(denominator="retrieved")``: to retrieve nothing relevant at rank k can be better
    than to retrieve it so late. There, how many relevant items of the divided tie are
    retrieved is chosen by the value.

    References
    ----------
    He et al., "Hashing as Tie-Aware Learning to Rank", CVPR 2018, section 5.4 and Fig. 3.

    Examples
    --------
    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.metrics import tie_breaking_range
    >>> histogram = RankingHistogram([[[1], [1]]], levels=[0, 1])
    >>> tie_breaking_range(histogram)
    TieBreakingRange(worst=array([0.5]), expected=array([0.75]), best=array([1.]))
    """
    measures, single = parse_measures(measure)
    values = histogram_range(measures, histogram, zero_division)
    return TieBreakingRange(*(v[:, 0] for v in values)) if single else values


_MEASURES = ("P", "R", "F1", "AP", "RR", "Success", "DCG", "nDCG")
_OF_REPORT = {
    "zero_division": [Real],
    "sample_weight": ["array-like", None],
    "radius": [Integral, None],
    "by": ["array-like", None],
    "as_frame": ["boolean", StrOptions({"auto"})],
}
_MACRO = "macro avg"


@validated(
    query_codes=["array-like"],
    database_codes=["array-like"],
    exclude_self=["boolean"],
    **_OF_REPORT,
)
def retrieval_report(
    query_codes: ArrayLike,
    database_codes: ArrayLike,
    affinity: Affinity,
    y_query: Any,
    y_database: Any,
    *,
    measures: Measures = _MEASURES,
    exclude_self: bool = False,
    groups_query: Column = None,
    groups_database: Column = None,
    zero_division: float = np.nan,
    sample_weight: Column = None,
    radius: Count = None,
    by: Column = None,
    as_frame: bool | Literal["auto"] = "auto",
) -> Any:
    """Worst, expected and best value of several measures, averaged over the queries.

    Distances are counted once; every number is read from that table.

    Parameters
    ----------
    query_codes, database_codes : array-like of shape (n, n_bits) of 0/1, or PackedCodes
        Codes of the queries and of the database.

    affinity : "auto" or affinity oracle
        Who is similar to whom, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by the
        form of `y_database`.

    y_query, y_database : targets of length n_queries and n_database
        Labels, indicators, feature rows or a PrecomputedAffinity, as the oracle takes
        them.

    measures : str, Measure, or sequence of them
        Measures of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or their names. The
        default is P, R, F1, AP, RR, Success, DCG and nDCG of all ranks.

    exclude_self : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself.

    groups_query, groups_database : array-like of shape (n,), default=None
        Labels of groups. Items of the query's own group do not count, as for
        :func:`~sklearn_talr.histogram.hamming_histogram`.

    zero_division : float, default=np.nan
        Value, in all measures, of a query with nothing relevant. NaN leaves the query out
        of all means, except of the fraction of empty lookups, which is over all queries.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the means.

    radius : int or None, default=None
        Also report hash lookup within this Hamming radius: precision, recall, RAMAP, the
        fraction of queries that find nothing, and the number of buckets to look up. Ties
        do not matter to hash lookup, so its worst, expected and best values are equal.
        Queries with nothing relevant are left out of the first three, with all that they
        find, which is wrong; :func:`pair_precision` counts it, as deduplication wants.

    by : array-like of shape (n_queries,), default=None
        Labels of the queries, such as class, camera or language, of which each gets a
        report: a mean over all queries hides rare ones.

    as_frame : bool or "auto", default="auto"
        True returns a pandas DataFrame, False a dict; "auto" a DataFrame if pandas is
        installed.

    Returns
    -------
    report : DataFrame or dict of dict
        ``report.loc[name, column]`` or ``report[name][column]``. Columns are "worst",
        "expected" and "best", and names are those of the measures, with the gain that
        DCG and nDCG have: ``nDCG(dcg="exp-log2")`` for ``nDCG``. If pairs did not
        count, the row "pairs_left_out" says how many, but for samples with themselves.
        With `by` there is such a report for each label, ``report.loc[label]``, and the
        means of labels as "macro avg". Further columns are the number of queries that
        have a value, and the ends of a 95 % interval of the expected mean, by
        :func:`~sklearn_talr.inference.mean_interval`.

    Raises
    ------
    ValueError
        If codes and targets differ in length, or code lengths differ.

    ImportError
        If ``as_frame=True`` and pandas is not installed.

    See Also
    --------
    retrieval_report_from_estimator : The report on a fitted hasher.
    tie_breaking_range : A measure, per query.
    sklearn_talr.histogram.hamming_histogram : The table.

    Examples
    --------
    Each query ties its only relative with a stranger:

    >>> from sklearn_talr.metrics import retrieval_report
    >>> codes = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> report = retrieval_report(
    ...     codes,
    ...     codes,
    ...     "auto",
    ...     [0, 0, 1, 1],
    ...     [0, 0, 1, 1],
    ...     measures=["P@1", "AP@2", "Success@2"],
    ...     exclude_self=True,
    ... )
    >>> report
               worst  expected  best
    P@1          0.0      0.50   1.0
    AP@2         0.5      0.75   1.0
    Success@2    1.0      1.00   1.0
    """
    _refuse_unlike_queries(query_codes, "query_codes", sample_weight, by)
    asked = query_codes, database_codes, affinity, y_query, y_database
    groups = {"groups_query": groups_query, "groups_database": groups_database}

    def count():
        yield hamming_histogram(*asked, exclude_self=exclude_self, **groups)

    n_items = len(database_codes) - exclude_self
    how = measures, zero_division, sample_weight, radius, by, as_frame
    return _report(count(), n_items, *how)


@validated(estimator=[HasMethods("transform")], query=QUERY, **_OF_REPORT)
def retrieval_report_from_estimator(
    estimator: Any,
    X_query: ArrayLike,
    y_query: Any,
    X_database: ArrayLike,
    y_database: Any,
    *,
    affinity: Affinity = "auto",
    query: Literal["auto", "bits", "weights"] = "auto",
    measures: Measures = _MEASURES,
    groups_query: Column = None,
    groups_database: Column = None,
    zero_division: float = np.nan,
    sample_weight: Column = None,
    radius: Count = None,
    by: Column = None,
    as_frame: bool | Literal["auto"] = "auto",
) -> Any:
    """Encode by a fitted hasher, and report measures averaged over the queries.

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
        Targets of the database; None where `y_query` has judgments of all its items.

    affinity : "auto" or affinity oracle, default="auto"
        Who is similar to whom. ``"auto"`` takes the oracle the hasher was fitted with, and
        the form of `y_database` if it has none.

    query : {"auto", "bits", "weights"}, default="auto"
        How codes are asked, as for :func:`make_retrieval_scorer`: by bits, by weights, or
        as the hasher wants it. There is no `radius` by weights.

    measures : str, Measure, or sequence of them
        Measures of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or their names. The
        default is P, R, F1, AP, RR, Success, DCG and nDCG of all ranks.

    groups_query, groups_database : array-like of shape (n,), default=None
        Labels of groups. Items of the query's own group do not count, as for
        :func:`~sklearn_talr.histogram.hamming_histogram`.

    zero_division : float, default=np.nan
        Value, in all measures, of a query with nothing relevant. NaN leaves the query out
        of all means, except of the fraction of empty lookups, which is over all queries.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the means.

    radius : int or None, default=None
        Also report hash lookup within this Hamming radius: precision, recall, RAMAP, the
        fraction of queries that find nothing, and the number of buckets to look up. Ties
        do not matter to hash lookup, so its worst, expected and best values are equal.
        Queries with nothing relevant are left out of the first three, with all that they
        find, which is wrong; :func:`pair_precision` counts it, as deduplication wants.

    by : array-like of shape (n_queries,), default=None
        Labels of the queries, such as class, camera or language, of which each gets a
        report: a mean over all queries hides rare ones.

    as_frame : bool or "auto", default="auto"
        True returns a pandas DataFrame, False a dict; "auto" a DataFrame if pandas is
        installed.

    Returns
    -------
    report : DataFrame or dict of dict
        ``report.loc[name, column]`` or ``report[name][column]``. Columns are "worst",
        "expected" and "best", and names are those of the measures, with the gain that
        DCG and nDCG have: ``nDCG(dcg="exp-log2")`` for ``nDCG``. The
        columns of a DataFrame are named by the query, "bits" or "weights". Pairs that did
        not count, and `by`, are reported as by :func:`retrieval_report`.

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
    ...     hasher, X[:300], y[:300], X[300:], y[300:], measures=["P@10", "AP"]
    ... )
    >>> report.round(1)
    bits  worst  expected  best
    P@10    0.7       0.8   0.9
    AP      0.5       0.6   0.7
    """
    _refuse_unlike_queries(X_query, "X_query", sample_weight, by)
    query = FittedHasher.of(estimator).query_form(query)
    if query == "weights" and radius is not None:
        raise ValueError("radius is a Hamming distance; pass query='bits' with it.")
    ranked = X_query, y_query, affinity, (X_database, y_database), query
    histograms = estimator_histograms(estimator, *ranked, (groups_query, groups_database))
    how = measures, zero_division, sample_weight, radius, by, as_frame
    report = _report(histograms, num_samples(X_database), *how)
    if not isinstance(report, dict):
        report.columns.name = query
    return report


def _refuse_unlike_queries(queries, name, sample_weight, by):
    """Raise ValueError unless weights and labels of queries are in the order of these."""
    refuse_unlike_labels(queries, sample_weight, (name, "sample_weight"))
    refuse_unlike_labels(queries, by, (name, "by"))


def _report(
    histograms, n_items, measures, zero_division, sample_weight, radius, by, as_frame
):
    """Check cheap parameters first, then count, and average over the queries.

    `histograms` yields those of consecutive queries, one alone if there is a radius, each
    of which has `n_items` items unless some do not count.
    Public functions alone call it, so that a warning points at their callers.
    """
    if by is not None and sample_weight is not None:
        raise ValueError("by weighs queries of a label alike; pass no sample_weight.")
    measures = parse_measures(measures)[0]
    names = list(map(str, completed_for_arrays(measures)))
    if as_frame:
        remedy = "install it, or pass as_frame=False for a dict."
        try:
            pandas = optional("pandas", f"as_frame=True needs pandas: {remedy}")
        except ImportError:
            if as_frame != "auto":
                raise
            as_frame = False
    parts, n_left_out = [], []
    for histogram in histograms:
        parts.append(np.stack(histogram_range(measures, histogram, zero_division), axis=-1))
        n_left_out.append(n_items - histogram.n_items)
    values, n_left_out = np.concatenate(parts), np.concatenate(n_left_out)
    if radius is not None:
        # No order of ties changes hash lookup, so that its three values are equal
        n_found = histogram.counts[:, :, : radius + 1].sum(axis=(1, 2))
        options = {"zero_division": zero_division}
        lookup = {
            "radius_precision": radius_precision(histogram, radius, **options)[:, -1],
            "radius_recall": radius_recall(histogram, radius, **options)[:, -1],
            "radius_aware_map": radius_aware_precision(histogram, radius, **options)[:, -1],
            "empty_lookup_fraction": np.where(histogram.n_items, n_found == 0, np.nan),
        }
        names += [f"{name}@{radius}" for name in lookup]
        columns = np.stack(list(lookup.values()), axis=1)[:, :, None]
        values = np.concatenate((values, np.repeat(columns, 3, axis=2)), axis=1)
    weights = check_weights(sample_weight, len(values))
    columns, rows, tables = TieBreakingRange._fields, {None: slice(None)}, {}
    if by is not None:
        columns, by = (*columns, "n_queries", "low", "high"), check_groups(by, 0, "by")
        check_consistent_length(values, by)
        rows = {label: by == label for label in np.unique(by).tolist()}
    for label, of_label in rows.items():
        of_names = values[of_label].swapaxes(0, 1)
        means = average_queries(values, weights) if by is None else map(_mean, of_names)
        tables[label] = dict(zip(names, means))
        if radius is not None:
            cost = lookup_cost(histogram.n_bits, radius)[-1]
            tables[label][f"lookup_cost@{radius}"] = [cost] * 3
        if n_left_out.any():
            tables[label]["pairs_left_out"] = [n_left_out[of_label].sum()] * 3
    if by is not None:
        means = [[table[name][:3] for name in names] for table in tables.values()]
        tables[_MACRO] = dict(zip(names, average_queries(np.array(means))))
    for label, table in tables.items():
        table = {name: dict(zip(columns, map(float, row))) for name, row in table.items()}
        if as_frame:
            table = pandas.DataFrame.from_dict(table, orient="index")
        tables[label] = table
    if by is None:
        return tables[None]
    return pandas.concat(tables) if as_frame else tables


def _mean(values):
    """Means of the queries that have a value, their number, and an interval."""
    known = values[~np.isnan(values[:, 1])]
    if not len(known):
        return [*[np.nan] * 3, 0, *[np.nan] * 2]
    return [*known.mean(axis=0), len(known), *mean_interval(known[:, 1])]
