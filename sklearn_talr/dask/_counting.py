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

# A task counts so many queries that their table takes at most this memory.
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

    The table is the same as from :func:`sklearn_talr.histogram.hamming_histogram`, whatever
    the blocks are.

    Parameters
    ----------
    query_codes : array-like of shape (n_queries, n_bits) of 0/1, PackedCodes, or blocks
        Codes of the queries. They are gathered in memory, and sent to each worker once.

    database_codes : list of Delayed, or dask array of shape (n_database, n_bits) of 0/1
        Codes of the database in blocks, as :func:`encode` returns them.

    affinity : "auto" or affinity object
        Defines which items are similar to a query, see :mod:`sklearn_talr.affinity`.
        ``"auto"`` chooses it from the form of `y_database`, or of `y_query` if `y_database`
        is a dask array.

    y_query : targets of length n_queries, or dask array
        Targets of the queries, as the affinity takes them. They are gathered in memory.

    y_database : targets of length n_database, or dask array
        Targets of the database, of the same kind. A dask array stays on the workers, and
        must have the blocks of the codes. Other targets, and targets of a JudgmentAffinity,
        are sent to each worker as a whole, once.

    groups_query, groups_database : array-like of shape (n,), or dask array, default=None
        Group labels. Items of the query's own group are ignored. With groups, the groups
        and the targets of the database are gathered, and sent to each worker as a whole.

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
    MiB. A task that adds tables holds up to eight of them.

    With a ThresholdAffinity, a pair whose distance equals a threshold but for rounding may
    have another level with other blocks. A dask array of targets is checked block by block.

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
    dask = import_dask()
    queries = pack_codes(gathered(query_codes))
    codes = delayed_blocks(database_codes, "database_codes")
    if y_query is None or y_database is None:
        raise ValueError("y_query and y_database are needed to know what is relevant.")
    if not is_dask(y_database):
        # The form of all targets says more than the form of the few targets of queries.
        affinity, y_database = resolve_affinity(affinity, None, y_database)
    affinity, y_query = resolve_affinity(affinity, None, gathered(y_query))
    if len(queries) != y_query.shape[0]:
        raise ValueError(
            "query_codes and y_query must have equal length, got "
            f"{len(queries)} and {y_query.shape[0]}."
        )
    is_grouped = groups_query is not None or groups_database is not None
    if is_dask(y_database) and not (affinity.by_number or is_grouped):
        targets = _targets_in_blocks(y_database, codes)
        shared = _Shared(queries, affinity, y_query, y_database=None)
    else:
        y_database = affinity.check_targets(gathered(y_database))
        targets = _slices_of_blocks(codes, y_database.shape[0])
        affinity, y_query, y_database = leave_out_groups(
            affinity,
            y_query,
            y_database,
            groups_query=gathered(groups_query),
            groups_database=gathered(groups_database),
        )
        shared = _Shared(queries, affinity, y_query, y_database=y_database)
    batches = list(gen_batches(len(queries), _n_queries_per_task(shared)))
    # One object for all tasks, so that a shared matrix is sent to each worker once.
    shared = dask.delayed(shared, traverse=False)
    count = dask.delayed(_count_block)
    tables = []
    for rows in batches:
        parts = [count(shared, rows, *block) for block in zip(codes, targets)]
        tables.append(merged(parts, _sum_tables))
    tables = dask.compute(*tables)
    if not isinstance(tables[0], HammingHistogram):
        raise ValueError("database_codes must hold at least one code, got none.")
    return _stack_queries(tables, batches, queries)


class _Shared:
    """Arguments that the tasks of all blocks share.

    This is no named tuple, since Ray turns named tuples into tuples.

    Parameters
    ----------
    queries : PackedCodes
        Codes of the queries.

    affinity : BaseAffinity
        The affinity object.

    y_query : targets of length n_queries
        Targets of the queries.

    y_database : targets of length n_database, or None
        Targets of the whole database. None if each block has targets of its own.
    """

    def __init__(self, queries, affinity, y_query, y_database):
        self.queries = queries
        self.affinity = affinity
        self.y_query = y_query
        self.y_database = y_database


def _targets_in_blocks(y_database, codes):
    """Delayed targets of each block of codes."""
    targets = delayed_rows(checked_rows(y_database, "y_database", ndim=y_database.ndim))
    if len(targets) != len(codes):
        raise ValueError(
            "y_database must have the blocks of database_codes, got "
            f"{len(targets)} and {len(codes)}. Rechunk it by y_database.rechunk(...)."
        )
    return targets


def _slices_of_blocks(codes, n_targets):
    """Delayed slices of the targets of the whole database, one for each block of codes."""
    dask = import_dask()
    lengths = [dask.delayed(len)(block) for block in codes]
    consecutive_slices = dask.delayed(_consecutive_slices)(lengths, n_targets)
    return [consecutive_slices[number] for number in range(len(codes))]


def _n_queries_per_task(shared):
    """As many queries as have a table that is not too large."""
    y_database = shared.y_query if shared.y_database is None else shared.y_database
    n_levels = len(shared.affinity.levels_between(shared.y_query, y_database))
    n_bytes_per_query = 8 * n_levels * (shared.queries.n_bits + 1)
    return max(1, _BYTES_PER_TABLE // n_bytes_per_query)


def _stack_queries(tables, batches, queries):
    """One table of all queries, from tables of batches, which may lack some levels."""
    levels = reduce(np.union1d, [table.levels for table in tables])
    counts = np.zeros((len(queries), len(levels), queries.n_bits + 1), dtype=np.int64)
    for rows, table in zip(batches, tables):
        places = np.searchsorted(levels, table.levels)
        counts[rows, places] = table.counts
    return HammingHistogram(counts, levels, queries.n_bits)


def _consecutive_slices(lengths, n_targets):
    """Consecutive slices of these lengths, whose sum must be `n_targets`."""
    ends = np.cumsum(lengths).tolist()
    if ends[-1] != n_targets:
        raise ValueError(
            "database_codes and y_database must have equal length, got "
            f"{ends[-1]} and {n_targets}."
        )
    return [slice(end - length, end) for end, length in zip(ends, lengths)]


def _count_block(shared, rows, codes, targets):
    """Table of some queries and the codes of a block; 0 if the block holds no codes.

    `targets` are the targets of the block, or their slice of ``shared.y_database``.
    """
    if shared.y_database is not None:
        targets = shared.y_database[targets]
    if not len(codes) and not targets.shape[0]:
        return 0
    return count_in_memory(
        shared.queries[rows],
        codes,
        shared.affinity,
        shared.y_query[rows],
        targets,
        n_jobs=1,
    )


def _sum_tables(tables):
    """Sum of the tables of blocks; 0 if no block holds codes."""
    return sum(filter(None, tables))
