"""Codes, weights and numbers that a user passes to an index, checked."""

from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from .._core.progress import warn_caller
from .._core.state import validate_aside, validate_seen
from .._core.threads import slices
from .._core.validation import as_numpy
from ..codes import PackedCodes
from ..codes._packed import as_packed, refuse_integers, refuse_no_bits, wrap_bytes
from ..codes._scores import word_size

_ROWS_PER_BLOCK = 65_536


class Columns(NamedTuple):
    """Length and names of the bits of all codes of a database.

    Parameters
    ----------
    n_bits : int
        Length of a code; None before the first codes are read.

    names : ndarray of shape (n_bits,) of object, or None
        Names of the bits, None if the codes had no column names.

    owner : str, default="HammingNeighbors"
        Name of the class of the database, for messages.
    """

    n_bits: int | None
    names: np.ndarray | None = None
    owner: str = "HammingNeighbors"


def read_codes(X, index, owner=None):
    """Check codes and pack them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_bits) or PackedCodes
        Codes; positive entries are ones.

    index : Index or None
        The index whose codes these must agree with. None if they are the first codes.

    owner : str, default=None
        Name of the class that stores the first codes.

    Returns
    -------
    packed : PackedCodes
        The codes, little-endian.

    columns : Columns
        Columns of the index, or of `X` if there is no index.

    Warns
    -----
    UserWarning
        If entries other than 0 and 1 are never below 0, or all the first codes are equal.
    """
    columns = Columns(None, owner=owner) if index is None else index.columns
    if isinstance(X, PackedCodes):
        packed, columns = _read_packed_codes(X, columns)
    else:
        X, columns = _validated_entries(X, columns)
        packed = _pack_positive(X, columns.n_bits)
        if _lacks_signs(X):
            warn_caller(
                "X has entries other than 0 and 1, but no negative entry. Positive entries "
                "become ones, so all outputs of a sigmoid become ones. Subtract the "
                "threshold, for example X - 0.5.",
            )
            return packed, columns
    is_first = index is None
    if is_first and len(packed) > 1 and not np.ptp(packed.data, axis=0).any():
        warn_caller(
            "All rows of X have the same code, so all items are tied. Positive entries "
            "become ones. Subtract a threshold if the codes should differ.",
        )
    return packed, columns


def _read_packed_codes(codes, columns):
    if not len(codes):
        raise ValueError("Found array with 0 sample(s): X holds no codes.")
    if columns.n_bits not in (None, codes.n_bits):
        raise ValueError(
            f"X has {codes.n_bits} bits, but {columns.owner} holds codes of "
            f"{columns.n_bits} bits."
        )
    if columns.n_bits is None:
        columns = columns._replace(n_bits=codes.n_bits)
    return as_packed(codes), columns


def _validated_entries(X, columns):
    X = as_numpy(X)
    refuse_no_bits(X, "X")
    X, columns = _validated(X, columns)
    refuse_integers(X, "X")
    return X, columns


def _lacks_signs(X):
    """Whether entries other than 0 and 1 are never below 0."""
    if X.min() < 0:
        return False
    blocks = slices(len(X), _ROWS_PER_BLOCK)
    return any(np.any(X[rows] != (X[rows] > 0)) for rows in blocks)


def _pack_positive(X, n_bits):
    """Packed codes whose ones are positive entries, in blocks, without a copy of X."""
    blocks = slices(len(X), _ROWS_PER_BLOCK)
    octets = [np.packbits(X[rows] > 0, axis=1, bitorder="little") for rows in blocks]
    return wrap_bytes(np.concatenate(octets), n_bits)


def read_bits(X, index):
    """Packed bytes of codes of queries, which are checked."""
    packed, _ = read_codes(X, index)
    return packed.data


def read_weights(X, columns):
    """Check weights of queries that a user passes.

    Parameters
    ----------
    X : array-like of shape (n_queries, n_weights)
        Weights of the bits, or of the values of words.

    columns : Columns
        Columns of the codes. Weights of words have no names, since values have none.

    Returns
    -------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        The weights.
    """
    shape = np.shape(X)
    n_weights = shape[-1] if shape else 0
    n_bits = columns.n_bits
    if n_weights != n_bits:
        columns = Columns(n_weights, owner=columns.owner)
        if not isinstance(X, np.ndarray):
            X = check_array(X, dtype=np.float32, input_name="X")  # drops any names
    weights, _ = _validated(X, columns, dtype=(np.float32,))
    word_size(n_bits, n_weights, "X")
    return weights


def weights_of_hasher(weights, n_bits):
    """Weights that a hasher has computed, as float32 in NumPy.

    They are checked for the mistakes of a hasher only, not for mistakes of a user.

    Parameters
    ----------
    weights : array of shape (n_queries, n_weights)
        Output of `query_weights`.

    n_bits : int
        Length of the codes.

    Returns
    -------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        The weights.
    """
    weights = np.asarray(as_numpy(weights), dtype=np.float32)
    if weights.ndim != 2 or not np.isfinite(weights).all():
        raise ValueError(
            "query_weights of the hasher must return finite float32 weights of shape "
            f"(n_queries, n_weights). It returned an array of shape {weights.shape} with "
            f"{np.count_nonzero(~np.isfinite(weights))} entries that are NaN or infinity. "
            "If features of X are far larger than features of fit, scale them."
        )
    word_size(n_bits, weights.shape[1], "query_weights")
    return weights


def _validated(X, columns, **options):
    """`X` as scikit-learn checks it, and its columns: those passed, or new ones.

    scikit-learn stores the columns of an estimator in its attributes. The estimator in
    service must not change before all new data are checked, so an object of a class of the
    same name, which error messages contain, stores them instead.
    """
    reader = _class_named(columns.owner)()
    if columns.n_bits is None:
        X, seen = validate_aside(reader, X, **options)
        names = seen.get("feature_names_in_")
        return X, Columns(seen["n_features_in_"], names, columns.owner)
    reader.n_features_in_ = columns.n_bits
    if columns.names is not None:
        reader.feature_names_in_ = columns.names
    return validate_seen(reader, X, **options), columns


@lru_cache
def _class_named(name):
    """A class of estimators of this name."""
    return type(name, (BaseEstimator,), {})


def check_number(value, name, kind=Integral, least=0, most=None):
    """A number from `least` to `most`, which counts items, as an int, or as a float."""
    if not isinstance(value, kind) or isinstance(value, bool) or not value >= least:
        noun = "an integer" if kind is Integral else "a number"
        raise ValueError(f"{name} must be {noun} of at least {least}, got {value!r}.")
    if most is not None and value > most:
        raise ValueError(f"{name}={value} is more than the {most} items to be found.")
    return int(value) if kind is Integral else float(value)
