"""Search by faiss, an optional library.

faiss is given distinct codes, so repeats cannot fill its answers. Asked for a fixed number
of codes, faiss may stop in the middle of a shell. Asked for a radius it does not, and is
faster. So the radius that holds enough items is found for a few queries and tried on all.
The queries that it leaves short are then asked for their own radius. The radius of faiss
is strict: ``range_search(r)`` finds distances below r.
"""

from math import comb
from threading import Lock

import numpy as np

from ._cost import PROBE_BY_FAISS, n_tables_for, scan_cost, table_widths
from ._found import join, nearest_shells, nothing_found

_QUERIES_TO_ESTIMATE = 8  # fewer queries take the radius of earlier estimates
_RECENT = 32  # radii that an estimate rests on, since eight may all be on the small side
_FAST_BYTES = (4, 8, 16, 20, 32, 64)


class FaissScanner:
    """Search of a :class:`~._store.CodeStore` by ``IndexBinaryFlat``."""

    def __init__(self, store):
        self.store = store
        self._index = _add_codes(_faiss().IndexBinaryFlat(_padded_bits(store)), store)
        self._recent = {}  # radii that some queries needed, by number of items

    def cost(self):
        """Cost of a query, in the unit of :mod:`~._cost`."""
        return scan_cost(self.store, by_faiss=True)

    def within(self, queries, radius):
        """Find the codes within a radius."""
        octets = _octets(queries, self.store)
        return _found(*self._index.range_search(octets, radius + 1))

    def at_least(self, queries, n_items):
        """Find the codes within the smallest radius that holds so many items, if any."""
        n_items = min(n_items, self.store.n_items)
        within = self.within(queries, self._expected_radius(queries, n_items))
        found, done = nearest_shells(within, self.store, n_items)
        parts, rows = [found], [np.arange(len(queries))]
        waiting = np.flatnonzero(~done)
        if len(waiting):
            radii = self._radii(queries[waiting], n_items)
            for radius in np.unique(radii).tolist():
                rows.append(waiting[radii == radius])
                parts.append(self.within(queries[rows[-1]], radius))
        return join(parts, rows, len(queries))

    def _expected_radius(self, queries, n_items):
        """A radius that is enough for most queries, and not much more."""
        recent = self._recent.get(n_items, [])
        if len(recent) < _QUERIES_TO_ESTIMATE or len(queries) > _QUERIES_TO_ESTIMATE:
            some = self._radii(queries[:_QUERIES_TO_ESTIMATE], n_items)
            recent = [*recent, *some.tolist()][-_RECENT:]
            self._recent[n_items] = recent
        return min(int(np.median(recent)) + 1, max(recent))

    def _radii(self, queries, n_items):
        """The smallest radius of each query that holds so many items."""
        n_codes = min(n_items, len(self.store))
        distance, code = self._index.search(_octets(queries, self.store), n_codes)
        held = np.cumsum(self.store.sizes(code), axis=1)
        last = (held >= n_items).argmax(axis=1)
        return np.take_along_axis(distance, last[:, None], axis=1)[:, 0]


class FaissHash:
    """Search by ``IndexBinaryHash``: buckets of the first bits, looked up by flips."""

    def __init__(self, store):
        width = min(store.n_bits, max(1, len(store).bit_length()), 64)
        self._prepare(store, [width])
        self._index = _faiss().IndexBinaryHash(_padded_bits(store), width)
        _add_codes(self._index, store)

    def _prepare(self, store, widths):
        self.store = store
        self.widths = widths
        self._scanner = FaissScanner(store)
        self._lock = Lock()  # the number of flips is an attribute of the index

    def within(self, queries, radius):
        """Find the codes within a radius."""
        if self._scanning_is_cheaper(radius):
            return self._scanner.within(queries, radius)
        with self._lock:
            # A code of the ball differs in so few bits of one table at least.
            self._index.nflip = min(radius // len(self.widths), min(self.widths))
            octets = _octets(queries, self.store)
            return _found(*self._index.range_search(octets, radius + 1))

    def at_least(self, queries, n_items):
        """Find the codes within the smallest radius that holds so many items, if any."""
        parts, rows, waiting = [], [], np.arange(len(queries))
        n_tables = len(self.widths)
        # The widest radius of each number of flips: smaller ones cost as much.
        for radius in range(n_tables - 1, self.store.n_bits + n_tables, n_tables):
            if not len(waiting) or self._scanning_is_cheaper(radius):
                break
            found = self.within(queries[waiting], radius)
            found, done = nearest_shells(found, self.store, n_items)
            parts.append(found)
            rows.append(waiting)
            waiting = waiting[~done]
        if len(waiting):
            parts.append(self._scanner.at_least(queries[waiting], n_items))
            rows.append(waiting)
        return join(parts, rows, len(queries))

    def _scanning_is_cheaper(self, radius):
        n_flips = min(radius // len(self.widths), min(self.widths))
        n_buckets = sum(comb(w, r) for w in self.widths for r in range(n_flips + 1))
        return n_buckets * PROBE_BY_FAISS > self._scanner.cost()


class FaissMultiHash(FaissHash):
    """Search by ``IndexBinaryMultiHash``: several tables of disjoint bits."""

    def __init__(self, store):
        n_tables = n_tables_for(store)
        width = min(table_widths(store.n_bits, n_tables)[-1], 64)
        self._prepare(store, [width] * n_tables)
        n_bits = _padded_bits(store)
        self._index = _faiss().IndexBinaryMultiHash(n_bits, n_tables, width)
        _add_codes(self._index, store)


def _faiss():
    import faiss

    return faiss


def _padded_bits(store):
    """Length of a code as faiss gets it, which compares some lengths faster."""
    n_bytes = -(-store.n_bits // 8)
    return 8 * next((size for size in _FAST_BYTES if n_bytes <= size), 8 * -(-n_bytes // 8))


def _octets(words, store):
    """Bytes of codes, with zeros up to that length."""
    octets = np.zeros((len(words), _padded_bits(store) // 8), dtype=np.uint8)
    given = np.ascontiguousarray(words).view(np.uint8)[:, : octets.shape[1]]
    octets[:, : given.shape[1]] = given
    return octets


def _add_codes(index, store):
    index.add(_octets(store.words, store))
    return index


def _found(ends, distance, code):
    """What a range search returned."""
    n_queries = len(ends) - 1
    query = np.repeat(np.arange(n_queries), np.diff(ends.astype(np.int64)))
    answer = nothing_found(n_queries)
    return answer._replace(query=query, code=code, distance=distance.astype(np.int64))
