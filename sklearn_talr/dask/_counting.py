"""Counts of a database in blocks: one table for each block, added in a tree."""

from functools import reduce

import numpy as np
from sklearn.utils import gen_batches

from .._core.compat import validated
from .._core.types import Affinity, Any, Column
from ..affinity import resolve_affinity
from ..affinity._excluded import leave_out_groups
from ..codes import pack_codes
from ..histogram import HammingHistogram
from ..histogram import hamming_histogram as count_in_memory
from ._blocks import (
    checked_rows,
    delayed_blocks,
    delayed_rows,
    gathered,
    import_dask,
    is_dask,
    merged,
)

_BYTES_PER_TABLE = 2**26


@validated()
def hamming_histogram(
    query_codes: Any,
    database_codes: Any,
    affinity: Affinity,
    y_query: Any,
    y_database: Any,
    *,
    groups_query: Column = None,
    groups_database: Column = None,
) -> HammingHistogram:
    """Count items of a database in blocks by affinity level and Hamming distance.

    The table is that of :func:`sklearn_talr.histogram.hamming_histogram`, whatever the
    blocks are.

    Parameters
    ----------
    query_codes : array-like of shape (n_queries, n_bits) of 0/1, PackedCodes, or blocks
        Codes of the queries. They are gathered in memory, and travel to each worker once.

    database_codes : list of Delayed, or dask array of shape (n_database, n_bits) of 0/1
        Codes of the database in blocks, as :func:`encode` returns them.

    affinity : "auto" or affinity oracle
        Who is similar to whom, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by the
        form of `y_database`, or of `y_query` where that is a dask array.

    y_query : targets of length n_queries, or dask array
        Targets of the queries, as the oracle takes them. They are gathered in memory.

    y_database : targets of length n_database, or dask array
        Targets of the database, of the same kind. A dask array stays on the workers, and
        has the blocks of the codes. Other targets travel whole to each worker, once, and
        so do those of a JudgmentAffinity.

    groups_query, groups_database : array-like of shape (n,), or dask array, default=None
        Labels of groups. Items of the query's own group do not count. Groups, and targets
        of the database with them, are gathered, and travel whole to each worker.

    Returns
    -------
    histogram : HammingHistogram
        Counts of shape (n_queries, n_levels, n_bits + 1), int64, in memory.

    Raises
    ------
    TypeError
        If `database_codes` are neither delayed blocks nor a dask array.

    ValueError
        If codes and targets differ in length or in their blocks, or code lengths differ.

    Notes
    -----
    A task counts one block of the database for so many queries that their table takes 64
    MiB, and a task that adds holds up to eight such tables.

    Under a ThresholdAffinity a pair whose distance is a threshold but for rounding may
    change its level with the blocks. Targets that are a dask array are checked block by
    block.

    Examples
    --------
    Of two items that are tied at distance 0, one is similar to the query:

    >>> import dask.array as da
    >>> from sklearn_talr.dask import hamming_histogram
    >>> database = da.from_array([[0, 0], [0, 1], [0, 0]], chunks=(2, 2))
    >>> hamming_histogram([[0, 0]], database, "auto", [0], [0, 0, 1]).counts
    array([[[1, 0, 0],
            [1, 1, 0]]])
    """
    dask, queries = import_dask(), pack_codes(gathered(query_codes))
    codes = delayed_blocks(database_codes, "database_codes")
    if y_query is None or y_database is None:
        raise ValueError("y_query and y_database are needed to know what is relevant.")
    if not is_dask(y_database):  # whose form says more than that of few queries
        affinity, y_database = resolve_affinity(affinity, None, y_database)
    affinity, y_query = resolve_affinity(affinity, None, gathered(y_query))
    if len(queries) != y_query.shape[0]:
        raise ValueError(
            "query_codes and y_query must have equal length, got "
            f"{len(queries)} and {y_query.shape[0]}."
        )

    # Of each block of codes, delayed targets or the slice of them that is the block's
    is_grouped = groups_query is not None or groups_database is not None
    if is_dask(y_database) and not (affinity.by_number or is_grouped):
        targets = checked_rows(y_database, "y_database", ndim=y_database.ndim)
        targets, y_database = delayed_rows(targets), None
        if len(targets) != len(codes):
            raise ValueError(
                "y_database must have the blocks of database_codes, got "
                f"{len(targets)} and {len(codes)}. Rechunk it by y_database.rechunk(...)."
            )
    else:
        y_database = affinity.check_targets(gathered(y_database))
        lengths = [dask.delayed(len)(block) for block in codes]
        slices = dask.delayed(_consecutive_slices)(lengths, y_database.shape[0])
        targets = [slices[number] for number in range(len(codes))]
        affinity, y_query, y_database = leave_out_groups(
            affinity,
            y_query,
            y_database,
            groups_query=gathered(groups_query),
            groups_database=gathered(groups_database),
        )
    # As many queries in a task as have a table that is not too large
    y_items = y_query if y_database is None else y_database
    n_levels = len(affinity.levels_between(y_query, y_items))
    size = max(1, _BYTES_PER_TABLE // (8 * n_levels * (queries.n_bits + 1)))
    # One object, so that a shared matrix travels once
    shared = queries, affinity, y_query, y_database
    everywhere, count = dask.delayed(shared, traverse=False), dask.delayed(_count_block)
    tables = [
        merged([count(everywhere, rows, *block) for block in zip(codes, targets)], _added)
        for rows in gen_batches(len(queries), size)
    ]
    tables = dask.compute(*tables)
    if not isinstance(tables[0], HammingHistogram):
        raise ValueError("database_codes must hold at least one code, got none.")
    # One table of all queries; that of some may lack the highest levels
    levels = reduce(np.union1d, [table.levels for table in tables])
    counts = np.zeros((len(queries), len(levels), queries.n_bits + 1), dtype=np.int64)
    for rows, table in zip(gen_batches(len(queries), size), tables):
        places = np.searchsorted(levels, table.levels)
        counts[rows, places] = table.counts
    return HammingHistogram(counts, levels, queries.n_bits)


def _consecutive_slices(lengths, n_targets):
    """Slices of these lengths, one after another, which must be `n_targets` in all."""
    ends = np.cumsum(lengths).tolist()
    if ends[-1] != n_targets:
        raise ValueError(
            "database_codes and y_database must have equal length, got "
            f"{ends[-1]} and {n_targets}."
        )
    return [slice(end - length, end) for end, length in zip(ends, lengths)]


def _count_block(shared, rows, codes, targets):
    """Table of some queries and the codes of a block; 0 if it holds none."""
    queries, affinity, y_query, y_database = shared
    if y_database is not None:
        targets = y_database[targets]
    if not len(codes) and not targets.shape[0]:
        return 0
    return count_in_memory(queries[rows], codes, affinity, y_query[rows], targets, n_jobs=1)


def _added(tables):
    """Sum of the tables of blocks; 0 where no block holds codes."""
    return sum(filter(None, tables))
