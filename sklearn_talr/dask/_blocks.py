"""Blocks of dask arrays: samples of their rows, and their codes."""

import math
from copy import copy
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.compat import (
    HasMethods,
    Interval,
    num_samples,
    optional,
    safe_indexing,
    validated,
)
from .._core.fitted_hasher import FittedHasher
from .._core.types import Any, Seed
from .._core.validation import read_features
from ..codes import PackedCodes, concatenate_codes

# Results that one task merges.
_PARTS_PER_MERGE = 8


@validated(
    hasher=[HasMethods("fit")],
    n_samples=[Interval(Integral, 2, None, closed="left")],
    random_state=["random_state"],
)
def fit(
    hasher: Any,
    X: Any,
    y: Any = None,
    *,
    n_samples: int = 20_000,
    random_state: Seed = None,
) -> Any:
    """Fit a hasher on a sample of the rows of a dask array.

    The rows are drawn from all blocks, each row of the array with the same probability. So
    blocks may be sorted by class or by date. The sample depends on `random_state` and on
    the number of rows, not on the blocks.

    Parameters
    ----------
    hasher : hasher, or Pipeline or search over parameters that ends in one
        A hasher of :mod:`sklearn_talr.hashing` or :mod:`sklearn_talr.baselines`. It is
        fitted in place, in this process.

    X : dask array of shape (n_total, n_features)
        Features. Only blocks with a row of the sample are computed.

    y : targets of length n_total, or dask array, default=None
        Targets, as the `fit` of the hasher takes them. Row i of `X` belongs to the i-th
        target, also of a pandas Series, whose index is ignored.

    n_samples : int, default=20_000
        Number of rows to draw, without replacement; all if there are fewer. They must fit
        in memory.

    random_state : int, RandomState instance or None, default=None
        Draws the rows. The hasher has a parameter of its own.

    Returns
    -------
    hasher : hasher
        The fitted hasher.

    Raises
    ------
    TypeError
        If `X` is not a dask array, or `y` is a dask collection of another kind.

    ValueError
        If X and y differ in length, or blocks are of unknown length.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn_talr import ITQHasher
    >>> from sklearn_talr.dask import encode, fit
    >>> X = da.random.default_rng(0).normal(size=(10_000, 8), chunks=(1_000, 8))
    >>> hasher = fit(ITQHasher(4, random_state=0), X, n_samples=500, random_state=0)
    >>> encode(hasher, X)[0].compute()
    PackedCodes(n_samples=1000, n_bits=4, bitorder='little')
    """
    unfitted = FittedHasher.from_estimator(hasher).check()
    X = checked_rows(X, "X", has_lengths=True)
    # Blocks become CSR matrices or arrays, from which rows can be drawn.
    X = X.map_blocks(read_features, dtype=X.dtype, meta=X._meta)
    n_total = len(X)
    if is_dask(y):
        y = checked_rows(y, "y", ndim=y.ndim, has_lengths=True)
    if sp.issparse(y):
        y = y.tocsr()
    if y is not None and num_samples(y) != n_total:
        raise ValueError(
            f"X and y must have equal length, got {n_total} and {num_samples(y)}."
        )
    rows = np.arange(n_total)
    if n_samples < n_total:
        rng = check_random_state(random_state)
        rows = np.sort(rng.choice(n_total, n_samples, replace=False))
    if is_dask(y):
        y = y[rows]
    elif y is not None:
        # pandas objects are sampled by position, whatever their labels are.
        y = safe_indexing(y, rows)
    X, y = import_dask().compute(X[rows], y)
    return hasher.fit(unfitted.read(X), y)


def import_dask():
    """Import dask with its arrays; raise ImportError with the remedy if it is missing."""
    message = (
        "sklearn_talr.dask needs dask, which is not installed. Install it, for instance by "
        "pip install sklearn-talr[dask]."
    )
    optional("dask.array", message)
    return optional("dask", message)


def is_dask(array):
    """Whether an object is a dask collection, without an import of dask."""
    return hasattr(array, "__dask_graph__")


