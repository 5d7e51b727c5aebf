"""Compiled lookup of the codes within a small radius, without a look at all others.

Cut a code into r + 1 runs of bits. A code that differs from a query in r bits is equal to
it in all bits of at least one run. So r + 1 tables have the codes by their *address*, the
first bits of a run, and a query is compared with the codes that share an address with it
(Norouzi, Punjani and Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR
2012).
"""

from typing import NamedTuple

import numpy as np

from ._compile import compiled, count_ones


class Buckets(NamedTuple):
    """Rows of codes by their addresses, in several tables.

    Parameters
    ----------
    firsts : ndarray of shape (n_tables,), dtype int64
        First bit of the address in each table.

    starts : ndarray of shape (n_tables, 2**width + 1), dtype int32
        Places at which the rows of each address start.

    rows : ndarray of shape (n_tables, n_codes), dtype int32
        Rows by address, ascending within one.

    width : int
        Bits of an address.

    n_candidates : float
        Mean number of codes that a query is compared with, if queries are spread as the
        codes are.
    """

    firsts: np.ndarray
    starts: np.ndarray
    rows: np.ndarray
    width: int
    n_candidates: float

    @classmethod
    def from_codes(cls, columns, *, n_bits, n_tables, width):
        """Put codes into tables.

        Parameters
        ----------
        columns : ndarray of shape (n_words, n_codes), unsigned
            Words of the codes, a column a code.

        n_bits : int
            Length of a code.

        n_tables : int
            Number of tables, one for each run of bits.

        width : int
            Bits of an address.
        """
        firsts = np.arange(n_tables) * n_bits // n_tables
        starts = np.zeros((n_tables, 2**width + 1), dtype=np.int32)
        rows = np.empty((n_tables, columns.shape[1]), dtype=np.int32)
        group_rows(columns, firsts, width, starts, rows)
        sizes = np.diff(starts).astype(float)
        n_candidates = float((sizes**2).sum()) / rows.shape[1]
        return cls(firsts, starts, rows, width, n_candidates)

    @property
    def nbytes(self):
        """Bytes of memory."""
        return self.starts.nbytes + self.rows.nbytes

    def within(self, queries, columns, radius):
        """Counts, rows and distances of codes, as `hamming_scan` returns them."""
        return look_up_within(queries, columns, self, radius)


@compiled
def _address(words, first, width):
    """The bits of a code from `first` up to ``first + width``, as a number."""
    size = 8 * words.itemsize
    address = np.uint64(0)
    place = 0
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
def look_up_within(queries, columns, buckets, radius):
    """Find the codes within a radius of queries.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_words), of the type of the columns

    columns : ndarray of shape (n_words, n_codes), unsigned

    buckets : Buckets
        Of these codes, with more tables than the radius.

    radius : int
        Greatest distance.

    Returns
    -------
    counts : ndarray of shape (n_queries,), dtype int64
        Number of codes near each query.

    rows, distances : ndarrays of shape (n_near,), dtypes int64 and uint16
        Numbers of the codes, query by query, and their distances.
    """
    counts = np.zeros(len(queries), dtype=np.int64)
    near_rows = np.empty(256, dtype=np.int64)
    distances = np.empty(256, dtype=np.uint16)
    end = 0
    for query in range(len(queries)):
        words = queries[query]
        start = end
        for table in range(len(buckets.firsts)):
            address = _address(words, buckets.firsts[table], buckets.width)
            first_row = buckets.starts[table, address]
            end_row = buckets.starts[table, address + 1]
            bucket = buckets.rows[table, first_row:end_row]
            while end + len(bucket) > len(near_rows):
                near_rows = np.append(near_rows, near_rows)
                distances = np.append(distances, distances)
            for row in bucket:
                distance = _distance(words, columns, row)
                if distance > radius:
                    continue
                # A code that shares an earlier address has been taken there.
                if _share_address(words, columns, row, buckets, table):
                    continue
                near_rows[end] = row
                distances[end] = distance
                end += 1
        counts[query] = end - start
    return counts, near_rows[:end].copy(), distances[:end].copy()


@compiled
def _distance(words, columns, row):
    """Hamming distance of a query and a code."""
    distance = 0
    for place in range(len(words)):
        distance += np.int64(count_ones(words[place] ^ columns[place, row]))
    return distance


@compiled
def _share_address(words, columns, row, buckets, n_tables):
    """Whether a query and a code share an address in one of the first tables."""
    for table in range(n_tables):
        first = buckets.firsts[table]
        address = _address(columns[:, row], first, buckets.width)
        if address == _address(words, first, buckets.width):
            return True
    return False
