"""Search by looking up buckets: hash lookup, and multi-index hashing for long codes.

A table has the codes by the value of some of their bits. Around a query it is looked up at
the value itself, then at the values that one flipped bit makes of it, and so on (Jiang,
Li and Li, section 2.2 and Figure 1). One table of all bits is hash lookup. Several tables
of disjoint bits are multi-index hashing: a code near the query is still nearer in one of
them (Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index Hashing").

Buckets grow in number so fast that comparing with everything soon is cheaper. Then that
is done instead, for the queries that are not yet answered.
"""

from itertools import pairwise
from math import comb

import numpy as np

from ._cost import (
    CANDIDATE,
    address_bits,
    ball_cost,
    radii_of_tables,
    scan_cost,
    shell_cost,
    table_widths,
)
from ._found import first_limits, join, nothing_found
from ._store import ranges

_PROBES_PER_PASS = 131_072
_CANDIDATES_PER_PASS = 2**20


class BucketSearcher:
    """Search of a :class:`~._store.CodeStore` by one table or several.

    Parameters
    ----------
    store : CodeStore

    scanner : searcher
        Takes over where there are too many buckets to look up.

    n_tables : int
        1 for hash lookup.
    """

    def __init__(self, store, scanner, n_tables):
        self.store = store
        self.scanner = scanner
        self.widths = table_widths(store.n_bits, n_tables)
        edges = np.concatenate(([0], np.cumsum(self.widths)))
        self.tables = [_Table(store, slice(start, stop)) for start, stop in pairwise(edges)]

    def within(self, queries, radius):
        """Codes within a radius, see :mod:`~._found`."""
        radii = radii_of_tables(radius, len(self.tables))
        cost = ball_cost(self.store, self.widths, radius)
        cost += sum(table.crowd_cost for table, r in zip(self.tables, radii) if r >= 0)
        if cost > scan_cost(self.store):
            return self.scanner.within(queries, radius)
        pool = _Pool(self.store, queries)
        everyone, limits = np.arange(len(queries)), np.full(len(queries), radius)
        for table, last in zip(self.tables, radii):
            for r in range(min(last, table.width) + 1):
                pool.look_up(table, r, everyone, limits)
        return pool.found()

    def at_least(self, queries, n_items):
        """Codes within the smallest radius that holds so many items, if there are."""
        pool = _Pool(self.store, queries)
        waiting, radius = np.arange(len(queries)), np.full(len(queries), -1)
        limits = first_limits(self.store, queries, n_items)
        spent, enough = 0.0, scan_cost(self.store)
        for r in range(self.store.n_bits + 1):
            flips, turn = divmod(r, len(self.tables))
            table = self.tables[turn]
            spent += shell_cost(self.store, table.width, flips)
            spent += 0 if flips else table.crowd_cost
            if spent > enough or not len(waiting):
                break
            pool.look_up(table, flips, waiting, limits)
            done = pool.items_within(waiting, r) >= n_items
            radius[waiting[done]] = r
            waiting = waiting[~done]
        found = pool.found().within(radius)
        if not len(waiting):
            return found
        rest = self.scanner.at_least(queries[waiting], n_items)
        return join([found, rest], [np.arange(len(queries)), waiting], len(queries))