def checked_rows(X, name, *, ndim=2, has_lengths=False):
    """A dask array whose blocks hold whole rows.

    With `has_lengths`, the number of rows in each block must be known.
    """
    if not isinstance(X, import_dask().array.Array):
        raise TypeError(
            f"{name} must be a dask array, got {type(X).__name__}. Make one by "
            "dask.array.from_array; of a dask dataframe by to_dask_array(lengths=True). "
            "Codes may also be blocks, as sklearn_talr.dask.encode returns them."
        )
    if X.ndim != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of {X.ndim} dimensions.")
    if has_lengths and any(map(math.isnan, X.chunks[0])):
        raise ValueError(
            f"{name} has blocks of unknown length. Call its compute_chunk_sizes() first."
        )
    return X if X.numblocks[1:] == (1,) * (ndim - 1) else X.rechunk({1: -1})


def delayed_rows(X):
    """Blocks of the rows of a dask array, as delayed arrays."""
    return X.to_delayed().ravel().tolist()


def delayed_blocks(blocks, name):
    """Blocks of codes or of neighbors, delayed, from a list or from an array of bits."""
    if _is_list_of_delayed(blocks):
        return list(blocks)
    return delayed_rows(checked_rows(blocks, name))


def gathered(values):
    """Values in memory, gathered from a dask array or from blocks of codes."""
    if _is_list_of_delayed(values):
        return concatenate_codes(import_dask().compute(*values))
    return values.compute() if is_dask(values) else values


def merged(parts, merge):
    """Merge delayed results in a tree, first the results of adjacent blocks.

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


@validated(hasher=[HasMethods("fit")])
def encode(hasher: Any, X: Any) -> list[Any]:
    """Compute packed codes of a dask array of features, lazily.

    Parameters
    ----------
    hasher : fitted hasher, or Pipeline or search over parameters that ends in one
        A hasher of :mod:`sklearn_talr.hashing` or :mod:`sklearn_talr.baselines`. It is
        sent to each worker once. Fitting it again later does not change the codes of this
        call.

    X : dask array of shape (n_samples, n_features)
        Features, in blocks of any number of rows. A block may be a CSR matrix.

    Returns
    -------
    codes : list of Delayed
        The codes of each block of rows of `X`, in order. Each computes to
        :class:`~sklearn_talr.codes.PackedCodes`, with factors and addends if the scores of
        the hasher need them. Nothing is computed yet: keep the codes on the workers with
        ``codes = dask.persist(*codes)``, or gather them with
        ``concatenate_codes(dask.compute(*codes))``.

    Raises
    ------
    TypeError
        If `X` is not a dask array, or `hasher` makes no codes.

    sklearn.exceptions.NotFittedError
        If the hasher is not fitted.

    ValueError
        If `X` has another number of features than `fit` of the hasher was given.

    Notes
    -----
    The codes are the same as from ``hasher.encode``, with one exception: an activation that
    is 0 but for rounding may have another sign, since the order of the sums in BLAS depends
    on the number of rows.

    Examples
    --------
    >>> import dask
    >>> import dask.array as da
    >>> import numpy as np
    >>> from sklearn_talr import ITQHasher
    >>> from sklearn_talr.codes import concatenate_codes
    >>> from sklearn_talr.dask import encode
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = ITQHasher(4, random_state=0).fit(X)
    >>> codes = encode(hasher, da.from_array(X, chunks=(30, 8)))
    >>> codes[0].compute()
    PackedCodes(n_samples=30, n_bits=4, bitorder='little')
    >>> concatenate_codes(dask.compute(*codes))
    PackedCodes(n_samples=100, n_bits=4, bitorder='little')
    """
    parts = FittedHasher.from_estimator(hasher).check()
    dask = import_dask()
    X = checked_rows(X, "X")
    check_is_fitted(hasher)
    if X.shape[1] != parts.first.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {parts.name} was fitted to "
            f"{parts.first.n_features_in_}."
        )
    # Copies do not change if the user fits the hasher again.
    steps = tuple(map(copy, parts.before))
    parts = FittedHasher(None, copy(parts.hasher), steps)
    shared_parts = dask.delayed(parts, traverse=False)
    encode_block = dask.delayed(_encode_block)
    return [encode_block(shared_parts, block) for block in delayed_rows(X)]


def _encode_block(hasher, X):
    """Codes of a block. It may hold no rows, which a hasher would refuse."""
    if X.shape[0]:
        return hasher.encode(X)
    n_bits = len(hasher.hasher.get_feature_names_out())
    return PackedCodes(np.empty((0, -(-n_bits // 8)), dtype=np.uint8), n_bits)
