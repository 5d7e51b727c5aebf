"""Counts of the items of an index by affinity to queries and by distance, for `score`."""

import numpy as np
import scipy.sparse as sp

from ..affinity._excluded import leave_out_groups
from ..codes import hamming_distances
from ..codes._packed import wrap_bytes
from ..histogram import RankingHistogram, hamming_histogram
from ..histogram._hamming import weighted_histograms
from ._filters import refuse_other_order


def count_by_distance(index, queries, y, *, groups_query, groups_database, n_jobs):
    """Count the items of an index by affinity to queries and by distance.

    Parameters
    ----------
    index : Index
        The items.

    queries : Queries
        The queries.

    y : targets of length n_queries
        Targets of the queries; their affinities to the items if the index has no targets.

    groups_query, groups_database : array-like or None
        Labels of groups, of queries and of all items given so far. Items of the query's own
        group are ignored.

    n_jobs : int or None
        Number of threads.

    Returns
    -------
    histograms : iterable of RankingHistogram
        Tables for the first queries, for the next queries, and so on.
    """
    is_grouped = groups_query is not None or groups_database is not None
    affinity = index.targets.affinity
    if affinity is None:
        _check_affinities(y, queries.n_queries, index.n_items)
        refuse_other_order(y, 1, index, "y")
        if is_grouped:
            raise ValueError("fit got no y; write NaN into y for pairs of one group.")
        return _count(index, queries, None, y, None, n_jobs)
    if affinity.by_number:  # columns of y are items
        refuse_other_order(y, 1, index, "y")
    y = affinity.check_targets(y)
    y_database = index.targets.values
    affinity.check_width(y, y_database.shape[0])
    affinity, y, y_database = leave_out_groups(
        affinity,
        y,
        y_database,
        groups_query=groups_query,
        groups_database=groups_database,
    )
    return _count(index, queries, affinity, y, y_database[index.indices], n_jobs)


def _count(index, queries, affinity, y, y_database, n_jobs):
    """Tables of queries and items; without an affinity object `y` has the affinities."""
    if not queries.are_bits:
        y = np.asarray(y) if affinity is None else y
        return weighted_histograms(
            queries.values, index.codes, affinity, y, y_database, n_jobs=n_jobs
        )
    # Queries that are bits are compared by bits alone. Factors of the codes do not count.
    query_codes = wrap_bytes(queries.values, index.n_bits)
    codes = wrap_bytes(index.codes.data, index.n_bits)
    if affinity is None:
        distances = hamming_distances(query_codes, codes)
        return [RankingHistogram.from_scores(y, -distances)]
    return [hamming_histogram(query_codes, codes, affinity, y, y_database, n_jobs=n_jobs)]


def _check_affinities(y, n_queries, n_items):
    """Raise ValueError unless y has the affinity of each query to each item."""
    shape = y.shape if hasattr(y, "shape") else np.shape(np.asarray(y, dtype=object))
    if sp.issparse(y) or shape != (n_queries, n_items):
        form = "is sparse" if sp.issparse(y) else f"has shape {shape}"
        raise ValueError(
            f"y {form}, and the index was fitted without y: score then takes the affinity "
            f"of each query to each item, a dense array of shape {(n_queries, n_items)}. "
            "If y holds targets of the queries, such as labels, pass targets of the items "
            "to fit: fit(X, y)."
        )
