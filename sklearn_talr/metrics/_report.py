"""Reports: several measures at once, of two sets of codes or of a fitted hasher."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_consistent_length

from .._core.compat import HasMethods, StrOptions, num_samples, optional, validated
from .._core.fitted_hasher import FittedHasher
from .._core.types import Affinity, Any, ArrayLike, Column, Count, Literal
from .._core.validation import check_groups, refuse_unlike_labels
from ..histogram import RankingHistogram, hamming_histogram
from ..inference import mean_interval
from ..measures import Measure, TieBreakingRange, parse_measures
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

    A tool that breaks ties arbitrarily, for example by database order, may report any value
    between worst and best. The expected value is the tie-aware measure.

    Parameters
    ----------
    histogram : RankingHistogram
        Counts of the ranked items.

    measure : str, Measure, or sequence of them, default="AP"
        A measure of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or its name; or
        several.

    zero_division : float, default=np.nan
        Value of a query without relevant items; NaN lets averages leave the query out.

    Returns
    -------
    range : TieBreakingRange
        Named tuple of ``worst``, ``expected`` and ``best``, each of shape (n_queries,), or
        (n_queries, n_measures) if `measure` is a sequence.

    Raises
    ------
    ValueError
        If `measure` is not known, or is a measure of runs only.

    Notes
    -----
    The worst and the best order sort every tie by affinity. ``AP(denominator="retrieved")``
    is an exception, as it can fall if a relevant item is retrieved at a late rank. There
    the number of relevant items of the divided tie that are retrieved is chosen so that the
    value is lowest or highest.

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


# P, R, F1 and Success of all ranks do not depend on the ranking.
_MEASURES = ("AP", "nDCG", "P@10", "RR")
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

    Distances are counted once, for all measures.

    Parameters
    ----------
    query_codes, database_codes : array-like of shape (n, n_bits) of 0/1, or PackedCodes
        Codes of the queries and of the database.

    affinity : "auto" or affinity object
        Definition of similarity, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by
        the form of `y_database`.

    y_query, y_database : targets of length n_queries and n_database
        Labels, indicators, feature rows or a PrecomputedAffinity, as the affinity takes
        them.

    measures : str, Measure, or sequence of them, default=("AP", "nDCG", "P@10", "RR")
        Measures of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or their names. P,
        R, F1 and Success need a cutoff: over all ranks they do not depend on the ranking.

    exclude_self : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself.

    groups_query, groups_database : array-like of shape (n,), default=None
        Labels of groups. Items of the query's own group are ignored, as in
        :func:`~sklearn_talr.histogram.hamming_histogram`.

    zero_division : float, default=np.nan
        Value, in all measures, of a query without relevant items. NaN leaves the query out
        of all means, except the fraction of empty lookups, which is over all queries.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the means.

    radius : int or None, default=None
        Also report hash lookup within this Hamming radius: precision, recall, RAMAP, the
        fraction of queries that find nothing, and the number of buckets to look up. Ties
        do not matter to hash lookup, so its worst, expected and best values are equal.
        Queries without relevant items are left out of precision, recall and RAMAP. For
        deduplication use :func:`pair_precision`, which counts their wrong pairs.

    by : array-like of shape (n_queries,), default=None
        Labels of the queries, such as class, camera or language. Each label gets its own
        report, since a mean over all queries hides rare labels.

    as_frame : bool or "auto", default="auto"
        True returns a pandas DataFrame, False a dict; "auto" a DataFrame if pandas is
        installed.

    Returns
    -------
    report : DataFrame or dict of dict
        ``report.loc[name, column]`` or ``report[name][column]``. Columns are "worst",
        "expected" and "best", and names are those of the measures, with the gain that
        DCG and nDCG have: ``nDCG(dcg="exp-log2")`` for ``nDCG``. If pairs were ignored,
        the row "pairs_left_out" has their number, without samples paired with themselves.
        With `by` there is such a report for each label, ``report.loc[label]``, and the mean
        over labels, "macro avg". Its further columns are "n_queries", the number of queries
        that have a value, and "low" and "high", the ends of a 95 % interval of the expected
        mean from :func:`~sklearn_talr.inference.mean_interval`.

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
    Each query ties its only relevant item with an irrelevant one:

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
    request = ReportRequest.from_parameters(
        measures=measures,
        zero_division=zero_division,
        sample_weight=sample_weight,
        radius=radius,
        by=by,
        as_frame=as_frame,
    )
    histogram = hamming_histogram(
        query_codes,
        database_codes,
        affinity,
        y_query,
        y_database,
        exclude_self=exclude_self,
        groups_query=groups_query,
        groups_database=groups_database,
    )
    n_items = len(database_codes) - exclude_self
    return _report([histogram], n_items, request)


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
    """Encode with a fitted hasher, and report measures averaged over the queries.

    The parameters have the order of `from_estimator` of the displays.

    Parameters
    ----------
    estimator : fitted hasher, or Pipeline that ends in one
        The hasher that encodes queries and database.

    X_query : array-like of shape (n_queries, n_features)
        Features of the queries.

    y_query : targets of length n_queries
        Targets of the queries, as the affinity takes them. None with an affinity by
        distance.

    X_database : array-like of shape (n_database, n_features)
        Features of the database.

    y_database : targets of length n_database
        Targets of the database. None if `y_query` has judgments of all its items.

    affinity : "auto" or affinity object, default="auto"
        Definition of similarity. ``"auto"`` takes the affinity that the hasher was fitted
        with. If it has none, the form of `y_database` decides.

    query : {"auto", "bits", "weights"}, default="auto"
        How queries are compared with codes, as for :func:`make_retrieval_scorer`: as bits,
        with weights (asymmetric distance), or in the hasher's default way. With weights
        there is no `radius`.

    measures : str, Measure, or sequence of them, default=("AP", "nDCG", "P@10", "RR")
        Measures of :mod:`sklearn_talr.measures`, such as ``nDCG @ 10``, or their names. P,
        R, F1 and Success need a cutoff: over all ranks they do not depend on the ranking.

    groups_query, groups_database : array-like of shape (n,), default=None
        Labels of groups. Items of the query's own group are ignored, as in
        :func:`~sklearn_talr.histogram.hamming_histogram`.

    zero_division : float, default=np.nan
        Value, in all measures, of a query without relevant items. NaN leaves the query out
        of all means, except the fraction of empty lookups, which is over all queries.

    sample_weight : array-like of shape (n_queries,), default=None
        Weights of the queries in the means.

    radius : int or None, default=None
        Also report hash lookup within this Hamming radius: precision, recall, RAMAP, the
        fraction of queries that find nothing, and the number of buckets to look up. Ties
        do not matter to hash lookup, so its worst, expected and best values are equal.
        Queries without relevant items are left out of precision, recall and RAMAP. For
        deduplication use :func:`pair_precision`, which counts their wrong pairs.

    by : array-like of shape (n_queries,), default=None
        Labels of the queries, such as class, camera or language. Each label gets its own
        report, since a mean over all queries hides rare labels.

    as_frame : bool or "auto", default="auto"
        True returns a pandas DataFrame, False a dict; "auto" a DataFrame if pandas is
        installed.

    Returns
    -------
    report : DataFrame or dict of dict
        ``report.loc[name, column]`` or ``report[name][column]``. Columns are "worst",
        "expected" and "best", and names are those of the measures, with the gain that
        DCG and nDCG have: ``nDCG(dcg="exp-log2")`` for ``nDCG``. The name of a DataFrame's
        columns is the kind of query, "bits" or "weights". Ignored pairs and `by` are
        reported as in :func:`retrieval_report`.

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
    query = FittedHasher.from_estimator(estimator).query_form(query)
    if query == "weights" and radius is not None:
        raise ValueError("radius is a Hamming distance, so it needs query='bits'.")
    request = ReportRequest.from_parameters(
        measures=measures,
        zero_division=zero_division,
        sample_weight=sample_weight,
        radius=radius,
        by=by,
        as_frame=as_frame,
    )
    histograms = estimator_histograms(
        estimator,
        X_query,
        y_query,
        affinity=affinity,
        database=(X_database, y_database),
        query=query,
        groups_query=groups_query,
        groups_database=groups_database,
    )
    report = _report(histograms, num_samples(X_database), request)
    if not isinstance(report, dict):
        report.columns.name = query
    return report


