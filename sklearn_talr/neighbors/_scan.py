"""Search by comparing queries with every distinct code.

The distances of a pass stay in the processor's cache. Each query has a limit, which sinks
while codes are seen, so that few codes of a pass are worth a look: XOR, popcount and one
comparison are all that the others cost.
"""

import numpy as np

from .._threads import slices
from ._cost import scan_cost
from ._found import Found, first_limits, join

_PAIRS_PER_PASS = 131_072
_CODES_PER_PASS = 8_192


class Scanner:
    """Brute-force search of a :class:`~._store.CodeStore`."""

    def __init__(self, store):
        self.store = store

    def cost(self):
        """Cost of a query, in the unit of :mod:`~._cost`."""
        return scan_cost(self.store)

    def within(self, queries, radius):
        """Find the codes within a radius, one for all queries or one for each."""
        limits = np.broadcast_to(radius, len(queries))
        return self._scan(queries, lambda rows: _FixedLimits(limits[rows]))

    def at_least(self, queries, n_items):
        """Find the codes within the smallest radius that holds so many items, if any."""
        first = first_limits(self.store, queries, n_items)

        def make_limits(rows):
            return _SinkingLimits(self.store, n_items, first[rows])

        return self._scan(queries, make_limits)

    def _scan(self, queries, make_limits):
        tile = _Tile(self.store, len(queries))
        blocks = list(slices(len(queries), tile.n_queries))
        parts = [_scan_block(tile, queries[rows], make_limits(rows)) for rows in blocks]
        indices = [np.arange(rows.start, rows.stop) for rows in blocks]
        return join(parts, indices, len(queries))


def _scan_block(tile, queries, limits):
    """Compare as many queries as a tile takes with all codes."""
    found = []
    for codes in slices(tile.n_all_codes, tile.n_codes):
        distances = tile.distances(queries, codes)
        hits = np.flatnonzero(tile.at_most(distances, limits.values))
        query = hits // distances.shape[1]
        distance = distances.ravel()[hits].astype(np.int64)
        code = hits - query * distances.shape[1] + codes.start
        limits.see(query, code, distance)
        found.append((query, code, distance))
    query, code, distance = map(np.concatenate, zip(*found))
    n_candidates = np.full(len(queries), tile.n_all_codes)
    everything = Found(query, code, distance, np.zeros_like(n_candidates), n_candidates)
    return everything.within(limits.values)


class _Tile:
    """Arrays of one pass, made once: fresh ones would cost as much as the work in them."""

    def __init__(self, store, n_queries):
        self._columns = store.columns
        self.n_all_codes = len(store)
        most = max(16, _PAIRS_PER_PASS // min(len(store), _CODES_PER_PASS))
        self.n_queries = min(n_queries, most)
        self.n_codes = min(len(store), _PAIRS_PER_PASS // self.n_queries)
        n_pairs = self.n_queries * self.n_codes
        self._xor = np.empty(n_pairs, dtype=store.words.dtype)
        self._near = np.empty(n_pairs, dtype=bool)
        self._popcount = np.empty(n_pairs, dtype=np.uint8)
        self._sum = np.empty(n_pairs, dtype=store.distance_type)

    def distances(self, queries, codes):
        """Hamming distances, shape (n_queries, n_codes); valid until the next call."""
        columns = self._columns[:, codes]
        shape = len(queries), columns.shape[1]
        xor, popcount, total = (
            buffer[: shape[0] * shape[1]].reshape(shape)
            for buffer in (self._xor, self._popcount, self._sum)
        )
        for word, (query_word, code_word) in enumerate(zip(queries.T, columns)):
            np.bitwise_xor(query_word[:, None], code_word, out=xor)
            if word == 0:
                np.bitwise_count(xor, out=total)
            else:
                total += np.bitwise_count(xor, out=popcount)
        return total

    def at_most(self, distances, limits):
        """Which distances are within the limit of their query."""
        near = self._near[: distances.size].reshape(distances.shape)
        return np.less_equal(distances, limits[:, None].astype(distances.dtype), out=near)


class _FixedLimits:
    """Limits known from the start."""

    def __init__(self, values):
        self.values = values

    def see(self, query, code, distance):
        """Nothing seen changes them."""


class _SinkingLimits:
    """Limits that hold at least so many of the items seen, and no larger than need be."""

    def __init__(self, store, n_items, first):
        self.values = first
        self._n_items = n_items
        self._store = None if store.all_differ else store
        self._counts = np.zeros((len(first), store.n_bits + 1), dtype=np.int64)

    def see(self, query, code, distance):
        """Sink as far as these codes allow."""
        if not len(query):
            return
        cells = query * self._counts.shape[1] + distance
        sizes = None if self._store is None else self._store.sizes(code)
        seen = np.bincount(cells, sizes, minlength=self._counts.size)
        self._counts += seen.reshape(self._counts.shape).astype(np.int64)
        enough = np.cumsum(self._counts, axis=1) >= self._n_items
        self.values = np.where(enough[:, -1], enough.argmax(axis=1), self.values)
