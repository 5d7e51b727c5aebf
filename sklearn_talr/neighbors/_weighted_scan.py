"""Search by weighted Hamming distance: real-valued queries, exact.

Scores are found in float32, many at a time. What may be among the nearest is scored again
in float64, so that the answer depends neither on how queries are grouped nor on the way
that the first scores were found.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from ..codes._weighted import apply_terms, score_codes, signs_of, tables_of
from ._found import Found
from ._store import ranges

_CELLS_PER_PASS = 2**21
_CODES_PER_PASS = 4_096
_PAIRS_PER_PASS = 2**12  # that are scored one by one
_QUERIES_PER_BLOCK = 512
_FEW = 8  # queries for which it does not pay to unpack the codes
_ROUNDING = 1e-5  # of the largest score, more than float32 may be off


class WeightedQueries(NamedTuple):
    """Queries by their weights.

    Parameters
    ----------
    weights : ndarray of shape (n_queries, n_padded_bits), dtype float32
        Weights of the bits, padded by zeros to whole words.

    words : ndarray of shape (n_queries, n_words), unsigned
        Codes of the queries, for a shortlist by Hamming distance.
    """

    weights: np.ndarray
    words: np.ndarray

    def __len__(self):
        return len(self.words)

    def rows(self, rows):
        """Some of the queries."""
        return WeightedQueries(self.weights[rows], self.words[rows])


class Nearest(NamedTuple):
    """Codes near the queries of a block, by query, the nearest first.

    Parameters
    ----------
    query, code : ndarray of shape (n_found,) of int64
        Which query found which code.

    distance : ndarray of shape (n_found,) of float64
        Weighted Hamming distance, or minus the score where codes have terms.

    n_queries : int
        Number of queries in the block.
    """

    query: np.ndarray
    code: np.ndarray
    distance: np.ndarray
    n_queries: int

    def as_found(self):
        """The same with distances replaced by their ranks, which tell what is tied."""
        changes = self.distance[1:] != self.distance[:-1]
        changes |= self.query[1:] != self.query[:-1]
        rank = np.concatenate(([0], np.cumsum(changes)))
        first = np.searchsorted(self.query, np.arange(self.n_queries))
        rank -= rank[first][self.query]
        nothing = np.zeros(self.n_queries, dtype=np.int64)
        return Found(self.query, self.code, rank, nothing, nothing)

    def items(self, store):
        """Query, index and distance of the items of all codes, tied ones by index."""
        sizes = store.sizes(self.code)
        index = store.members[ranges(store.starts[self.code], sizes)].astype(np.int64)
        query, distance = np.repeat(self.query, sizes), np.repeat(self.distance, sizes)
        order = np.lexsort((index, distance, query))
        return query[order], index[order], distance[order]


class WeightedScanner:
    """Search of a :class:`~._store.CodeStore` by weights of bits.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.

    shortlist : callable, default=None
        ``shortlist(words) -> (query, code)``: the only codes to be scored. None means all.
    """

    def __init__(self, store, shortlist=None):
        self._store = store
        self._shortlist = shortlist

    def blocks(self, n_queries):
        """Slices of queries that are answered together."""
        return list(gen_batches(n_queries, _QUERIES_PER_BLOCK))

    def at_least(self, queries, n_items):
        """Find the nearest codes that hold so many items, and all that are tied."""
        query, code = self._candidates(queries, _Limits(self._store, queries, n_items))
        nearest = self._ranked(queries, query, code)
        return _first_codes(nearest, self._store, n_items)

    def within(self, queries, radius):
        """Find all codes within a weighted Hamming distance."""
        query, code = self._candidates(queries, _Radius(queries, radius))
        nearest = self._ranked(queries, query, code)
        return _keep(nearest, nearest.distance <= radius)

    def _candidates(self, queries, limits):
        """Pairs of queries and codes that may be near enough."""
        if self._shortlist is not None:
            query, code = self._shortlist(queries.words)
            limits.see(query, code, self._score_pairs(queries, query, code))
            return limits.pairs()
        n_codes = max(1, min(_CODES_PER_PASS, _CELLS_PER_PASS // len(queries)))
        tables = _wide_tables(queries.weights) if len(queries) < _FEW else None
        for codes in gen_batches(len(self._store), n_codes if tables is None else 2**16):
            scores = self._scores(queries, codes, tables)
            hits = np.flatnonzero(scores >= limits.lowest(scores)[:, None])
            query, code = np.divmod(hits, scores.shape[1])
            limits.see(query, code + codes.start, scores.ravel()[hits])
        return limits.pairs()

    def _scores(self, queries, codes, tables):
        columns = self._store.columns[:, codes]
        terms = None if self._store.terms is None else self._store.terms[codes]
        if tables is None:
            return score_codes(queries.weights, _bytes_of(columns), terms)
        return apply_terms(_look_up(tables, columns), terms)

    def _score_pairs(self, queries, query, code):
        """Scores in float32 of pairs, byte by byte from tables."""
        tables, data = tables_of(queries.weights), _bytes_of(self._store.columns[:, code])
        sums = np.zeros(len(query), dtype=np.float32)
        for byte, values in enumerate(data.T):
            sums += tables[query, byte, values]
        terms = None if self._store.terms is None else self._store.terms[code]
        return apply_terms(sums, terms)

    def _ranked(self, queries, query, code):
        """Order pairs by their exact distances."""
        distance = np.empty(len(query))
        for start in range(0, len(query), _PAIRS_PER_PASS):
            pairs = slice(start, start + _PAIRS_PER_PASS)
            distance[pairs] = self._exact(queries.weights[query[pairs]], code[pairs])
        order = np.lexsort((code, distance, query))
        return Nearest(query[order], code[order], distance[order], len(queries))

    def _exact(self, weights, codes):
        """Distances of pairs in float64, row by row so that nothing else matters."""
        signs = signs_of(_bytes_of(self._store.columns[:, codes]))
        products = weights.astype(np.float64) * signs
        sums = products.sum(axis=1)
        if self._store.terms is None:
            return (np.abs(products).sum(axis=1) - sums) / 2
        factors, *addends = self._store.terms[codes].astype(np.float64).T
        return -(sums * factors + (addends[0] if addends else 0))


class _Limits:
    """The lowest score that may still be among the best, and what has reached it."""

    def __init__(self, store, queries, n_items):
        self._n_wanted = min(n_items, len(store))  # every code has an item at least
        largest = np.abs(queries.weights).sum(axis=1)
        if store.terms is not None:
            factor, *addend = np.abs(store.terms).max(axis=0)
            largest = largest * factor + sum(addend)
        self._margin = _ROUNDING * largest
        self._lowest = np.full(len(queries), -np.inf)
        self._seen = []

    def lowest(self, scores):
        """Scores that others must reach, given those of the next codes."""
        if not self._seen and scores.shape[1] > self._n_wanted:
            place = scores.shape[1] - self._n_wanted
            best = np.partition(scores, place, axis=1)[:, place]
            self._lowest = best - self._margin
        return self._lowest

    def see(self, query, code, score):
        """Take in pairs that have reached the limit, and raise it."""
        self._seen.append((query, code, score))
        if sum(len(seen[0]) for seen in self._seen) > 4 * self._n_wanted * len(
            self._lowest
        ):
            self._raise()

    def pairs(self):
        """Queries and codes that have reached the last limit."""
        self._raise()
        return self._seen[0][:2]

    def _raise(self):
        query, code, score = map(np.concatenate, zip(*self._seen))
        keys = query.astype(np.uint64) << np.uint64(32) | _descending(score)
        keys.sort()
        ends = np.cumsum(np.bincount(query, minlength=len(self._lowest)))
        last = np.concatenate(([0], ends[:-1])) + self._n_wanted - 1
        enough = last < ends
        best = _descended(keys[last[enough]])
        self._lowest[enough] = best - self._margin[enough]
        kept = score >= self._lowest[query]
        self._seen = [(query[kept], code[kept], score[kept])]


class _Radius:
    """The score at a weighted Hamming distance, and what has reached it."""

    def __init__(self, queries, radius):
        largest = np.abs(queries.weights).sum(axis=1)
        self._lowest = largest * (1 - _ROUNDING) - 2 * radius
        self._seen = []

    def lowest(self, scores):
        """Scores within the radius, whatever the next codes are."""
        return self._lowest

    def see(self, query, code, score):
        """Take in pairs that have reached the limit."""
        self._seen.append((query, code))

    def pairs(self):
        """Queries and codes within the radius."""
        return tuple(map(np.concatenate, zip(*self._seen)))


def _descending(scores):
    """Integers of 32 bits, as uint64, that ascend where float32 scores descend."""
    bits = scores.astype(np.float32).view(np.uint32)
    negative = bits >> 31 == 1
    return np.where(negative, bits, ~bits & np.uint32(0x7FFFFFFF)).astype(np.uint64)


def _descended(keys):
    """The scores of such integers, whatever stands in higher bits."""
    bits = (keys & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    negative = bits >> 31 == 1
    return np.where(negative, bits, ~bits & np.uint32(0x7FFFFFFF)).view(np.float32)


def _first_codes(nearest, store, n_items):
    """Only the nearest codes that hold so many items, and what is tied with the last."""
    held = np.cumsum(store.sizes(nearest.code))
    starts = np.searchsorted(nearest.query, np.arange(nearest.n_queries))
    before = np.concatenate(([0], held))[starts]
    last = np.searchsorted(held, before + n_items)
    return _keep(nearest, nearest.distance <= nearest.distance[last][nearest.query])


def _keep(nearest, kept):
    query, code, distance = (array[kept] for array in nearest[:3])
    return nearest._replace(query=query, code=code, distance=distance)


def _bytes_of(columns):
    """Packed bytes of codes from their words, shape (n_codes, n_bytes)."""
    return np.ascontiguousarray(columns.T).view(np.uint8)


def _wide_tables(weights):
    """What each value of each two bytes adds, shape (n_queries, n_pairs, 65 536)."""
    tables = tables_of(weights)
    if tables.shape[1] % 2:
        return tables
    low, high = tables[:, ::2], tables[:, 1::2]
    return (high[:, :, :, None] + low[:, :, None]).reshape(*low.shape[:2], -1)


def _look_up(tables, columns):
    """Weighted sums of all codes, shape (n_queries, n_codes), read from tables."""
    parts = columns.view(np.uint8 if tables.shape[2] == 256 else np.uint16)
    parts = parts.reshape(len(columns), columns.shape[1], -1)
    parts = parts.transpose(0, 2, 1).reshape(-1, columns.shape[1])
    sums = np.zeros((len(tables), columns.shape[1]), dtype=np.float32)
    for part, of_part in zip(parts, tables.transpose(1, 0, 2)):
        for row, table in zip(sums, of_part):
            row += table.take(part, mode="clip")  # which is quicker, and all are inside
    return sums
