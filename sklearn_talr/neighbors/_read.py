"""What comes in: codes, weights, numbers and allow-lists, checked."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from .._arrays import as_numpy
from .._progress import warn_caller
from .._state import validate_aside, validate_seen
from .._threads import slices
from ..codes import PackedCodes
from ..codes._packed import as_packed, refuse_integers, refuse_no_bits
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
        packed = PackedCodes._of(np.concatenate(octets), found.n_bits)
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
    """Packed bytes of codes of queries, which are checked; None means the items."""
    packed = index.codes if X is None else read_codes(X, index)[0]
    return packed.data


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
    if X is None:
        raise ValueError(
            "X is needed: the items are known by their bits alone, and queries have "
            "weights."
        )
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


def read_among(among, index, n_queries, name="among"):
    """Check an allow-list, or another list of items, which errors call `name`.

    Parameters
    ----------
    among : array-like, sparse matrix or sequence of array-likes
        Ids, indices where there are none, or a mask, for all queries or for each. None
        allows all.

    index : Index
        The items.

    n_queries : int
        Number of queries.

    Returns
    -------
    allowed : ndarray of int64, or list of as many such arrays as there are queries
        Rows that may be found, ascending. None if all may.
    """
    if among is None:
        return None
    if isinstance(among, str | bytes | Mapping) or not isinstance(among, Iterable):
        raise ValueError(
            f"{name} must be a list of indices or ids, or a mask of bool, got "
            f"{type(among).__name__}. For one item write [item], and of a dict of bool "
            "[item for item, allowed in among.items() if allowed]."
        )
    n_items, labels = index.n_indices, None
    shapes = (n_items,), (n_queries, n_items)
    wrong_mask = (
        f"{name} is a mask of shape {{}}. Masks have an entry for each item given so far: "
        f"shape {shapes[0]}, or {shapes[1]} with a row for each query."
    )
    if sp.issparse(among):
        if among.shape != shapes[1]:
            raise ValueError(wrong_mask.format(among.shape))
        masks = sp.csr_array(among.astype(bool))
        masks = masks if index.numbers is None else masks[:, index.numbers]
        masks.sum_duplicates()
        masks.eliminate_zeros()
        return np.split(masks.indices.astype(np.int64), masks.indptr[1:-1])
    if hasattr(among, "iloc"):
        labels = np.asarray(among.index if among.ndim == 1 else among.columns)
    is_array = hasattr(among, "__array__")  # of a table rows are meant, not its columns
    values = np.asarray(as_numpy(among, name)) if is_array else list(among)
    if is_array and values.dtype == object:
        values = values.tolist()

    def read(values):
        values = np.asarray(values)
        if not is_mask(values, n_items):
            return index.rows_of(values, name)
        if values.shape != shapes[0]:
            raise ValueError(wrong_mask.format(values.shape))
        names = np.arange(n_items) if index.ids is None else index.named(slice(None))
        is_reordered = labels is not None and not np.array_equal(labels, names)
        if is_reordered and set(labels.tolist()) == set(names.tolist()):
            raise ValueError(
                f"{name} is a mask whose labels are the items in another order than that "
                "of the index. Put it into the order of `ids_`, or `indices_` without ids, "
                f"as by reindex, or pass {name}.to_numpy() if labels mean nothing."
            )
        return np.flatnonzero(values if index.numbers is None else values[index.numbers])

    if len(values) == 0 or np.ndim(values[0]) != 1:
        return read(values)
    if len(values) != n_queries:
        raise ValueError(
            f"{name} has {len(values)} lists for {n_queries} queries. Pass a list or mask "
            "for each query, or one array of indices or mask for all."
        )
    return [*map(read, values)]


def is_mask(values, n_items):
    """Whether an array is a mask: bool, or as many 0 and 1 as items, with repeats."""
    if values.dtype.kind not in "iu" or values.shape != (n_items,):
        return values.dtype == bool
    return values.min() >= 0 and values.max() <= 1 and len(np.unique(values)) < n_items


def read_left_out(exclude, index, n_queries, is_own):
    """Rows that queries must not find, a CSR of shape (n_queries, n_items), or None.

    `exclude` is as `among`, and names what is left out; `is_own`: queries are the items,
    which do not find themselves.
    """
    shape, left_out = (n_queries, index.n_items), None
    if exclude is not None:
        rows = read_among(exclude, index, n_queries, "exclude")
        rows = rows if isinstance(rows, list) else [rows] * n_queries
        ends = np.cumsum([0, *map(len, rows)])
        ones = np.ones(ends[-1], dtype=np.int64)
        left_out = sp.csr_array((ones, np.concatenate(rows), ends), shape=shape)
    if is_own:
        own = sp.eye_array(*shape, dtype=np.int64, format="csr")
        left_out = own if left_out is None else sp.csr_array(own.maximum(left_out))
    return left_out


def check_enough(allowed, left_out, n_items, n_neighbors):
    """The least number of items that a query may find, which must be those asked for."""
    if isinstance(allowed, list):
        counts = np.array([len(rows) for rows in allowed])
    else:
        is_there = np.zeros(n_items, dtype=np.int64)
        is_there[... if allowed is None else allowed] = 1
        counts = np.full(1, is_there.sum())
        counts = counts if left_out is None else counts - left_out @ is_there
    if counts.min() < n_neighbors:
        query = int(counts.argmin())
        what = "exclude leaves" if allowed is None else "among allows"
        raise ValueError(
            f"{what} {counts[query]} items for query {query}, fewer than "
            f"n_neighbors={n_neighbors}. Allow more items, or ask for fewer neighbors."
        )
    return int(counts.min())
