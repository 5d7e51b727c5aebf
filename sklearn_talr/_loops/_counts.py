"""Counting of pairs by affinity level and Hamming distance."""

from ._compile import compiled, count_ones

_ITEMS_PER_TILE = 8_192  # whose codes stay in cache while all queries look at them


@compiled
def count_levels(queries, items, starts, level, weights, counts):
    """Add the pairs of queries and items to their counts.

    Items are sorted by group, and few groups are similar to a query. So all items are
    counted as not similar first, and then those of other levels are moved or taken away.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_words), unsigned
        Code words of the queries.

    items : ndarray of shape (n_items, n_words), same dtype
        Code words of the items.

    starts : ndarray of shape (n_groups + 1,), dtype int64
        Group g are the items from ``starts[g]`` up to ``starts[g + 1]``.

    level : ndarray of shape (n_queries, n_groups), signed
        Place of the affinity level of each query and group, 0 for "not similar", below 0
        for pairs that do not count.

    weights : ndarray of shape (n_items,) of int64, or None
        How often each item counts. None means once.

    counts : ndarray of shape (n_queries, n_levels, n_distances), dtype int64
        Cell [q, v, d] grows by the weights of the items of level v at distance d of q.
    """
    group = 0  # the first that the tile has a part of
    for first in range(0, len(items), _ITEMS_PER_TILE):
        end = min(first + _ITEMS_PER_TILE, len(items))
        while starts[group + 1] <= first:
            group += 1
        for q in range(len(queries)):
            query, table = queries[q], counts[q]
            _add(query, items, weights, first, end, 1, table[0])
            g = group
            while g < level.shape[1] and starts[g] < end:
                if level[q, g]:
                    a, b = max(first, starts[g]), min(end, starts[g + 1])
                    _add(query, items, weights, a, b, -1, table[0])
                    if level[q, g] > 0:
                        _add(query, items, weights, a, b, 1, table[level[q, g]])
                g += 1


@compiled
def take_away_runs(queries, items, starts, level, group, firsts, lasts, counts):
    """Take pairs that do not count away from counts of all pairs.

    Parameters
    ----------
    queries, items
        As of `count_levels`. Items are sorted into runs of one level to each query.

    starts : ndarray of shape (n_runs + 1,), dtype int64
        Run r are the items from ``starts[r]`` up to ``starts[r + 1]``.

    level : ndarray of shape (n_queries, n_groups), signed
        As of `count_levels`.

    group : ndarray of shape (n_runs,)
        Group, a column of `level`, of each run.

    firsts, lasts : ndarrays of shape (n_queries,)
        The first run that does not count for each query, and the first after these.

    counts : ndarray of shape (n_queries, n_levels, n_distances), dtype int64
        From which they are taken.
    """
    for q in range(len(queries)):
        for run in range(firsts[q], lasts[q]):
            place = level[q, group[run]]
            if place >= 0:
                a, b = starts[run], starts[run + 1]
                _add(queries[q], items, None, a, b, -1, counts[q, place])


@compiled
def _add(query, items, weights, first, end, sign, row):
    """Add ``sign`` times the weights of some items to the counts of their distances."""
    if len(query) == 1:  # half as many instructions as the loop over words takes
        word = query[0]
        for i in range(first, end):
            row[count_ones(word ^ items[i, 0])] += (
                sign if weights is None else sign * weights[i]
            )
    else:
        for i in range(first, end):
            distance = 0
            for w in range(len(query)):
                distance += count_ones(query[w] ^ items[i, w])
            row[distance] += sign if weights is None else sign * weights[i]
