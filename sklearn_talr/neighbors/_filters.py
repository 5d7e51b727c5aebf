"""Which items queries may find: `include`, `exclude` and the queries' own items, read.

The type of an argument declares its content. Ids, or indices if items have no ids, are
lists, sets and arrays of one dimension. Masks are of bool, or sparse. A sequence of lists,
sets or arrays of one dimension has an entry for each query.
"""

from collections.abc import Iterable, Mapping, Set
from itertools import chain
from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.validation import (
    as_numpy,
    axis_labels,
    has_missing,
    read_ids,
    refuse_unlike_labels,
)

# Codes that are copied and compared in the time in which one item is found and dropped, as
# measured with 60 000 to 200 000 codes of 64 bits.
_CODES_PER_DROPPED_ITEM = 64


class Eligible(NamedTuple):
    """Rows that queries may find.

    Parameters
    ----------
    shared_rows : ndarray of shape (n_shared,), dtype int64, or None
        Rows that all queries may find, ascending. None: all rows.

    rows_by_query : list of ndarray of int64, or None
        Rows that each query may find, ascending; the other fields are then None. None:
        `shared_rows`.

    left_out : CSR of shape (n_queries, n_items), or None
        Ones for the shared rows that single queries must not find. None: there are none.
    """

    shared_rows: np.ndarray | None = None
    rows_by_query: list | None = None
    left_out: sp.csr_array | None = None

    @property
    def has_all_rows(self):
        """Whether all rows are searched, whatever single queries must not find."""
        return self.shared_rows is None and self.rows_by_query is None

    def count(self, n_queries, n_items):
        """Number of rows that each query may find, shape (n_queries,)."""
        if self.rows_by_query is not None:
            return np.array([len(rows) for rows in self.rows_by_query], dtype=np.int64)
        n_shared = n_items if self.shared_rows is None else len(self.shared_rows)
        if self.left_out is None:
            return np.full(n_queries, n_shared)
        if self.shared_rows is None:
            return n_shared - np.diff(self.left_out.indptr)
        is_shared = np.zeros(n_items, dtype=np.int64)
        is_shared[self.shared_rows] = 1
        return n_shared - self.left_out @ is_shared

    def pays_query_by_query(self, n_items):
        """Whether to search for each query alone, in a copy of the rows that it may find.

        Otherwise queries are searched together for more items, of which the items that a
        query must not find are dropped. The more items are dropped, the longer that takes.
        """
        if self.left_out is None:
            return False
        n_queries = self.left_out.shape[0]
        return _CODES_PER_DROPPED_ITEM * self.left_out.nnz > n_queries * n_items

    def rows_of(self, query, n_items):
        """Rows that a query may find, ascending."""
        if self.rows_by_query is not None:
            return self.rows_by_query[query]
        start, end = self.left_out.indptr[query : query + 2]
        return _without(self.shared_rows, self.left_out.indices[start:end], n_items)


ALL_ROWS = Eligible()


def read_eligible(index, queries, *, include, exclude):
    """Read which items queries may find.

    Parameters
    ----------
    index : Index
        The items.

    queries : Queries
        The queries. An item that is a query does not find itself. If `include` or `exclude`
        has an entry for each query, both must have the same row labels.

    include, exclude : see `kneighbors`
        Items that may be found, and items that must not.

    Returns
    -------
    eligible : Eligible
        Rows that the queries may find.
    """
    n_items = index.n_items
    n_queries = queries.n_queries
    allowed = read_rows(include, index, queries, "include")
    excluded = read_rows(exclude, index, queries, "exclude")
    if isinstance(excluded, np.ndarray) and not _are_few(excluded, n_queries, n_items):
        allowed = _without(allowed, excluded, n_items)
        excluded = None
    left_out = _as_matrix(excluded, n_queries, n_items)
    if queries.own_rows is not None:
        itself = _matrix_of_ones(queries.own_rows, np.arange(n_queries + 1), n_items)
        if left_out is None:
            left_out = itself
        else:
            left_out = sp.csr_array(itself.maximum(left_out))
    if not isinstance(allowed, list):
        return Eligible(shared_rows=allowed, left_out=left_out)
    if left_out is not None:
        excluded = np.split(left_out.indices, left_out.indptr[1:-1])
        allowed = list(map(np.setdiff1d, allowed, excluded))
    return Eligible(rows_by_query=allowed)


def _are_few(excluded, n_queries, n_items):
    """Whether dropping rows from results takes less time than a copy without them."""
    return _CODES_PER_DROPPED_ITEM * n_queries * len(excluded) <= n_items


def _without(allowed, excluded, n_items):
    """Allowed rows, of all queries or of each, without rows that are excluded for all."""
    if isinstance(allowed, list):
        return [np.setdiff1d(rows, excluded, assume_unique=True) for rows in allowed]
    stays = np.ones(n_items, dtype=bool)
    stays[excluded] = False
    return np.flatnonzero(stays) if allowed is None else allowed[stays[allowed]]