class _Table:
    """Numbers of the codes by the address of some of their bits.

    The address is the value of these bits or, where they are many, a hash of it that is
    linear in them: the address of a flipped code is the address of the code XOR those of
    the flips, so the flips are hashed once for all queries.
    """

    def __init__(self, store, bits):
        self.width = bits.stop - bits.start
        n_address_bits = min(self.width, address_bits(store))
        self._flips = {0: np.zeros(1, dtype=np.intp)}
        self._address_of_bit = _addresses_of_bits(self.width, n_address_bits)
        self._address_of_byte = _addresses_of_bytes(self._address_of_bit, bits, store)
        address = self.addresses(store.words)
        sizes = np.bincount(address, minlength=2**n_address_bits)
        self._starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
        self._codes = np.argsort(address, kind="stable").astype(np.int32)
        self._in_use = sizes > 0
        # What a query finds in its own bucket if queries are spread as the codes are.
        self.crowd_cost = CANDIDATE * float(np.square(sizes).sum()) / len(store)

    def addresses(self, words):
        """Addresses of codes, shape (n,)."""
        octets = np.ascontiguousarray(words).view(np.uint8)
        address = np.zeros(len(words), dtype=np.intp)
        for octet, addresses in zip(octets.T, self._address_of_byte):
            if addresses.any():  # a byte of this table
                address ^= addresses[octet]
        return address

    def flips(self, radius):
        """Addresses of all ways to flip so many bits."""
        if radius not in self._flips:
            # Ordered by their last bit: the ways to flip r - 1 of the bits before bit i
            # come first among all ways to flip r - 1 bits.
            smaller = self.flips(radius - 1)
            parts = [
                smaller[: comb(i, radius - 1)] ^ bit
                for i, bit in enumerate(self._address_of_bit)
            ]
            self._flips[radius] = np.concatenate(parts)
        return self._flips[radius]

    def look_up(self, addresses, radius):
        """Generate pairs (which address, code) in the buckets at a radius of each."""
        flips = self.flips(radius)
        step = max(1, _PROBES_PER_PASS // max(1, len(flips)))
        for start in range(0, len(addresses), step):
            bucket = addresses[start : start + step, None] ^ flips
            used = np.flatnonzero(self._in_use[bucket])
            bucket = bucket.ravel()[used]
            first = self._starts[bucket]
            sizes = self._starts[bucket + 1] - first
            asking = start + used // len(flips)
            for part in _runs(sizes):
                codes = self._codes[ranges(first[part], sizes[part])]
                yield np.repeat(asking[part], sizes[part]), codes


class _Pool:
    """Codes found so far by the queries of a block, each once, with their distances."""

    def __init__(self, store, queries):
        self._store = store
        self._queries = queries
        self._addresses = {}
        self._keys = np.zeros(0, dtype=np.int64)  # query and code, sorted
        self._distance = np.zeros(0, dtype=np.int64)
        self._answer = nothing_found(len(queries))
        self._counts = np.zeros((len(queries), store.n_bits + 1), dtype=np.int64)

    def look_up(self, table, radius, asking, limits):
        """Add what some of the queries find in a table, except beyond their limits."""
        if table not in self._addresses:
            self._addresses[table] = table.addresses(self._queries)
        self._answer.n_buckets[asking] += len(table.flips(radius))
        for row, code in table.look_up(self._addresses[table][asking], radius):
            query = asking[row]
            distance = self._distances(query, code)
            near = distance <= limits[query]
            self._add(query[near] * len(self._store) + code[near], distance[near])
            self._answer.n_candidates[asking] += np.bincount(row, minlength=len(asking))

    def _distances(self, query, code):
        distance = np.zeros(len(query), dtype=np.int64)
        for query_word, code_word in zip(self._queries.T, self._store.columns):
            distance += np.bitwise_count(query_word[query] ^ code_word[code])
        return distance

    def _add(self, keys, distance):
        keys, first = np.unique(keys, return_index=True)
        place = np.searchsorted(self._keys, keys)
        new = np.ones(len(keys), dtype=bool)
        inside = place < len(self._keys)
        new[inside] = self._keys[place[inside]] != keys[inside]
        keys, distance = keys[new], distance[first[new]]
        query, code = np.divmod(keys, len(self._store))
        np.add.at(self._counts, (query, distance), self._store.sizes(code))
        keys = np.concatenate((self._keys, keys))
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._distance = np.concatenate((self._distance, distance))[order]

    def items_within(self, queries, radius):
        """Number of items within a radius of some of the queries."""
        return self._counts[queries, : radius + 1].sum(axis=1)

    def found(self):
        """All of them."""
        query, code = np.divmod(self._keys, len(self._store))
        return self._answer._replace(query=query, code=code, distance=self._distance)


def _runs(sizes):
    """Slices of buckets whose codes fit into memory together, or single buckets."""
    ends = np.cumsum(sizes, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    edges = np.searchsorted(
        ends, np.arange(_CANDIDATES_PER_PASS, total, _CANDIDATES_PER_PASS)
    )
    for start, stop in pairwise(np.unique([0, *edges, len(sizes)]).tolist()):
        yield slice(start, stop)


def _addresses_of_bits(width, n_address_bits):
    """Address of each bit alone: its own place in the address, or a hash of it."""
    own = np.intp(1) << np.arange(min(width, n_address_bits), dtype=np.intp)
    rng = np.random.default_rng(0)  # any fixed hash will do
    hashed = rng.integers(1, 2**n_address_bits, width - len(own), dtype=np.intp)
    return np.concatenate((own, hashed))


def _addresses_of_bytes(address_of_bit, bits, store):
    """Address of each value of each byte of a code, shape (n_bytes, 256)."""
    addresses = np.zeros(store.words[:1].nbytes * 8, dtype=np.intp)
    addresses[bits] = address_of_bit
    values = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1]
    flipped = values * addresses.reshape(-1, 1, 8)
    return np.bitwise_xor.reduce(flipped, axis=2)
