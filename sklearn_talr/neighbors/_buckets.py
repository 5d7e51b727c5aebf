"""Search by looking up buckets: hash lookup, and multi-index hashing for long codes.

A table has the codes by the value of some of their bits. Around a query it is looked up at
the value itself, then at the values that one flipped bit makes of it, and so on (Jiang,
Li and Li, section 2.2 and Figure 1). One table of all bits is hash lookup. Several tables
of disjoint bits are multi-index hashing: a code near the query is still nearer in one of
them (Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index Hashing").

Buckets grow in number so fast that comparing with all codes soon costs less. From there on
the codes are compared instead, for the queries that are not answered yet.
"""

from itertools import pairwise
from math import comb

import numpy as np
from scipy.sparse import csr_array

from ._cost import (
    CANDIDATE,
    address_bits,
    ball_cost,
    radii_of_tables,
    shell_cost,
    table_masks,
    table_widths,
)
from ._found import Found, first_limits, join
from ._inner_loops import compare
from ._store import ranges

_PROBES_PER_PASS = 131_072
_CANDIDATES_PER_PASS = 2**18
_SAMPLE = 128  # codes from which the first limits are taken; they sink fast


class BucketSearcher:
    """Search of a :class:`~._store.CodeStore` by one table or several.

    Parameters
    ----------
    store : CodeStore
        The codes.

    scanner : searcher
        Takes over where there are too many buckets to look up.

    tables : list of _Table
        What :func:`make_tables` has made of the codes.
    """

    def __init__(self, store, scanner, tables):
        self.store = store
        self.scanner = scanner
        self.tables = tables
        self.widths = [table.width for table in tables]

    def within(self, queries, radius):
        """Find the codes within a radius."""
        radii = radii_of_tables(radius, len(self.tables))
        cost = ball_cost(self.store, self.widths, radius)
        cost += sum(table.crowd_cost for table, r in zip(self.tables, radii) if r >= 0)
        if cost > self.scanner.cost():
            return self.scanner.within(queries, radius)
        pool = _Pool(self.tables, self.store, queries, np.full(len(queries), radius))
        everyone = np.arange(len(queries))
        for turn, last in enumerate(radii):
            for r in range(min(last, self.widths[turn]) + 1):
                pool.look_up(turn, r, everyone)
        return pool.found()

    def at_least(self, queries, n_items):
        """Find the codes within the smallest radius that holds so many items, if any."""
        limits = first_limits(self.store, queries, n_items, _SAMPLE)
        pool = _Pool(self.tables, self.store, queries, limits)
        waiting, radius = np.arange(len(queries)), np.full(len(queries), -1)
        spent, enough = 0.0, self.scanner.cost()
        for r in range(self.store.n_bits + 1):
            flips, turn = divmod(r, len(self.tables))
            table = self.tables[turn]
            spent += shell_cost(self.store, table.width, flips)
            spent += 0 if flips else table.crowd_cost
            if spent > enough or not len(waiting):
                break
            pool.look_up(turn, flips, waiting)
            # Codes up to this distance are all found, and more than these are not needed.
            held = pool.smallest_radius(waiting, n_items)
            limits[waiting] = np.minimum(limits[waiting], held)
            radius[waiting[held <= r]] = held[held <= r]
            waiting = waiting[held > r]
        found = pool.found().within(radius)
        if not len(waiting):
            return found
        rest = self.scanner.at_least(queries[waiting], n_items)
        return join([found, rest], [np.arange(len(queries)), waiting], len(queries))


def make_tables(store, n_tables):
    """Share the bits of the codes out to tables; a single one has them all."""
    stop = np.cumsum(table_widths(store.n_bits, n_tables)).tolist()
    bits = [slice(*edges) for edges in pairwise([0, *stop])]
    masks = table_masks(store, n_tables)
    return [_Table(store, *table) for table in zip(bits, masks)]


