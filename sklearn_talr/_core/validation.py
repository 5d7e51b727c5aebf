"""Checks of input, and arrays of other libraries: their devices and the way to NumPy.

With scikit-learn's `array_api_dispatch` results live on the device of the arrays. Without
it every array is read as one of NumPy, as scikit-learn does.
"""

import sys
from collections.abc import Mapping, Set
from numbers import Integral, Number
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import column_or_1d

from .compat import convert_to_numpy, get_namespace_and_device, is_pandas_na

_MOST_INT64 = 2**63 - 1
# Types of the entries of a column of lists
_ROWS = list | tuple | np.ndarray
_SPARSE_TENSOR = (
    "Sparse tensors are not supported. Pass a SciPy CSR matrix, or X.to_dense()."
)


class Space(NamedTuple):
    """A library of arrays, and one of its devices.

    Parameters
    ----------
    xp : module
        The library, as the Python array API standard wants it.

    device : object
        The library's name of the device.
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
        """Types that features are computed in; other types become the first of them.

        The first is float32 if it holds all values of the other type, such as float16 and
        bytes, and else float64: in float32 large integers would become equal.
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
    """The space of an array: `NUMPY`, unless dispatch is on and it is of another library.

    Objects that are no arrays, such as lists, data frames and sparse matrices, are NumPy's.
    """
    if isinstance(array, np.ndarray) or not get_config()["array_api_dispatch"]:
        return NUMPY
    if not _is_tensor(array) and not hasattr(array, "__array_namespace__"):
        return NUMPY
    xp, _, device = get_namespace_and_device(array)
    return Space(xp, device)


