"""Arrays of other libraries: their devices, missing functions, and the way to NumPy.

With scikit-learn's `array_api_dispatch` results live where the arrays do. Without it every
array is taken for one of NumPy, as scikit-learn takes it.
"""

import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import column_or_1d

from ._compat import convert_to_numpy, get_namespace_and_device, is_pandas_na


class Space(NamedTuple):
    """A library of arrays, and one of its devices.

    Parameters
    ----------
    xp : module
        The library, as the Python array API standard wants it.

    device : object
        What the library calls the device.
    """

    xp: object
    device: object

    @property
    def library(self):
        """Name of the library, whoever has wrapped it."""
        return self.xp.__name__.rpartition(".")[2]

    @property
    def is_torch(self):
        """Whether arrays are torch tensors."""
        return self.library == "torch"

    def floats(self, X):
        """Types that features are computed in; those of another type become the first.

        This is float32 where it holds all values of the other type, as of float16 and
        bytes, and float64 elsewhere: in float32 large integers would become equal.
        """
        floats = self.xp.float64, self.xp.float32
        fits = getattr(getattr(X, "dtype", None), "itemsize", 8) <= 2
        return floats[::-1] if fits else floats

    def empty(self, shape, dtype):
        """An array to be filled; `dtype` is the name of its type."""
        return self.xp.empty(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def fill(self, array, rows, values):
        """Set rows of an array to values of any type."""
        if self is not NUMPY:
            values = self.xp.astype(values, array.dtype, copy=False)
        array[rows, :] = values

    def take(self, array):
        """Bring a NumPy array here."""
        return self.xp.asarray(array, device=self.device)


NUMPY = Space(np, None)


def space_of(array):
    """Where an array lives: `NUMPY` unless dispatch is on and it is one of another library.

    Objects that are no arrays, as lists, data frames and sparse matrices, are for NumPy.
    """
    if isinstance(array, np.ndarray) or not get_config()["array_api_dispatch"]:
        return NUMPY
    torch = sys.modules.get("torch")  # where torch is not imported there are no tensors
    is_tensor = torch is not None and isinstance(array, torch.Tensor)
    if not is_tensor and not hasattr(array, "__array_namespace__"):
        return NUMPY
    xp, _, device = get_namespace_and_device(array)
    return Space(xp, device)


def enter(array):
    """Return the space of an array, and the array, detached from its gradient."""
    space = space_of(array)
    if space is NUMPY:
        return space, array
    if space.xp.isdtype(array.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported, got an array of {array.dtype}.")
    if not space.is_torch:
        return space, array
    if array.layout != space.xp.strided:
        raise ValueError(
            "Sparse tensors are not supported. Pass a SciPy CSR matrix, or X.to_dense()."
        )
    return space, array.detach()


def as_numpy(array, input_name=None):
    """The same numbers in NumPy, without a copy where the memory is that of the host.

    An object that `space_of` assigns to NumPy is returned as it is, but for a masked array
    where it has an `input_name`: nothing may be masked.
    """
    if input_name is not None:
        refuse_masked(**{input_name: array})
    space = space_of(array)
    if space is NUMPY:
        return array
    if space.is_torch:
        array = array.detach()
        if array.dtype == space.xp.bfloat16:  # which NumPy does not know
            array = array.float()
    return convert_to_numpy(array, space.xp)


def row_norms(X):
    """Lengths of the rows of an array of floats, also where squares would be 0 or infinite.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
        Rows.

    Returns
    -------
    norms : ndarray of shape (n_rows,)
        Of the type of the rows; float64 if float32 cannot hold their squares.
    """
    magnitudes = np.abs(X).max(axis=1, initial=0)
    limits = np.finfo(X.dtype)
    low = np.sqrt(limits.tiny) / limits.eps
    high = np.sqrt(limits.max) * limits.eps
    if not np.any((magnitudes > high) | ((magnitudes > 0) & (magnitudes < low))):
        return np.linalg.norm(X, axis=1)
    scales = np.frexp(magnitudes)[1]  # of powers of two, which change no digit
    scaled = np.ldexp(X.astype(np.float64), -scales[:, None])
    return np.ldexp(np.linalg.norm(scaled, axis=1), scales)


def has_missing(values):
    """Whether a vector holds NaN, NaT, None or pandas' NA."""
    if values.dtype.kind == "O":
        values = (v for v in values if getattr(v, "ndim", 0) == 0)
        return any(v is None or is_pandas_na(v) or v != v for v in values)
    return values.dtype.kind in "fmM" and bool(np.any(values != values))


def refuse_masked(**arrays):
    """Raise ValueError where entries are masked, which NumPy forgets, or no numbers."""
    for name, values in arrays.items():
        if np.ma.is_masked(values):
            raise ValueError(
                f"{name} has masked entries, which would count like all others. Leave out "
                f"their rows, or pass {name}.filled(value): -np.inf for scores, and 0 for "
                "what is not relevant."
            )
        if isinstance(values, np.ndarray) and values.dtype == "V2":  # not a number to NumPy
            raise ValueError(
                f"{name} holds pairs of bytes, as np.save leaves of bfloat16. Pass {name}"
                ".view(ml_dtypes.bfloat16).astype('float32')."
            )


def axis_labels(table, axis=0):
    """Labels of the rows or columns of a data frame or Series.

    Parameters
    ----------
    table : object
        A pandas DataFrame or Series, a polars DataFrame, or anything else.

    axis : {0, 1}, default=0
        0 for rows, 1 for columns.

    Returns
    -------
    labels : ndarray of shape (n,) of object, or None
        None if the object declares no labels along this axis: arrays have none.

    is_default : bool
        Whether nobody declared the labels: pandas counts rows from 0 by itself.
    """
    if axis >= getattr(table, "ndim", 2):
        return None, False
    if hasattr(table, "iloc"):
        index = table.index if axis == 0 else table.columns
        is_default = (
            getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1
        )
        return np.asarray(index, dtype=object), is_default
    names = getattr(table, "column_names", getattr(table, "columns", None))  # of Arrow
    if axis == 1 and names is not None and not callable(names):
        return np.fromiter(names, dtype=object), False
    return None, False


def _have_one_index(first, second, axis):
    """Whether two tables of pandas have equal labels, which is soon seen of large ones."""
    if not (hasattr(first, "iloc") and hasattr(second, "iloc")):
        return False
    if axis >= min(first.ndim, second.ndim):
        return False
    indices = (table.index if axis == 0 else table.columns for table in (first, second))
    return next(indices).equals(next(indices))


def refuse_unlike_labels(first, second, names, axis=0):
    """Raise ValueError if two tables are joined by position and their labels disagree.

    Labels agree if they are equal and in one order. Labels that pandas has counted are no
    declaration, unless they are those of the other table in another order. An object
    without labels, such as an array, goes with any other, and a single label with any.

    Parameters
    ----------
    first, second : object
        Tables, Series or arrays whose rows, or columns, belong together by position.

    names : tuple of two str
        What errors call them.

    axis : {0, 1}, default=0
        Rows or columns.
    """
    if _have_one_index(first, second, axis):
        return
    (labels, is_default), (other, other_is_default) = (
        axis_labels(table, axis) for table in (first, second)
    )
    if labels is None or other is None or len(labels) != len(other) or len(labels) < 2:
        return
    differ = [one != two and repr(one) != repr(two) for one, two in zip(labels, other)]
    if not any(differ):
        return
    is_reordered = sorted(map(repr, labels)) == sorted(map(repr, other))
    if (is_default or other_is_default) and not is_reordered:
        return
    place = differ.index(True)
    noun = ("row", "index") if axis == 0 else ("column", "columns")
    state = "the same labels in another order" if is_reordered else "other labels"
    one, two = names
    raise ValueError(
        f"{two} has {state} than {one}: {noun[0]} {place} is {other[place]!r} there and "
        f"{labels[place]!r} in {one}. Rows and columns are joined by position. Put {two} "
        f"into the order of {one}, as by {two}.reindex({noun[1]}={one}.{noun[1]}), or pass "
        f"{two}.to_numpy() if the labels mean nothing."
    )


def refuse_missing(y):
    """Raise ValueError if labels, an array or a list, hold NaN, NaT, None or pandas' NA.

    scikit-learn would compare them with strings, and NumPy makes of a NaN in a list of
    strings the string "nan".
    """
    if y is None or sp.issparse(y) or space_of(y) is not NUMPY:
        return
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if has_missing(values.ravel()):
        raise ValueError(
            "y contains NaT, None or NaN; every sample needs a label. Leave out samples "
            "that have none."
        )


def check_groups(groups, n_items, name="groups"):
    """Return the group of each item as a 1-D array, or raise ValueError if one lacks it.

    Errors call them `name`. An array of another length than `n_items` is returned as it is,
    unless it holds the sizes of groups, which LightGBM takes.
    """
    refuse_masked(**{name: groups})
    groups = column_or_1d(groups)
    is_short = len(groups) < n_items and groups.dtype.kind in "iuf"
    if is_short and groups.sum() == n_items:
        raise ValueError(
            f"{name} has {len(groups)} numbers whose sum is the number of items, "
            f"{n_items}: they seem to be sizes of groups, as LightGBM takes them. Pass the "
            "group of each item, np.repeat(np.arange(len(sizes)), sizes)."
        )
    if has_missing(groups):
        raise ValueError(
            f"{name} has missing values (NaN, NaT or None), and nobody knows the group of "
            "these items. Leave them out."
        )
    return groups


def check_ids(ids, n_items=None):
    """Ids, an array-like or a single one, as an array of strings or of int64.

    Raises ValueError unless there is one for each of `n_items`, if that is given.
    """
    if isinstance(ids, Mapping):
        raise ValueError("ids must be a list or an array, got a dict: pass list(ids).")
    refuse_masked(ids=ids)
    ids = np.asarray(ids) if hasattr(ids, "__array__") else ids
    given = ids.tolist() if hasattr(ids, "tolist") else ids
    given = [given] if isinstance(given, str | int) else list(given)
    found = np.array(given)
    is_plain = found.dtype.kind in "iU" and found.ndim == 1
    if given and not (is_plain and found.tolist() == given):
        types = ", ".join(sorted({type(each).__name__ for each in given}))
        raise ValueError(
            "ids must be all strings, none of which ends in a null character, or all "
            f"integers of int64, got entries of type {types}. Integers above 2**63 - 1 may "
            "be written as strings."
        )
    if n_items is not None and len(given) != n_items:
        raise ValueError(f"ids must be one for each of {n_items} items, got {len(given)}.")
    return found


def ragged(arrays):
    """Arrays of various lengths as an array of arrays, as scikit-learn returns them."""
    return np.fromiter(arrays, dtype=object, count=len(arrays))
