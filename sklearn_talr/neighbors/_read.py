"""What comes in: codes, weights, numbers and allow-lists, checked."""

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
    """What all codes of a database have in common.

    Parameters
    ----------
    n_bits : int
        Length of a code.

    names : ndarray of shape (n_bits,) of object, or None
        Names of the bits, None if the codes had no column names.

    owner : str, default="HammingNeighbors"
        Name of the class of the database, for messages.
    """

    n_bits: int
    names: np.ndarray | None = None
    owner: str = "HammingNeighbors"


def read_codes(X, index, owner=None):
    """Check codes and pack them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_bits) or PackedCodes
        Codes; positive entries are ones.

    index : Index or None
        The index whose codes these must agree with. None means that they are the first.

    owner : str, default=None
        Name of the class that gets the first codes.

    Returns
    -------
    packed : PackedCodes
        The codes, little-endian.

    columns : Columns
        Those of the index, or of `X` if it is the first.

    Warns
    -----
    UserWarning
        If entries other than 0 and 1 are never below 0, or all the first codes are equal.
    """
    columns = Columns(None, owner=owner) if index is None else index.columns
    if isinstance(X, PackedCodes):
        if not len(X):
            raise ValueError("Found array with 0 sample(s): X holds no codes.")
        if columns.n_bits not in (None, X.n_bits):
            raise ValueError(
                f"X has {X.n_bits} bits, but {columns.owner} holds codes of "
                f"{columns.n_bits} bits."
            )
        packed, has_signs = as_packed(X), True
        found = columns if columns.n_bits else columns._replace(n_bits=X.n_bits)
    else:
        X = as_numpy(X)
        refuse_no_bits(X, "X")
        X, found = _validated(X, columns)
        refuse_integers(X, "X")
        blocks = list(slices(len(X), _ROWS_PER_BLOCK))
        has_signs = X.min() < 0 or all(np.all(X[b] == (X[b] > 0)) for b in blocks)
        # "Is positive" of every entry, without a boolean copy of all of X
        octets = [np.packbits(X[b] > 0, axis=1, bitorder="little") for b in blocks]
        packed = wrap_bytes(np.concatenate(octets), found.n_bits)
    if not has_signs:
        warn_caller(
            "X holds entries other than 0 and 1, but none below 0. Positive entries are "
            "ones, so outputs of a sigmoid are nothing but ones: subtract the threshold, "
            "as in X - 0.5.",
        )
    elif not columns.n_bits and len(packed) > 1 and not np.ptp(packed.data, axis=0).any():
        warn_caller(
            "All rows of X have the same code, so every item is tied with every other. "
            "Positive entries are ones: subtract a threshold if there should be more.",
        )
    return packed, found


def read_bits(X, index):
    """Packed bytes of codes of queries, which are checked."""
    return read_codes(X, index)[0].data


def read_weights(X, columns):
    """Check weights of queries of codes with these columns.

    Parameters
    ----------
    X : array-like of shape (n_queries, n_weights)
        Weights of the bits, or of the values of words.

    columns : Columns
        What they must agree with. Weights of words have no names, as values have none.

    Returns
    -------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        The weights.
    """
    n_bits, (*_, n_weights) = columns.n_bits, np.shape(X) or (0,)
    if n_weights != n_bits:
        columns = Columns(n_weights, owner=columns.owner)
        if not isinstance(X, np.ndarray):
            X = check_array(X, dtype=np.float32, input_name="X")  # drops any names
    weights, _ = _validated(X, columns, dtype=(np.float32,))
    word_size(n_bits, n_weights, "X")
    return weights


def _validated(X, columns, **options):
    """`X` as scikit-learn checks it, and its columns, which are those passed if known.

    scikit-learn writes what it learns about columns to the estimator that it is given, and
    reads from there what it compares with. An estimator in service must not change before
    everything new is ready, so another of its name gets it.
    """
    reader = _reader_of(columns.owner)()
    if columns.n_bits is None:
        X, seen = validate_aside(reader, X, **options)
        names = seen.get("feature_names_in_")
        return X, Columns(seen["n_features_in_"], names, columns.owner)
    reader.n_features_in_ = columns.n_bits
    if columns.names is not None:
        reader.feature_names_in_ = columns.names
    return validate_seen(reader, X, **options), columns


@lru_cache
def _reader_of(owner):
    return type(owner, (BaseEstimator,), {})


def check_number(value, name, kind=Integral, least=0, most=None):
    """A number from `least` to `most`, which counts items, as an int, or as a float."""
    if not isinstance(value, kind) or isinstance(value, bool) or not value >= least:
        noun = "an integer" if kind is Integral else "a number"
        raise ValueError(f"{name} must be {noun} of at least {least}, got {value!r}.")
    if most is not None and value > most:
        raise ValueError(f"{name}={value} is more than the {most} items to be found.")
    return int(value) if kind is Integral else float(value)