def _as_matrix(excluded, n_queries, n_items):
    """Rows that each query must not find, a CSR of ones, or None."""
    if excluded is None:
        return None
    rows_by_query = excluded if isinstance(excluded, list) else [excluded] * n_queries
    ends = np.cumsum([0, *map(len, rows_by_query)])
    return _matrix_of_ones(np.concatenate(rows_by_query), ends, n_items)


def _matrix_of_ones(rows, ends, n_items):
    """A CSR of shape (n_queries, n_items) with a 1 for each pair of a query and a row."""
    ones = np.ones(len(rows), dtype=np.int8)
    return sp.csr_array((ones, rows, ends), shape=(len(ends) - 1, n_items))


def read_rows(items, index, queries, name):
    """Read items, for all queries or for each, as rows.

    Parameters
    ----------
    items : see `include` of `kneighbors`
        Ids, indices if there are no ids, or masks.

    index : Index
        The items.

    queries : Queries
        The queries.

    name : str
        Name of the argument in errors.

    Returns
    -------
    rows : ndarray of int64, or list of as many as there are queries, or None
        Rows, ascending, each once. None: the argument is None.
    """
    if items is None:
        return None
    _refuse_single_item(items, name)
    if sp.issparse(items):
        return _rows_of_sparse_mask(items, index, queries.n_queries, name)
    values = as_values(items, name)
    if isinstance(values, np.ndarray) and values.ndim > 1:
        refuse_unlike_labels(queries.features, items, ("X", name))
        return _rows_of_matrix(items, values, index, queries.n_queries, name)
    if isinstance(values, list) and any(map(_is_collection, set(map(type, values)))):
        _refuse_pairs(items, values, name)
        refuse_unlike_labels(queries.features, items, ("X", name))
        return _rows_of_lists(values, index, queries.n_queries, name)
    if are_of_bool(values):
        return _rows_of_mask(items, values, index, name)
    return np.unique(index.rows_of(_read_chosen(values, index, name), name))


def _refuse_single_item(items, name):
    """Raise ValueError if items are a single item or a dict."""
    is_several = isinstance(items, Iterable) or hasattr(items, "__array__")
    is_single = not is_several or getattr(items, "ndim", 1) == 0
    if is_single or isinstance(items, str | bytes | Mapping):
        raise ValueError(
            f"{name} must be a list of indices or ids, or a mask of bool, got "
            f"{type(items).__name__}. For one item write [item], of a dict of bool "
            f"[item for item, is_in in {name}.items() if is_in], and of a dict of lists "
            f"[{name}[query] for query in queries]."
        )


def as_values(items, name):
    """Items as an array of numbers, bool or str, or as a list of other values."""
    if not hasattr(items, "__array__"):
        return list(items)
    values = np.asarray(as_numpy(items, name))
    if values.dtype != object:
        return values
    is_table = values.ndim > 1 and values.size > 0
    kinds = set(map(type, values.flat)) if is_table else set()
    if kinds and kinds <= {bool, np.bool_}:
        return values.astype(bool)
    return values if is_table else values.ravel().tolist()


def _is_collection(kind):
    return issubclass(kind, Iterable) and not issubclass(kind, str | bytes)


def _rows_of_sparse_mask(items, index, n_queries, name):
    if items.shape != (n_queries, index.n_indices):
        _refuse_shape(items.shape, index, n_queries, name)
    masks = sp.csr_array(items.astype(bool))
    if index.numbers is not None:
        masks = masks[:, index.numbers]
    masks.sum_duplicates()
    masks.eliminate_zeros()
    return np.split(masks.indices.astype(np.int64), masks.indptr[1:-1])


def _rows_of_matrix(items, values, index, n_queries, name):
    """Rows of masks for each query, or of ids that are strings."""
    shape = values.shape
    if values.dtype == bool:
        if shape != (n_queries, index.n_indices):
            _refuse_shape(shape, index, n_queries, name)
        refuse_other_order(items, 1, index, name)
        masks = values if index.numbers is None else values[:, index.numbers]
        return [np.flatnonzero(mask) for mask in masks]
    is_table = hasattr(items, "iloc") or hasattr(items, "columns")
    array = f"np.asarray({name})" if is_table else name
    if values.dtype.kind == "U" and values.ndim == 2 and not is_table:
        return _rows_of_lists(list(values), index, n_queries, name)
    raise ValueError(
        f"{name} is a table of {values.dtype} of shape {shape}, which has two readings: "
        "ratings, counts or flags of the items, or ids, a list for each query. Write "
        f"{array} > 0 for a mask of the items that have some, and list({array}) for lists "
        "of ids."
    )


