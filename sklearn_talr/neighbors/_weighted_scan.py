"""Search by weighted Hamming distance: real-valued queries, exact.

Scores are found in float32: by tables where there are few queries, and by products of
matrices where there are many. What may be among the nearest is scored again in float64, so
that the answer depends neither on how queries are grouped nor on the way that the first
scores were found.
"""

from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._threads import map_in_threads, one_thread, slices
from ..codes._packed import as_words
from ..codes._weighted import signs_of, tables_of
from ._by_tables import apply_units, find, pays_for
from ._found import Found
from ._scaled import scale
from ._store import ranges

_CELLS_PER_PASS = 2**21
_CODES_PER_PASS = 4_096
_PAIRS_PER_PASS = 2**12  # that are scored one by one
_QUERIES_PER_BLOCK = 512
_CODES_PER_THREAD = 2**19  # at least, for threads to share the codes of one query


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
        query, distance, places = self.query, self.distance, self.code
        if not store.all_differ:
            sizes = store.sizes(self.code)
            query, distance = np.repeat(query, sizes), np.repeat(distance, sizes)
            places = ranges(store.starts[self.code], sizes)
        index = store.members[places].astype(np.int64)
        order = np.lexsort((index, distance, query))
        return query[order], index[order], distance[order]


class WeightedScanner:
    """Search of a :class:`~._store.CodeStore` by weights of bits.

    Weights have zeros for the spare bits of the last word.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.

    n_jobs : int, default=None
        Number of threads that share out queries, or the codes where there is one query.

    shortlist : callable, default=None
        ``shortlist(words) -> (query, code)``: the only codes to be scored. None means all.
    """

    def __init__(self, store, n_jobs=None, shortlist=None):
        self._store = store
        self._n_jobs = n_jobs
        self._shortlist = shortlist

    def at_least(self, weights, n_items):
        """Find the nearest codes that hold so many items, and all that are tied.

        Returns a generator of :class:`Nearest`, block by block.
        """
        n_wanted = min(n_items, len(self._store))  # every code has an item at least

        def ask(block):
            lowest = np.full(len(block), -np.inf)
            nearest = self._ranked(block, *self._candidates(block, lowest, n_wanted))
            return _first_codes(nearest, self._store, n_items)

        return self._share_out(ask, weights)

    def within(self, weights, radius):
        """Find all codes within a weighted Hamming distance, block by block."""

        def ask(block):
            lowest = scale(block, self._store).at(radius)
            nearest = self._ranked(block, *self._candidates(block, lowest, 0))
            return _keep(nearest, nearest.distance <= radius)

        return self._share_out(ask, weights)

    def _share_out(self, ask, weights):
        if len(weights) == 1:
            return iter([ask(weights)])
        size = -(-len(weights) // effective_n_jobs(self._n_jobs))
        blocks = list(slices(len(weights), min(size, _QUERIES_PER_BLOCK)))
        if len(blocks) == 1:
            return iter([ask(weights)])
        return map_in_threads(lambda rows: ask(weights[rows]), blocks, self._n_jobs)

    def _candidates(self, weights, lowest, n_wanted):
        """Pairs of queries and codes that may be near enough."""
        n_queries, n_codes = len(weights), len(self._store)
        if self._shortlist is not None:
            bits = np.packbits(weights > 0, axis=1, bitorder="little")
            among = self._shortlist(as_words(bits))
        elif 2 * n_wanted > n_codes:
            code = np.tile(np.arange(n_codes), n_queries)
            return np.repeat(np.arange(n_queries), n_codes), code
        elif not pays_for(n_queries):
            with one_thread():
                return self._by_products(weights, lowest, n_wanted)
        else:
            among = n_queries * [None]
        scaled = scale(weights, self._store)
        found = [
            self._by_tables(scaled, query, float(lowest[query]), n_wanted, codes)
            for query, codes in enumerate(among)
        ]
        sizes = [len(codes) for codes in found]
        return np.repeat(np.arange(n_queries), sizes), np.concatenate(found)

    def _by_tables(self, scaled, query, lowest, n_wanted, among):
        """Codes that may be near enough to one query, of all or among some."""
        columns, terms = self._store.columns, self._store.terms
        if among is not None:
            columns = columns.take(among, axis=1)
            terms = None if terms is None else terms[among]
        tables = tables_of(scaled.weights[query], columns.dtype.itemsize)
        limit = scaled.units(query), lowest, n_wanted, float(scaled.margins[query])
        n_codes = columns.shape[1]

        def look(codes):
            return find(tables, columns, terms, *limit, codes.start, codes.stop)

        n_parts = n_codes // _CODES_PER_THREAD
        n_parts = min(n_parts, effective_n_jobs(self._n_jobs)) if n_parts > 1 else 1
        if n_parts > 1:
            parts = list(slices(n_codes, -(-n_codes // n_parts)))
            found = np.concatenate(list(map_in_threads(look, parts, self._n_jobs)))
        else:
            found = look(slice(0, n_codes))
        return found if among is None else among[found]

    def _by_products(self, weights, lowest, n_wanted):
        """Pairs that may be near enough, from the scores of all."""
        scaled = scale(weights, self._store)
        reached = _Reached(lowest, scaled.margins, n_wanted)
        n_codes = max(1, min(_CODES_PER_PASS, _CELLS_PER_PASS // len(weights)))
        for codes in slices(len(self._store), n_codes):
            scores = self._scores(scaled, codes)
            hits = np.flatnonzero(scores >= reached.lowest(scores)[:, None])
            query, code = np.divmod(hits, scores.shape[1])
            reached.see(query, code + codes.start, scores.ravel()[hits])
        return reached.pairs()

    def _scores(self, scaled, codes):
        """Scores of some codes by all queries, float32, in units of the queries."""
        scores = scaled.weights @ signs_of(_bytes_of(self._store.columns[:, codes])).T
        if self._store.terms is not None:
            apply_units(scores, self._store.terms[codes], scaled.units(slice(None)))
        return scores

    def _ranked(self, weights, query, code):
        """Order pairs by their exact distances."""
        distance = np.empty(len(query))
        for start in range(0, len(query), _PAIRS_PER_PASS):
            pairs = slice(start, start + _PAIRS_PER_PASS)
            distance[pairs] = self._exact(weights[query[pairs]], code[pairs])
        order = np.lexsort((code, distance, query))
        return Nearest(query[order], code[order], distance[order], len(weights))

    def _exact(self, weights, codes):
        """Distances of pairs in float64, row by row so that nothing else matters."""
        signs = signs_of(_bytes_of(self._store.columns[:, codes]))
        products = weights.astype(np.float64) * signs
        if self._store.terms is None:
            return np.maximum(-products, 0).sum(axis=1)
        factors, *addends = self._store.terms[codes].astype(np.float64).T
        return -(products.sum(axis=1) * factors + (addends[0] if addends else 0))


class _Reached:
    """What has reached the lowest score that may still be among the best, of each query."""

    def __init__(self, lowest, margins, n_wanted):
        self._lowest = lowest.astype(np.float32)
        self._margins = margins.astype(np.float32)
        self._n_wanted = n_wanted
        self._seen = []

    def lowest(self, scores):
        """Scores that others must reach, given those of the next codes."""
        n_wanted = self._n_wanted
        if not self._seen and n_wanted and scores.shape[1] > n_wanted:
            place = scores.shape[1] - n_wanted
            best = np.partition(scores, place, axis=1)[:, place]
            self._lowest = best - self._margins
        return self._lowest

    def see(self, query, code, score):
        """Take in pairs that have reached the limit, and raise it."""
        self._seen.append((query, code, score))
        n_seen = sum(len(seen[0]) for seen in self._seen)
        if self._n_wanted and n_seen > 4 * self._n_wanted * len(self._lowest):
            self._raise()

    def pairs(self):
        """Queries and codes that have reached the last limit."""
        if self._n_wanted:
            self._raise()
        query, code, _ = map(np.concatenate, zip(*self._seen))
        return query, code

    def _raise(self):
        query, code, score = map(np.concatenate, zip(*self._seen))
        keys = query.astype(np.uint64) << np.uint64(32) | _descending(score)
        keys.sort()
        ends = np.cumsum(np.bincount(query, minlength=len(self._lowest)))
        last = np.concatenate(([0], ends[:-1])) + self._n_wanted - 1
        enough = last < ends
        best = _descended(keys[last[enough]])
        self._lowest[enough] = best - self._margins[enough]
        kept = score >= self._lowest[query]
        self._seen = [(query[kept], code[kept], score[kept])]


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
    starts = np.searchsorted(nearest.query, np.arange(nearest.n_queries))
    if store.all_differ:
        last = starts + n_items - 1
    else:
        held = np.cumsum(store.sizes(nearest.code))
        before = np.concatenate(([0], held))[starts]
        last = np.searchsorted(held, before + n_items)
    return _keep(nearest, nearest.distance <= nearest.distance[last][nearest.query])


def _keep(nearest, kept):
    query, code, distance = (array[kept] for array in nearest[:3])
    return nearest._replace(query=query, code=code, distance=distance)


def _bytes_of(columns):
    """Packed bytes of codes from their words, shape (n_codes, n_bytes)."""
    return np.ascontiguousarray(columns.T).view(np.uint8)
