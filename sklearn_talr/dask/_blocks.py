"""Blocks of rows: of dask arrays, and of codes that are delayed; merging of results."""

import math

from ..codes import concatenate_codes

_PARTS_PER_MERGE = 8


def import_dask():
    """Import dask with its arrays, or say what to install."""
    try:
        import dask
        import dask.array
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "sklearn_talr.dask needs dask, which is not installed. Install it, for "
            "instance by pip install sklearn-talr[dask].",
            name=error.name,
        ) from error
    return dask


def is_dask(array):
    """Whether an object is a dask collection; without importing dask."""
    return hasattr(array, "__dask_graph__")


def checked_rows(X, name, *, ndim=2):
    """Return a dask array whose blocks hold whole rows, or raise an error."""
    array_type = import_dask().array.Array
    if not isinstance(X, array_type):
        raise TypeError(
            f"{name} must be a dask array, got {type(X).__name__}. Make one by "
            "dask.array.from_array; of a dask dataframe by to_dask_array(lengths=True)."
        )
    if X.ndim != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of {X.ndim} dimensions.")
    return X if X.numblocks[1:] == (1,) * (ndim - 1) else X.rechunk({1: -1})


def n_rows_of(X, name):
    """Number of rows of a dask array whose blocks are of known length."""
    if any(map(math.isnan, X.chunks[0])):
        raise ValueError(
            f"{name} has blocks of unknown length. Call its compute_chunk_sizes() first."
        )
    return len(X)


def delayed_rows(X):
    """Blocks of the rows of a dask array, as delayed arrays."""
    return X.to_delayed().ravel().tolist()


def delayed_blocks(blocks, name):
    """Blocks of codes or of neighbors, delayed: those of a list, or of an array of bits."""
    if _is_list_of_delayed(blocks):
        return list(blocks)
    if not isinstance(blocks, import_dask().array.Array):
        raise TypeError(
            f"{name} must be blocks as sklearn_talr.dask.encode returns them, or a dask "
            f"array of zeros and ones, got {type(blocks).__name__}. Make an array by "
            "dask.array.from_array."
        )
    return delayed_rows(checked_rows(blocks, name))


def gathered(values):
    """Values in memory: of a dask array, of blocks of codes, or those given."""
    if _is_list_of_delayed(values):
        return concatenate_codes(import_dask().compute(*values))
    return values.compute() if is_dask(values) else values


def merged(parts, merge):
    """Merge delayed results in a tree, those of adjacent blocks first.

    Parameters
    ----------
    parts : list of Delayed
        The result of each block.

    merge : callable
        ``merge(results) -> result``, for a list of adjacent results.

    Returns
    -------
    result : Delayed
        The result of all blocks.
    """
    merge = import_dask().delayed(merge)
    while len(parts) > 1:
        groups = range(0, len(parts), _PARTS_PER_MERGE)
        parts = [merge(parts[start : start + _PARTS_PER_MERGE]) for start in groups]
    return parts[0]


def _is_list_of_delayed(blocks):
    is_list = isinstance(blocks, list | tuple)
    return is_list and bool(blocks) and all(map(is_dask, blocks))
