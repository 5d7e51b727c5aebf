"""All metrics of two sets of codes at once."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from ..histogram import hamming_histogram
from ._evaluate import evaluate
from ._queries import average_queries, check_cutoffs
from ._radius import lookup_cost, radius_precision, radius_recall
from ._tie_breaking import KERNELS, TieBreakingRange

__all__ = ["retrieval_report"]


def retrieval_report(
    query_codes,
    database_codes,
    affinity,
    y_query,
    y_database,
    *,
    k=None,
    exclude_self=False,
    zero_relevant="skip",
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
        Cutoff, or several; names of metrics then end in ``@k``. None means all ranks.

    exclude_self : bool, default=False
        Queries and database are the same samples in the same order, and no query is
        ranked against itself.

    zero_relevant : "skip" or float, default="skip"
        Queries with nothing relevant are left out of all means ("skip"), or count the
        given number in all metrics, whether they define such a query or not. The
        fraction of empty lookups has a place for every query.

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
    cutoffs, _ = check_cutoffs(k)
    data_frame = _data_frame(as_frame)
    histogram = hamming_histogram(
        query_codes,
        database_codes,
        affinity,
        y_query,
        y_database,
        exclude_self=exclude_self,
    )
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, histogram.counts, ensure_non_negative=True
        )
    names, values = _ranking_values(histogram, cutoffs, zero_relevant)
    if radius is not None:
        lookup_names, lookup = _lookup_values(histogram, radius, zero_relevant)
        names, values = names + lookup_names, np.concatenate((values, lookup), axis=1)
    table = dict(zip(names, average_queries(values, sample_weight)))
    if radius is not None:
        table |= _lookup_constants(histogram, radius, sample_weight)
    columns = TieBreakingRange._fields
    if data_frame is not None:
        return data_frame.from_dict(table, orient="index", columns=columns)
    return {name: dict(zip(columns, map(float, row))) for name, row in table.items()}


def _ranking_values(histogram, cutoffs, zero_relevant):
    """Names, and values of shape (n_queries, n_names, 3), in the order of the names."""
    values = [
        evaluate(KERNELS.values(), histogram, cutoffs, zero_relevant, order)
        for order in TieBreakingRange._fields
    ]
    values = np.stack(values, axis=-1).transpose(1, 0, 2, 3)
    suffixes = [""] if cutoffs is None else [f"@{k}" for k in cutoffs]
    names = [name + suffix for name in KERNELS for suffix in suffixes]
    return names, values.reshape(len(histogram), len(names), values.shape[-1])


def _lookup_values(histogram, radius, zero_relevant):
    """The same for metrics of hash lookup, which no order of ties changes."""
    precision = radius_precision(histogram, radius, zero_relevant=zero_relevant)
    recall = radius_recall(histogram, radius, zero_relevant=zero_relevant)
    raap = radius_precision(histogram, radius) / lookup_cost(_n_bits(histogram), radius)
    raap = np.where(np.isnan(raap), precision, raap).mean(axis=1)
    columns = np.stack((precision[:, -1], recall[:, -1], raap), axis=1)
    names = ["radius_precision", "radius_recall", "radius_aware_map"]
    return [f"{name}@{radius}" for name in names], _thrice(columns)


def _lookup_constants(histogram, radius, sample_weight):
    """What is known of queries with nothing relevant, and of no query at all."""
    empty = histogram.counts[:, :, : radius + 1].sum(axis=(1, 2)) == 0
    cost = lookup_cost(_n_bits(histogram), radius)[-1]
    return {
        f"empty_lookup_fraction@{radius}": _thrice(
            average_queries(empty.astype(float), sample_weight)
        ),
        f"lookup_cost@{radius}": _thrice(cost),
    }


def _thrice(values):
    return np.repeat(np.asarray(values)[..., None], 3, axis=-1)


def _n_bits(histogram):
    return histogram.counts.shape[2] - 1


def _data_frame(as_frame):
    """The class of the result, or None for a dict."""
    if as_frame not in (True, False, "auto"):
        raise ValueError(f"as_frame must be True, False or 'auto', got {as_frame!r}.")
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
