"""Evaluate measures of tables of counts and of arrays, and average over queries."""

from dataclasses import replace
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._core.compat import check_sample_weight
from .._core.progress import warn_caller
from .._core.types import Any
from .._core.validation import NUMPY, as_numpy, refuse_unlike_labels, space_of
from ..histogram._rankings import check_rankings
from ._ties import ALL_RANKS, CELLS_PER_BLOCK, Cells, Ties

OF_SCORES = {
    "y_true": ["array-like"],
    "y_score": ["array-like"],
    "groups": ["array-like", None],
    "sample_weight": ["array-like", None],
    "average": ["boolean"],
    "zero_division": [Real],
}


class TieBreakingRange(NamedTuple):
    """Least, mean and greatest value of a measure over all orders of tied items.

    Parameters
    ----------
    worst, expected, best : ndarray of shape (n_queries,) or (n_queries, n_measures)
        The least value over all orders, the mean, and the greatest, per query.
    """

    worst: np.ndarray
    expected: np.ndarray
    best: np.ndarray


class CutoffGroup(NamedTuple):
    """Measures that differ in nothing but the number of ranks of the cutoff.

    Parameters
    ----------
    measure : Measure
        The measure without a cutoff, or with a share as its cutoff.

    places : list of int
        Places of the group in the list of measures.

    cutoffs : ndarray of shape (n_cutoffs,) of int64
        The cutoff of each measure of the group; `ALL_RANKS` without one.
    """

    measure: Any
    places: list
    cutoffs: np.ndarray


def histogram_range(measures, histogram, zero_division=np.nan):
    """Values of a table in the worst, a random and the best order of ties.

    Returns
    -------
    range : TieBreakingRange
        Each of shape (n_queries, n_measures).
    """
    orders = TieBreakingRange._fields
    return TieBreakingRange(*_values_in_orders(measures, histogram, zero_division, orders))


def evaluate_histogram(measures, histogram, zero_division=np.nan):
    """Values of several measures of a table of counts, shape (n_queries, n_measures)."""
    (values,) = _values_in_orders(measures, histogram, zero_division, ["expected"])
    return values


