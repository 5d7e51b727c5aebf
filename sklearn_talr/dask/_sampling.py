"""Fitting on a sample of the rows of all blocks."""

from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from .._compat import HasMethods, Interval, num_samples, safe_indexing, validate_params
from ._blocks import checked_rows, import_dask, is_dask, n_rows_of

__all__ = ["fit"]


@validate_params(
    {
        "hasher": [HasMethods(["fit", "encode"])],
        "X": "no_validation",
        "y": "no_validation",
        "n_samples": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def fit(hasher, X, y=None, *, n_samples=20_000, random_state=None):
    """Fit a hasher on a sample of the rows of a dask array.

    The rows are drawn from all blocks, each row of the array with the same chance, so that
    blocks sorted by class or by date do no harm. Which rows depends on `random_state` and
    the number of rows, not on the blocks.

    Parameters
    ----------
    hasher : hasher
        Of :mod:`sklearn_talr.hashing` or :mod:`sklearn_talr.baselines`. It is fitted in
        place, in this process.

    X : dask array of shape (n_total, n_features)
        Features. Only the blocks are computed that hold a row of the sample.

    y : targets of length n_total, or dask array, default=None
        As the `fit` of the hasher takes them. Row i of `X` goes with the i-th target, also
        of a pandas Series, whose index is not looked at.

    n_samples : int, default=20_000
        Number of rows to draw, without replacement; all if there are no more. They must fit
        in memory.

    random_state : int, RandomState instance or None, default=None
        Seed of the drawing. The hasher has its own.

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
    X = checked_rows(X, "X")
    n_total = n_rows_of(X, "X")
    y = _checked_targets(y)
    if y is not None and num_samples(y) != n_total:
        raise ValueError(
            f"X and y must have equal length, got {n_total} and {num_samples(y)}."
        )
    rows = np.arange(n_total)
    if n_samples < n_total:
        rng = check_random_state(random_state)
        rows = np.sort(rng.choice(n_total, n_samples, replace=False))
    if y is not None:  # pandas objects are sampled by position, whatever their labels are
        y = y[rows] if is_dask(y) else safe_indexing(y, rows)
    return hasher.fit(*import_dask().compute(X[rows], y))


def _checked_targets(y):
    """Targets of which rows can be taken, in memory or in blocks."""
    if is_dask(y):
        y = checked_rows(y, "y", ndim=y.ndim)
        n_rows_of(y, "y")
    return y.tocsr() if sp.issparse(y) else y
