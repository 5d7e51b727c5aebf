"""Features to codes, block by block."""

from copy import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._compat import HasMethods, validate_params
from ..codes import PackedCodes
from ._blocks import checked_rows, delayed_rows, import_dask

__all__ = ["encode"]


@validate_params(
    {"hasher": [HasMethods(["encode"])], "X": "no_validation"},
    prefer_skip_nested_validation=True,
)
def encode(hasher, X):
    """Compute packed codes of a dask array of features, lazily.

    Parameters
    ----------
    hasher : fitted hasher
        Of :mod:`sklearn_talr.hashing` or :mod:`sklearn_talr.baselines`. It travels to each
        worker once. Fitting it again later does not change the codes of this call.

    X : dask array of shape (n_samples, n_features)
        Features, in blocks of any number of rows. A block may be a CSR matrix.

    Returns
    -------
    codes : list of Delayed
        One for each block of rows of `X`, in order, which computes to the
        :class:`~sklearn_talr.codes.PackedCodes` of the block, with factors and addends
        where the scores of the hasher need these. Nothing is computed yet: keep the codes
        on the workers by ``codes = dask.persist(*codes)``, or gather them by
        ``concatenate_codes(dask.compute(*codes))``.

    Raises
    ------
    TypeError
        If `X` is not a dask array.

    sklearn.exceptions.NotFittedError
        If the hasher is not fitted.

    ValueError
        If `X` has not the number of features that the hasher was fitted to.

    Notes
    -----
    The codes are those of ``hasher.encode``. An activation within rounding of 0 may get
    another sign there, since the order in which BLAS adds depends on the number of rows.

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
    dask, X = import_dask(), checked_rows(X, "X")
    check_is_fitted(hasher)
    if X.shape[1] != hasher.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(hasher).__name__} was fitted to "
            f"{hasher.n_features_in_}."
        )
    everywhere = dask.delayed(copy(hasher), traverse=False)
    encode_block = dask.delayed(_encode_block)
    return [encode_block(everywhere, block) for block in delayed_rows(X)]


def _encode_block(hasher, X):
    """Codes of a block, which may hold no rows: a hasher would refuse these."""
    if X.shape[0]:
        return hasher.encode(X)
    n_bits = len(hasher.get_feature_names_out())
    return PackedCodes(np.empty((0, -(-n_bits // 8)), dtype=np.uint8), n_bits)