def _rows_of_lists(lists, index, n_queries, name):
    """Rows of a sequence that has a list, set, array or mask for each query."""
    _check_lists(lists, n_queries, name)
    rows_of_masks = {}
    lists_of_ids = {}
    for place, entry in enumerate(lists):
        values = as_values(entry, name)
        is_flat = not isinstance(values, np.ndarray) or values.ndim == 1
        if not is_flat or isinstance(entry, Mapping) or sp.issparse(entry):
            raise ValueError(
                f"{name} has a list for each query, but entry {place} is a "
                f"{type(entry).__name__} of more than one dimension or of pairs. Write a "
                "list of ids or a mask of one dimension."
            )
        if are_of_bool(values):
            rows_of_masks[place] = _rows_of_mask(entry, values, index, name)
        else:
            lists_of_ids[place] = _read_chosen(values, index, name)
    rows_of_ids = _find_together(list(lists_of_ids.values()), index, name)
    rows_by_place = rows_of_masks | dict(zip(lists_of_ids, rows_of_ids))
    return [rows_by_place[place] for place in range(n_queries)]


def _check_lists(lists, n_queries, name):
    """Raise ValueError unless there is a list, set, array or mask for each query."""
    for place, entry in enumerate(lists):
        if entry is None or not _is_collection(type(entry)):
            remedy = "[]" if _have_missing([entry]) else f"[{entry!r}]"
            raise ValueError(
                f"{name} has a list for each query, but entry {place} is {entry!r}. Write "
                f"{remedy}."
            )
    if len(lists) != n_queries:
        raise ValueError(
            f"{name} has {len(lists)} lists for {n_queries} queries. Pass a list or mask "
            "for each query, or one list of ids or indices, or one mask, for all."
        )


def _refuse_pairs(items, values, name):
    """Raise ValueError if tuples may be pairs of a query and an item."""
    are_tuples = all(isinstance(entry, tuple) for entry in values)
    is_of_two = isinstance(items, tuple) and len(items) == 2
    lengths = {len(entry) for entry in values if hasattr(entry, "__len__")}
    has_set = any(isinstance(entry, Set) for entry in values)
    are_places = is_of_two and len(lengths) == 1 and lengths != {0}
    if are_tuples or (are_places and not has_set):
        content = "rows and columns" if are_places else "pairs of a query and an item"
        raise ValueError(
            f"{name} has tuples, which have two readings: ids, a list for each query, or "
            f"{content}. Write list(map(list, {name})) for lists of ids; for {content} "
            "make a sparse matrix of shape (n_queries, n_samples_fit_), or pass the mask "
            "itself."
        )


def _find_together(lists, index, name):
    """Rows of lists of ids or indices, ascending, each once."""
    filled = [items for items in lists if len(items)]
    has_texts = any(isinstance(items, list) for items in filled)
    has_integers = any(not isinstance(items, list) for items in filled)
    if has_texts and has_integers:
        # The ids of the index are of one type, so one of the lists is refused here.
        for items in filled:
            index.rows_of(items, name)
    if has_texts:
        together = list(chain.from_iterable(filled))
    else:
        together = np.concatenate([np.empty(0, dtype=np.int64), *filled])
    rows = index.rows_of(together, name)
    ends = np.cumsum(list(map(len, lists)))[:-1]
    return list(map(np.unique, np.split(rows, ends)))


def _rows_of_mask(items, values, index, name):
    mask = np.asarray(values, dtype=bool)
    if mask.shape != (index.n_indices,):
        _refuse_shape(mask.shape, index, None, name)
    refuse_other_order(items, 0, index, name)
    return np.flatnonzero(mask if index.numbers is None else mask[index.numbers])


def _read_chosen(values, index, name):
    """Ids or indices of a list, which must not be a number for each item."""
    chosen = read_items(values, name)
    refuse_numbers_of_all_items(chosen, index, name)
    return chosen


def are_of_bool(values):
    """Whether an array, or all entries of a list, are of bool."""
    if isinstance(values, np.ndarray):
        return values.dtype == bool
    kinds = set(map(type, values))
    return bool(kinds) and kinds <= {bool, np.bool_}


