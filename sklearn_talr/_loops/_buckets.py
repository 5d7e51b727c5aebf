"""Compiled lookup of what is within a small radius, without a look at all other codes.

A code that differs from a query in r bits has all bits of one of r + 1 runs of bits in
common with it. So r + 1 tables have the codes by the *address*, the first bits of a run,
and a query is compared with what shares an address with it (Norouzi, Punjani and Fleet,
"Fast Search in Hamming Space with Multi-Index Hashing", CVPR 2012).
"""

from typing import NamedTuple

import numpy as np

from ._compile import compiled, count_ones


class Buckets(NamedTuple):
    """Rows of codes by their addresses, in several tables.

    Parameters
    ----------
    firsts : ndarray of shape (n_tables,), dtype int64
        First bit of each address.

    starts : ndarray of shape (n_tables, 2**width + 1), dtype int32
        Where the rows of each address start.

    rows : ndarray of shape (n_tables, n_codes), dtype int32
        Rows by address, ascending within one.

    width : int
        Bits of an address.

    n_candidates : float
        How many codes a query is compared with, if queries are spread as the codes are.
    """

    firsts: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    width: int
    n_candidates: float

    @classmethod
    def of(cls, columns, n_bits, n_tables, width):
        """Tables of codes by so many bits of each run."""
        firsts = np.arange(n_tables) * n_bits // n_tables
        starts = np.zeros((n_tables, 2**width + 1), dtype=np.int32)
        rows = np.empty((n_tables, columns.shape[1]), dtype=np.int32)
        group_rows(columns, firsts, width, starts, rows)
        sizes = np.diff(starts).astype(float)
        return cls(firsts, starts, rows, width, float((sizes**2).sum()) / rows.shape[1])

    @property
    def nbytes(self):
        """Bytes of memory."""
        return self.starts.nbytes + self.rows.nbytes

    def within(self, queries, columns, radius):
        """Counts, rows and distances of codes, as `hamming_scan` returns them."""
        return look_up_within(queries, columns, *self[:4], radius)


@compiled
def _address(words, first, width):
    """So many bits of a code from the first on, as a number."""
    size, address, place = 8 * words.itemsize, np.uint64(0), 0
    while place < width:
        bit = first + place
        word = np.uint64(words[bit // size]) >> np.uint64(bit % size)
        address |= word << np.uint64(place)
        place += size - bit % size
    return np.int64(address & np.uint64((1 << width) - 1))


@compiled
def group_rows(columns, firsts, width, starts, rows):
    """Sort rows by address, by counting."""
    for table in range(len(firsts)):
        ends = starts[table]
        for code in range(columns.shape[1]):
            ends[_address(columns[:, code], firsts[table], width) + 1] += 1
        for address in range(1, len(ends)):
            ends[address] += ends[address - 1]
        places = ends.copy()
        for code in range(columns.shape[1]):
            address = _address(columns[:, code], firsts[table], width)
            rows[table, places[address]] = code
            places[address] += 1


@compiled
def look_up_within(queries, columns, firsts, starts, rows, width, radius):
    counts = np.zeros(len(queries), dtype=np.int64)
    found, distances = np.empty(256, dtype=np.int64), np.empty(256, dtype=np.uint16)
    end = 0
    for query in range(len(queries)):
        words, begin = queries[query], end
        for table in range(len(firsts)):
            address = _address(words, firsts[table], width)
            bucket = rows[table, starts[table, address] : starts[table, address + 1]]
            while end + len(bucket) > len(found):
                found = np.append(found, found)
                distances = np.append(distances, distances)
            how = firsts[:table], width, bucket, radius
            end = _take(words, columns, how, found, distances, end)
        counts[query] = end - begin
    return counts, found[:end].copy(), distances[:end].copy()


@compiled
def _take(query, columns, how, found, distances, end):
    """Add what is near and was in no earlier bucket of the query."""
    earlier, width, bucket, radius = how
    for row in bucket:
        distance = 0
        for place in range(len(query)):
            distance += np.int64(count_ones(query[place] ^ columns[place, row]))
        is_new = distance <= radius
        for first in earlier:
            is_new = is_new and (
                _address(query, first, width) != _address(columns[:, row], first, width)
            )
        if is_new:
            found[end], distances[end] = row, distance
            end += 1
    return end
