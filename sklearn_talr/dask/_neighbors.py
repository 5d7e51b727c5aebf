"""Nearest neighbors in blocks: every block is searched, and the results are merged."""

from functools import partial
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import gen_batches

from .._core.compat import HasMethods, Interval, validated
from .._core.types import Any, Array
from .._core.validation import ragged
from ..codes import pack_codes
from ._blocks import delayed_blocks, gathered, import_dask, merged

_FOUND_PER_TASK = 2**22


@validated(neighbors=[HasMethods(["fit", "kneighbors"])])
def index(neighbors: Any, codes: Any) -> list[Any]:
    """Index each block of codes for search, and keep the indexes on the workers.

    Parameters
    ----------
    neighbors : HammingNeighbors or WeightedHammingNeighbors
        What is fitted to each block, with these parameters. The latter searches by
        weighted queries, and takes factors and addends of the codes into account.

    codes : list of Delayed, or dask array of shape (n_database, n_bits) of 0/1
        Codes of the database in blocks, as :func:`encode` returns them.

    Returns
    -------
    database : list of Delayed
        The fitted neighbors of each block, computed or being computed by the scheduler that
        dask is set to use: what :func:`kneighbors` and :func:`radius_neighbors` search.
        They are kept as long as this list is.

    Raises
    ------
    TypeError
        If `codes` are neither delayed blocks nor a dask array.

    ValueError
        If the neighbors refuse the codes, as HammingNeighbors does codes with factors. dask
        raises it once results of the block are asked for.

    Warns
    -----
    UserWarning
        If all codes of a block are equal.

    Notes
    -----
    Under Ray the indexed blocks lie in the driver, and are handed to the workers in each
    search.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn_talr import HammingNeighbors
    >>> from sklearn_talr.dask import index
    >>> bits = da.from_array([[1, 1], [0, 1], [1, 0], [0, 0]], chunks=(2, 2))
    >>> database = index(HammingNeighbors(), bits)
    >>> [block.compute().n_items_ for block in database]
    [2, 2]
    """
    dask = import_dask()
    everywhere = dask.delayed(clone(neighbors), traverse=False)
    fit = dask.delayed(_fit_block)
    blocks = delayed_blocks(codes, "codes")
    return list(dask.persist(*[fit(everywhere, block) for block in blocks]))


