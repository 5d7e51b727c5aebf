"""Groups of rows: which rows belong together, by a label for each row."""

from typing import NamedTuple

import numpy as np

from .._arrays import as_numpy


class Groups(NamedTuple):
    """Groups of rows, numbered in the order in which they first come.

    Parameters
    ----------
    labels : ndarray of shape (n_groups,)
        Label of each group.

    numbers : ndarray of shape (n_rows,), dtype int64
        Number of the group of each row.
    """

    labels: np.ndarray
    numbers: np.ndarray


def read_groups(groups, n_rows, input_name="groups"):
    """Number the groups of rows; None means that each row is a group of its own.

    Raises ValueError, which calls the labels by `input_name`, where they are not one for
    each row.
    """
    if groups is None:
        return Groups(np.arange(n_rows), np.arange(n_rows))
    labels = np.asarray(as_numpy(groups))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{input_name} must name the group of each of the {n_rows} rows, got an array "
            f"of shape {labels.shape}. Sizes of groups become names by "
            "np.repeat(np.arange(len(sizes)), sizes)."
        )
    if labels.dtype.kind in "fcmM" and np.any(labels != labels):
        raise ValueError(f"{input_name} contains NaN, which names no group.")
    try:
        _, first, numbers = np.unique(labels, return_index=True, return_inverse=True)
    except TypeError as error:
        raise ValueError(
            f"{input_name} must hold labels of one type, which can be sorted: {error}."
        ) from error
    order = np.argsort(first)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return Groups(labels[first[order]], ranks[numbers])