def _values_in_orders(measures, histogram, zero_division, orders):
    """Values (n_orders, n_queries, n_measures); all measures read the same cells."""
    largest = int(histogram.levels[-1])
    groups = group_by_cutoff(completed_for_arrays(measures, largest=largest, is_all=False))
    counts, levels = _merge_levels(histogram, groups)
    n_queries, n_levels, n_ties = counts.shape
    # A block of queries and all that is computed of it stay in cache.
    cells_of_query = n_levels * n_ties + most_cutoffs(groups)
    n_rows = max(1, CELLS_PER_BLOCK // cells_of_query)
    values = np.empty((len(orders), n_queries, len(measures)))
    for start in range(0, max(1, n_queries), n_rows):
        rows = slice(start, start + n_rows)
        # Differences of unsigned integers would have no sign.
        block = counts[rows].astype(np.int64, copy=False)
        cells = Cells.from_counts(block, levels)
        for place, order in enumerate(orders):
            values[place, rows] = evaluate_ties(groups, cells, zero_division, order)
    return values


def _merge_levels(histogram, groups):
    """Counts and levels, with one level for all relevant items if no measure needs more.

    Measures of relevance do not depend on the grades of relevant items.
    """
    counts = histogram.counts
    levels = histogram.levels
    thresholds = set()
    for group in groups:
        by_relevance = "rel" in group.measure.parameters()
        thresholds.add(group.measure.rel if by_relevance else None)
    rel = thresholds.pop()
    if rel is None or thresholds:
        return counts, levels
    n_below = int(np.searchsorted(levels, rel))
    if not 0 < n_below < len(levels) or len(levels) <= 2:
        return counts, levels
    below = counts[:, :n_below].sum(axis=1, dtype=np.int64)
    relevant = counts[:, n_below:].sum(axis=1, dtype=np.int64)
    merged_levels = np.append(0, levels[-1])
    return np.stack((below, relevant), axis=1), merged_levels


def score_arrays(
    measures, y_true, y_score, *, groups, sample_weight, average, zero_division
):
    """Values of rankings by score, averaged over queries unless `average` is False.

    Arrays of other libraries are ranked in NumPy; values are returned in the library of
    the scores.

    Returns
    -------
    values : float, or array of shape (n_measures,), (n_queries,) or (n_queries, n_measures)
        A single measure that is not in a list has no dimension of measures.
    """
    single = not isinstance(measures, list)
    measures = [measures] if single else measures
    real_grades = all(measure.takes_real_grades for measure in measures)
    rankings = check_rankings(y_true, y_score, groups, real_grades=real_grades)
    _refuse_other_queries(y_true, groups, sample_weight)
    weights = check_weights(sample_weight, len(rankings))
    largest = rankings.affinity.max(initial=0)
    cutoff_groups = group_by_cutoff(completed_for_arrays(measures, largest=largest))
    n_cutoffs = most_cutoffs(cutoff_groups)
    values = np.empty((len(rankings), len(measures)))
    for queries, affinity, score in rankings.blocks(CELLS_PER_BLOCK, n_cutoffs):
        cells = Cells.from_scores(affinity, score)
        values[queries] = evaluate_ties(cutoff_groups, cells, zero_division)
    values = values[:, 0] if single else values
    if average:
        values = average_queries(values, weights)
    space = space_of(y_score)
    if space is NUMPY or np.isscalar(values):
        return values
    return space.take(values)


def _refuse_other_queries(y_true, groups, sample_weight):
    """Raise ValueError if row labels of weights are not the queries, in their order."""
    if groups is None:
        refuse_unlike_labels(y_true, sample_weight, ("y_true", "sample_weight"))
    elif hasattr(sample_weight, "iloc"):
        queries = np.unique(np.asarray(as_numpy(groups)))
        by_query = type(sample_weight)(queries, index=queries)
        names = "the sorted groups", "sample_weight"
        refuse_unlike_labels(by_query, sample_weight, names)


def evaluate_ties(groups, cells, zero_division=0.0, order="expected"):
    """Values of groups of measures of some queries.

    Parameters
    ----------
    groups : list of CutoffGroup

    cells : Cells
        Relevant items of the queries.

    zero_division : float, default=0.0
        Value of a query with nothing relevant.

    order : {"expected", "worst", "best", "listed"}, default="expected"
        The order of ties.

    Returns
    -------
    values : ndarray of shape (n_queries, n_measures)
    """
    n_measures = sum(len(group.places) for group in groups)
    values = np.empty((len(cells.n_items), n_measures))
    ordered = cells if order == "expected" else cells.in_order(order)
    # A listed order has no ties, so that it is a ranking like any other.
    kind = "expected" if order == "listed" else order
    ties_by_rel = {}
    cut_ties = {}
    for measure, places, cutoffs in groups:
        # Measures that runs alone have look at all that was judged.
        if measure.of_runs_only:
            rel = -np.inf
        else:
            rel = measure.rel or 1
        if rel not in ties_by_rel:
            relevant = ordered.at_least(rel)
            unbroken = relevant if ordered is cells else cells.at_least(rel)
            ties_by_rel[rel] = Ties(relevant, kind, unbroken)
        ties = ties_by_rel[rel]
        ranks = measure.ranks(ties, cutoffs)
        key = rel, ranks.shape, ranks.tobytes()
        if key not in cut_ties:
            cut_ties[key] = ties.cut_at(ranks)
        measured = measure.kernel(cut_ties[key])
        is_undefined = ties.n_relevant == 0
        values[:, places] = fill_undefined(measured, is_undefined, zero_division)
    return values


def completed_for_arrays(measures, *, largest=None, is_all=True):
    """Measures of arrays or tables with all parameters set, or an error.

    `largest` and `is_all` are parameters of :meth:`Measure.completed`.
    """
    for measure in measures:
        if measure.of_runs_only:
            raise ValueError(
                f"{measure} is a measure of runs: arrays and tables have an affinity for "
                "every item. Pass a run to sklearn_talr.runs.evaluate_run."
            )
    return [
        measure.completed(gains="exp-log2", largest=largest, is_all=is_all)
        for measure in measures
    ]


def group_by_cutoff(measures):
    """Group measures that differ in nothing but the number of ranks of the cutoff.

    Returns
    -------
    groups : list of CutoffGroup
        In the order of their first measures.
    """
    places = {}
    cutoffs = {}
    for place, measure in enumerate(measures):
        share = measure.cutoff if isinstance(measure.cutoff, str) else None
        plain = replace(measure, cutoff=share)
        places.setdefault(plain, []).append(place)
        n_ranks = ALL_RANKS if share else measure.cutoff or ALL_RANKS
        cutoffs.setdefault(plain, []).append(n_ranks)
    return [CutoffGroup(plain, places[plain], np.array(cutoffs[plain])) for plain in places]


def most_cutoffs(groups):
    """Number of cutoffs of the largest group."""
    return max(len(group.cutoffs) for group in groups)


def check_weights(sample_weight, n_queries):
    """Return one non-negative weight for each of the queries, or None for equal ones."""
    if sample_weight is None:
        return None
    weights = check_sample_weight(
        as_numpy(sample_weight, "sample_weight"),
        np.empty((n_queries, 0)),
        ensure_non_negative=True,
    )
    # In units of a power of two no digit changes, and no sum overflows.
    _, exponent = np.frexp(weights.max(initial=0))
    return np.ldexp(weights, -exponent)


def fill_undefined(values, is_undefined, zero_division):
    """Set the values of queries without relevant items to `zero_division`."""
    if isinstance(zero_division, bool) or not isinstance(zero_division, Real):
        raise ValueError(f"zero_division must be NaN or a number, got {zero_division!r}.")
    return np.where(is_undefined, float(zero_division), values)


def average_queries(values, sample_weight=None):
    """Weighted mean of the queries that have a value; NaN, with a warning, if none has.

    `values` has shape (n_queries,) or (n_queries, ...). Which queries have a value may
    differ between measures, as their `rel` does. The mean of a vector is a float.
    """
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    is_defined = ~np.isnan(flat)
    weights = is_defined.astype(float)
    if sample_weight is not None:
        weights *= sample_weight[:, None]
    total = weights.sum(axis=0)
    sums = (np.where(is_defined, flat, 0.0) * weights).sum(axis=0)
    means = np.full(flat.shape[1], np.nan)
    np.divide(sums, total, out=means, where=total > 0)
    if np.isnan(means).any():
        warn_caller(
            "No query has a relevant item, so the metric is undefined. Pass "
            "zero_division=0.0 to count such queries as 0.",
            UndefinedMetricWarning,
        )
    if values.ndim == 1:
        return float(means[0])
    return means.reshape(values.shape[1:])
