"""Rankings of relaxed codes on the host, measured and differentiated in one go (NumPy)."""

from functools import cache, lru_cache

import numpy as np
from scipy.linalg import get_blas_funcs

_PAIRS_PER_BLOCK = 1 << 17  # half a MiB of float32: it stays in cache between passes
_ROWS_PER_BLOCK = 32  # at least: each block adds to the whole gradient of the database
_LARGEST_KEPT = 1 << 24


def measure_rankings(query, items, level_index, how, n_bins):
    """Sum a measure over relaxed queries that rank relaxed items, and differentiate it.

    Parameters
    ----------
    query, items : ndarrays of shapes (n_query, n_bits) and (n_items, n_bits), float
        Relaxed bits in [-1, 1], of one dtype.

    level_index : ndarray of shape (n_query, n_items), integer
        Places of affinities among the levels; -1 leaves a pair out.

    how : tuple
        The measure, see `tables_of_measure`.

    n_bins : int
        Bins of distances.

    Returns
    -------
    total : float
        Sum of the measure over the queries that have something relevant.

    n_queries : int
        Number of these.

    grad_query, grad_items : ndarrays of the shapes of `query` and `items`
        Gradients of the sum.
    """
    from .._loops._soft import count_softly, look_up

    number, scale = query.dtype.type, 0.5 * n_bins / query.shape[1]
    bins, step = (number(scale), number(0.5 * n_bins), number(n_bins)), number(-scale)
    total, n_queries, grad_query = 0.0, 0, np.empty_like(query)
    # A column an item: products of blocks are added to it in place.
    grad_items, gemm = np.zeros_like(items.T, order="F"), get_blas_funcs("gemm", (query,))
    for rows in blocks_of_queries(level_index.shape):
        products = query[rows] @ items.T
        cells = np.empty(products.shape, np.int32)
        counts = np.empty((len(cells), len(how[0]) * (n_bins + 1)))
        levels = np.ascontiguousarray(level_index[rows])
        count_softly(products, levels, *bins, counts, cells)
        values, gradients = measure_counts(counts, how)
        # Every pair has mass 1: a query with less than a half has nothing relevant.
        is_valued = ~(counts[:, n_bins + 1 :].sum(axis=1) <= 0.5)
        is_lost = ~np.isfinite(counts.sum(axis=1))
        if is_lost.any():
            values[is_lost] = gradients[is_lost] = np.nan
        total += values[is_valued].sum()
        n_queries += int(np.count_nonzero(is_valued))  # a scalar of NumPy would widen
        # Moving a pair of a cell up by one bin moves a count from a bin to the next.
        steps = np.zeros((len(cells), counts.shape[1] + 1), query.dtype)
        np.subtract(gradients[:, 1:], gradients[:, :-1], out=steps[:, :-2])
        steps[~is_valued] = 0
        look_up(steps, cells, products)
        # The products have become the gradient by positions.
        grad_query[rows] = products @ items
        grad_query[rows] *= step
        gemm(step, query[rows].T, products.T, 1, grad_items, trans_b=1, overwrite_c=1)
    return total, n_queries, grad_query, grad_items.T


def measure_counts(counts, how):
    """Measure the rankings of tables of counts, and differentiate.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels * n_distances), dtype float64
        Counts, level by level.

    how : tuple
        The measure, see `tables_of_measure`.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        0 where nothing is relevant.

    gradients : ndarray of the shape of `counts`
        By the counts.
    """
    from .._loops import _soft

    values, gradients = np.empty(len(counts)), np.empty_like(counts)
    gains, simplified, *of_ranks = how
    if of_ranks:
        _soft.ndcg(counts, gains, simplified, *of_ranks, values, gradients)
        return values, gradients
    n_distances = counts.shape[1] // len(gains)
    ties = np.empty((11, len(counts) * (n_distances + 1)))
    _soft.lay_out_ties(counts, n_distances, ties)
    if simplified:
        _soft.simplified_gains(ties)
    else:
        _soft.digamma_and_trigamma(ties[2], ties[9], ties[10], ties[4])
        _soft.precision_gains(ties)
    _soft.gather_ties(ties, n_distances, values, gradients)
    return values, gradients


def blocks_of_queries(shape, n_pairs=_PAIRS_PER_BLOCK):
    """Slices of queries whose pairs, of this shape, stay in the cache."""
    n_query, n_database = shape
    size = max(_ROWS_PER_BLOCK, n_pairs // max(1, n_database))
    return [slice(start, min(start + size, n_query)) for start in range(0, n_query, size)]


def tables_of_measure(levels, measure, simplified, n_items):
    """Describe a measure for `measure_rankings` and `measure_counts`.

    Parameters
    ----------
    levels : ndarray of shape (n_levels,), float64
        Affinity values in ascending order, first 0.

    measure : {"AP", "nDCG"}
        The measure.

    simplified : bool
        Whether each tie counts by its middle rank.

    n_items : int
        Most items that a query ranks.

    Returns
    -------
    how : tuple
        Gains by level, and whether ties count by their middle; for NDCG D(1), D(2), ... and
        S(0), S(1), ..., the discounts of ranks and their sums.
    """
    if measure == "AP":
        return levels, simplified
    return np.exp2(levels) - 1, simplified, *_discounts(n_items)


@lru_cache(maxsize=4)
def _discounts(n_ranks):
    """Tables by rank, one to spare: D(1), D(2), ... and S(0), S(1), ..."""
    discounts = 1 / np.log2(np.arange(n_ranks + 2) + 2)
    return discounts, np.concatenate(([0], np.cumsum(discounts)))


@cache
def keep_freed_memory():
    """Have glibc keep the memory of freed arrays for the next step; once per process.

    glibc returns the memory of arrays above 128 KiB to the system, and every step faults
    it in anew, until it has seen a larger block freed. The block here is never touched.
    """
    np.empty(_LARGEST_KEPT, dtype=np.uint8)
