"""Kernels applied to histograms, a block of queries at a time.

A kernel is a function of :class:`~._ties.Ties` that returns values of shape (n_queries,
n_cutoffs), whatever they are for queries with nothing relevant. All kernels of one call
read the same tables.
"""

import numpy as np
from sklearn.utils import gen_batches
from sklearn.utils.validation import _check_sample_weight

from ..histogram._tables import check_ranking
from ._queries import average_queries, check_cutoffs, fill_zero_relevant
from ._ties import HistogramTies, ScoreTies

CELLS_PER_BLOCK = 2**15  # tables of a block stay in cache


def evaluate(kernels, histogram, cutoffs, zero_relevant, order="expected"):
    """Values of several kernels, shape (n_kernels, n_queries, n_cutoffs)."""
    counts, levels = histogram.counts, histogram.levels
    n_kinds = 2 if order == "expected" else counts.shape[1]
    n_cutoffs = 1 if cutoffs is None else len(cutoffs)
    cells = n_kinds * counts.shape[2] + n_cutoffs
    ties = (
        HistogramTies(counts[rows], levels, cutoffs, order)
        for rows in query_blocks(len(counts), cells)
    )
    return evaluate_ties(kernels, ties, zero_relevant)


def evaluate_ties(kernels, blocks, zero_relevant):
    """The same for the ties of blocks of queries, at least one."""
    values = [
        fill_zero_relevant(
            np.stack([kernel(ties) for kernel in kernels]),
            ties.n_relevant == 0,
            zero_relevant,
        )
        for ties in blocks
    ]
    return np.concatenate(values, axis=1)


def evaluate_queries(kernel, histogram, k, zero_relevant, order="expected"):
    """Values of one kernel: (n_queries,), or (n_queries, n_cutoffs) for a sequence."""
    cutoffs, single = check_cutoffs(k)
    values = evaluate([kernel], histogram, cutoffs, zero_relevant, order)[0]
    return values[:, 0] if single else values


def score_queries(kernel, y_true, y_score, k, sample_weight, average, zero_relevant):
    """Values of a kernel, averaged over queries unless `average` is False.

    Called by the public functions alone: warnings point at their callers.
    """
    cutoffs, single = check_cutoffs(k)
    y_true, y_score = check_ranking(y_true, y_score)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, y_true, ensure_non_negative=True
        )
    n_queries, n_items = y_true.shape
    cells = n_items + (1 if single else len(cutoffs))
    ties = (
        ScoreTies(y_true[rows], y_score[rows], cutoffs)
        for rows in query_blocks(n_queries, cells)
    )
    values = evaluate_ties([kernel], ties, zero_relevant)[0]
    values = values[:, 0] if single else values
    return average_queries(values, sample_weight, stacklevel=4) if average else values


def query_blocks(n_queries, cells_per_query):
    """Slices of queries; one empty slice when there is no query."""
    if not n_queries:
        return [slice(0, 0)]
    return gen_batches(n_queries, max(1, CELLS_PER_BLOCK // cells_per_query))
