"""Search: every query is compared with every code, or with those that it may find.

Answers come for blocks of queries, as three arrays: how many items each query has found,
and the rows and distances of these items, query by query, by distance, then by row. So they
depend neither on the blocks nor on the threads that share them.
"""

import numpy as np
from joblib import effective_n_jobs

from .._threads import map_in_threads, slices
from ..codes._scores import arrays_of_terms, fixed

_QUERIES_PER_BLOCK = 32
_CODES_PER_THREAD = 2**18  # from which on threads share the codes of a single block


def answers(
    index, queries, k, radius=None, *, whole=True, allowed=None, own=None, n_jobs=None
):
    """Generate answers to blocks of queries.

    Parameters
    ----------
    index : Index

    queries : ndarray of shape (n_queries, n_words) or (n_queries, n_weights)
        Codes, of the type of the words of the index, or weights in float32. Distances to
        weights are minus the scores. Where nothing but weights of bits counts they are sums
        of the weights of differing bits.

    k : int
        Items to find for each query: those within the smallest distance that holds as many.
        0 asks for those within a radius.

    radius : int or float, default=None
        Greatest distance, where k is 0.

    whole : bool, default=True
        Whether all items at the distance of the last are wanted. If not, k are found, of
        smallest row.

    allowed : ndarray of shape (n_allowed,) or list of such arrays, default=None
        Rows that may be found, ascending, by all queries or by each. None means all.

    own : ndarray of shape (n_queries,), default=None
        Rows of the queries, where they are items, which they do not find.

    n_jobs : int, default=None
        Number of threads.
    """
    from .._loops._search import hamming_scan, weighted_scan

    n_bits, n_items, by_bits = index.n_bits, index.n_items, queries.dtype.kind == "u"
    as_costs = not by_bits and index.has_distances(queries)
    wanted = k + (k > 0 and own is not None)
    buckets = None
    if by_bits and k == 0 and allowed is None:
        buckets = index.buckets_within(radius, len(queries))
    size = 1 if isinstance(allowed, list) else _QUERIES_PER_BLOCK
    blocks, parts = list(slices(len(queries), size)), [None]
    if len(blocks) == 1 and allowed is None and n_items > 2 * _CODES_PER_THREAD:
        n_parts = min(effective_n_jobs(n_jobs), n_items // _CODES_PER_THREAD)
        if n_parts > 1 and buckets is None:
            parts = list(slices(n_items, -(-n_items // n_parts)))

    def find(task):
        block, part = task
        asked, words, terms = queries[block], index.words, index.terms
        asked = fixed(np.ascontiguousarray(asked))
        rows = allowed[block.start] if isinstance(allowed, list) else allowed
        if part is not None:
            words, terms = words[:, part], terms.rows(part)
        elif rows is not None:
            words, terms = fixed(np.take(words, rows, axis=1)), terms.rows(rows)
        if buckets is not None:
            counts, found, distances = buckets.within(asked, words, radius)
        elif by_bits:
            limit = n_bits if radius is None else radius
            how = n_bits, wanted, limit, whole
            counts, found, distances = hamming_scan(asked, words, *how)
        else:
            limit = np.inf if radius is None else radius
            how = arrays_of_terms(terms), terms.largest(), as_costs, wanted, limit
            counts, found, scores = weighted_scan(asked, words, *how)
            distances = 0.0 - scores
        if part is not None:
            found += part.start
        elif rows is not None:
            found = rows[found]
        return np.repeat(np.arange(len(counts)), counts), found, distances

    found = map_in_threads(find, [(b, part) for b in blocks for part in parts], n_jobs)
    for block in blocks:
        n_queries, triples = block.stop - block.start, [next(found) for _ in parts]
        query, rows, distances = triples[0]
        if len(parts) > 1:
            query, rows, distances = map(np.concatenate, zip(*triples))
        order = np.lexsort((rows, distances, query))
        if own is not None:
            order = order[rows[order] != own[block][query[order]]]
        query, rows, distances = query[order], rows[order], distances[order]
        if k == 0:
            kept = distances <= radius
        else:
            starts = np.searchsorted(query, np.arange(n_queries))
            kept = np.arange(len(query)) - starts[query] < k
            if whole:
                lasts = distances[np.minimum(starts + k, len(query)) - 1]
                kept |= distances <= lasts[query]
        if by_bits:
            distances = distances.astype(np.int64)
        yield np.bincount(query[kept], minlength=n_queries), rows[kept], distances[kept]
