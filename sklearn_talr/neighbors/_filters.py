"""Which items queries may find: `include`, `exclude` and the queries' own items, read.

What an argument holds is declared by its type. Ids, or indices where items have none, are
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

# Codes that are copied and compared while one item is found and dropped, as measured with
# 60 000 to 200 000 codes of 64 bits
_CODES_PER_DROPPED = 64


class Eligible(NamedTuple):
    """Rows that queries may find.

    Parameters
    ----------
    shared : ndarray of shape (n_shared,), dtype int64, or None
        Rows that all queries may find, ascending. None: all rows.

    of_each : list of ndarray of int64, or None
        Rows that each query may find, ascending; the others are then None. None: `shared`.

    left_out : CSR of shape (n_queries, n_items), or None
        Rows among the shared that single queries must not find. None: there are none.
    """

    shared: np.ndarray | None = None
    of_each: list | None = None
    left_out: sp.csr_array | None = None

    def count(self, n_queries, n_items):
        """Number of rows that each query may find, shape (n_queries,)."""
        if self.of_each is not None:
            return np.array([len(rows) for rows in self.of_each], dtype=np.int64)
        n_shared = n_items if self.shared is None else len(self.shared)
        if self.left_out is None:
            return np.full(n_queries, n_shared)
        if self.shared is None:
            return n_shared - np.diff(self.left_out.indptr)
        is_shared = np.zeros(n_items, dtype=np.int64)
        is_shared[self.shared] = 1
        return n_shared - self.left_out @ is_shared

    def are_of_each(self, n_items):
        """Whether each query is to be searched alone, among rows of its own.

        Otherwise all are searched among the shared rows, and what single queries must not
        find is dropped from what they find, which takes longer the more it is.
        """
        if self.of_each is not None or self.left_out is None:
            return self.of_each is not None
        n_queries = self.left_out.shape[0]
        return _CODES_PER_DROPPED * self.left_out.nnz > n_queries * n_items

    def rows_of(self, query, n_items):
        """Rows that a query may find, ascending."""
        if self.of_each is not None:
            return self.of_each[query]
        start, end = self.left_out.indptr[query : query + 2]
        return _without(self.shared, self.left_out.indices[start:end], n_items)


ALL_ROWS = Eligible()


def read_eligible(include, exclude, index, n_queries, own=None, X=None):
    """Read what queries may find.

    Parameters
    ----------
    include, exclude : see `kneighbors`
        Items that may be found, and items that must not.

    index : Index
        The items.

    n_queries : int
        Number of queries.

    own : ndarray of shape (n_queries,) of int, default=None
        Row of each query, if the queries are items. No item finds itself.

    X : object, default=None
        Queries as a user gave them. Labels of their rows must be those of lists for each.

    Returns
    -------
    eligible : Eligible
        Rows that the queries may find.
    """
    allowed = read_rows(include, index, n_queries, "include", X)
    excluded = read_rows(exclude, index, n_queries, "exclude", X)
    n_items = index.n_items
    if isinstance(excluded, np.ndarray) and not _are_few(excluded, n_queries, n_items):
        allowed, excluded = _without(allowed, excluded, n_items), None
    left_out = _as_matrix(excluded, n_queries, n_items)
    if own is not None:
        places = np.arange(n_queries + 1)
        ones = np.ones(n_queries, dtype=np.int8)
        itself = sp.csr_array((ones, own, places), shape=(n_queries, n_items))
        left_out = itself if left_out is None else sp.csr_array(itself.maximum(left_out))
    if isinstance(allowed, list):
        if left_out is not None:
            rows = np.split(left_out.indices, left_out.indptr[1:-1])
            allowed = list(map(np.setdiff1d, allowed, rows))
        return Eligible(of_each=allowed)
    return Eligible(allowed, None, left_out)


def _are_few(excluded, n_queries, n_items):
    """Whether dropping rows from what each query finds costs less than a copy without."""
    return _CODES_PER_DROPPED * n_queries * len(excluded) <= n_items


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
    rows = excluded if isinstance(excluded, list) else [excluded] * n_queries
    ends = np.cumsum([0, *map(len, rows)])
    ones = np.ones(ends[-1], dtype=np.int8)
    return sp.csr_array((ones, np.concatenate(rows), ends), shape=(n_queries, n_items))


def read_rows(items, index, n_queries, name, X=None):
    """Read items, for all queries or for each, as rows.

    Parameters
    ----------
    items : see `include` of `kneighbors`
        Ids, indices where there are none, or masks.

    index : Index
        The items.

    n_queries : int
        Number of queries.

    name : str
        What errors call the argument.

    X : object, default=None
        Queries as a user gave them.

    Returns
    -------
    rows : ndarray of int64, or list of as many as there are queries, or None
        Rows, ascending, each once. None: the argument is None.
    """
    if items is None:
        return None
    is_several = isinstance(items, Iterable) or hasattr(items, "__array__")
    is_single = not is_several or getattr(items, "ndim", 1) == 0
    if is_single or isinstance(items, str | bytes | Mapping):
        raise ValueError(
            f"{name} must be a list of indices or ids, or a mask of bool, got "
            f"{type(items).__name__}. For one item write [item], of a dict of bool "
            f"[item for item, is_in in {name}.items() if is_in], and of a dict of lists "
            f"[{name}[query] for query in queries]."
        )
    if sp.issparse(items):
        return _rows_of_sparse_mask(items, index, n_queries, name)
    values = as_values(items, name)
    if isinstance(values, np.ndarray) and values.ndim > 1:
        refuse_unlike_labels(X, items, ("X", name))
        return _rows_of_matrix(items, values, index, n_queries, name)
    if isinstance(values, list) and any(map(_is_collection, set(map(type, values)))):
        _refuse_pairs(items, values, name)
        refuse_unlike_labels(X, items, ("X", name))
        return _rows_of_lists(values, index, n_queries, name)
    return _rows_of_one(items, values, index, name)


def as_values(items, name):
    """Items as an array of numbers, bool or str, or as a list of whatever they are."""
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
    masks = masks if index.numbers is None else masks[:, index.numbers]
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
        here = values if index.numbers is None else values[:, index.numbers]
        return [np.flatnonzero(mask) for mask in here]
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
    masks, lists_of_ids = {}, {}
    for place, entry in enumerate(lists):
        values = as_values(entry, name)
        is_flat = np.ndim(values) == 1 if isinstance(values, np.ndarray) else True
        if not is_flat or isinstance(entry, Mapping) or sp.issparse(entry):
            raise ValueError(
                f"{name} has a list for each query, but entry {place} is a "
                f"{type(entry).__name__} of more than one dimension or of pairs. Write a "
                "list of ids or a mask of one dimension."
            )
        if are_of_bool(values):
            masks[place] = _rows_of_mask(entry, values, index, name)
        else:
            lists_of_ids[place] = _read_chosen(values, index, name)
    found = _find_together(list(lists_of_ids.values()), index, name)
    rows = masks | dict(zip(lists_of_ids, found))
    return [rows[place] for place in range(n_queries)]


def _refuse_pairs(items, values, name):
    """Raise ValueError if tuples may be pairs of a query and an item."""
    are_tuples = all(isinstance(entry, tuple) for entry in values)
    is_of_two = isinstance(items, tuple) and len(items) == 2
    lengths = {len(entry) for entry in values if hasattr(entry, "__len__")}
    are_places = is_of_two and len(lengths) == 1 and lengths != {0}
    if are_tuples or (are_places and not any(isinstance(e, Set) for e in values)):
        what = "rows and columns" if are_places else "pairs of a query and an item"
        raise ValueError(
            f"{name} has tuples, which have two readings: ids, a list for each query, or "
            f"{what}. Write list(map(list, {name})) for lists of ids; for {what} make a "
            "sparse matrix of shape (n_queries, n_samples_fit_), or pass the mask itself."
        )


def _find_together(lists, index, name):
    """Rows of lists of ids or indices, ascending, each once."""
    filled = [items for items in lists if len(items)]
    are_texts = {isinstance(items, list) for items in filled}
    if len(are_texts) > 1:
        for items in filled:  # of which one is not of the type of the ids
            index.rows_of(items, name)
    if True in are_texts:
        together = list(chain.from_iterable(filled))
    else:
        together = np.concatenate([np.empty(0, dtype=np.int64), *filled])
    rows = index.rows_of(together, name)
    ends = np.cumsum(list(map(len, lists)))[:-1]
    return list(map(np.unique, np.split(rows, ends)))


def _rows_of_one(items, values, index, name):
    """Rows of one mask, or of one list of ids or indices."""
    if are_of_bool(values):
        return _rows_of_mask(items, values, index, name)
    return np.unique(index.rows_of(_read_chosen(values, index, name), name))


def _rows_of_mask(items, values, index, name):
    mask = np.asarray(values, dtype=bool)
    if mask.shape != (index.n_indices,):
        _refuse_shape(mask.shape, index, None, name)
    refuse_other_order(items, 0, index, name)
    return np.flatnonzero(mask if index.numbers is None else mask[index.numbers])


def _read_chosen(values, index, name):
    """Ids or indices of a list, which must not be a number of each item."""
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
    """Ids or indices of some items, as `read_ids` returns them.

    Parameters
    ----------
    items : array-like of shape (n_items,), a set, or a single id or index
        What a user gives as ids or indices.

    name : str
        What errors call the argument.

    Raises
    ------
    ValueError
        If it is a mask, holds floats, or has missing values.
    """
    if isinstance(items, Mapping):
        raise ValueError(f"{name} must be a list of ids or indices, got a dict: pass list.")
    if isinstance(items, str) or not isinstance(items, Iterable):
        items = [items]
    values = items if isinstance(items, list) else as_values(items, name)
    if are_of_bool(values):
        raise ValueError(
            f"{name} must be indices or ids, got a mask. Those of a mask are "
            "np.flatnonzero(mask), or ids_[mask]."
        )
    if _have_missing(values):
        raise ValueError(
            f"{name} has missing values (NaN, NaT or None). If it is a mask, fill them, as "
            f"by {name}.fillna(False). Of ids leave them out; if there are none, write []."
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
    """Raise ValueError if integers may be ids, or a number of each item."""
    is_a_number_each = len(items) in (index.n_items, index.n_indices)
    if isinstance(items, list) or not is_a_number_each:
        return
    if len(np.unique(items)) < len(items):
        raise ValueError(
            f"{name} has {len(items)} integers, as many as there are items, and some "
            "repeat, which has two readings: a number of each item, such as its stock, or "
            f"ids. Write np.asarray({name}) > 0 for a mask of the items that have some, "
            f"and np.unique({name}) for ids."
        )


def refuse_other_order(table, axis, index, name):
    """Raise ValueError if labels along an axis of items are not those of the index.

    Labels that pandas has counted are no declaration, nor are indices, which the index has
    counted, unless the one are the other in another order.
    """
    labels, is_default = axis_labels(table, axis)
    if labels is None or (
        is_default and index.ids is not None and index.ids.noun == "strings"
    ):
        return
    places = _places_among_items(labels, index)
    is_reordered = places.min() >= 0 and len(np.unique(places)) == len(places)
    if np.all(places[1:] > places[:-1]) and is_reordered:
        return
    if (is_default or index.ids is None) and not is_reordered:
        return
    state = "the items in another order" if is_reordered else "others"
    known = "indices_" if index.ids is None else "ids_"
    along = "index" if axis == 0 else "columns"
    raise ValueError(
        f"{name} has labels that are {state} than in the index. Put it into the "
        f"order of `{known}`, as by {name}.reindex({along}=...), or pass {name}.to_numpy() "
        "if labels mean nothing."
    )


def _places_among_items(labels, index):
    """Place among the items that each label names, -1 if it names none."""
    try:
        labels = read_ids(labels)
    except ValueError:  # of another type than ids are
        return np.full(len(labels), -1)
    kind = "strings" if isinstance(labels, list) else "integers"
    if kind != ("integers" if index.ids is None else index.ids.noun):
        return np.full(len(labels), -1)
    if index.ids is not None:
        if index.numbers is not None:  # an item that was removed has no id any more
            labels = [labels[number] for number in index.numbers.tolist()]
        return index.ids.find(labels)
    return np.where((labels >= 0) & (labels < index.n_indices), labels, -1)


def _refuse_shape(shape, index, n_queries, name):
    n_items = index.n_indices
    each = (
        ""
        if n_queries is None
        else f", or {(n_queries, n_items)} with a row for each query"
    )
    raise ValueError(
        f"{name} is a mask of shape {shape}. Masks have an entry for each item given so "
        f"far: shape {(n_items,)}{each}."
    )


def refuse_few(counts, n_neighbors, include, exclude):
    """Raise ValueError if a query has fewer items left than neighbors are asked for."""
    if counts.min() >= n_neighbors:
        return
    query = int(counts.argmin())
    if include is None:
        what = "exclude leaves"
    elif exclude is None:
        what = "include allows"
    else:
        what = "include and exclude leave"
    raise ValueError(
        f"{what} {counts[query]} items for query {query}, fewer than "
        f"n_neighbors={n_neighbors}. Allow more items, ask for fewer neighbors, or pass "
        "allow_fewer=True, with which such a query finds fewer."
    )