def _refuse_unlike_queries(queries, name, sample_weight, by):
    """Raise ValueError unless weights and labels of queries are in the order of these."""
    refuse_unlike_labels(queries, sample_weight, (name, "sample_weight"))
    refuse_unlike_labels(queries, by, (name, "by"))


@dataclass(frozen=True, eq=False)
class ReportRequest:
    """Parameters of a report, checked before anything is counted.

    Parameters
    ----------
    measures : list of Measure
        The measures.

    names : list of str
        Their names, with the gains of DCG and nDCG.

    zero_division : float
        Value of a query with nothing relevant.

    sample_weight : array-like of shape (n_queries,) or None
        Weights of the queries in the means.

    radius : int or None
        Radius of a hash lookup to report.

    by : array-like of shape (n_queries,) or None
        Labels of the queries, each of which gets a report.

    pandas : module or None
        pandas, if the report is a DataFrame. None: the report is a dict.
    """

    measures: list[Measure]
    names: list[str]
    zero_division: float
    sample_weight: Column
    radius: Count
    by: Column
    pandas: Any

    @classmethod
    def from_parameters(
        cls, *, measures, zero_division, sample_weight, radius, by, as_frame
    ):
        """Check the parameters of a public function."""
        if by is not None and sample_weight is not None:
            raise ValueError(
                "by gives all queries of a label the same weight: pass by or sample_weight."
            )
        measures, _ = parse_measures(measures)
        return cls(
            measures=measures,
            names=[str(measure) for measure in completed_for_arrays(measures)],
            zero_division=zero_division,
            sample_weight=sample_weight,
            radius=radius,
            by=by,
            pandas=_import_pandas(as_frame),
        )


