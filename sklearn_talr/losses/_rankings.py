"""Rankings of relaxed codes on the host, measured and differentiated in one go (NumPy)."""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs

# Half a MiB of float32 stays in cache between passes.
_PAIRS_PER_BLOCK = 1 << 17
# Each block adds to the whole gradient of the database, so that small blocks do not pay.
_MIN_ROWS_PER_BLOCK = 32
# glibc keeps freed arrays up to the size of the largest one it has seen, 16 MiB here.
_BYTES_KEPT_WHEN_FREED = 1 << 24


@dataclass(frozen=True)
class MeasureTables:
    """A measure of tables of counts, with its tables by level and by rank."""

    measure: str  # "AP" or "nDCG"
    gains: np.ndarray  # (n_levels,), float64, ascending; AP needs their number alone
    is_simplified: bool  # whether each tie counts by its middle rank
    discounts: np.ndarray | None  # (n_items + 2,), D(1), D(2), ...; None for AP
    discount_sums: np.ndarray | None  # (n_items + 3,), S(0), S(1), ...; None for AP

    @classmethod
    def from_levels(cls, levels, *, measure, is_simplified, n_items):
        """Make the tables of a measure.

        Parameters
        ----------
        levels : ndarray of shape (n_levels,), float64
            Affinity values in ascending order, first 0.

        measure : {"AP", "nDCG"}
            The measure.

        is_simplified : bool
            Whether each tie counts by its middle rank.

        n_items : int
            The largest number of items that a query ranks.
        """
        if measure == "AP":
            return cls(measure, levels, is_simplified, discounts=None, discount_sums=None)
        discounts, discount_sums = _discounts(n_items)
        gains = np.exp2(levels) - 1
        return cls(
            measure, gains, is_simplified, discounts=discounts, discount_sums=discount_sums
        )


class MeasuredRankings(NamedTuple):
    """A measure of relaxed queries that rank relaxed items, and its gradients."""

    total: float  # sum of the measure over the queries that have something relevant
    n_queries: int  # number of these queries
    grad_query: np.ndarray  # (n_query, n_bits), gradient of the sum by the queries
    grad_items: np.ndarray  # (n_items, n_bits), gradient of the sum by the items


def measure_rankings(query, items, level_index, *, tables, n_bins):
    """Sum a measure over relaxed queries that rank relaxed items, and differentiate it.

    Parameters
    ----------
    query, items : ndarrays of shapes (n_query, n_bits) and (n_items, n_bits), float
        Relaxed bits in [-1, 1], of one dtype.

    level_index : ndarray of shape (n_query, n_items), integer
        Places of affinities among the levels; -1 leaves a pair out.

    tables : MeasureTables
        The measure.

    n_bins : int
        Bins of distances.

    Returns
    -------
    rankings : MeasuredRankings
        The sum, the number of queries and the gradients.
    """
    number = query.dtype.type
    scale = 0.5 * n_bins / query.shape[1]
    step = number(-scale)
    total = 0.0
    n_queries = 0
    grad_query = np.empty_like(query)
    # There is a column for each item, so that products of blocks are added in place.
    grad_items = np.zeros_like(items.T, order="F")
    gemm = get_blas_funcs("gemm", (query,))
    for rows in blocks_of_queries(level_index.shape):
        products = query[rows] @ items.T
        n_valued, value = _measure_block(
            products, level_index[rows], tables=tables, n_bins=n_bins, scale=scale
        )
        total += value
        n_queries += n_valued
        # The products have become the gradient by positions.
        grad_query[rows] = products @ items
        grad_query[rows] *= step
        gemm(step, query[rows].T, products.T, 1, grad_items, trans_b=1, overwrite_c=1)
    return MeasuredRankings(total, n_queries, grad_query, grad_items.T)


def _measure_block(products, level_index, *, tables, n_bins, scale):
    """Measure a block of queries; write the gradient by positions over their products.

    Returns the number of queries that have something relevant, and the sum over them.
    """
    from .._loops._soft import look_up

    counts, cells = _count_block(
        products, level_index, n_levels=len(tables.gains), n_bins=n_bins, scale=scale
    )
    values, gradients = measure_counts(counts, tables)
    is_valued = _have_relevant(counts, n_bins)
    is_lost = ~np.isfinite(counts.sum(axis=1))
    if is_lost.any():
        values[is_lost] = np.nan
        gradients[is_lost] = np.nan
    # Moving a pair of a cell up by one bin moves a count from a bin to the next.
    steps = np.zeros((len(cells), counts.shape[1] + 1), products.dtype)
    np.subtract(gradients[:, 1:], gradients[:, :-1], out=steps[:, :-2])
    steps[~is_valued] = 0
    look_up(steps, cells, products)
    # A scalar of NumPy would widen the weights of the caller.
    return int(np.count_nonzero(is_valued)), values[is_valued].sum()