def read_items(items, name):
    """Ids or indices of items, as `read_ids` returns them.

    Parameters
    ----------
    items : array-like of shape (n_items,), a set, or a single id or index
        Ids or indices as the user has passed them.

    name : str
        Name of the argument in errors.

    Raises
    ------
    ValueError
        If it is a mask, holds floats, or has missing values.
    """
    if isinstance(items, Mapping):
        raise ValueError(
            f"{name} must be a list of ids or indices, got a dict: pass list({name})."
        )
    if isinstance(items, str) or not isinstance(items, Iterable):
        items = [items]
    values = items if isinstance(items, list) else as_values(items, name)
    if are_of_bool(values):
        raise ValueError(
            f"{name} must be indices or ids, got a mask. Write np.flatnonzero({name}) for "
            f"the indices of a mask, or ids_[{name}] for the ids."
        )
    if _have_missing(values):
        raise ValueError(
            f"{name} has missing values (NaN, NaT or None). If it is a mask, fill them, as "
            f"by {name}.fillna(False). If it holds ids, leave them out; if there are none, "
            "write []."
        )
    if any(issubclass(kind, float | np.floating) for kind in _kinds_of(values)):
        raise ValueError(
            f"{name} holds floats, which have two readings: ratings or counts of the "
            f"items, or ids. Write np.asarray({name}) > 0 for a mask of the items that "
            f"have some, and np.asarray({name}).astype(int) for ids."
        )
    return read_ids(values, name=name)


def _kinds_of(values):
    """Types of the entries of an array or a list; none if it is empty."""
    if isinstance(values, np.ndarray):
        return {values.dtype.type} if values.size else set()
    return set(map(type, values))


def _have_missing(values):
    if isinstance(values, np.ndarray):
        return has_missing(values)
    if all(issubclass(kind, str | Integral) for kind in _kinds_of(values)):
        return False
    return has_missing(np.fromiter(values, dtype=object, count=len(values)))


def refuse_numbers_of_all_items(items, index, name):
    """Raise ValueError if integers may be ids, or a number for each item."""
    has_entry_per_item = len(items) in (index.n_items, index.n_indices)
    if isinstance(items, list) or not has_entry_per_item:
        return
    if len(np.unique(items)) < len(items):
        raise ValueError(
            f"{name} has {len(items)} integers, as many as there are items, and some "
            "repeat, which has two readings: a number of each item, such as its stock, or "
            f"ids. Write np.asarray({name}) > 0 for a mask of the items that have some, "
            f"and np.unique({name}) for ids."
        )


def refuse_other_order(table, axis, index, name):
    """Raise ValueError if labels of a table name the items of the index in another order.

    Labels 0, 1, ... that pandas has made declare nothing, and neither do labels of items
    without ids. Both are refused only if they are the items in another order.

    Parameters
    ----------
    table : object
        An argument with an entry for each item; only tables of pandas have labels.

    axis : int
        Axis of the items.

    index : Index
        The items.

    name : str
        Name of the argument in errors.
    """
    labels, is_default = axis_labels(table, axis)
    if labels is None:
        return
    if is_default and index.ids is not None and index.ids.noun == "strings":
        return
    places = _places_among_items(labels, index)
    names_items = places.min() >= 0 and len(np.unique(places)) == len(places)
    if names_items and np.all(places[1:] > places[:-1]):
        return
    if (is_default or index.ids is None) and not names_items:
        return
    state = "the items in another order" if names_items else "others"
    attribute = "indices_" if index.ids is None else "ids_"
    keyword = "index" if axis == 0 else "columns"
    raise ValueError(
        f"{name} has labels that are {state} than in the index. Put it into the "
        f"order of `{attribute}`, as by {name}.reindex({keyword}=...), or pass "
        f"{name}.to_numpy() if labels mean nothing."
    )


def _places_among_items(labels, index):
    """Place among the items that each label names, -1 if it names none."""
    try:
        labels = read_ids(labels)
    except ValueError:  # Ids are never of this type.
        return np.full(len(labels), -1)
    noun = "strings" if isinstance(labels, list) else "integers"
    if noun != ("integers" if index.ids is None else index.ids.noun):
        return np.full(len(labels), -1)
    if index.ids is None:
        return np.where((labels >= 0) & (labels < index.n_indices), labels, -1)
    if index.numbers is not None:
        # Labels of removed items are passed over, since these items have no ids any more.
        labels = [labels[number] for number in index.numbers.tolist()]
    return index.ids.find(labels)


def _refuse_shape(shape, index, n_queries, name):
    shapes = f"shape {(index.n_indices,)}"
    if n_queries is not None:
        shapes += f", or {(n_queries, index.n_indices)} with a row for each query"
    raise ValueError(
        f"{name} is a mask of shape {shape}. Masks have an entry for each item given so "
        f"far: {shapes}."
    )


def refuse_few(counts, n_neighbors, *, include, exclude):
    """Raise ValueError if a query has fewer items left than neighbors are asked for."""
    if counts.min() >= n_neighbors:
        return
    query = int(counts.argmin())
    if include is None:
        subject = "exclude leaves"
    elif exclude is None:
        subject = "include allows"
    else:
        subject = "include and exclude leave"
    raise ValueError(
        f"{subject} {counts[query]} items for query {query}, fewer than "
        f"n_neighbors={n_neighbors}. Allow more items, ask for fewer neighbors, or pass "
        "allow_fewer=True, with which such a query finds fewer."
    )
