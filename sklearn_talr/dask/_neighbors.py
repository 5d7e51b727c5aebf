"""Nearest neighbors in blocks: each block is searched, and the results are merged."""

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

# A task searches so many queries that they find about this number of neighbors in a block.
_NEIGHBORS_PER_TASK = 2**22


@validated(neighbors=[HasMethods(["fit", "kneighbors"])])
def index(neighbors: Any, codes: Any) -> list[Any]:
    """Index each block of codes, and keep the indexes on the workers.

    Parameters
    ----------
    neighbors : HammingNeighbors or WeightedHammingNeighbors
        An index with the parameters to use. A clone is fitted to each block.
        WeightedHammingNeighbors takes weights as queries, and codes with factors and
        addends.

    codes : list of Delayed, or dask array of shape (n_database, n_bits) of 0/1
        Codes of the database in blocks, as :func:`encode` returns them.

    Returns
    -------
    database : list of Delayed
        The fitted index of each block, for :func:`kneighbors` and
        :func:`radius_neighbors`. dask's current scheduler computes them now, and keeps them
        as long as this list exists.

    Raises
    ------
    TypeError
        If `codes` are neither delayed blocks nor a dask array.

    ValueError
        If the index refuses the codes, as HammingNeighbors refuses codes with factors. dask
        raises the error when results of the block are computed.

    Warns
    -----
    UserWarning
        If all codes of a block are equal.

    Notes
    -----
    Under Ray the indexed blocks are kept in the driver, and are sent to the workers in each
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
    unfitted = dask.delayed(clone(neighbors), traverse=False)
    fit = dask.delayed(_fit_block)
    blocks = delayed_blocks(codes, "codes")
    return list(dask.persist(*[fit(unfitted, block) for block in blocks]))


@validated(n_neighbors=[Interval(Integral, 1, None, closed="left")])
def kneighbors(queries: Any, database: Any, n_neighbors: int = 10) -> tuple[Array, Array]:
    """Find the nearest items of each query in a database in blocks, exactly.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_columns), PackedCodes, or blocks of either
        Queries in the form that the index takes: codes, or `query_weights` of the hasher
        for WeightedHammingNeighbors. They are gathered in memory, and sent to each worker
        once.

    database : list of Delayed
        Blocks that :func:`index` has indexed.

    n_neighbors : int, default=10
        Number of neighbors, at least 1.

    Returns
    -------
    distances : ndarray of shape (n_queries, n_neighbors), dtype int64 or float64
        Distances, ascending.

    indices : ndarray of shape (n_queries, n_neighbors), dtype int64
        Rows of the neighbors, counted over all blocks, ascending within a distance. They
        are the same as from one index of all codes, whatever the blocks are.

    Raises
    ------
    TypeError
        If `database` is not indexed.

    ValueError
        If there are fewer items than neighbors, or queries and codes differ in length.

    Notes
    -----
    A task finds about 4 million neighbors in one block. A task that merges results holds up
    to eight of them.

    With `n_candidates` of WeightedHammingNeighbors, weights are compared with this number
    of items in each block.

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
    n_queries_per_task = max(1, _NEIGHBORS_PER_TASK // n_neighbors)
    search = _BlockSearch(n_neighbors=n_neighbors)
    batches = _search(queries, database, search, n_queries_per_task)
    n_items = batches[0].n_items
    if n_neighbors > n_items:
        raise ValueError(
            f"n_neighbors={n_neighbors} is more than the {n_items} items of the database."
        )
    distances = np.concatenate([found.distances for found in batches])
    indices = np.concatenate([found.indices for found in batches])
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
        Rows of the items, counted over all blocks, ascending within a distance.

    Raises
    ------
    TypeError
        If `database` is not indexed.

    ValueError
        If queries and codes differ in length, or the index refuses `radius`.

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
    (found,) = _search(queries, database, _BlockSearch(radius=radius))
    ends = np.cumsum(found.counts)[:-1]
    distances = ragged(np.split(found.distances, ends))
    return distances, ragged(np.split(found.indices, ends))


class _Found(NamedTuple):
    """The items that queries have found in a block, or in adjacent blocks.

    Parameters
    ----------
    n_items : int
        Number of items in the blocks.

    counts : ndarray of shape (n_queries,)
        Number of items that each query has found.

    distances, indices : ndarray of shape (n_found,)
        Distances and indices of the items that the first query has found, by distance and
        index, then of the items of the second query, and so on. The first item of the
        blocks has index 0.
    """

    n_items: int
    counts: np.ndarray
    distances: np.ndarray
    indices: np.ndarray


class _BlockSearch(NamedTuple):
    """A search for neighbors, or for all items within a radius."""

    n_neighbors: int | None = None
    radius: float | None = None

    def run(self, neighbors, queries):
        """Distances and indices of the items that queries find in a block."""
        if self.radius is not None:
            return neighbors.radius_neighbors(queries, self.radius)
        n_neighbors = min(self.n_neighbors, neighbors.n_items_)
        return neighbors.kneighbors(queries, n_neighbors)


def _search(queries, database, search, n_queries_per_task=None):
    """Search all blocks of a database, and merge the results.

    Parameters
    ----------
    queries : array-like, PackedCodes, or blocks of either
        The queries.

    database : list of Delayed
        Indexed blocks.

    search : _BlockSearch
        The search.

    n_queries_per_task : int, default=None
        Number of queries in a task. None searches all queries in one task for each block.

    Returns
    -------
    batches : tuple of _Found
        Items of the whole database that consecutive slices of queries have found.
    """
    if queries is None:
        raise ValueError(
            "queries is None: blocks know no items of other blocks, so items of the "
            "database are no queries here. Pass their codes."
        )
    dask = import_dask()
    queries = gathered(queries)
    blocks = delayed_blocks(database, "database")
    shared_queries = dask.delayed(queries, traverse=False)
    # Ray would turn a named tuple that is an argument of a task into a tuple. In a partial
    # function it stays as it is.
    search_block = dask.delayed(partial(_search_block, search))
    merge_found = partial(_merge_found, n_neighbors=search.n_neighbors)
    batches = []
    for rows in gen_batches(len(queries), n_queries_per_task or len(queries)):
        parts = [search_block(block, shared_queries, rows) for block in blocks]
        batches.append(merged(parts, merge_found))
    return dask.compute(*batches)


def _fit_block(neighbors, codes):
    """An index of the codes of a block; None if the block is empty."""
    return clone(neighbors).fit(pack_codes(codes)) if len(codes) else None


def _search_block(search, neighbors, queries, rows):
    """Items that a slice of queries finds in a block; `neighbors` of no items is None."""
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
            "database has a block whose items have ids, or from which items were removed, "
            "so that rows of all blocks together cannot be counted. Index the codes of the "
            "items by index(HammingNeighbors(), codes), and look ids up by the indices "
            "that are returned: ids[indices]."
        )
    distances, indices = search.run(neighbors, queries[rows])
    return _Found(
        n_items=neighbors.n_items_,
        counts=np.array([len(items) for items in indices]),
        distances=np.concatenate(distances),
        indices=np.concatenate(indices),
    )


def _merge_found(blocks, n_neighbors):
    """Merge the items found in adjacent blocks by query, then distance, then index.

    Sorting is stable, so items at one distance stay in the order of the blocks. At most
    `n_neighbors` items of each query are kept, or all if it is None.
    """
    starts = np.cumsum([0, *(found.n_items for found in blocks)])
    queries = np.arange(len(blocks[0].counts))
    query = np.concatenate([np.repeat(queries, found.counts) for found in blocks])
    distances = np.concatenate([found.distances for found in blocks])
    indices = np.concatenate(
        [found.indices + start for found, start in zip(blocks, starts)]
    )
    order = np.lexsort((distances, query))
    counts = np.sum([found.counts for found in blocks], axis=0)
    if n_neighbors is not None:
        place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        order = order[place < n_neighbors]
        counts = np.minimum(counts, n_neighbors)
    return _Found(int(starts[-1]), counts, distances[order], indices[order])
