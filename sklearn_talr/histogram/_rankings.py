"""Affinities and real scores of the items of queries, checked and cut into blocks.

Two tables have a row for each query. Two flat arrays have a group of items for each query.
Blocks of such queries are tables as well: queries with about the same number of items are
in one block, padded to the largest number.
"""

from numbers import Integral

import numpy as np
from sklearn.utils import check_array, check_consistent_length, gen_batches

from .._core.validation import as_numpy, check_groups, has_missing, refuse_unlike_labels

_AFFINITIES = "y_true must hold affinities: non-negative integers, 0 for not similar"
_PADDING = -np.inf  # the score of a cell that holds no item


class Rankings:
    """Affinities and scores of the items of each query.

    Parameters
    ----------
    affinity, score : ndarray of shape (n_queries, n_database) or (n_items,)
        Tables or flat arrays that :func:`check_rankings` has checked. A cell whose score
        is `_PADDING` holds no item.

    first, size : ndarray of shape (n_queries,) of int, default=None
        Place of the first item of each query in flat arrays, and its number of items. None
        with tables.
    """

    def __init__(self, affinity, score, first=None, size=None):
        self.affinity = affinity
        self.score = score
        self._first = first
        self._size = size

    def __len__(self):
        return len(self.affinity if self._size is None else self._size)

    def blocks(self, n_cells, more_cells=0):
        """Yield blocks of queries: their numbers, affinities and scores.

        Parameters
        ----------
        n_cells : int
            Greatest number of cells of a block, unless a single query has more.

        more_cells : int, default=0
            Cells that each query needs beyond one for each of its items.

        Yields
        ------
        queries : slice or ndarray of shape (n_rows,) of int
            Numbers of the queries.

        affinity, score : ndarray of shape (n_rows, n_columns)
            Affinities and scores of their items.
        """
        if self._size is None:
            n_queries, n_items = self.score.shape
            for rows in gen_batches(n_queries, max(1, n_cells // (n_items + more_cells))):
                yield rows, self.affinity[rows], self.score[rows]
            return
        tables = padded_rows(self._first, self._size, n_cells, more_cells)
        for queries, item, inside in tables:
            affinity = np.where(inside, self.affinity[item], 0)
            yield queries, affinity, np.where(inside, self.score[item], _PADDING)


def padded_rows(first, size, n_cells, more_cells=0):
    """Yield tables whose rows are runs of consecutive items, padded to the longest run.

    Runs of about the same length are in one table.

    Parameters
    ----------
    first, size : ndarray of shape (n_runs,) of int
        First item and number of items of each run.

    n_cells : int
        Greatest number of cells of a table, unless it has a single row.

    more_cells : int, default=0
        Cells that a row takes beyond one for each of its items.

    Yields
    ------
    runs : ndarray of shape (n_rows,) of int
        Number of the run of each row.

    item : ndarray of shape (n_rows, n_columns) of int
        Items of the runs; 0 in cells after the last item of a run.

    inside : ndarray of shape (n_rows, n_columns) of bool
        Whether a cell holds an item.
    """
    by_size = np.argsort(size, kind="stable")
    sizes = size[by_size]
    start = 0
    while start < len(sizes):
        cells_of_row = max(1, sizes[start] + more_cells)
        rows = sizes[start : start + max(1, n_cells // cells_of_row)]
        rows = rows[: max(1, n_cells // max(1, rows[-1] + more_cells))]
        runs = by_size[start : start + len(rows)]
        place = np.arange(rows[-1])
        inside = place < rows[:, None]
        yield runs, np.where(inside, first[runs, None] + place, 0), inside
        start += len(rows)


def sort_rows(score):
    """Sort each row by descending score.

    Parameters
    ----------
    score : ndarray of shape (n_rows, n_columns) of any real type
        Scores of the items; a cell that holds no item has the score `_PADDING`.

    Returns
    -------
    order : ndarray of shape (n_rows, n_columns) of int
        Columns in ranking order.

    begins : ndarray of shape (n_rows, n_columns) of bool
        Whether a tie begins at a rank: its score differs from the score one rank higher.

    n_items : ndarray of shape (n_rows,) of int
        Number of items of each row. Cells that hold no item are ranked last.
    """
    # The complement of an integer never overflows, as the negative of the least one does.
    falling = -score if score.dtype.kind == "f" else ~score
    order = np.argsort(falling, axis=1)
    ranked = np.take_along_axis(falling, order, axis=1)
    begins = np.ones(score.shape, dtype=bool)
    np.not_equal(ranked[:, 1:], ranked[:, :-1], out=begins[:, 1:])
    return order, begins, (ranked != -_PADDING).sum(axis=1)


def check_rankings(y_true, y_score, groups=None, *, real_grades=False):
    """Return checked affinities and scores as `Rankings`, or raise ValueError.

    Affinities are int64. With `real_grades` they may be fractions or larger, as float64.
    If they are NaN, the cells hold no item.
    """
    refuse_unlike_labels(y_true, y_score, ("y_true", "y_score"))
    refuse_unlike_labels(y_true, y_score, ("y_true", "y_score"), axis=1)
    refuse_unlike_labels(y_true, groups, ("y_true", "groups"))
    y_true = as_numpy(y_true, "y_true")
    y_score = as_numpy(y_score, "y_score")
    if groups is None:
        return _check_tables(y_true, y_score, real_grades)
    return _check_flat(y_true, y_score, as_numpy(groups, "groups"), real_grades)


def _check_flat(y_true, y_score, groups, real_grades):
    """Check flat arrays, with the group of each item, and sort the items by group."""
    y_true, is_unknown = _without_unknown(y_true, n_dims=1)
    score = _check_ranking_scores(_filled(y_score, is_unknown), n_dims=1)
    groups = check_groups(groups, len(y_true))
    check_consistent_length(y_true, score, groups)
    affinity = _check_affinities(y_true, real_grades)
    score = np.where(is_unknown, _PADDING, _as_floats(score))
    order, first, size = _by_group(groups)
    return Rankings(affinity[order], score[order], first, size)


def _check_tables(y_true, y_score, real_grades):
    """Check two tables with a row for each query."""
    y_true, is_unknown = _without_unknown(y_true, n_dims=2)
    known_score = np.asarray(_filled(y_score, is_unknown))
    is_padding = np.False_
    if known_score.dtype.kind == "f":
        is_padding = np.isneginf(known_score)
    score = known_score if is_unknown.any() else y_score
    score = _check_ranking_scores(_filled(score, is_padding), n_dims=2)
    if y_true.shape != score.shape:
        raise ValueError(
            "y_true and y_score must have the same shape (n_queries, n_database), got "
            f"{y_true.shape} and {score.shape}."
        )
    if score.shape[1] == 1 < len(score):
        raise ValueError(
            f"y_true and y_score have one item for each of {len(score)} queries, which "
            "leaves nothing to rank. If these are the items of one query, pass y_true.T "
            "and y_score.T."
        )
    if is_padding.any():
        largest = y_true[is_padding].max()
        if largest > 0:
            raise ValueError(
                f"y_score is -inf for an item of affinity {largest}, but -inf marks "
                "cells that hold no item. Give items that come last the lowest finite "
                "score."
            )
        score = np.where(is_padding, _PADDING, score)
        y_true = np.where(is_padding, 0, y_true)
    if is_unknown.any():
        score = np.where(is_unknown, _PADDING, _as_floats(score))
    return Rankings(_check_affinities(y_true, real_grades), score)


def check_affinities(y_true):
    """Return the affinities of pairs as int64, -1 for NaN, or raise ValueError."""
    y_true = as_numpy(y_true, "y_true")
    if np.ndim(y_true) != 1:
        raise ValueError(
            f"y_true must be 1-D, an affinity for each pair, got shape {np.shape(y_true)}."
        )
    y_true, is_unknown = _without_unknown(y_true, n_dims=1)
    return np.where(is_unknown, -1, _check_affinities(y_true, real_grades=False))


def _without_unknown(y_true, *, n_dims):
    """Affinities with 0 for NaN, and a mask of these cells."""
    y_true = _check_array(y_true, "y_true", n_dims, ensure_all_finite="allow-nan")
    if y_true.dtype.kind != "f":
        return y_true, np.False_
    is_unknown = np.isnan(y_true)
    if is_unknown.any():
        y_true = np.where(is_unknown, 0, y_true)
    return y_true, is_unknown


def _filled(y_score, is_padding):
    """Scores with 0 in cells that hold no item, whose score means nothing."""
    if not is_padding.any() or np.shape(y_score) != is_padding.shape:
        return y_score
    filled = np.array(y_score)
    filled[is_padding] = 0
    return filled


def _as_floats(score):
    """Floats of the same order, which leave the least float to cells without an item."""
    floats = score.astype(np.float64, copy=False)
    is_wide = score.dtype.kind != "f" and score.dtype.itemsize == 8
    if is_wide and np.any(np.abs(floats) >= 2**53):
        ranks = np.unique(score, return_inverse=True)[1]
        floats = ranks.reshape(score.shape).astype(np.float64)
    return floats


def _by_group(groups):
    """Return the order of items by group, and first item and size of each group.

    Groups are sorted by their labels. Most often items of a group are consecutive, so that
    few labels are sorted.
    """
    starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    _, number = np.unique(groups[starts], return_inverse=True)
    number = np.repeat(number, np.diff(starts, append=len(groups)))
    size = np.bincount(number)
    return np.argsort(number, kind="stable"), np.cumsum(size) - size, size


def _check_affinities(y_true, real_grades):
    """Return affinities as int64, or float64 if real grades may be, or raise ValueError."""
    if y_true.dtype.kind not in "biuf":
        raise ValueError(f"{_AFFINITIES}, got {y_true.dtype}.")
    if np.any(y_true < 0):
        raise ValueError(
            f"{_AFFINITIES}, got {y_true.min()}. If negative judgments are items that are "
            "not relevant, such as -2 for spam in TREC, pass np.maximum(y_true, 0). If "
            "they are ignored items, pass np.where(y_true < 0, np.nan, y_true)."
        )
    if not (y_true.dtype.kind == "f" and np.any(y_true % 1)) and fits_int64(y_true):
        return y_true.astype(np.int64, copy=False)
    if real_grades:
        return y_true.astype(np.float64, copy=False)
    if not fits_int64(y_true):
        raise ValueError(f"{_AFFINITIES}, below 2**63, got {y_true.max()}.")
    raise ValueError(
        f"{_AFFINITIES}, got {y_true[y_true % 1 > 0][0]}. DCG and NDCG take real grades "
        "with dcg='log2'. For metrics of relevance pass y_true > 0, or above another "
        "threshold."
    )


def _check_ranking_scores(y_score, *, n_dims):
    """Return scores in a type that keeps their order, or raise ValueError.

    Integers remain integers, since float64 would tie some beyond 2**53.
    """
    scores = _check_array(y_score, "y_score", n_dims)
    unconverted = np.asarray(y_score) if hasattr(y_score, "__array__") else scores
    if unconverted.dtype.kind in "biuf":
        return scores
    if unconverted.dtype.kind in "mM":
        if has_missing(unconverted):
            raise ValueError("y_score contains NaT. Leave these items out.")
        return unconverted.astype(np.int64)
    scores = _check_array(y_score, "y_score", n_dims, dtype=np.float64)
    if unconverted.dtype.kind == "O":
        for score, stored in zip(unconverted.flat, scores.flat):
            if isinstance(score, Integral) and score != int(stored):
                raise ValueError(
                    "y_score holds Python integers that are equal as float64. Pass an "
                    "array of integers that NumPy can store, or ranks: higher is better."
                )
    return scores


def fits_int64(numbers):
    """Whether all numbers are below 2**63."""
    if numbers.dtype.kind not in "uf":
        return True
    limit = np.uint64(2**63) if numbers.dtype.kind == "u" else np.float64(2**63)
    return not np.any(numbers >= limit)


def _check_array(values, name, n_dims, *, dtype=None, ensure_all_finite=True):
    """Return values as an array of so many dimensions, or raise ValueError."""
    values = check_array(
        values,
        dtype=dtype,
        ensure_2d=False,
        allow_nd=True,
        ensure_all_finite=ensure_all_finite,
        input_name=name,
    )
    if values.ndim == n_dims:
        return values
    if n_dims == 1:
        raise ValueError(
            f"with groups, {name} must be 1-D, one number per item, got shape "
            f"{values.shape}."
        )
    raise ValueError(
        f"{name} must be 2-D, (n_queries, n_database), got shape {values.shape}. A single "
        "query is one row. Queries of different lengths are 1-D arrays with groups=."
    )
