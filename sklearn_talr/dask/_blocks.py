"""Blocks of dask arrays: where they begin, what they hold, how results are merged."""

import math

import numpy as np

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
    """Whether something is a dask collection; without importing dask."""
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


def row_bounds(X, name):
    """Where the blocks of rows begin and end, shape (n_blocks + 1,)."""
    if any(map(math.isnan, X.chunks[0])):
        raise ValueError(
            f"{name} has blocks of unknown length. Call its compute_chunk_sizes() first."
        )
    return np.cumsum([0, *X.chunks[0]])


def row_blocks(X):
    """The blocks of rows, as delayed arrays."""
    return X.to_delayed().ravel().tolist()


def gathered(array):
    """An array in memory; anything that is none of dask's is returned as it is."""
    return array.compute() if is_dask(array) else array


def merged(parts, merge):
    """Merge delayed results in a tree, neighbors first; `merge` takes a list of them."""
    while len(parts) > 1:
        groups = range(0, len(parts), _PARTS_PER_MERGE)
        parts = [merge(parts[start : start + _PARTS_PER_MERGE]) for start in groups]
    return parts[0]