class _Table:
    """Numbers of the codes by the address of some of their bits.

    The address is the value of these bits or, where they are many, a hash of it that is
    linear in them: the address of a flipped code is the address of the code XOR those of
    the flips, so the flips are hashed once for all queries.
    """

    def __init__(self, store, bits, mask):
        self.mask = mask
        self.width = bits.stop - bits.start
        n_address_bits = min(self.width, address_bits(store))
        self._flips = {0: np.zeros(1, dtype=np.intp)}
        self._buckets = {}
        self._address_of_bit = _addresses_of_bits(self.width, n_address_bits)
        self._address_of_byte = _addresses_of_bytes(self._address_of_bit, bits, store)
        addresses = self.addresses(store.words)
        self._starts, self._codes = _group(addresses, n_address_bits)
        self._in_use = np.zeros(2**n_address_bits, dtype=bool)
        self._in_use[addresses] = True
        # What a query finds in its own bucket if queries are spread as the codes are.
        sizes = self._starts[addresses + 1] - self._starts[addresses]
        self.crowd_cost = CANDIDATE * float(sizes.mean())

    def addresses(self, words):
        """Addresses of codes, shape (n,)."""
        octets = np.ascontiguousarray(words).view(np.uint8)
        address = np.zeros(len(words), dtype=np.intp)
        for octet, addresses in zip(octets.T, self._address_of_byte):
            if addresses.any():  # a byte of this table
                address ^= addresses[octet]
        return address

    def buckets(self, radius):
        """Addresses of the buckets at so many flips of address 0, each once."""
        if radius not in self._buckets:
            flips = self._flip(radius)
            exact = self.width == len(self._in_use).bit_length() - 1
            self._buckets[radius] = flips if exact else _each_once(flips)
        return self._buckets[radius]

    def _flip(self, radius):
        """Addresses of all ways to flip so many bits."""
        if radius not in self._flips:
            # Ordered by their last bit: the ways to flip r - 1 of the bits before bit i
            # come first among all ways to flip r - 1 bits.
            smaller = self._flip(radius - 1)
            parts = [
                smaller[: comb(i, radius - 1)] ^ bit
                for i, bit in enumerate(self._address_of_bit)
            ]
            self._flips[radius] = np.concatenate(parts)
        return self._flips[radius]

    def look_up(self, addresses, radius):
        """Generate pairs (which address, code) in the buckets at a radius of each."""
        flips = self.buckets(radius)
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
    """Codes found so far by the queries of a block, each once, with their distances.

    A code may lie in buckets of several tables. It is taken where it is met first, in the
    order of flips, then of tables. Its bits tell where that is.

    Parameters
    ----------
    tables : list of _Table

    store : CodeStore

    queries : ndarray of shape (n_queries, n_words)

    limits : ndarray of shape (n_queries,)
        Distances beyond which nothing is wanted; whoever made them may lower them.
    """

    def __init__(self, tables, store, queries, limits):
        self._tables = tables
        self._store = store
        self._queries = queries
        self._limits = limits
        self._addresses = [table.addresses(queries) for table in tables]
        nothing = np.zeros(0, dtype=np.int64)
        self._answer = Found.of(nothing, nothing, nothing, len(queries))
        self._parts = [self._answer[:3]]
        self._counts = np.zeros((len(queries), store.n_bits + 1), dtype=np.int64)

    def look_up(self, turn, radius, asking):
        """Add what some of the queries find in a table, except beyond their limits."""
        table = self._tables[turn]
        self._answer.n_buckets[asking] += comb(table.width, radius)
        for row, code in table.look_up(self._addresses[turn][asking], radius):
            self._answer.n_candidates[asking] += np.bincount(row, minlength=len(asking))
            query = asking[row]
            distance = compare(self._store, self._queries, query, code)
            near = np.flatnonzero(distance <= self._limits[query])
            query, code, distance = query[near], code[near], distance[near]
            new = self._is_met_first(query, code, turn, radius)
            self._add(query[new], code[new], distance[new].astype(np.int64))

    def _is_met_first(self, query, code, turn, radius):
        """Whether no earlier bucket has the code, as its differing bits tell."""
        first = np.ones(len(query), dtype=bool)
        differing = self._queries[query] ^ self._store.words[code]
        for other, table in enumerate(self._tables):
            flips = np.zeros(len(query), dtype=self._store.distance_type)
            for word in np.flatnonzero(table.mask):
                flips += np.bitwise_count(differing[:, word] & table.mask[word])
            if other == turn:  # codes of other flips may share the address
                first &= flips == radius
            else:
                first &= flips >= radius + (other < turn)
        return first

    def _add(self, query, code, distance):
        self._parts.append((query, code, distance))
        np.add.at(self._counts, (query, distance), self._store.sizes(code))

    def smallest_radius(self, queries, n_items):
        """The radius that holds so many of the items found; beyond all if there is none."""
        farthest = self._limits[queries].max() + 1
        held = np.cumsum(self._counts[queries, :farthest], axis=1) >= n_items
        return np.where(held[:, -1], held.argmax(axis=1), self._store.n_bits + 1)

    def found(self):
        """All codes found."""
        query, code, distance = map(np.concatenate, zip(*self._parts))
        return self._answer._replace(query=query, code=code, distance=distance)


def _group(address, n_address_bits):
    """Where the codes of each address start among the codes in the order of addresses.

    They are sorted as the entries of a sparse matrix are, by counting.
    """
    n_codes = len(address)
    rows = np.arange(n_codes + 1, dtype=np.int32)
    entries = np.ones(n_codes, np.int8), address.astype(np.int32), rows
    by_address = csr_array(entries, shape=(n_codes, 2**n_address_bits)).tocsc()
    return by_address.indptr, by_address.indices


def _each_once(addresses):
    """Sorted, each once: what np.unique does, which takes ten times longer."""
    ordered = np.sort(addresses)
    return ordered[np.diff(ordered, prepend=-1) > 0]


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