def _import_pandas(as_frame):
    """pandas, or None if the report is a dict."""
    if not as_frame:
        return None
    remedy = "install it, or pass as_frame=False for a dict."
    try:
        return optional("pandas", f"as_frame=True needs pandas: {remedy}")
    except ImportError:
        if as_frame != "auto":
            raise
        return None


def _report(histograms, n_items, request):
    """Evaluate the histograms of consecutive queries, and average over the queries.

    There is a single histogram if the request has a radius. Each query has `n_items` items
    unless some are ignored.
    """
    names = request.names
    lookup = {}
    fixed_rows = {}
    if request.radius is not None:
        (histogram,) = histograms
        histograms = [histogram]
        lookup = _lookup_values(histogram, request)
        cost = lookup_cost(histogram.n_bits, request.radius)[-1]
        fixed_rows[f"lookup_cost@{request.radius}"] = [cost] * 3
    values, n_left_out = _measure_queries(histograms, n_items, request)
    if lookup:
        names = names + list(lookup)
        values = np.concatenate((values, np.stack(list(lookup.values()), axis=1)), axis=1)
    if request.by is None:
        weights = check_weights(request.sample_weight, len(values))
        table = dict(zip(names, average_queries(values, weights))) | fixed_rows
        if n_left_out.any():
            table["pairs_left_out"] = [n_left_out.sum()] * 3
        return _as_report(table, TieBreakingRange._fields, request.pandas)
    tables = _tables_by_label(values, names, fixed_rows, n_left_out, request.by)
    columns = *TieBreakingRange._fields, "n_queries", "low", "high"
    reports = {
        label: _as_report(table, columns, request.pandas) for label, table in tables.items()
    }
    return request.pandas.concat(reports) if request.pandas else reports


def _measure_queries(histograms, n_items, request):
    """Values of the queries, (n_queries, n_measures, 3), and numbers of ignored items."""
    values = []
    n_left_out = []
    for histogram in histograms:
        in_orders = histogram_range(request.measures, histogram, request.zero_division)
        values.append(np.stack(in_orders, axis=-1))
        n_left_out.append(n_items - histogram.n_items)
    return np.concatenate(values), np.concatenate(n_left_out)


def _lookup_values(histogram, request):
    """Values of hash lookup of each query, by name, each of shape (n_queries, 3).

    No order of ties changes hash lookup, so that its three values are equal.
    """
    radius = request.radius
    zero_division = request.zero_division
    precision = radius_precision(histogram, radius, zero_division=zero_division)
    recall = radius_recall(histogram, radius, zero_division=zero_division)
    raap = radius_aware_precision(histogram, radius, zero_division)
    n_found = histogram.counts[:, :, : radius + 1].sum(axis=(1, 2))
    is_empty = np.where(histogram.n_items, n_found == 0, np.nan)
    lookup = {
        f"radius_precision@{radius}": precision[:, -1],
        f"radius_recall@{radius}": recall[:, -1],
        f"radius_aware_map@{radius}": raap[:, -1],
        f"empty_lookup_fraction@{radius}": is_empty,
    }
    return {name: np.repeat(column[:, None], 3, axis=1) for name, column in lookup.items()}


def _tables_by_label(values, names, fixed_rows, n_left_out, by):
    """Rows of the report of each label of the queries, and of the means of labels.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_names, 3)
        Worst, expected and best values.

    names : list of str
        Names of measures and lookup values.

    fixed_rows : dict of list
        Further rows, equal for all labels.

    n_left_out : ndarray of shape (n_queries,) of int
        Number of ignored items.

    by : array-like of shape (n_queries,)
        Label of each query.

    Returns
    -------
    tables : dict of dict of list
        A table for each label, whose rows are lists of numbers.
    """
    by = check_groups(by, 0, "by")
    check_consistent_length(values, by)
    tables = {}
    for label in np.unique(by).tolist():
        is_labeled = by == label
        rows = [_mean_row(column) for column in values[is_labeled].swapaxes(0, 1)]
        tables[label] = dict(zip(names, rows)) | fixed_rows
        if n_left_out.any():
            tables[label]["pairs_left_out"] = [n_left_out[is_labeled].sum()] * 3
    means = [[table[name][:3] for name in names] for table in tables.values()]
    tables[_MACRO] = dict(zip(names, average_queries(np.array(means))))
    return tables


def _mean_row(values):
    """Means of the queries that have a value, their number, and a 95 % interval."""
    defined = values[~np.isnan(values[:, 1])]
    if not len(defined):
        return [np.nan, np.nan, np.nan, 0, np.nan, np.nan]
    low, high = mean_interval(defined[:, 1])
    return [*defined.mean(axis=0), len(defined), low, high]


def _as_report(table, columns, pandas):
    """A table as a DataFrame, or as a dict without pandas."""
    report = {}
    for name, row in table.items():
        report[name] = dict(zip(columns, map(float, row)))
    return pandas.DataFrame.from_dict(report, orient="index") if pandas else report
