"""Search by weights of bits or of words, exact.

Scores are found in float32: by tables of bytes for a few queries, and by products of
matrices for many, where single bits are weighed. Codes that may be among the nearest are
scored again in float64. So an answer depends neither on how queries are grouped nor on the
way of the first scores.
"""

from math import frexp, ldexp

import numpy as np
from joblib import effective_n_jobs

from .._threads import map_in_threads, one_thread, slices
from ..codes._door import signs_of, size_of_words, tables_of, tables_of_words
from ._found import Found, nearest_shells
from ._inner_loops import add_sums, most_queries_by_tables

_CELLS_PER_PASS = 2**21
_CODES_PER_PASS = 4_096
_CODES_PER_PASS_OF_TABLES = 2**16
_CELLS_PER_PASS_OF_TABLES = 2**23
_PAIRS_PER_PASS = 2**12  # that are scored in float64
_FEW_PAIRS = 64  # that are scored in float64 in less time than they are sorted
_QUERIES_PER_BLOCK = 512
_CODES_PER_THREAD = 2**19  # at least, for threads to share the codes of one query
_SAMPLE = 2**10  # codes that tell what score the nearest reach


class WeightedScanner:
    """Search of a :class:`~._store.CodeStore` by weights of bits or of words.

    The weights are spread over the bytes of the store, see `Words.spread`.

    Parameters
    ----------
    store : CodeStore
        The codes and their items.

    n_jobs : int, default=None
        Number of threads that share out queries, or the codes where there is one query.

    allowed : AllowedCodes, default=None
        Codes that `at_least` may find, within a distance that may then be larger.
    """

    def __init__(self, store, n_jobs=None, allowed=None):
        self._store = store
        self._n_jobs = n_jobs
        self._allowed = allowed

    def ask(self, question, weights, argument):
        """Generate (rows, found) of blocks of queries; see `CodeIndex.ask`."""
        ask, n_queries = getattr(self, question), len(weights)
        size = -(-n_queries // effective_n_jobs(self._n_jobs)) if n_queries > 1 else 1
        blocks = list(slices(n_queries, min(size, _QUERIES_PER_BLOCK)))
        found = map_in_threads(lambda b: ask(weights[b], argument), blocks, self._n_jobs)
        return zip(blocks, found)

    def at_least(self, weights, n_items):
        """Find the codes within the smallest distance that holds so many items."""
        n_wanted = min(n_items, len(self._store))  # every code has an item at least
        scaled = _Scaled(weights, self._store)
        pairs = self._candidates(scaled, np.full(len(weights), -np.inf), n_wanted)
        found = self._compared(weights, *pairs)
        return nearest_shells(found, self._store, n_items) if not self._allowed else found

    def within(self, weights, radius):
        """Find the codes within a weighted Hamming distance."""
        scaled = _Scaled(weights, self._store)
        pairs = self._candidates(scaled, scaled.scores_at(radius), 0)
        return self._compared(weights, *pairs).within(radius)

    def compare(self, weights, query, code):
        """Distances of pairs of a query and a code in float64, pair by pair.

        They are weighted Hamming distances, or minus the scores where codes have terms or
        queries weigh words.
        """
        if self._size_of_words(weights) > 1:
            return self._compare_words(weights, query, code)
        distances = np.empty(len(query))
        for pairs in slices(len(query), _PAIRS_PER_PASS):
            codes = code[pairs]
            signs = signs_of(_octets(self._store.columns[:, codes]))
            products = weights[query[pairs]].astype(np.float64) * signs
            if self._store.terms is None:
                distances[pairs] = np.maximum(-products, 0).sum(axis=1)
                continue
            distances[pairs] = -self._with_terms(products.sum(axis=1), codes)
        return distances

    def _compare_words(self, weights, query, code):
        """Minus the scores of pairs by words, in float64."""
        size, distances = self._size_of_words(weights), np.empty(len(query))
        asked, place = np.unique(query, return_inverse=True)
        tables = tables_of_words(weights[asked].astype(np.float64), size)
        for pairs in slices(len(query), _PAIRS_PER_PASS):
            values = _octets(self._store.columns[:, code[pairs]])
            if size == 4:
                values = np.stack((values & 15, values >> 4), axis=2)
                values = values.reshape(len(values), -1)
            words = np.arange(values.shape[1])
            sums = tables[place[pairs, None], words, values].sum(axis=1)
            distances[pairs] = -self._with_terms(sums, code[pairs])
        return distances

    def _with_terms(self, sums, codes):
        """Scores of codes by their weighted sums, in float64."""
        if self._store.terms is None:
            return sums
        factors, *addends = self._store.terms[codes].astype(np.float64).T
        scores = sums * factors
        return scores + addends[0] if addends else scores

    def _size_of_words(self, weights):
        columns = self._store.columns
        return size_of_words(weights, len(columns) * columns.dtype.itemsize)

    def _compared(self, weights, query, code):
        distance = self.compare(weights, query, code)
        return Found.of(query, code, distance, len(weights))

    def _candidates(self, scaled, lowest, n_wanted):
        """Pairs of queries and codes that may be near enough."""
        n_queries, n_codes = len(lowest), len(self._store)
        if 2 * n_wanted > n_codes:
            code = np.tile(np.arange(n_codes), n_queries)
            return np.repeat(np.arange(n_queries), n_codes), code
        by_bits = self._size_of_words(scaled.weights) == 1
        if by_bits and n_queries > most_queries_by_tables():
            size = max(1, min(_CODES_PER_PASS, _CELLS_PER_PASS // n_queries))
            with one_thread():
                return self._reached(scaled, lowest, n_wanted, self._by_products, size)
        size = min(_CODES_PER_PASS_OF_TABLES, _CELLS_PER_PASS_OF_TABLES // n_queries)
        return self._reached(scaled, lowest, n_wanted, self._by_tables(scaled), size)

    def _reached(self, scaled, lowest, n_wanted, sums, size):
        """Pairs that reach the limits that rise from pass to pass, `size` codes in each."""
        n_queries, n_codes = len(lowest), len(self._store)

        def look(part):
            limits = _Limits(lowest, scaled.margins, n_wanted, self._allowed)
            for codes in slices(part.stop - part.start, size):
                codes = slice(part.start + codes.start, part.start + codes.stop)
                scores = sums(scaled.weights, codes)
                scaled.apply_terms(scores, codes)
                limits.see(scores, codes.start)
            return limits.pairs()

        n_parts = n_codes // _CODES_PER_THREAD if n_queries == 1 else 1
        n_parts = min(n_parts, effective_n_jobs(self._n_jobs)) if n_parts > 1 else 1
        if n_parts == 1:
            return look(slice(0, n_codes))
        parts = list(slices(n_codes, -(-n_codes // n_parts)))
        pairs = zip(*map_in_threads(look, parts, self._n_jobs))
        return tuple(map(np.concatenate, pairs))

    def _by_products(self, weights, codes):
        """Weighted sums of some codes by all queries, float32."""
        return weights @ signs_of(_octets(self._store.columns[:, codes])).T

    def _by_tables(self, scaled):
        """A function like `_by_products` that looks up what each byte of a code adds."""
        columns = self._store.columns
        tables = tables_of(scaled.weights, len(columns) * columns.dtype.itemsize)

        def look_up(weights, codes):
            sums = np.empty((len(weights), codes.stop - codes.start), dtype=np.float32)
            add_sums(tables, columns, codes.start, sums)
            return sums

        return look_up


class _Scaled:
    """Queries and factors times powers of two, so that no score is too large for float32.

    The largest weight of a query is then between 1/2 and 1, or less where addends are
    larger. The largest factor is between 1 and 2. Powers of two round nothing.

    Attributes
    ----------
    weights : ndarray of shape (n_queries, n_columns), dtype float32
        Scaled weights, spread as they were.

    margins : ndarray of shape (n_queries,)
        Twice the largest error of a score.
    """

    def __init__(self, weights, store):
        factor, addend = store.largest_terms
        of_factors = frexp(factor)[1] - 1
        magnitudes = np.abs(weights)
        self._exponents = np.frexp(magnitudes.max(axis=1))[1]
        if addend:
            least = frexp(addend)[1] - of_factors
            self._exponents = np.maximum(self._exponents, least)
        self._largest = np.ldexp(magnitudes.sum(axis=1, dtype=float), -self._exponents)
        self._terms, self._of_factors = store.terms, of_factors
        self._of_addends = np.ldexp(1.0, -self._exponents - of_factors)
        self.weights = np.ldexp(weights, -self._exponents[:, None])
        # A sum of n numbers is rounded n times at most, and so is what it is compared with.
        error = (weights.shape[1] + 8) * np.finfo(np.float32).eps
        most = self._largest * ldexp(factor, -of_factors) + addend * self._of_addends
        self.margins = 2 * error * most

    def apply_terms(self, sums, codes):
        """Turn weighted sums of some codes into their scores, in place."""
        if self._terms is None:
            return
        factors, *addends = self._terms[codes].T
        sums *= np.ldexp(factors, -self._of_factors)
        for addend in addends:
            sums += addend * self._of_addends[:, None]

    def scores_at(self, radius):
        """The scaled score at a distance from each query, less the margin."""
        whole = np.ldexp(self._largest, self._exponents)
        inside = np.ldexp(np.minimum(radius, whole), -self._exponents)
        return self._largest - 2 * inside - self.margins


class _Limits:
    """Lowest score of each query that may still be among the best, and what reaches it.

    Parameters
    ----------
    lowest : ndarray of shape (n_queries,)
        The limits to begin with.

    margins : ndarray of shape (n_queries,)
        Differences up to which scores may be equal.

    n_wanted : int
        Codes that a limit must leave to each query, 0 if limits are fixed.

    allowed : AllowedCodes or None
        Codes that count.
    """

    def __init__(self, lowest, margins, n_wanted, allowed):
        self._allowed = allowed
        self._lowest = lowest.copy()
        self._margins = margins
        self._n_wanted = n_wanted
        self._seen = []
        self._n_seen = 0

    def see(self, scores, first):
        """Take in the scores of the codes from the first on, and raise the limits."""
        n_sampled = max(_SAMPLE, 4 * self._n_wanted)
        if self._allowed is not None:
            n_sampled /= self._allowed.share
        step = max(1, int(scores.shape[1] / n_sampled))
        sample = scores[:, ::step]
        if self._allowed is not None and not self._seen:
            places = np.arange(first, first + scores.shape[1], step)
            is_allowed = self._allowed.pairs(np.arange(len(scores))[:, None], places)
            sample = np.where(is_allowed, sample, -np.inf)
        if self._n_wanted and not self._seen and sample.shape[1] >= self._n_wanted:
            place = sample.shape[1] - self._n_wanted
            self._lowest = np.partition(sample, place, axis=1)[:, place] - self._margins
        lowest = self._lowest[:, None].astype(scores.dtype)
        query, code = np.divmod(np.flatnonzero(scores >= lowest), scores.shape[1])
        if self._allowed is not None:
            kept = self._allowed.pairs(query, code + first)
            query, code = query[kept], code[kept]
        self._seen.append((query, code + first, scores[query, code]))
        self._n_seen += len(query)
        if self._n_wanted and self._n_seen > 4 * self._n_wanted * len(lowest):
            self._raise()

    def pairs(self):
        """Queries and codes that have reached the last limits."""
        if len(self._seen) > 1 or self._n_seen > _FEW_PAIRS:
            self._raise()
        return self._seen[0][:2]

    def _raise(self):
        query, code, score = map(np.concatenate, zip(*self._seen))
        if self._n_wanted:
            order = np.lexsort((-score, query))
            ends = np.cumsum(np.bincount(query, minlength=len(self._lowest)))
            last = np.concatenate(([0], ends[:-1])) + self._n_wanted - 1
            enough = last < ends
            best = score[order[last[enough]]]
            self._lowest[enough] = best - self._margins[enough]
            kept = score >= self._lowest[query]
            query, code, score = query[kept], code[kept], score[kept]
        self._seen, self._n_seen = [(query, code, score)], len(query)


def _octets(columns):
    """Packed bytes of codes from their words, shape (n_codes, n_bytes)."""
    return np.ascontiguousarray(columns.T).view(np.uint8)