def enter(array):
    """Return the space of features, and the features, detached from their gradient."""
    array = read_features(array)
    space = space_of(array)
    if space is NUMPY:
        return space, array
    if space.xp.isdtype(array.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported, got an array of {array.dtype}.")
    if not space.is_torch:
        return space, array
    if array.layout != space.xp.strided:
        raise ValueError(_SPARSE_TENSOR)
    return space, array.detach()


def as_numpy(array, input_name=None):
    """The same numbers in NumPy, without a copy if the array is in the host's memory.

    An object that `space_of` assigns to NumPy is returned as it is. If there is an
    `input_name`, entries that are masked raise ValueError.
    """
    if input_name is not None:
        refuse_masked(**{input_name: array})
    space = space_of(array)
    if space is NUMPY:
        return array
    if space.is_torch:
        array = array.detach()
        if array.dtype == space.xp.bfloat16:
            # NumPy has no such type.
            array = array.float()
    return convert_to_numpy(array, space.xp)


def read_features(X, name="X"):
    """Features in a form that scikit-learn takes, read by their declared type.

    Parameters
    ----------
    X : object
        Features that a user passes.

    name : str, default="X"
        Name of the argument, for errors.

    Returns
    -------
    X : object
        A column of lists of numbers, alone in its table or without a table, becomes a 2-D
        array; a sparse matrix of any format becomes CSR; a tensor of torch on the host
        loses its gradient, and becomes an array of NumPy without `array_api_dispatch`;
        numbers of ml_dtypes become float32. Everything else is returned as it is.

    Raises
    ------
    ValueError
        If they are codes, bytes or a single value, or lists of unequal length, of missing
        rows, or of lists.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "biufc" and X.ndim:
        return X
    if sp.issparse(X):
        return X.tocsr() if X.ndim == 2 else X
    _refuse_no_rows(X, name)
    if _is_tensor(X):
        return _read_tensor(X)
    if is_custom_float(X):
        return np.asarray(X).astype(np.float32)
    if isinstance(X, memoryview):
        return np.asarray(X)
    if isinstance(X, list | tuple):
        return _read_list(X, name)
    column = _column_of_lists(X, name)
    return X if column is None else _stacked(column, name)


def is_custom_float(X):
    """Whether the type of an array is registered with NumPy by a package, as bfloat16."""
    dtype = getattr(X, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind == "V" and dtype.type is not np.void


def _is_tensor(array):
    """Whether an array is a tensor of torch; before torch is imported there are none."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _read_tensor(X):
    """A tensor of the host in NumPy, without gradients and types that NumPy lacks."""
    torch = sys.modules["torch"]
    if X.layout != torch.strided:
        raise ValueError(_SPARSE_TENSOR)
    X = X.detach()
    if X.is_floating_point() and X.dtype not in (
        torch.float16,
        torch.float32,
        torch.float64,
    ):
        X = X.float()
    is_here = X.device.type == "cpu" and not get_config()["array_api_dispatch"]
    return X.numpy(force=True) if is_here else X


def _refuse_no_rows(X, name):
    """Raise ValueError if an object is codes, bytes, a text or a number."""
    if hasattr(X, "n_bits") and hasattr(X, "bitorder"):
        raise ValueError(
            f"{name} are codes ({X!r}), and features are needed. Pass the features that "
            "the codes were made from. To search codes use HammingNeighbors().fit(codes); "
            f"to use bits as features pass np.asarray({name})."
        )
    refuse_bytes(
        X,
        name,
        problem="which declare neither their type nor their number of columns",
        remedy=f"Pass np.frombuffer({name}, dtype='float32').reshape(-1, n_features), with "
        "the type and the number of features that were written.",
    )
    refuse_single_value(
        X,
        name,
        shape="an array of shape (n_samples, n_features)",
        remedy=f"Pass a row as {name}.reshape(1, -1), a column as {name}.reshape(-1, 1).",
    )


def refuse_bytes(values, name, *, problem, remedy):
    """Raise ValueError if bytes, or a flat view of them, stand in place of an array.

    Parameters
    ----------
    values : object
        What a user passed.

    name : str
        What the error calls it.

    problem : str
        Why bytes cannot be read: the end of the sentence that says how many they are.

    remedy : str
        Sentence that names the line to write.
    """
    is_flat_view = isinstance(values, memoryview) and values.ndim == 1
    if is_flat_view or isinstance(values, bytes | bytearray):
        raise ValueError(f"{name} are {len(values)} bytes, {problem}. {remedy}")


def refuse_single_value(value, name, *, shape, remedy):
    """Raise ValueError if a number, a text or an array without axes stands for an array.

    Parameters
    ----------
    value : object
        What a user passed.

    name : str
        What the error calls it.

    shape : str
        The array that is needed, with its shape.

    remedy : str
        Sentence that names the line to write.
    """
    if isinstance(value, str | Number) or getattr(value, "ndim", None) == 0:
        raise ValueError(
            f"{name} must be {shape}, got the single value {value!r}. {remedy}"
        )


def _read_list(X, name):
    """A list of rows, stacked if these are of a type that scikit-learn cannot read."""
    if any(_is_tensor(row) or is_custom_float(row) for row in X):
        return _stacked(X, name)
    if X and all(isinstance(row, bytes | bytearray) for row in X):
        return _stacked(X, name)
    are_rows = all(isinstance(row, _ROWS) and getattr(row, "ndim", 1) for row in X)
    if are_rows and len({len(row) for row in X}) > 1:
        return _stacked(X, name)
    return X


def _column_of_lists(X, name):
    """Entries of the only column of a table, if it holds lists; None for anything else.

    Parameters
    ----------
    X : object
        A Series, an array or a table of pandas, polars, Arrow or NumPy.

    name : str
        Name of the argument, for errors.

    Returns
    -------
    column : ndarray of object, ndarray of shape (n_samples, n_features), or None
    """
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == object:
        return _entries_of_lists(X[:, 0]) if X.shape[1] == 1 else None
    columns = _columns_of_table(X)
    if columns is None:
        return _entries_of_lists(X)
    entries_by_label = {}
    for label, column in columns.items():
        entries = _entries_of_lists(column)
        if entries is not None:
            entries_by_label[label] = entries
    if entries_by_label and len(columns) > 1:
        labels = list(entries_by_label)
        stacked = [f"np.stack({name}[{label!r}])" for label in labels]
        raise ValueError(
            f"{name} has {len(columns)} columns, of which {labels} hold lists, and "
            f"features are one column of lists or columns of numbers. Pass {stacked[0]}, "
            f"or np.hstack of several such arrays, as np.hstack([{', '.join(stacked)}])."
        )
    return next(iter(entries_by_label.values()), None)


def _columns_of_table(X):
    """Columns of a table of pandas, Arrow or polars by their labels; None for others."""
    if hasattr(X, "iloc") and X.ndim == 2:
        return {label: X.iloc[:, place] for place, label in enumerate(X.columns)}
    is_arrow = hasattr(X, "column_names") and hasattr(X, "schema")
    if is_arrow:
        return {label: X.column(place) for place, label in enumerate(X.column_names)}
    is_polars = hasattr(X, "get_columns")
    if is_polars:
        return {column.name: column for column in X.get_columns()}
    return None


def _entries_of_lists(column):
    """Entries of a single column, if they are lists of numbers; else None."""
    is_arrow_of_tensors = hasattr(column, "to_numpy_ndarray")
    if is_arrow_of_tensors:
        # Tensors of Arrow have a shape.
        return column.to_numpy_ndarray()
    is_arrow = hasattr(column, "to_pylist") and hasattr(column, "type")
    is_pandas = hasattr(column, "iloc") and getattr(column, "ndim", 0) == 1
    is_polars = hasattr(getattr(column, "dtype", None), "inner")
    if is_arrow and hasattr(column, "combine_chunks"):
        column = column.to_numpy()
    elif is_arrow:
        column = column.to_numpy(zero_copy_only=False)
    elif is_pandas:
        if getattr(column.dtype, "kind", "") != "O":
            return None
        column = column.to_numpy(dtype=object)
    elif is_polars:
        column = column.to_numpy()
    if not isinstance(column, np.ndarray):
        return None
    if column.dtype != object or column.ndim != 1:
        return column if column.ndim > 1 else None
    return column if _are_rows(column) else None


def _are_rows(entries):
    """Whether the entries of a column are lists, arrays, tensors or bytes."""
    kinds = {type(entry) for entry in entries}
    if any(issubclass(kind, _ROWS) for kind in kinds) or any(map(_is_tensor, entries)):
        return True
    return bool(kinds) and all(issubclass(kind, bytes | bytearray) for kind in kinds)


def _stacked(rows, name):
    """Rows of numbers as a 2-D array; raise ValueError unless all are equally long."""
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        return rows
    arrays = [_row_of_numbers(row, place, name) for place, row in enumerate(rows)]
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        usual = max(set(lengths), key=lengths.count)
        place = next(i for i, length in enumerate(lengths) if length != usual)
        raise ValueError(
            f"{name} has rows of unequal length: row {place} has {lengths[place]} features "
            f"and others have {usual}. Leave out such rows, {name} = [row for row in "
            f"{name} if len(row) == {usual}], and pass np.stack({name})."
        )
    return np.stack(arrays)


def _row_of_numbers(row, place, name):
    """One row of a column of lists as a 1-D array."""
    if isinstance(row, bytes | bytearray):
        raise ValueError(
            f"{name} has rows of bytes, which declare no type of their numbers. Pass "
            f"np.stack([np.frombuffer(row, 'float32') for row in {name}]), with the type "
            "that was written."
        )
    if _is_tensor(row):
        row = _read_tensor(row)
        row = row.cpu().numpy() if _is_tensor(row) else row
    if is_custom_float(row):
        row = np.asarray(row).astype(np.float32)
    is_row = isinstance(row, _ROWS)
    entries = np.asarray(row, dtype=object) if is_row else None
    if not is_row or entries.ndim != 1:
        problem = "holds lists of lists" if is_row else f"is {row!r}"
        raise ValueError(
            f"{name} is a column of lists of numbers whose row {place} {problem}. Every "
            "row must be a list of n_features numbers. Leave out rows that are missing, "
            f"and pass np.stack({name}). Pass sets of tokens to MaxSimNeighbors."
        )
    array = np.asarray(row) if not isinstance(row, np.ndarray) else row
    if array.dtype.kind in "biuf":
        return array
    if array.dtype == object and not has_missing(entries):
        return array.astype(np.float64)
    raise ValueError(
        f"{name} is a column of lists whose row {place} holds entries that are missing or "
        f"no numbers. Leave out such rows, and pass np.stack({name})."
    )


def row_norms(X):
    """Lengths of the rows of an array of floats, also if squares would be 0 or infinite.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), float32 or float64
        Rows.

    Returns
    -------
    norms : ndarray of shape (n_rows,)
        Lengths, of the type of the rows; float64 if float32 cannot hold their squares.
    """
    magnitudes = np.abs(X).max(axis=1, initial=0)
    limits = np.finfo(X.dtype)
    low = np.sqrt(limits.tiny) / limits.eps
    high = np.sqrt(limits.max) * limits.eps
    if not np.any((magnitudes > high) | ((magnitudes > 0) & (magnitudes < low))):
        return np.linalg.norm(X, axis=1)
    # Factors that are powers of two change no digit.
    scales = np.frexp(magnitudes)[1]
    scaled = np.ldexp(X.astype(np.float64), -scales[:, None])
    return np.ldexp(np.linalg.norm(scaled, axis=1), scales)


def has_missing(values):
    """Whether a vector holds NaN, NaT, None or pandas' NA."""
    if values.dtype.kind == "O":
        numbers = (entry for entry in values if getattr(entry, "ndim", 0) == 0)
        return any(
            number is None or is_pandas_na(number) or number != number for number in numbers
        )
    return values.dtype.kind in "fmM" and bool(np.any(values != values))


def refuse_masked(**arrays):
    """Raise ValueError if entries are masked, which NumPy forgets, or no numbers."""
    for name, values in arrays.items():
        if np.ma.is_masked(values):
            raise ValueError(
                f"{name} has masked entries, which would count like all others. Leave out "
                f"their rows, or pass {name}.filled(value): -np.inf for scores, and 0 for "
                "affinities of items that are not relevant."
            )
        # NumPy loads bfloat16 from a file as pairs of bytes without a meaning.
        if isinstance(values, np.ndarray) and values.dtype == "V2":
            raise ValueError(
                f"{name} holds pairs of bytes, which np.save makes of bfloat16. Pass {name}"
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
        Whether the labels are pandas' default, numbers from 0, which declare nothing.
    """
    if axis >= getattr(table, "ndim", 2):
        return None, False
    if hasattr(table, "iloc"):
        index = table.index if axis == 0 else table.columns
        is_default = (
            getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1
        )
        return np.asarray(index, dtype=object), is_default
    # Arrow has `column_names`, polars `columns`.
    names = getattr(table, "column_names", getattr(table, "columns", None))
    if axis == 1 and names is not None and not callable(names):
        return np.fromiter(names, dtype=object), False
    return None, False


def _have_one_index(first, second, axis):
    """Whether two tables of pandas have equal labels; pandas compares large ones fast."""
    if not (hasattr(first, "iloc") and hasattr(second, "iloc")):
        return False
    if axis >= min(first.ndim, second.ndim):
        return False
    if axis == 0:
        return first.index.equals(second.index)
    return first.columns.equals(second.columns)


def refuse_unlike_labels(first, second, names, axis=0):
    """Raise ValueError if two tables are joined by position and their labels disagree.

    Labels agree if they are equal and in one order. Default labels of pandas declare
    nothing, unless they are the labels of the other table in another order. An object
    without labels, such as an array, agrees with any other, and so does a single label.

    Parameters
    ----------
    first, second : object
        Tables, Series or arrays whose rows, or columns, belong together by position.

    names : tuple of two str
        Names of the arguments, for errors.

    axis : {0, 1}, default=0
        Rows or columns.
    """
    if _have_one_index(first, second, axis):
        return
    first_labels, is_first_default = axis_labels(first, axis)
    second_labels, is_second_default = axis_labels(second, axis)
    if first_labels is None or second_labels is None:
        return
    if len(first_labels) != len(second_labels) or len(first_labels) < 2:
        return
    differ = [
        label != second_label and repr(label) != repr(second_label)
        for label, second_label in zip(first_labels, second_labels)
    ]
    if not any(differ):
        return
    is_reordered = sorted(map(repr, first_labels)) == sorted(map(repr, second_labels))
    if (is_first_default or is_second_default) and not is_reordered:
        return
    place = differ.index(True)
    line, index = ("row", "index") if axis == 0 else ("column", "columns")
    state = "the same labels in another order" if is_reordered else "other labels"
    first_name, second_name = names
    raise ValueError(
        f"{second_name} has {state} than {first_name}: {line} {place} is "
        f"{second_labels[place]!r} there and {first_labels[place]!r} in {first_name}. Rows "
        f"and columns are joined by position. Put {second_name} into the order of "
        f"{first_name}, as {second_name}.reindex({index}={first_name}.{index}) does, or "
        f"pass {second_name}.to_numpy() if the labels mean nothing."
    )


def refuse_missing(y):
    """Raise ValueError if labels, an array or a list, hold NaN, NaT, None or pandas' NA.

    scikit-learn would compare missing labels with strings, and NumPy makes the string "nan"
    of a NaN in a list of strings.
    """
    if y is None or sp.issparse(y) or space_of(y) is not NUMPY:
        return
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if has_missing(values.ravel()):
        raise ValueError(
            "y contains NaT, None or NaN; every sample needs a label. Leave out samples "
            "without a label."
        )


def check_groups(groups, n_items, name="groups"):
    """Return the group of each item as a 1-D array, or raise ValueError if one lacks it.

    Errors call the groups by `name`. An array of another length than `n_items` is returned
    as it is, unless it holds the sizes of groups, which LightGBM takes.
    """
    refuse_masked(**{name: groups})
    groups = column_or_1d(groups)
    is_short = len(groups) < n_items and groups.dtype.kind in "iuf"
    if is_short and groups.sum() == n_items:
        raise ValueError(
            f"{name} has {len(groups)} numbers whose sum is the number of items, "
            f"{n_items}: they seem to be sizes of groups, as LightGBM takes them. Pass the "
            "group of each item: np.repeat(np.arange(len(sizes)), sizes)."
        )
    if has_missing(groups):
        raise ValueError(
            f"{name} has missing values (NaN, NaT or None), and every item needs a group. "
            "Leave out items without a group."
        )
    return groups


def read_ids(ids, n_items=None, name="ids"):
    """Read ids, an array-like or a single one.

    Parameters
    ----------
    ids : array-like of shape (n_ids,) of str or int, or a single one
        Ids.

    n_items : int, default=None
        Number of items, each of which must have an id. None: any number is right.

    name : str, default="ids"
        Name of the argument, for errors.

    Returns
    -------
    ids : list of str, or ndarray of shape (n_ids,) of int64
        The ids. Strings are a list, which takes less memory than an array, whose entries
        are all as wide as the longest.

    Raises
    ------
    ValueError
        If they have no order, are neither strings nor integers of 64 bits, or there is not
        one for each item.
    """
    if isinstance(ids, Mapping | Set):
        raise ValueError(
            f"{name} must be a list or an array, in the order of the items, got a "
            f"{type(ids).__name__}, which declares no order. Pass a list."
        )
    refuse_masked(**{name: ids})
    if isinstance(ids, str | Integral):
        ids = [ids]
    # Columns of pandas and Arrow have `__array__`, too.
    if hasattr(ids, "__array__"):
        array = np.atleast_1d(np.asarray(ids))
        if array.ndim > 1:
            raise ValueError(
                f"{name} must have one dimension, got an array of shape {array.shape}. "
                "From a table pass the column of ids, such as frame['id']."
            )
        ids = array if array.dtype.kind in "iu" else array.tolist()
    values = ids if isinstance(ids, np.ndarray) else list(ids)
    if n_items is not None and len(values) != n_items:
        raise ValueError(
            f"{name} must be one for each of {n_items} items, got {len(values)}."
        )
    if isinstance(values, np.ndarray):
        if values.size and values.max() > _MOST_INT64:
            _refuse_ids(values.tolist(), name)
        return values.astype(np.int64, copy=False)
    return _read_listed_ids(values, name)


def _read_listed_ids(values, name):
    """Ids of a list: strings as a list, and integers as an array of int64."""
    kinds = set(map(type, values))
    if all(issubclass(kind, str) for kind in kinds):
        # NumPy pads strings with null characters, and drops these when it reads one.
        if any(text.endswith("\0") for text in values):
            _refuse_ids(values, name)
        return values
    if not all(issubclass(kind, Integral) and kind is not bool for kind in kinds):
        _refuse_ids(values, name)
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        _refuse_ids(values, name)


def _refuse_ids(ids, name):
    """Raise ValueError for ids that are neither strings nor integers of int64."""
    kinds = ", ".join(sorted({type(entry).__name__ for entry in ids}))
    raise ValueError(
        f"{name} must be all strings, none of which ends in a null character, or all "
        f"integers of int64, got entries of type {kinds}. Write integers above 2**63 - 1 "
        "as strings."
    )


def check_ids(ids, n_items=None):
    """Ids, an array-like or a single one, as an array of strings or of int64.

    Raises ValueError as `read_ids` does.
    """
    return np.array(read_ids(ids, n_items))


def ragged(arrays):
    """Arrays of various lengths as an array of arrays, as scikit-learn returns them."""
    return np.fromiter(arrays, dtype=object, count=len(arrays))
