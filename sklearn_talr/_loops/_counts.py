"""Counting of pairs by affinity level and Hamming distance."""

from typing import NamedTuple

import numpy as np

from ._compile import compiled, count_ones

# The codes of a tile stay in cache while all queries are compared with them.
_ITEMS_PER_TILE = 8_192


class ItemRuns(NamedTuple):
    """Items in runs, each of which has one level to each query."""

    items: np.ndarray  # (n_items, n_words), unsigned, code words run by run
    starts: np.ndarray  # (n_runs + 1,), int64, first item of each run
    group: np.ndarray  # (n_runs,), int, group of the items of each run


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
        Number of the affinity level of each query and group: 0 if they are not similar,
        below 0 if their pairs do not count.

    weights : ndarray of shape (n_items,) of int64, or None
        How often each item counts. None means once.

    counts : ndarray of shape (n_queries, n_levels, n_distances), dtype int64
        Cell [q, v, d] grows by the weights of the items of level v at distance d of q.
    """
    first_group = 0  # first group with items in the tile
    for first in range(0, len(items), _ITEMS_PER_TILE):
        end = min(first + _ITEMS_PER_TILE, len(items))
        while starts[first_group + 1] <= first:
            first_group += 1
        for q in range(len(queries)):
            query = queries[q]
            dissimilar = counts[q, 0]
            _add(query, items, weights, first, end, 1, dissimilar)
            group = first_group
            while group < level.shape[1] and starts[group] < end:
                group_level = level[q, group]
                if group_level != 0:
                    start = max(first, starts[group])
                    stop = min(end, starts[group + 1])
                    _add(query, items, weights, start, stop, -1, dissimilar)
                    if group_level > 0:
                        similar = counts[q, group_level]
                        _add(query, items, weights, start, stop, 1, similar)
                group += 1


@compiled
def take_away_runs(queries, level, runs, firsts, ends, counts):
    """Take pairs that do not count away from counts of all pairs.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_words), unsigned
        Code words of the queries.

    level : ndarray of shape (n_queries, n_groups), signed
        As for `count_levels`.

    runs : ItemRuns

    firsts, ends : ndarrays of shape (n_queries,) of int
        The runs from ``firsts[q]`` up to ``ends[q]`` do not count for query q.

    counts : ndarray of shape (n_queries, n_levels, n_distances), dtype int64
        Shrinks by the pairs that do not count and have been counted.
    """
    for q in range(len(queries)):
        for run in range(firsts[q], ends[q]):
            run_level = level[q, runs.group[run]]
            if run_level >= 0:
                start = runs.starts[run]
                stop = runs.starts[run + 1]
                _add(queries[q], runs.items, None, start, stop, -1, counts[q, run_level])


@compiled
def _add(query, items, weights, first, end, sign, row):
    """Add ``sign`` times the weights of some items to the counts of their distances."""
    # The loop over words would take twice as many instructions for a code of one word.
    if len(query) == 1:
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
