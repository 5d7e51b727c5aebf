"""Slow oracles, written from definitions and sharing no code with the package.

A ranking is a sequence of affinities, best place first. An item is relevant when its
affinity is above 0. Ranks count from 1.
"""

from itertools import groupby, permutations, product
from math import fsum, log2, nan

import numpy as np


def average_precision(affinities, k=None):
    """AP@k of one ranking: mean over all relevant items of the precision at their rank.

    A relevant item beyond rank k adds 0, but still counts in the mean. NaN when no item
    is relevant.
    """
    relevant = [affinity > 0 for affinity in affinities]
    if not any(relevant):
        return nan
    cutoff = len(relevant) if k is None else min(k, len(relevant))
    ranks = [rank for rank in range(1, cutoff + 1) if relevant[rank - 1]]
    return fsum(sum(relevant[:rank]) / rank for rank in ranks) / sum(relevant)


def dcg(affinities, k=None):
    """DCG@k of one ranking: (2**affinity - 1) / log2(rank + 1), summed to rank k."""
    gains = [2.0**affinity - 1 for affinity in affinities[:k]]
    return fsum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def ndcg(affinities, k=None):
    """DCG@k over the DCG@k of the ranking by descending affinity; NaN if that is 0."""
    ideal = dcg(sorted(affinities, reverse=True), k)
    return dcg(affinities, k) / ideal if ideal else nan


METRICS = {"average_precision": average_precision, "dcg": dcg, "ndcg": ndcg}


def rankings(affinities, scores):
    """Every ranking by descending score, one for each order of the items of equal score.

    All are equally likely when ties are broken at random.
    """
    items = sorted(zip(scores, affinities), key=lambda item: -item[0])
    ties = [[a for _, a in tie] for _, tie in groupby(items, key=lambda item: item[0])]
    for orders in product(*map(permutations, ties)):
        yield [affinity for order in orders for affinity in order]


def over_tie_orders(metric, affinities, scores, k=None):
    """Minimum, mean and maximum of a metric over every order within ties."""
    values = [METRICS[metric](ranking, k) for ranking in rankings(affinities, scores)]
    return min(values), fsum(values) / len(values), max(values)


def expected_average_precision_by_rank(tie_sizes, tie_relevant, k=None):
    """Expected AP@k as one term per rank, for lists too long to enumerate.

    By linearity: a rank holds a relevant item with probability p/n of its tie; given
    that, each of the j items of the tie before it is relevant with probability
    (p - 1)/(n - 1), being one of the n - 1 others, of which p - 1 are relevant.
    """
    columns = (
        tie_sizes,
        tie_relevant,
        np.cumsum(tie_sizes) - tie_sizes,
        np.cumsum(tie_relevant) - tie_relevant,
    )
    n, p, before, relevant_before = (np.repeat(c, tie_sizes)[:k] for c in columns)
    rank = np.arange(1, len(n) + 1)
    j = rank - 1 - before
    relevant_so_far = relevant_before + 1 + j * (p - 1) / np.maximum(n - 1, 1)
    return fsum(p / n * relevant_so_far / rank) / sum(tie_relevant)


def expected_dcg_by_rank(tie_sizes, tie_gains, k=None):
    """Expected DCG@k as one term per rank: the mean gain of its tie, discounted."""
    mean_gains = np.repeat(np.divide(tie_gains, tie_sizes), tie_sizes)[:k]
    return fsum(mean_gains / np.log2(np.arange(len(mean_gains)) + 2))


def hamming_distances(query_codes, database_codes):
    """Number of unequal bits of every pair of codes, one pair at a time."""
    return np.array(
        [
            [sum(a != b for a, b in zip(query, item)) for item in database_codes]
            for query in query_codes
        ]
    )


def histogram(distances, affinities, levels, n_bins, leave_one_out=False):
    """counts[query, level, distance] by a double loop; pairs (i, i) may be left out."""
    levels = list(levels)
    counts = np.zeros((len(distances), len(levels), n_bins), dtype=int)
    for query, row in enumerate(distances):
        for item, distance in enumerate(row):
            if not (leave_one_out and query == item):
                counts[query, levels.index(affinities[query][item]), distance] += 1
    return counts
