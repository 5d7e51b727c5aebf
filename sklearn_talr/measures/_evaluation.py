"""Evaluate measures of tables of counts and of arrays, and average over queries."""

from dataclasses import replace
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._arrays import NUMPY, as_numpy, refuse_unlike_labels, space_of
from .._compat import check_sample_weight
from .._progress import warn_caller
from ..histogram._rankings import check_rankings
from ._ties import ALL_RANKS, CELLS_PER_BLOCK, Cells, Ties, TiesOfCounts

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


def histogram_range(measures, histogram, zero_division=np.nan):
    """Values of a table in the worst, a random and the best order of ties.

    Returns
    -------
    range : TieBreakingRange
        Each of shape (n_queries, n_measures).
    """
    orders = TieBreakingRange._fields
    return TieBreakingRange(*_of_orders(measures, histogram, zero_division, orders))


def evaluate_histogram(measures, histogram, zero_division=np.nan):
    """Values of several measures of a table of counts, shape (n_queries, n_measures)."""
    return _of_orders(measures, histogram, zero_division, ["expected"])[0]


def _of_orders(measures, histogram, zero_division, orders):
    """Values (n_orders, n_queries, n_measures); all measures read the same ties."""
    counts, levels = histogram.counts, histogram.levels
    completed = completed_for_arrays(measures, largest=int(levels[-1]), is_all=False)
    groups = group_by_cutoff(completed)
    # Measures of relevance add up the items of a tie, whatever their grades.
    rel, *others = {m.rel if "rel" in m.parameters() else None for m, _, _ in groups}
    n_below = 0 if rel is None or others else int(np.searchsorted(levels, rel))
    if 0 < n_below < len(levels) > 2:
        parts = counts[:, :n_below], counts[:, n_below:]
        counts = np.stack([part.sum(axis=1, dtype=np.int64) for part in parts], axis=1)
        levels = np.append(0, levels[-1])
    cells = counts.shape[1] * counts.shape[2] + most_cutoffs(groups)
    values = np.empty((len(orders), len(counts), len(measures)))
    n_rows = max(1, CELLS_PER_BLOCK // cells)  # of a block, which stays in cache
    for start in range(0, max(1, len(counts)), n_rows):
        rows = slice(start, start + n_rows)
        block = counts[rows].astype(np.int64, copy=False)  # differences must have a sign
        counted = TiesOfCounts(block, levels)
        for place, order in enumerate(orders):
            tied = counted if order == "expected" else counted.cells
            values[place, rows] = evaluate_ties(groups, tied, zero_division, order)
    return values


def score_arrays(
    measures, y_true, y_score, *, groups, sample_weight, average, zero_division
):
    """Values of rankings by score, averaged over queries unless `average` is False.

    Arrays of other libraries are ranked in NumPy, and values live where scores do.
    Public functions alone call it, so that a warning points at their callers.

    Returns
    -------
    values : float, or array of shape (n_measures,), (n_queries,) or (n_queries, n_measures)
        Without the dimension of measures for a single one that is not in a list.
    """
    single = not isinstance(measures, list)
    measures = [measures] if single else measures
    real_grades = all(measure.takes_real_grades for measure in measures)
    rankings = check_rankings(y_true, y_score, groups, real_grades=real_grades)
    if groups is None:
        refuse_unlike_labels(y_true, sample_weight, ("y_true", "sample_weight"))
    elif hasattr(sample_weight, "iloc"):
        queries = np.unique(np.asarray(as_numpy(groups)))
        by_query = type(sample_weight)(queries, index=queries)
        refuse_unlike_labels(
            by_query, sample_weight, ("the sorted groups", "sample_weight")
        )
    weights = check_weights(sample_weight, len(rankings))
    largest = rankings.affinity.max(initial=0)
    groups = group_by_cutoff(completed_for_arrays(measures, largest=largest))
    values = np.empty((len(rankings), len(measures)))
    for queries, affinity, score in rankings.blocks(CELLS_PER_BLOCK, most_cutoffs(groups)):
        cells = Cells.of_scores(affinity, score)
        values[queries] = evaluate_ties(groups, cells, zero_division)
    values = values[:, 0] if single else values
    if average:
        values = average_queries(values, weights)
    space = space_of(y_score)
    return values if space is NUMPY or np.isscalar(values) else space.take(values)


def evaluate_ties(groups, cells, zero_division=0.0, order="expected"):
    """Values of groups of measures, as of :func:`group_by_cutoff`, of some queries.

    Parameters
    ----------
    groups : list of (Measure, list of int, ndarray of int64)

    cells : Cells or TiesOfCounts
        The latter in the expected order alone.

    zero_division : float, default=0.0
        Value of a query with nothing relevant.

    order : {"expected", "worst", "best", "listed"}, default="expected"
        The order of ties.

    Returns
    -------
    values : ndarray of shape (n_queries, n_measures)
    """
    values = np.empty((len(cells.n_items), sum(len(places) for _, places, _ in groups)))
    broken = cells if order == "expected" else cells.in_order(order)
    ties, cut = {}, {}
    for measure, places, cutoffs in groups:
        # Measures of runs alone look at all that was judged
        rel = -np.inf if measure.of_runs_only else measure.rel or 1
        if rel not in ties:
            kept = broken.at_least(rel)
            tied = kept if broken is cells else cells.at_least(rel)
            # A listed order has no ties, so that it is a ranking like any other.
            kind = "expected" if order == "listed" else order
            is_table = isinstance(kept, TiesOfCounts)
            ties[rel] = kept if is_table else Ties(kept, kind, tied)
        ranks = measure.ranks(ties[rel], cutoffs)
        key = rel, ranks.shape, ranks.tobytes()
        if key not in cut:
            cut[key] = ties[rel].cut_at(ranks)
        found, undefined = measure.kernel(cut[key]), ties[rel].n_relevant == 0
        values[:, places] = fill_undefined(found, undefined, zero_division)
    return values


def completed_for_arrays(measures, *, largest=None, is_all=True):
    """Measures of arrays or tables with nothing left open, or an error that says why not.

    `largest` and `is_all` are those of :meth:`Measure.completed`.
    """
    for measure in measures:
        if measure.of_runs_only:
            raise ValueError(
                f"{measure} is a measure of runs: arrays and tables have an affinity for "
                "every item. Pass a run to sklearn_talr.runs.evaluate_run."
            )
    data = {"largest": largest, "is_all": is_all}
    return [measure.completed(gains="exp-log2", **data) for measure in measures]


def group_by_cutoff(measures):
    """Group measures that differ in nothing but the number of ranks of the cutoff.

    Returns
    -------
    groups : list of (Measure, list of int, ndarray of int64)
        The measure without a cutoff, or with a share as its cutoff; the places of the group
        in `measures`; and the cutoffs of the group.
    """
    groups = {}
    for place, measure in enumerate(measures):
        share = measure.cutoff if isinstance(measure.cutoff, str) else None
        plain = replace(measure, cutoff=share)
        ranks = ALL_RANKS if share else measure.cutoff or ALL_RANKS
        places, cutoffs = groups.setdefault(plain, ([], []))
        places.append(place)
        cutoffs.append(ranks)
    return [(each, places, np.array(cuts)) for each, (places, cuts) in groups.items()]


def most_cutoffs(groups):
    """Number of cutoffs of the largest group."""
    return max(len(cutoffs) for _, _, cutoffs in groups)


def check_weights(sample_weight, n_queries):
    """Return one non-negative weight for each of the queries, or None for equal ones."""
    if sample_weight is None:
        return None
    queries, weights = np.empty((n_queries, 0)), as_numpy(sample_weight, "sample_weight")
    weights = check_sample_weight(weights, queries, ensure_non_negative=True)
    # In units of a power of two, so that no digit changes and no sum overflows.
    return np.ldexp(weights, -np.frexp(weights.max(initial=0))[1])


def fill_undefined(values, undefined, zero_division):
    """Put `zero_division` where a query has nothing relevant."""
    if isinstance(zero_division, bool) or not isinstance(zero_division, Real):
        raise ValueError(f"zero_division must be NaN or a number, got {zero_division!r}.")
    return np.where(undefined, float(zero_division), values)


def average_queries(values, sample_weight=None):
    """Weighted mean of the queries that have a value; NaN, with a warning, if none has.

    `values` has shape (n_queries,) or (n_queries, ...). Which queries have a value may
    differ between measures, as their `rel` does. The mean of a vector is a float.
    """
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    defined = ~np.isnan(flat)
    weights = defined.astype(float)
    if sample_weight is not None:
        weights *= sample_weight[:, None]
    total, means = weights.sum(axis=0), np.full(flat.shape[1], np.nan)
    sums = (np.where(defined, flat, 0.0) * weights).sum(axis=0)
    np.divide(sums, total, out=means, where=total > 0)
    if np.isnan(means).any():
        warn_caller(
            "No query has a relevant item, so the metric is undefined. Pass "
            "zero_division=0.0 to count such queries as 0.",
            UndefinedMetricWarning,
        )
    return float(means[0]) if values.ndim == 1 else means.reshape(values.shape[1:])
