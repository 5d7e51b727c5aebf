"""Counts of a database in blocks: one table for each block, added in a tree."""

from functools import reduce
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from .._compat import validate_params
from ..affinity import resolve_affinity
from ..codes import PackedCodes
from ..histogram import HammingHistogram
from ..histogram import hamming_histogram as count_in_memory
from ._blocks import checked_rows, gathered, import_dask, is_dask, merged, row_blocks
from ._codes import both_sides, code_blocks

__all__ = ["hamming_histogram"]

_BYTES_PER_TABLE = 2**26


@validate_params(
    {
        "query_codes": "no_validation",
        "database_codes": "no_validation",
        "affinity": "no_validation",
        "y_query": "no_validation",
        "y_database": "no_validation",
    },
    prefer_skip_nested_validation=True,
)
def hamming_histogram(query_codes, database_codes, affinity, y_query, y_database):
    """Count items of a database in blocks by affinity level and Hamming distance.

    The table is that of :func:`sklearn_talr.histogram.hamming_histogram`, whatever the
    blocks are.

    Parameters
    ----------
    query_codes : array-like of 0/1, PackedCodes, dask array of 0/1 or DaskCodes
        Codes of the queries, of shape (n_queries, n_bits). They are gathered in memory, and
        travel to each worker once.

    database_codes : dask array of shape (n_database, n_bits) of 0/1, or DaskCodes
        Codes of the database.

    affinity : "auto" or affinity oracle
        Who is similar to whom, see :mod:`sklearn_talr.affinity`. ``"auto"`` chooses by the
        form of `y_query`.

    y_query : targets of length n_queries, or dask array
        Targets of the queries, as the oracle takes them. They are gathered in memory.

    y_database : targets of length n_database, or dask array
        Targets of the database, of the same kind. A dask array stays on the workers; its
        blocks need not be those of the codes.

    Returns
    -------
    histogram : HammingHistogram
        Counts of shape (n_queries, n_levels, n_bits + 1), int64, in memory.

    Raises
    ------
    TypeError
        If `database_codes` is not a dask array or DaskCodes.

    ValueError
        If codes and targets differ in length, code lengths differ, or blocks are of unknown
        length.

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
    queries, database = both_sides(query_codes, database_codes)
    question = _question(queries, affinity, gathered(y_query), y_database)
    codes, bounds = code_blocks(database)
    targets = _target_blocks(question.affinity, y_database, bounds)
    dask = import_dask()
    everywhere = dask.delayed(question, traverse=False)
    count, add = dask.delayed(_count_block), dask.delayed(_add_tables)
    tables = [
        merged([count(everywhere, rows, *block) for block in zip(codes, targets)], add)
        for rows in _query_blocks(question)
    ]
    return _stacked(dask.compute(*tables))


class _Question(NamedTuple):
    """What all blocks are asked; one object, so that a shared matrix travels once."""

    codes: PackedCodes
    affinity: object
    y: object
    y_database: object  # where only the whole can be sliced, else None


def _question(codes, affinity, y_query, y_database):
    if y_query is None or y_database is None:
        raise ValueError("y_query and y_database are needed to know what is relevant.")
    affinity, y_query = resolve_affinity(affinity, None, y_query)
    if len(codes) != y_query.shape[0]:
        raise ValueError(
            "query_codes and y_query must have equal length, got "
            f"{len(codes)} and {y_query.shape[0]}."
        )
    whole = affinity.check_targets(y_database) if affinity.comes_with_targets else None
    return _Question(codes, affinity, y_query, whole)


def _target_blocks(affinity, y, bounds):
    """Targets of each block of codes, or its slice where they can only travel whole."""
    n_items = bounds[-1][1]
    in_blocks = is_dask(y)
    y = (
        checked_rows(y, "y_database", ndim=y.ndim)
        if in_blocks
        else affinity.check_targets(y)
    )
    if y.shape[0] != n_items:
        raise ValueError(
            "database_codes and y_database must have equal length, got "
            f"{n_items} and {y.shape[0]}."
        )
    if in_blocks:
        return row_blocks(y.rechunk({0: tuple(stop - start for start, stop in bounds)}))
    slices = [slice(start, stop) for start, stop in bounds]
    return slices if affinity.comes_with_targets else [y[rows] for rows in slices]


def _query_blocks(question):
    """Rows of queries whose table is not too large for a task."""
    n_levels = len(question.affinity.levels_between(question.y, question.y))
    bytes_per_query = 8 * n_levels * (question.codes.n_bits + 1)
    return list(
        gen_batches(len(question.codes), max(1, _BYTES_PER_TABLE // bytes_per_query))
    )


def _count_block(question, rows, codes, targets):
    if question.y_database is not None:
        targets = question.y_database[targets]
    return count_in_memory(
        question.codes[rows], codes, question.affinity, question.y[rows], targets, n_jobs=1
    )


def _add_tables(tables):
    return sum(tables)


def _stacked(tables):
    """One table of all queries; parts may lack the highest levels."""
    if len(tables) == 1:
        return tables[0]
    levels = reduce(np.union1d, [table.levels for table in tables])
    n_bits = tables[0].n_bits
    counts = np.zeros((sum(map(len, tables)), len(levels), n_bits + 1), dtype=np.int64)
    start = 0
    for table in tables:
        rows = np.arange(start, start := start + len(table))
        counts[rows[:, None], np.searchsorted(levels, table.levels)] = table.counts
    return HammingHistogram(counts, levels, n_bits)