@validated(n_neighbors=[Interval(Integral, 1, None, closed="left")])
def kneighbors(queries: Any, database: Any, n_neighbors: int = 10) -> tuple[Array, Array]:
    """Find the nearest items of each query in a database in blocks, exactly.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_columns), PackedCodes, or blocks of either
        What `kneighbors` of the indexed neighbors takes: codes, or the `query_weights` of
        the hasher where the blocks are indexed by weights. They are gathered in memory,
        and travel to each worker once.

    database : list of Delayed
        Blocks that :func:`index` has indexed.

    n_neighbors : int, default=10
        Number of neighbors, at least 1.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_neighbors), dtype int64 or float64
        Distances, ascending.

    indices : ndarray of shape (n_queries, n_neighbors), dtype int64
        Rows of all blocks together, ascending within a distance: what the neighbors find
        that are fitted to all codes, whatever the blocks are.

    Raises
    ------
    TypeError
        If `database` is not indexed.

    ValueError
        If there are fewer items than neighbors, or queries and codes differ in length.

    Notes
    -----
    A task finds about 4 million neighbors at a time in one block, and a task that merges
    holds up to eight such results.

    With `n_candidates` of the neighbors each block compares so many items by weights.

    Examples
    --------
    Items 1 and 2 are tied, in different blocks:

    >>> import dask.array as da
    >>> from sklearn_talr import HammingNeighbors
    >>> from sklearn_talr.dask import index, kneighbors
    >>> bits = da.from_array([[1, 1], [0, 1], [1, 0], [0, 0]], chunks=(2, 2))
    >>> database = index(HammingNeighbors(), bits)
    >>> kneighbors([[0, 0]], database, n_neighbors=2)
    (array([[0, 1]]), array([[3, 1]]))
    """
    size = max(1, _FOUND_PER_TASK // n_neighbors)
    parts = _search(queries, database, size, n_neighbors=n_neighbors)
    n_items = parts[0].n_items
    if n_neighbors > n_items:
        raise ValueError(
            f"n_neighbors={n_neighbors} is more than the {n_items} items of the database."
        )
    distances = np.concatenate([part.distances for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    return distances.reshape(-1, n_neighbors), indices.reshape(-1, n_neighbors)


@validated(radius=[Interval(Real, 0, None, closed="left")])
def radius_neighbors(queries: Any, database: Any, radius: float = 2) -> tuple[Array, Array]:
    """Find all items within a radius of each query in a database in blocks.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_columns), PackedCodes, or blocks of either
        Codes or weights of the queries, as for :func:`kneighbors`.

    database : list of Delayed
        Blocks that :func:`index` has indexed.

    radius : int or float, default=2
        Largest distance, from 0; a whole number for Hamming distances.

    Returns
    -------
    distances : ndarray of shape (n_queries,) of arrays of int64 or float64
        Distances, ascending.

    indices : ndarray of shape (n_queries,) of arrays of int64
        Rows of all blocks together, ascending within a distance.

    Raises
    ------
    TypeError
        If `database` is not indexed.

    ValueError
        If queries and codes differ in length, or the indexed neighbors refuse `radius`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn_talr import HammingNeighbors
    >>> from sklearn_talr.dask import index, radius_neighbors
    >>> bits = da.from_array([[1, 1], [0, 1], [1, 0], [0, 0]], chunks=(2, 2))
    >>> database = index(HammingNeighbors(), bits)
    >>> distances, indices = radius_neighbors([[0, 0]], database, radius=1)
    >>> distances[0], indices[0]
    (array([0, 1, 1]), array([3, 1, 2]))
    """
    (found,) = _search(queries, database, radius=radius)
    ends = np.cumsum(found.sizes)[:-1]
    return tuple(ragged(np.split(each, ends)) for each in found[2:])


class _Found(NamedTuple):
    """The items that queries have found in a block, or in adjacent blocks.

    Parameters
    ----------
    n_items : int
        Number of items that were searched.

    sizes : ndarray of shape (n_queries,)
        Number of items that each query has found.

    distances, indices : ndarray of shape (n_found,)
        The items that the first query has found, by distance and index, then those of the
        second, and so on. Indices count from the first item that was searched.
    """

    n_items: int
    sizes: np.ndarray
    distances: np.ndarray
    indices: np.ndarray


def _search(queries, database, size=None, n_neighbors=None, radius=None):
    """Search all blocks for `size` queries at a time, or for all, and merge the results.

    `database` are indexed blocks, as a list of Delayed. Returns a tuple of _Found: results
    of consecutive slices of queries, from the whole database.
    """
    if queries is None:
        raise ValueError(
            "queries is None: blocks know no items of other blocks, so items of the "
            "database are no queries here. Pass their codes."
        )
    dask, queries = import_dask(), gathered(queries)
    blocks = delayed_blocks(database, "database")
    everywhere, search = dask.delayed(queries, traverse=False), dask.delayed(_search_block)
    how, merge = (n_neighbors, radius), partial(_merge_found, n_neighbors)
    results = [
        merged([search(block, everywhere, rows, *how) for block in blocks], merge)
        for rows in gen_batches(len(queries), size or len(queries))
    ]
    return dask.compute(*results)


def _fit_block(neighbors, codes):
    """Neighbors fitted to the codes of a block; None if it holds none."""
    return clone(neighbors).fit(pack_codes(codes)) if len(codes) else None


def _search_block(neighbors, queries, rows, n_neighbors, radius):
    """Items that a slice of queries finds in a block; no `neighbors`: it is empty."""
    if neighbors is None:
        nothing = np.zeros(0, dtype=np.int64)
        return _Found(0, np.zeros(rows.stop - rows.start, np.int64), nothing, nothing)
    if not hasattr(neighbors, "kneighbors"):
        raise TypeError(
            "database must be what sklearn_talr.dask.index returns, got blocks of "
            f"{type(neighbors).__name__}. Index codes by index(HammingNeighbors(), codes)."
        )
    if neighbors.ids_ is not None or neighbors.n_samples_fit_ > neighbors.n_items_:
        raise ValueError(
            "database has a block whose items have ids, or that has lost some, so that "
            "rows of all blocks together cannot be counted. Index the codes of the items "
            "by index(HammingNeighbors(), codes), and look ids up by the rows that are "
            "found: ids[indices]."
        )
    if radius is None:
        n_here = min(n_neighbors, neighbors.n_items_)
        distances, indices = neighbors.kneighbors(queries[rows], n_here)
    else:
        distances, indices = neighbors.radius_neighbors(queries[rows], radius)
    sizes = np.array([len(row) for row in indices])
    distances, indices = np.concatenate(distances), np.concatenate(indices)
    return _Found(neighbors.n_items_, sizes, distances, indices)


def _merge_found(most, parts):
    """Merge the items found in adjacent blocks by query, then distance, then index.

    Sorting is stable, so items at one distance stay in the order of the blocks.
    """
    starts = np.cumsum([0, *(part.n_items for part in parts)])
    queries = np.arange(len(parts[0].sizes))
    query = np.concatenate([np.repeat(queries, part.sizes) for part in parts])
    distances = np.concatenate([part.distances for part in parts])
    indices = np.concatenate([part.indices + start for part, start in zip(parts, starts)])
    order = np.lexsort((distances, query))
    sizes = np.sum([part.sizes for part in parts], axis=0)
    if most is not None:
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        order, sizes = order[place < most], np.minimum(sizes, most)
    return _Found(int(starts[-1]), sizes, distances[order], indices[order])
