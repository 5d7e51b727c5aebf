"""Nearest neighbors in blocks: each is asked, and the answers are merged in a tree."""

from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from .._compat import validate_params
from ..neighbors._checks import check_n_neighbors, check_radius
from ..neighbors._results import ragged
from ._blocks import import_dask, merged
from ._codes import both_sides, indexed_blocks

__all__ = ["kneighbors", "radius_neighbors"]

_FOUND_PER_TASK = 2**22


@validate_params(
    {
        "query_codes": "no_validation",
        "database_codes": "no_validation",
        "n_neighbors": "no_validation",
    },
    prefer_skip_nested_validation=True,
)
def kneighbors(query_codes, database_codes, n_neighbors=10):
    """Find the nearest items of each query in a database in blocks, exactly.

    Parameters
    ----------
    query_codes : array-like of 0/1, PackedCodes, dask array of 0/1 or DaskCodes
        Codes of the queries, of shape (n_queries, n_bits). They are gathered in memory, and
        travel to each worker once.

    database_codes : DaskCodes, or dask array of shape (n_database, n_bits) of 0/1
        Codes of the database. Of DaskCodes the first search indexes the blocks where they
        are, and later ones find them indexed. Bits are packed and indexed in each call.

    n_neighbors : int, default=10
        Number of neighbors.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_neighbors), dtype int64
        Hamming distances, ascending.

    indices : ndarray of shape (n_queries, n_neighbors), dtype int64
        Rows of `database_codes`, ascending within a distance: what
        :class:`~sklearn_talr.neighbors.HammingNeighbors` finds, whatever the blocks are.

    Raises
    ------
    TypeError
        If `database_codes` is not a dask array or DaskCodes.

    ValueError
        If there are fewer items than neighbors, code lengths differ, or blocks are of
        unknown length.

    Notes
    -----
    A task finds about 4 million neighbors at a time in one block, and a task that merges
    holds up to eight such answers. Under Ray the indexed blocks lie in the driver, and
    their codes are handed to the workers in each call.

    Examples
    --------
    Items 1 and 2 are tied, in different blocks:

    >>> import dask.array as da
    >>> from sklearn_talr.dask import DaskCodes, kneighbors
    >>> bits = da.from_array([[1, 1], [0, 1], [1, 0], [0, 0]], chunks=(2, 2))
    >>> kneighbors([[0, 0]], DaskCodes.pack(bits), n_neighbors=2)
    (array([[0, 1]]), array([[3, 1]]))
    """
    queries, database = both_sides(query_codes, database_codes)
    n_neighbors = check_n_neighbors(n_neighbors, len(database))
    size = max(1, _FOUND_PER_TASK // n_neighbors)
    merge = partial(_merge_nearest, n_neighbors)
    parts = _ask(queries, database, _nearest, merge, n_neighbors, size)
    return tuple(map(np.concatenate, zip(*parts)))


@validate_params(
    {
        "query_codes": "no_validation",
        "database_codes": "no_validation",
        "radius": "no_validation",
    },
    prefer_skip_nested_validation=True,
)
def radius_neighbors(query_codes, database_codes, radius=2):
    """Find all items within a radius of each query in a database in blocks.

    Parameters
    ----------
    query_codes : array-like of 0/1, PackedCodes, dask array of 0/1 or DaskCodes
        Codes of the queries, as for :func:`kneighbors`.

    database_codes : DaskCodes, or dask array of shape (n_database, n_bits) of 0/1
        Codes of the database, as for :func:`kneighbors`.

    radius : int, default=2
        Largest distance, from 0.

    Returns
    -------
    distances : ndarray of shape (n_queries,) of arrays of int64
        Hamming distances, ascending.

    indices : ndarray of shape (n_queries,) of arrays of int64
        Rows of `database_codes`, ascending within a distance.

    Raises
    ------
    TypeError
        If `database_codes` is not a dask array or DaskCodes.

    ValueError
        If `radius` is not an integer from 0, code lengths differ, or blocks are of unknown
        length.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn_talr.dask import DaskCodes, radius_neighbors
    >>> bits = da.from_array([[1, 1], [0, 1], [1, 0], [0, 0]], chunks=(2, 2))
    >>> distances, indices = radius_neighbors([[0, 0]], DaskCodes.pack(bits), radius=1)
    >>> distances[0], indices[0]
    (array([0, 1, 1]), array([3, 1, 2]))
    """
    queries, database = both_sides(query_codes, database_codes)
    radius = check_radius(radius, queries.n_bits)
    found = _ask(queries, database, _within, _merge_within, radius, len(queries))[0]
    ends = np.cumsum(found.sizes)[:-1]
    return ragged(np.split(found.distances, ends)), ragged(np.split(found.indices, ends))


def _ask(queries, database, ask, merge, argument, n_queries):
    """Answers of the whole database to so many queries at a time."""
    dask = import_dask()
    ask, merge = dask.delayed(ask), dask.delayed(merge)
    everywhere = dask.delayed(queries, traverse=False)
    indexed = indexed_blocks(database)
    answers = [
        merged([ask(block, everywhere, rows, argument) for block in indexed], merge)
        for rows in gen_batches(len(queries), n_queries)
    ]
    return dask.compute(*answers)


def _nearest(neighbors, queries, rows, n_neighbors):
    """The nearest items of a block: so many, or all that there are."""
    return neighbors.kneighbors(queries[rows], min(n_neighbors, neighbors.n_items_))


def _merge_nearest(n_neighbors, answers):
    """Blocks come in the order of their indices, so a stable sort leaves ties by index."""
    distances, indices = (np.concatenate(parts, axis=1) for parts in zip(*answers))
    order = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
    return tuple(np.take_along_axis(each, order, axis=1) for each in (distances, indices))


class _Within(NamedTuple):
    """What all queries found, one after another, and how much each."""

    sizes: np.ndarray
    distances: np.ndarray
    indices: np.ndarray


def _within(neighbors, queries, rows, radius):
    distances, indices = neighbors.radius_neighbors(queries[rows], radius)
    sizes = np.array([len(each) for each in distances])
    return _Within(sizes, np.concatenate(distances), np.concatenate(indices))


def _merge_within(answers):
    """Sort by query, then distance; blocks come in the order of their indices."""
    queries = np.arange(len(answers[0].sizes))
    query = np.concatenate([np.repeat(queries, each.sizes) for each in answers])
    distances = np.concatenate([each.distances for each in answers])
    indices = np.concatenate([each.indices for each in answers])
    order = np.lexsort((distances, query))
    sizes = np.sum([each.sizes for each in answers], axis=0)
    return _Within(sizes, distances[order], indices[order])
