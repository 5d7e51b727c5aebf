"""Allow-lists: answers about some of the items, the same for all queries or not.

A list for all queries becomes a smaller store. With a list for each query, those that allow
little are compared item by item. For the others the whole database is asked for more items
than are wanted, and those that are not allowed are dropped. A query that is then left with
too few is compared with its list item by item, too.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._threads import map_in_threads, slices
from ._cost import CANDIDATE
from ._found import Found, join, nearest_shells

_QUERIES_PER_BLOCK = 256
_PASS = 6.0  # look an item up in a mask, in units of `_cost`
_ITEMS_PER_BLOCK = 2**22


def read_among(among, store, n_queries):
    """Check an allow-list.

    Parameters
    ----------
    among : array-like, sparse matrix or sequence of array-likes
        Indices or a mask, for all queries or for each.

    store : CodeStore
        The items.

    n_queries : int
        Number of queries.

    Returns
    -------
    allowed : ndarray of shape (n_indices,), or array of shape (n_queries, n_indices)
        A mask for all queries, or one for each: of bool, dense or CSR, without removed
        items.
    """
    if not sp.issparse(among):
        if not isinstance(among, np.ndarray) or among.dtype == object:
            among = list(among)
            among = [np.asarray(row) for row in among] if _has_rows(among) else among
        if isinstance(among, list) and _has_rows(among) and among[0].dtype != bool:
            return _masks_of_lists(among, store, n_queries)
        among = np.asarray(among)
        if among.dtype != bool:
            if among.ndim == 2:
                return _masks_of_lists(among, store, n_queries)
            mask = np.zeros(store.n_indices, dtype=bool)
            mask[_known_items(among, store)] = True
            return mask
    shapes = [(n_queries, store.n_indices)]
    shapes += [] if sp.issparse(among) else [(store.n_indices,)]
    if among.shape not in shapes:
        raise ValueError(
            f"among is a mask of shape {among.shape}. Masks have an entry for each item "
            f"given so far: shape {shapes[-1]}, or {shapes[0]} with a row for each query."
        )
    if sp.issparse(among):
        rows, indices = among.astype(bool).nonzero()
        is_item = store.contains(indices)
        return _masks(rows[is_item], indices[is_item], among.shape)
    if store.n_items < store.n_indices:
        return among & (store.code_of_index >= 0)
    return among


def _has_rows(among):
    return len(among) > 0 and np.ndim(among[0]) > 0


def _masks_of_lists(lists, store, n_queries):
    if len(lists) != n_queries:
        raise ValueError(
            f"among has {len(lists)} lists for {n_queries} queries. Pass a list for each "
            "query, or one array of indices for all."
        )
    sizes = [len(row) for row in lists]
    indices = np.concatenate([row for row in lists if len(row)] or [np.zeros(0, int)])
    indices = _known_items(indices, store)
    return _masks(
        np.repeat(np.arange(n_queries), sizes), indices, (n_queries, store.n_indices)
    )


def _known_items(indices, store):
    """Indices of items, as int64."""
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise ValueError(
            f"among must be indices or a mask of bool, got {indices.dtype} of shape "
            f"{indices.shape}. Pass indices as in `indices_`, or turn numbers into a mask, "
            "as in `among > 0`."
        )
    indices = indices.astype(np.int64, copy=False)
    missing = indices[~store.contains(indices)]
    if missing.size:
        raise ValueError(
            f"among contains {missing[:5].tolist()}, which are not in the database. Pass "
            "indices that are in `indices_`, or a mask, in which removed items are ignored."
        )
    return indices


def _masks(rows, indices, shape):
    """Ones in a CSR array, each once."""
    masks = sp.csr_array((np.ones(len(rows), dtype=bool), (rows, indices)), shape=shape)
    masks.sum_duplicates()
    return masks


def check_enough(allowed, own, n_neighbors):
    """The least number of items allowed to a query, which must be the neighbors asked for.

    `own` are the indices of the queries where they are items, or None.
    """
    if allowed.ndim == 1:
        counts = np.array([np.count_nonzero(allowed)])
        if own is not None:
            counts = counts - allowed[own]
    else:
        counts = _counts(allowed)
        if own is not None:
            counts = counts - _entries(allowed, np.arange(len(own)), own)
    if counts.min() < n_neighbors:
        query = int(counts.argmin())
        raise ValueError(
            f"among allows {counts[query]} items for query {query}, fewer than "
            f"n_neighbors={n_neighbors}. Allow more items, or ask for fewer neighbors."
        )
    return int(counts.min())


def answers_among(search, allowed, question, queries, own, argument):
    """Generate answers about allowed items, as :mod:`~._answers` takes them.

    Parameters
    ----------
    search : Search
        Asks stores, and compares pairs of queries and codes.

    allowed : array
        Allow-list that `read_among` has returned.

    question, argument : str and int or float
        See `CodeIndex.ask`.

    queries : ndarray of shape (n_queries, n_columns)
        Queries as `search` reads them.

    own : ndarray of shape (n_queries,) or None
        Indices of the queries where they are items.
    """
    store = search.store
    if allowed.ndim == 1:
        n_allowed = np.count_nonzero(allowed)
        cost = _PASS * store.n_items + CANDIDATE * n_allowed
        if n_allowed and cost <= len(queries) * search.scan_cost():
            part = store.only(allowed)
            if question == "at_least":
                argument = min(argument + (own is not None), part.n_items)
            for rows, found in search.ask(part, question, queries, argument):
                yield part, None if own is None else own[rows], found
            return
        allowed = np.broadcast_to(allowed, (len(queries), len(allowed)))
    counts = _counts(allowed)

    def answer(rows):
        block = _Block(search, queries[rows], None if own is None else own[rows])
        return *block.answer(allowed[rows], counts[rows], question, argument), rows

    size = max(1, min(_QUERIES_PER_BLOCK, _ITEMS_PER_BLOCK // max(1, counts.max())))
    blocks = slices(len(queries), size)
    for spread, found, _ in map_in_threads(answer, blocks, search.n_jobs):
        yield spread, None, found


def _counts(masks):
    """Number of items that each row of masks allows."""
    if sp.issparse(masks):
        return np.diff(masks.indptr)
    return np.array([np.count_nonzero(row) for row in masks])  # faster than by an axis


def _entries(masks, rows, indices):
    """Whether each pair of a row and an index is allowed."""
    entries = masks[rows, indices]
    return entries.toarray().ravel() if sp.issparse(entries) else entries


class AllowedCodes(NamedTuple):
    """The codes that have an item allowed to a query.

    Parameters
    ----------
    masks : ndarray of shape (n_queries, n), dtype bool
        Masks of items where `members` are given, else of codes.

    members : ndarray of shape (n_codes,) or None
        The only item of each code.

    share : float
        Least share of items that a query is allowed.
    """

    masks: np.ndarray
    members: np.ndarray | None
    share: float

    @classmethod
    def of(cls, store, masks, share):
        """The allowed codes of a store by masks of items."""
        if store.all_differ:
            return cls(masks, store.members, share)
        by_code = np.logical_or.reduceat(masks[:, store.members], store.starts[:-1], axis=1)
        return cls(by_code, None, share)

    def rows(self, rows):
        """The allowed codes of some of the queries."""
        return self._replace(masks=self.masks[rows])

    def pairs(self, query, code):
        """Whether pairs of a query and a code are allowed; shapes are broadcast."""
        return self.masks[query, code if self.members is None else self.members[code]]


class _Block:
    """Some queries, each of which has a mask of the items that it may find."""

    def __init__(self, search, queries, own):
        self._search = search
        self._store = search.store
        self._queries = queries
        self._own = own

    def answer(self, masks, counts, question, argument):
        """A store that has a code for each item found, and the answer in it."""
        few = counts * self._search.pair_cost <= self._search.scan_cost()
        triples = []
        if not few.all():
            rows = np.flatnonzero(~few)
            triples.append(self._filtered(rows, masks, counts, question, argument))
        if few.any():
            triples.append(self._compared(np.flatnonzero(few), masks))
        query, item, distance = map(np.concatenate, zip(*triples))
        if self._own is not None:
            others = item != self._own[query]
            query, item, distance = query[others], item[others], distance[others]
        spread = self._store.spread(item)
        found = Found.of(query, np.arange(len(item)), distance, len(counts))
        if question == "at_least":
            return spread, nearest_shells(found, spread, argument)
        return spread, found.within(argument)

    def _filtered(self, rows, masks, counts, question, argument):
        """Allowed items among those that a search of the whole database finds."""
        if sp.issparse(masks):
            masks = masks[rows].toarray()
        elif len(rows) < len(masks):
            masks = masks[rows]
        queries = self._queries[rows]
        if question == "at_least":
            n_items = argument + (self._own is not None)
            share = counts[rows].min() / self._store.n_items
            allowed = AllowedCodes.of(self._store, masks, share)
            found = self._search.at_least(queries, n_items, allowed)
        else:
            blocks = self._search.ask(self._store, question, queries, argument)
            blocks = [(np.arange(b.start, b.stop), found) for b, found in blocks]
            places, parts = zip(*blocks)
            found = join(parts, places, len(rows))
        sizes = None if self._store.all_differ else self._store.sizes(found.code)
        item = self._store.items_of(found.code, sizes)
        query, distance = found.query, found.distance
        if sizes is not None:
            query, distance = np.repeat(query, sizes), np.repeat(distance, sizes)
        kept = np.flatnonzero(masks[query, item])
        return rows[query[kept]], item[kept].astype(np.int64), distance[kept]

    def _compared(self, rows, masks):
        """All allowed items of some queries."""
        place, item = masks[rows].nonzero()
        code = self._store.code_of_index[item]
        query = rows[place]
        return query, item, self._search.compare(self._queries, query, code)
