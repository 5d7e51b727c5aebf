"""Judgments and runs in one form: arrays of rows, query after query."""

import secrets
from functools import cached_property
from hashlib import blake2b

import numpy as np

from ..histogram._rankings import padded_rows
from ._fields import BYTES_OF_ID, ENCODING, texts_of

_CELLS_PER_BLOCK = 2**15
_ROWS_PER_PASS = 2**16  # at least, of whole queries, in which documents are compared

# Nobody outside this process knows them, so no file can be made whose keys collide
_SECRET = secrets.token_bytes(32)
_NUMBERS = np.frombuffer(secrets.token_bytes(16 * (BYTES_OF_ID // 8)), "=u8").reshape(-1, 2)
_MULTIPLIER = np.uint64(secrets.randbits(64) | 1)  # odd, so that it keeps keys apart
_HALF = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)


class Table:
    """Rows (query, document, value), sorted by query.

    Parameters
    ----------
    queries : list of str
        Identifiers in the order of their first rows.

    offsets : ndarray of shape (n_queries + 1,) of int64
        Rows of query q are ``offsets[q]`` up to ``offsets[q + 1]``.

    documents : ndarray of shape (n_rows, n_words) of uint64
        Identifiers as words, see ``_fields``.

    values : ndarray of shape (n_rows,)
    """

    def __init__(self, queries, offsets, documents, values):
        self.queries = queries
        self.offsets = offsets
        self.documents = documents
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getstate__(self):
        """Leave out what another process would compute by other secrets."""
        own = "keys", "lookup"
        return {name: value for name, value in vars(self).items() if name not in own}

    @cached_property
    def keys(self):
        """A hash of query and document of each row: what is equal has equal keys."""
        return _keys(self.queries, self.sizes, self.documents)

    @cached_property
    def lookup(self):
        """Rows by the slots that the highest bits of their keys name, or by the next free.

        Returns
        -------
        n_bits : int
            There are 2**n_bits slots.

        rows : ndarray of shape (2**n_bits,) of int
            The row in each slot; -1 for none.

        is_used : ndarray of shape (2**n_bits,) of bool
        """
        n_bits = max(1, len(self)).bit_length() + 3
        table = np.full(2**n_bits, -1, dtype=np.min_scalar_type(-len(self) - 1))
        rows, slot = np.arange(len(self)), slots(self.keys, n_bits)
        while len(rows):
            free = table[slot] < 0
            table[slot[free]] = rows[free]
            left = np.flatnonzero(table[slot] != rows)
            rows, slot = rows[left], next_slots(slot[left], n_bits)
        return n_bits, table, table >= 0

    @property
    def sizes(self):
        """Number of rows of each query."""
        return np.diff(self.offsets)

    @cached_property
    def _numbers(self):
        return np.repeat(np.arange(len(self.queries), dtype=np.int32), self.sizes)

    def query_of(self, rows):
        """Numbers of the queries of some rows."""
        return self._numbers[rows]

    def take(self, order):
        """Reorder rows within their queries."""
        rows = self.documents[order], self.values[order]
        table = Table(self.queries, self.offsets, *rows)
        table.keys = self.keys[order]
        return table


def make_table(labels, starts, documents, values):
    """Bring rows of a query together.

    Parameters
    ----------
    labels : list of str
        Query of each stretch of rows, of which a query may have several.

    starts : ndarray of shape (n_stretches,) of int
        First row of each.

    documents, values : ndarray
        As :class:`Table` has them.

    Returns
    -------
    table : Table

    Raises
    ------
    RepeatedDocumentError
        If a query has a document twice.
    """
    numbers = {}
    number = np.array([numbers.setdefault(label, len(numbers)) for label in labels], int)
    sizes = np.diff(starts, append=len(values))
    order = None
    if np.any(number[1:] < number[:-1]):
        order = np.argsort(np.repeat(number, sizes), kind="stable")
        documents, values = documents[order], values[order]
    of_query = np.bincount(number, weights=sizes, minlength=len(numbers)).astype(np.int64)
    offsets = np.append(0, np.cumsum(of_query))
    table = Table(list(numbers), offsets, documents, values)
    repeated = _repeated_row(table)
    if repeated is not None:
        query = table.queries[table.query_of(repeated)]
        (document,) = texts_of(table.documents[repeated : repeated + 1])
        row = repeated if order is None else order[repeated]
        raise RepeatedDocumentError(query, document, int(row))
    return table


def by_score(table):
    """Sort the rows of every query by descending value."""
    rises = table.values[1:] > table.values[:-1]
    borders = table.offsets[1:-1]
    rises[borders[(borders > 0) & (borders < len(table))] - 1] = False
    unsorted = np.unique(table.query_of(np.flatnonzero(rises)))
    if not len(unsorted):
        return table
    order = np.arange(len(table))
    first, size = table.offsets[unsorted], table.sizes[unsorted]
    for _, row, inside in padded_rows(first, size, _CELLS_PER_BLOCK):
        falling = np.where(inside, -table.values[row], np.inf)
        ranked = np.take_along_axis(row, np.argsort(falling, axis=1), axis=1)
        order[row[inside]] = ranked[inside]
    return table.take(order)


def _keys(queries, sizes, documents):
    """Hash query and document by the secret numbers of this process.

    The halves x and y of each word, with numbers a and b of their own, add
    ``(a + x) * (b + y)``. Two documents have equal keys with probability 2**-33, whatever
    they are (Thorup, "High speed hashing for integers and strings", 2015). Less ``a * b``,
    words of zeros change nothing.
    """
    keys = np.repeat(_hashes(queries), sizes)
    for word, (a, b) in zip(documents.T, _NUMBERS):
        term = word >> _HALF
        term += a
        term *= (word & _LOW_HALF) + b
        keys += term
    keys -= _NUMBERS[: documents.shape[1]].prod(axis=1).sum()
    keys ^= keys >> _HALF
    keys *= _MULTIPLIER  # the highest bits, which name slots, depend on all of them
    return keys


def _hashes(texts):
    digests = [
        blake2b(text.encode(*ENCODING), digest_size=8, key=_SECRET).digest()
        for text in texts
    ]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def slots(keys, n_bits):
    """Numbers below 2**n_bits from the highest bits of keys."""
    return (keys >> np.uint64(64 - n_bits)).astype(np.int64)


def next_slots(slot, n_bits):
    """The slots after these, of 2**n_bits in a circle."""
    return (slot + 1) & (2**n_bits - 1)


def _repeated_row(table):
    """The first row whose query has its document in an earlier row; None without such.

    Every row writes its number into a slot, and finds there its own, or that of another
    row. Of each slot the rows that find another's go on, until none is left.
    """
    first = 0
    while first < len(table.queries):
        enough = np.searchsorted(table.offsets, table.offsets[first] + _ROWS_PER_PASS)
        stop = min(max(first + 1, enough), len(table.queries))
        base, n_rows = table.offsets[first], table.offsets[stop] - table.offsets[first]
        keys = table.keys[base : base + n_rows]
        n_bits = int(n_rows).bit_length() + 2
        rows = np.arange(n_rows, dtype=np.min_scalar_type(-max(1, n_rows)))
        last = np.empty(2**n_bits, dtype=rows.dtype)
        while len(rows):
            slot = slots(keys[rows], n_bits)
            last[slot] = rows
            other = last[slot]
            meets = other != rows
            rows, other = rows[meets], other[meets]
            same = keys[rows] == keys[other]
            if _some_equal(table, base + rows[same], base + other[same]):
                return _first_repeated(table, range(base, base + n_rows))
        first = stop
    return None


def _some_equal(table, rows, others):
    equal = np.all(table.documents[rows] == table.documents[others], axis=1)
    return np.any(equal & (table.query_of(rows) == table.query_of(others)))


def _first_repeated(table, rows):
    """The first of these rows that repeats another of them, in every process."""
    seen = set()
    for row in rows:
        identifiers = table.query_of(row), table.documents[row].tobytes()
        if identifiers in seen:
            break
        seen.add(identifiers)
    return row


class RepeatedDocumentError(ValueError):
    """A query has a document twice.

    Parameters
    ----------
    query, document : str
        Their identifiers.

    row : int
        The row of the second, among those that :func:`make_table` was given.
    """

    def __init__(self, query, document, row):
        super().__init__(query, document, row)
        self.row = row

    def __str__(self):
        return "query {!r} has document {!r} twice.".format(*self.args)
