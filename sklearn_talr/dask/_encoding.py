"""Features to codes, block by block."""

from copy import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._compat import HasMethods, validate_params
from ..codes import PackedCodes
from ._blocks import checked_rows, import_dask, row_blocks
from ._codes import DaskCodes

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
    codes : DaskCodes
        Codes in the blocks of `X`. Nothing is computed yet: write ``codes.data`` to a file,
        keep the codes on the workers by ``codes.persist()``, or gather them by
        ``codes.compute()``.

    Raises
    ------
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
    >>> import dask.array as da
    >>> import numpy as np
    >>> from sklearn_talr import ITQHasher
    >>> from sklearn_talr.dask import encode
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> hasher = ITQHasher(4, random_state=0).fit(X)
    >>> codes = encode(hasher, da.from_array(X, chunks=(30, 8)))
    >>> codes
    DaskCodes(n_samples=100, n_bits=4, bitorder='little', n_blocks=4)
    >>> bool((codes.compute().data == hasher.encode(X).data).all())
    True
    """
    dask, X = import_dask(), checked_rows(X, "X")
    check_is_fitted(hasher)
    if X.shape[1] != hasher.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(hasher).__name__} was fitted to "
            f"{hasher.n_features_in_}."
        )
    encoder = hasher._encoder()
    n_bytes = -(-encoder.n_bits // 8)
    everywhere = dask.delayed(copy(hasher), traverse=False)
    encode_block = dask.delayed(_encode_block)
    n_terms = encoder.n_terms + (encoder.factors() is not None)
    blocks = [
        encode_block(everywhere, block, encoder.n_bits, n_terms) for block in row_blocks(X)
    ]
    lengths = X.chunks[0]
    data = _array_of(blocks, "data", lengths, n_bytes, np.uint8)
    terms = None
    if n_terms:
        terms = _array_of(blocks, "terms", lengths, n_terms, np.float32)
    return DaskCodes(data, encoder.n_bits, terms=terms)


def _encode_block(hasher, X, n_bits, n_terms):
    if X.shape[0]:
        return hasher.encode(X)
    terms = np.empty((0, n_terms), dtype=np.float32) if n_terms else None
    data = np.empty((0, -(-n_bits // 8)), dtype=np.uint8)
    return PackedCodes._of(data, n_bits, "little", terms)


def _array_of(blocks, attribute, lengths, width, dtype):
    """A dask array of an attribute of all blocks."""
    da = import_dask().array
    return da.concatenate(
        [
            da.from_delayed(getattr(block, attribute), (length, width), dtype)
            for block, length in zip(blocks, lengths)
        ]
    )