def _count_block(products, level_index, *, n_levels, n_bins, scale):
    """Count pairs of a block of queries by level and bin; return the cell of each, too."""
    from .._loops._soft import Bins, count_softly

    cells = np.empty(products.shape, np.int32)
    counts = np.empty((len(cells), n_levels * (n_bins + 1)))
    levels = np.ascontiguousarray(level_index)
    bins = Bins.from_scale(scale, n_bins, products.dtype)
    count_softly(products, levels, bins, counts, cells)
    return counts, cells


def _have_relevant(counts, n_bins):
    """Which queries have a relevant item; each pair counts 1, but for rounding."""
    return ~(counts[:, n_bins + 1 :].sum(axis=1) <= 0.5)


def score_codes(codes, level_index, tables):
    """Mean measure of codes that rank each other by Hamming distance.

    Soft counts of bits -1 and 1 are counts, so the measure is exact.

    Parameters
    ----------
    codes : ndarray of shape (n_items, n_bits), uint8
        Bits 0 or 1.

    level_index : callable
        ``level_index(rows)`` returns an ndarray of shape (n_rows, n_items): places among
        the levels of the affinities between a slice of the items and all items; -1 leaves
        a pair out.

    tables : MeasureTables
        The measure.

    Returns
    -------
    score : float
        Mean over the items that have something relevant; NaN if none has.
    """
    bits = np.where(codes > 0, np.float32(1), np.float32(-1))
    n_items, n_bits = bits.shape
    total = 0.0
    n_queries = 0
    for rows in blocks_of_queries((n_items, n_items)):
        counts, _ = _count_block(
            bits[rows] @ bits.T,
            level_index(rows),
            n_levels=len(tables.gains),
            n_bins=n_bits,
            scale=0.5,
        )
        values, _ = measure_counts(counts, tables)
        is_valued = _have_relevant(counts, n_bits)
        total += values[is_valued].sum()
        n_queries += int(np.count_nonzero(is_valued))
    return float(total / n_queries) if n_queries else np.nan


def measure_counts(counts, tables):
    """Measure the rankings of tables of counts, and differentiate.

    Parameters
    ----------
    counts : ndarray of shape (n_queries, n_levels * n_distances), dtype float64
        Counts, level by level.

    tables : MeasureTables
        The measure.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Values; 0 if nothing is relevant.

    gradients : ndarray of the shape of `counts`
        Gradients by the counts.
    """
    if tables.measure == "AP":
        return _average_precision(counts, tables)
    from .._loops._soft import RankDiscounts, ndcg

    values = np.empty(len(counts))
    gradients = np.empty_like(counts)
    discounts = RankDiscounts(tables.discounts, tables.discount_sums)
    ndcg(counts, tables.gains, tables.is_simplified, discounts, values, gradients)
    return values, gradients


def _average_precision(counts, tables):
    """Average precision of tables of counts, and its gradients."""
    from .._loops import _soft

    values = np.empty(len(counts))
    gradients = np.empty_like(counts)
    n_distances = counts.shape[1] // len(tables.gains)
    ties = _soft.TieTable(*np.empty((11, len(counts) * (n_distances + 1))))
    _soft.lay_out_ties(counts, n_distances, ties)
    if tables.is_simplified:
        _soft.simplified_gains(ties)
    else:
        # The loop needs a scratch array, and the gains are written after it.
        _soft.digamma_and_trigamma(ties.first_rank, ties.digamma, ties.trigamma, ties.gain)
        _soft.precision_gains(ties)
    _soft.gather_ties(ties, n_distances, values, gradients)
    return values, gradients


def blocks_of_queries(shape, n_pairs=_PAIRS_PER_BLOCK):
    """Slices of queries whose pairs stay in the cache; `shape` is that of all pairs."""
    n_query, n_database = shape
    size = max(_MIN_ROWS_PER_BLOCK, n_pairs // max(1, n_database))
    return [slice(start, min(start + size, n_query)) for start in range(0, n_query, size)]


@lru_cache(maxsize=4)
def _discounts(n_ranks):
    """Tables by rank, with a spare entry: D(1), D(2), ... and S(0), S(1), ..."""
    discounts = 1 / np.log2(np.arange(n_ranks + 2) + 2)
    return discounts, np.concatenate(([0], np.cumsum(discounts)))


@cache
def keep_freed_memory():
    """Have glibc keep the memory of freed arrays for the next step; once per process.

    glibc returns the memory of arrays above 128 KiB to the system, and every step faults
    it in anew, until it has seen a larger block freed. The block here is never touched.
    """
    np.empty(_BYTES_KEPT_WHEN_FREED, dtype=np.uint8)
