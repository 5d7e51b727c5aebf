"""Codes as they come in: checked, and packed eight bits to the byte."""

import warnings
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from .._arrays import as_numpy
from .._state import validate_seen
from .._threads import slices
from ..codes import PackedCodes
from ..codes._door import Words, as_packed

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


def read_codes(X, columns=None, owner="HammingNeighbors"):
    """Check codes and pack them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_bits) or PackedCodes
        Codes; positive entries are ones.

    columns : Columns, default=None
        What the codes must agree with. None means that they are the first.

    owner : str, default="HammingNeighbors"
        Name of the class that gets the first codes.

    Returns
    -------
    packed : PackedCodes
        The codes, little-endian.

    columns : Columns
        The columns passed, or those of `X` if it is the first.

    Warns
    -----
    UserWarning
        If entries other than 0 and 1 are never below 0, or all the first codes are equal.
    """
    read = _read_packed if isinstance(X, PackedCodes) else _read_signs
    packed, found, has_signs = read(X, columns, owner)
    if not has_signs:
        warnings.warn(
            "X holds entries other than 0 and 1, but none below 0. Positive entries are "
            "ones, so outputs of a sigmoid are nothing but ones: subtract the threshold, "
            "as in X - 0.5.",
            stacklevel=2,
        )
    elif columns is None and len(packed) > 1 and _all_equal(packed.data):
        warnings.warn(
            "All rows of X have the same code, so every item is tied with every other. "
            "Positive entries are ones: subtract a threshold if there should be more.",
            stacklevel=2,
        )
    return packed, found


def read_weights(X, columns):
    """Check weights of queries of codes with these columns.

    Parameters
    ----------
    X : array-like of shape (n_queries, n_weights)
        Weights of the bits, or of the products of words.

    columns : Columns
        What they must agree with. Weights of words have no names, as products have none.

    Returns
    -------
    weights : ndarray of shape (n_queries, n_weights), dtype float32
        The weights.

    words : Words
        What they weigh.
    """
    n_bits, (*_, n_weights) = columns.n_bits, np.shape(X) or (0,)
    if n_weights != n_bits:
        columns = Columns(n_weights, owner=columns.owner)
        if not isinstance(X, np.ndarray):
            X = check_array(X, dtype=np.float32, input_name="X")  # drops any names
    weights = validate_seen(_reader_of(columns.owner)(columns), X, dtype=(np.float32,))
    return weights, Words.of_weights(n_bits, n_weights, "X")


def _read_signs(X, columns, owner):
    """Packed codes, their columns, and whether their signs tell ones from zeros."""
    reader = _reader_of(owner if columns is None else columns.owner)(columns)
    X = as_numpy(X)
    X = validate_data(reader, X) if columns is None else validate_seen(reader, X)
    if X.dtype.kind == "u" and X.max() > 1:
        raise ValueError(
            f"X holds unsigned integers ({X.dtype}) other than 0 and 1, which look like "
            "packed codes. Say what they mean: PackedCodes(bytes, n_bits, bitorder), and "
            "unpack_codes of that for bits."
        )
    blocks = (X[rows] for rows in slices(len(X), _ROWS_PER_BLOCK))
    has_signs = X.min() < 0 or all(np.all(block == (block > 0)) for block in blocks)
    return _pack_signs(X), columns or reader.columns(), has_signs


class _Reader(BaseEstimator):
    """Stands in for the estimator where scikit-learn checks columns.

    scikit-learn writes what it learns about columns to the estimator that it is given, and
    reads from there what it compares with. An estimator in service must not change before
    everything new is ready, so it gets this one.
    """

    def __init__(self, columns=None):
        if columns is not None:
            self.n_features_in_ = columns.n_bits
            if columns.names is not None:
                self.feature_names_in_ = columns.names

    def columns(self):
        names = getattr(self, "feature_names_in_", None)
        return Columns(self.n_features_in_, names, type(self).__name__)


@lru_cache
def _reader_of(owner):
    """The class under the name of the owner, which scikit-learn's messages have."""
    return type(owner, (_Reader,), {})


def _read_packed(codes, columns, owner):
    if not len(codes):
        raise ValueError("Found array with 0 sample(s): X holds no codes.")
    if columns is None:
        columns = Columns(codes.n_bits, owner=owner)
    if codes.n_bits != columns.n_bits:
        raise ValueError(
            f"X has {codes.n_bits} bits, but {columns.owner} holds codes of "
            f"{columns.n_bits} bits."
        )
    return as_packed(codes), columns, True


def _pack_signs(X):
    """Pack "is positive" of every entry, without a boolean copy of all of X."""
    data = np.empty((len(X), -(-X.shape[1] // 8)), dtype=np.uint8)
    for rows in slices(len(X), _ROWS_PER_BLOCK):
        data[rows] = np.packbits(X[rows] > 0, axis=1, bitorder="little")
    return PackedCodes._of(data, X.shape[1], "little")


def _all_equal(data):
    return np.array_equal(data.min(axis=0), data.max(axis=0))
