"""Search by comparing queries with every distinct code.

The distances of a pass stay in the processor's cache. Each query has a limit, which sinks
while codes are seen. Few codes of a pass lie within it. The others cost no more than XOR,
popcount and one comparison.
"""

import numpy as np

from .._threads import slices
from ._cost import scan_cost
from ._found import Found, first_limits, join
from ._inner_loops import add_distances

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
        """Find the codes within a radius."""
        return self._scan(queries, np.full(len(queries), radius), 0)

    def at_least(self, queries, n_items, allowed=None):
        """Find the codes within the smallest radius that holds so many items, if any.

        With `AllowedCodes`, only these are found, within a radius that may be larger.
        """
        limits = first_limits(self.store, queries, n_items, allowed=allowed)
        return self._scan(queries, limits, n_items, allowed)

    def _scan(self, queries, limits, n_items, allowed=None):
        tile = _Tile(self.store, len(queries))
        blocks = list(slices(len(queries), tile.n_queries))
        parts = [
            _scan_block(tile, queries[b], limits[b], n_items, allowed and allowed.rows(b))
            for b in blocks
        ]
        indices = [np.arange(rows.start, rows.stop) for rows in blocks]
        return join(parts, indices, len(queries))


def _scan_block(tile, queries, limits, n_items, allowed):
    """Compare as many queries as a tile takes with all codes.

    Limits sink as far as they still hold `n_items` items; those of 0 items stay.
    """
    counts = np.zeros((len(queries), tile.store.n_bits + 1), dtype=np.int64)
    found = []
    for codes in slices(len(tile.store), tile.n_codes):
        hits, distances = tile.within(queries, codes, limits)
        query = hits // distances.shape[1]
        distance = distances.ravel()[hits].astype(np.int64)
        code = hits - query * distances.shape[1] + codes.start
        if allowed is not None:
            kept = allowed.pairs(query, code)
            query, code, distance = query[kept], code[kept], distance[kept]
        found.append((query, code, distance))
        if n_items and len(query):
            cells = query * counts.shape[1] + distance
            one_each = tile.store.all_differ or allowed is not None
            sizes = None if one_each else tile.store.sizes(code)
            seen = np.bincount(cells, sizes, minlength=counts.size)
            counts += seen.reshape(counts.shape).astype(np.int64)
            enough = np.cumsum(counts, axis=1) >= n_items
            limits = np.where(enough[:, -1], enough.argmax(axis=1), limits)
    everything = map(np.concatenate, zip(*found))
    return Found.of(*everything, len(queries), len(tile.store)).within(limits)


class _Tile:
    """Arrays of one pass, made once: fresh ones would cost as much as the work in them."""

    def __init__(self, store, n_queries):
        self.store = store
        most = max(16, _PAIRS_PER_PASS // min(len(store), _CODES_PER_PASS))
        self.n_queries = min(n_queries, most)
        self.n_codes = min(len(store), _PAIRS_PER_PASS // self.n_queries)
        n_pairs = self.n_queries * self.n_codes
        types = store.distance_type, store.columns.dtype, np.uint8, bool
        self._rooms = [np.empty(n_pairs, dtype=kind) for kind in types]

    def within(self, queries, codes, limits):
        """Places of the pairs within the limit of their query, and all distances.

        Distances have shape (n_queries, n_codes), and are valid until the next call.
        """
        shape = len(queries), codes.stop - codes.start
        distances, xor, ones, near = (
            room[: shape[0] * shape[1]].reshape(shape) for room in self._rooms
        )
        add_distances(queries, self.store.columns, codes.start, distances, xor, ones)
        limits = limits[:, None].astype(distances.dtype)
        return np.flatnonzero(np.less_equal(distances, limits, out=near)), distances
