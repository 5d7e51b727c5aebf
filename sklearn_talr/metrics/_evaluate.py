"""Kernels applied to histograms, a block of queries at a time.

A kernel is a function of :class:`~._ties.Ties` that returns values of shape (n_queries,
n_cutoffs), whatever they are for queries with nothing relevant. All kernels of one call
read the same tables.
"""

import numpy as np
from sklearn.utils import gen_batches

from ._queries import check_cutoffs, fill_zero_relevant
from ._ties import HistogramTies

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


def query_blocks(n_queries, cells_per_query):
    """Slices of queries; one empty slice when there is no query."""
    if not n_queries:
        return [slice(0, 0)]
    return gen_batches(n_queries, max(1, CELLS_PER_BLOCK // cells_per_query))
