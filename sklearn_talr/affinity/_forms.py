"""Forms of `y` that are easily mistaken for labels, refused with what to do instead."""

from collections.abc import Collection

import numpy as np
import scipy.sparse as sp

from .._arrays import as_numpy, refuse_missing

_COLLECTIONS = Collection, np.ndarray
_HOW_TO_BINARIZE = (
    "write them as indicators: MultiLabelBinarizer().fit_transform(y), from "
    "sklearn.preprocessing"
)


def lists_as_array(y):
    """Turn lists, and arrays of other libraries, into an array of NumPy.

    Data frames and sparse matrices are returned as they are.

    Raises
    ------
    ValueError
        If rows differ in length, as lists of the labels of each sample do, if some
        entries of a masked array are masked, or a list of strings holds None or NaN: as an
        array they would be like all others.
    """
    y = as_numpy(y)
    if np.ma.is_masked(y):
        raise ValueError("y has masked entries; every sample needs a label.")
    if not isinstance(y, (list, tuple)):
        return y
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y has rows of different lengths. If they list the labels of each sample, "
            f"{_HOW_TO_BINARIZE}."
        ) from error
    if array.dtype.kind in "US":
        refuse_missing(y)
    return array


def refuse_tags(y):
    """Raise ValueError if entries of an array are collections of labels, or rows names."""
    kinds = kinds_of(y)
    several = any(issubclass(k, _COLLECTIONS) and not is_text(k) for k in kinds)
    if several or (y.ndim == 2 and y.shape[1] > 1 and any(map(is_text, kinds))):
        raise ValueError(
            f"y has several labels for one sample. To learn from them, {_HOW_TO_BINARIZE}."
        )


def refuse_mixed_types(labels):
    """Raise ValueError if some of these objects are strings, or bytes, and others not."""
    kinds = kinds_of(labels)
    if len({(issubclass(kind, str), issubclass(kind, bytes)) for kind in kinds}) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"y has labels of different types, which have no order: {names}. Make them "
            "strings, by np.array([str(label) for label in y]), or number the classes."
        )


def refuse_other_type(y_query, y_database):
    """Raise ValueError if labels of the two sides are of types that are never equal.

    Strings are equal to no bytes, and to no numbers or other objects.
    """
    names = [_type_name(y) for y in (y_query, y_database)]
    if None not in names and names[0] != names[1]:
        raise ValueError(
            f"y_query holds {names[0]} and y_database {names[1]}, which are never equal. "
            "Make both sides of one type, as by np.asarray(y).astype(str)."
        )


def _type_name(labels):
    """Name of the type of all labels, or None if there are none, or several types."""
    names = {
        "strings" if issubclass(k, str) else "bytes" if issubclass(k, bytes) else "numbers"
        for k in kinds_of(labels)
    }
    return names.pop() if len(names) == 1 and len(labels) else None


def kinds_of(array):
    """The types of the entries of an array."""
    return set(map(type, array.flat)) if array.dtype.kind == "O" else {array.dtype.type}


def is_text(kind):
    """Whether a type is one of strings."""
    return issubclass(kind, (str, bytes))


def refuse_unlabeled(labels):
    """Raise ValueError if numbers seem to mark samples without a label by -1.

    They do not if they are the two classes -1 and 1, or if there are other negative ones.
    """
    if labels.size and labels.min() == -1 and np.any(np.abs(labels) != 1):
        raise ValueError(
            "y has labels of -1 among others, by which scikit-learn marks samples without "
            "a label. Leave these out: X[y != -1] and y[y != -1]. If -1 is a class, number "
            "the classes from 0: np.unique(y, return_inverse=True)[1]."
        )


def refuse_features(y):
    """Raise ValueError if a matrix has negative numbers or fractions, as features do."""
    values = y.data if sp.issparse(y) else y
    if values.dtype.kind not in "if":
        return
    fractions = (np.trunc(values) != values) & ~np.isnan(values)
    if np.any((values < 0) | fractions):
        raise ValueError(
            f"y of shape {y.shape} is neither a 0/1 label indicator nor a matrix of "
            "affinities, which are non-negative integers. If its rows are features, by "
            "whose distance samples are similar, pass affinity=ThresholdAffinity(). Round "
            "or bin affinities."
        )
