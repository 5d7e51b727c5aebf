"""Fitting on a sample of the rows of all blocks."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, validate_params

from ..affinity import PrecomputedAffinity
from ..affinity._resolve import len_targets
from ._blocks import checked_rows, import_dask, is_dask, row_bounds

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
        As the `fit` of the hasher takes them.

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
        If `X` is not a dask array.

    ValueError
        If X and y differ in length, or blocks are of unknown length.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn_talr import ITQHasher
    >>> from sklearn_talr.dask import encode, fit
    >>> X = da.random.default_rng(0).normal(size=(10_000, 8), chunks=(1_000, 8))
    >>> hasher = fit(ITQHasher(4, random_state=0), X, n_samples=500, random_state=0)
    >>> encode(hasher, X).shape
    (10000, 4)
    """
    X = checked_rows(X, "X")
    n_total = int(row_bounds(X, "X")[-1])
    if not (y is None or is_dask(y) or isinstance(y, PrecomputedAffinity)):
        y = y if hasattr(y, "shape") else np.asarray(y)
    if y is not None and len_targets(y) != n_total:
        raise ValueError(
            f"X and y must have equal length, got {n_total} and {len_targets(y)}."
        )
    rows = np.arange(n_total)
    if n_samples < n_total:
        rng = check_random_state(random_state)
        rows = np.sort(rng.choice(n_total, n_samples, replace=False))
    sample = X[rows], (None if y is None else y[rows])
    return hasher.fit(*import_dask().compute(*sample))
