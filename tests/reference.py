"""Slow oracles, written from definitions and sharing no code with the package.

A ranking is a sequence of affinities, best place first. An item is relevant when its
affinity is above 0. Ranks count from 1.
"""

from collections import Counter
from decimal import Decimal, localcontext
from itertools import groupby, permutations, product
from math import fsum, log, nan

import numpy as np


def relevant_within(affinities, k=None):
    """Number of relevant items among the first k ranks."""
    return sum(affinity > 0 for affinity in affinities[:k])


def precision(affinities, k=None):
    """Relevant items among the first k ranks over k, even if there are fewer ranks."""
    return relevant_within(affinities, k) / (len(affinities) if k is None else k)


def recall(affinities, k=None):
    """Relevant items among the first k ranks over all relevant items."""
    return relevant_within(affinities, k) / relevant_within(affinities)


def f1(affinities, k=None):
    """Harmonic mean of precision and recall; 0 if both are."""
    p, r = precision(affinities, k), recall(affinities, k)
    return 2 * p * r / (p + r) if p + r else 0.0


def average_precision(affinities, k=None, denominator="relevant"):
    """Sum of the precisions at relevant ranks up to k, over one of three numbers.

    They are the relevant items of the query, those or k if that is smaller, and those at
    ranks up to k. A query of which nothing is retrieved scores 0.
    """
    ranks = [r for r, affinity in enumerate(affinities[:k], start=1) if affinity > 0]
    n_relevant = relevant_within(affinities)
    over = {
        "relevant": n_relevant,
        "min": n_relevant if k is None else min(k, n_relevant),
        "retrieved": len(ranks),
    }[denominator]
    return fsum(precision(affinities, rank) for rank in ranks) / over if ranks else 0.0


def reciprocal_rank(affinities, k=None):
    """One over the rank of the first relevant item, 0 if that is beyond k."""
    for rank, affinity in enumerate(affinities[:k], start=1):
        if affinity > 0:
            return 1 / rank
    return 0.0


def hit_rate(affinities, k=None):
    """Whether there is a relevant item among the first k ranks."""
    return float(relevant_within(affinities, k) > 0)


def dcg(affinities, k=None, dcg="exp-log2", log_base=2):
    """Gain over log(rank + 1), summed to rank k."""
    gains = [2.0**a - 1 if dcg == "exp-log2" else float(a) for a in affinities[:k]]
    return fsum(g / log(rank + 1, log_base) for rank, g in enumerate(gains, start=1))


def ndcg(affinities, k=None, **params):
    """DCG@k over the DCG@k of the ranking by descending affinity."""
    ideal = dcg(sorted(affinities, reverse=True), k, **params)
    return dcg(affinities, k, **params) / ideal


# Losses of rankings, as ranking SVMs have them
DELTA = {
    "AP": lambda ranking: 1 - average_precision(ranking),
    "nDCG": lambda ranking: 1 - ndcg(ranking),
}

METRICS = {
    "average_precision": average_precision,
    "dcg": dcg,
    "f1": f1,
    "hit_rate": hit_rate,
    "ndcg": ndcg,
    "precision": precision,
    "recall": recall,
    "reciprocal_rank": reciprocal_rank,
}

# Every metric with every choice of its parameters that changes the formula.
VARIANTS = [
    ("average_precision", {}),
    ("average_precision", {"denominator": "min"}),
    ("average_precision", {"denominator": "retrieved"}),
    ("dcg", {}),
    ("dcg", {"dcg": "log2"}),
    ("dcg", {"log_base": 10}),
    ("f1", {}),
    ("hit_rate", {}),
    ("ndcg", {}),
    ("ndcg", {"dcg": "log2", "log_base": 1.5}),
    ("precision", {}),
    ("recall", {}),
    ("reciprocal_rank", {}),
]


def evaluate(metric, affinities, k=None, **params):
    """A metric of one ranking; NaN, whatever the metric, when nothing is relevant."""
    return METRICS[metric](affinities, k, **params) if any(affinities) else nan


def rankings(affinities, scores):
    """Every ranking by descending score, one for each order of the items of equal score.

    All are equally likely when ties are broken at random.
    """
    items = sorted(zip(scores, affinities), key=lambda item: -item[0])
    ties = [[a for _, a in tie] for _, tie in groupby(items, key=lambda item: item[0])]
    for orders in product(*map(permutations, ties)):
        yield [affinity for order in orders for affinity in order]


def tie_orders(affinities, scores):
    """How many orders within ties give each ranking."""
    return Counter(map(tuple, rankings(affinities, scores)))


def over_orders(orders, metric, k=None, **params):
    """Minimum, mean and maximum of a metric over the result of `tie_orders`."""
    values = {order: evaluate(metric, order, k, **params) for order in orders}
    total = fsum(count * values[order] for order, count in orders.items())
    return min(values.values()), total / orders.total(), max(values.values())


def over_tie_orders(metric, affinities, scores, k=None, **params):
    """Minimum, mean and maximum of a metric over every order within ties."""
    return over_orders(tie_orders(affinities, scores), metric, k, **params)


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


def expected_average_precision_over_retrieved(tie_sizes, tie_relevant, k):
    """Expected AP@k over the relevant items retrieved, for lists too long to enumerate.

    Given how many relevant items of the tie that the cutoff divides are within it, its
    ranks there are a tie of their own, and their number is hypergeometric.
    """
    ends = np.cumsum(tie_sizes)
    last = int(np.searchsorted(ends, k))
    n, p = int(tie_sizes[last]), int(tie_relevant[last])
    take = k - int(ends[last] - n)
    sizes = np.append(tie_sizes[:last], take)
    before = int(np.sum(tie_relevant[:last]))
    values = []
    for h, probability in hypergeometric(n, p, take):
        if before + h:
            relevant = np.append(tie_relevant[:last], h)
            values.append(probability * expected_average_precision_by_rank(sizes, relevant))
    return fsum(values)


def hypergeometric(n, p, take):
    """Pairs (h, probability) of h relevant among `take` of n items, p of them relevant.

    From the ratios of neighbors with 50 digits; those below 1e-30 of the largest are
    left out.
    """
    low, high = max(0, take - (n - p)), min(take, p)
    mode = min(high, max(low, (take + 1) * (p + 1) // (n + 2)))
    with localcontext(prec=50):
        weights = {mode: Decimal(1)}
        for h in range(mode, high):
            up, down = (take - h) * (p - h), (h + 1) * (n - take - p + h + 1)
            weights[h + 1] = weights[h] * up / down
            if weights[h + 1] < Decimal("1e-30"):
                break
        for h in range(mode, low, -1):
            up, down = h * (n - take - p + h), (take - h + 1) * (p - h + 1)
            weights[h - 1] = weights[h] * up / down
            if weights[h - 1] < Decimal("1e-30"):
                break
        total = sum(weights.values())
        return [(h, float(weight / total)) for h, weight in weights.items()]


def expected_reciprocal_rank_by_place(n, p, t, take):
    """Expected reciprocal rank when the first tie with relevant items follows t others."""
    none_before, terms = 1.0, []
    for j in range(min(take, n - p + 1)):
        terms.append(none_before * p / (n - j) / (t + j + 1))
        none_before *= (n - p - j) / (n - j)
    return fsum(terms)


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


def histogram(distances, affinities, levels, n_distances, exclude_self=False):
    """counts[query, level, distance] by a double loop; pairs (i, i) may be left out."""
    levels = list(levels)
    counts = np.zeros((len(distances), len(levels), n_distances), dtype=int)
    for query, row in enumerate(distances):
        for item, distance in enumerate(row):
            if not (exclude_self and query == item):
                counts[query, levels.index(affinities[query][item]), distance] += 1
    return counts


def most_violating(positive, negative, delta):
    """Maximum of loss plus score over all interleavings, with the ranks that attain it.

    `delta` takes a ranking, a list of 1 (positive) and 0, best first. Scores must be
    descending. The score of a ranking is its mean over pairs of R (s+ - s-).
    """
    n_pairs = len(positive) * len(negative)
    best = (-np.inf,)
    for ranking in set(permutations([1] * len(positive) + [0] * len(negative))):
        before = [sum(ranking[:i]) for i, item in enumerate(ranking) if not item]
        score = fsum(
            (1 if k < before[j] else -1) * (p - n) / n_pairs
            for j, n in enumerate(negative)
            for k, p in enumerate(positive)
        )
        best = max(best, (delta(ranking) + score, [b + 1 for b in before]))
    return best


def scanned_ranks(positive, negative, loss):
    """Most violating interleaving ranks: all ranks are tried for each negative.

    Of equally good ranks it is the largest. What negative j adds to the loss by passing
    positive k follows from its definition, see the paper's eq. 12 for AP.
    """
    n_pairs = len(positive) * len(negative)
    k, j = np.arange(1, len(positive) + 1), np.arange(1, len(negative) + 1)[:, None]
    if loss == "AP":
        gain = (k / (k + j - 1) - k / (k + j)) / len(positive)
    else:
        gain = (1 / np.log2(k + j) - 1 / np.log2(k + j + 1)) / np.sum(1 / np.log2(k + 1))
    order = np.argsort(-negative, kind="stable")
    gain -= 2 * (np.sort(positive)[::-1] - negative[order, None]) / n_pairs
    totals = np.zeros((len(negative), len(positive) + 1))
    totals[:, :-1] = gain[:, ::-1].cumsum(axis=1)[:, ::-1]
    ranks = np.empty(len(negative), dtype=int)
    ranks[order] = len(positive) + 1 - totals[:, ::-1].argmax(axis=1)
    return ranks


def ranking_of(ranks, n_positive):
    """The ranking, 1 for a positive and 0 for a negative, of interleaving ranks."""
    items = [(k + 0.5, 1) for k in range(1, n_positive + 1)] + [(r, 0) for r in ranks]
    return [kind for _, kind in sorted(items)]


def n_weights_of(n_bits, word_size):
    """Weights of a query that weighs words of so many bits, or bits if some are over."""
    return 32 * n_bits if word_size == 8 and n_bits % 8 == 0 else n_bits


def what_is_weighed(bits, n_weights):
    """What each weight is multiplied by, for each code: signs, or ones for values."""
    if n_weights == bits.shape[1]:
        return 2.0 * bits - 1
    values = bits.reshape(len(bits), -1, 8) @ 2 ** np.arange(8)
    return (values[:, :, None] == np.arange(256)).reshape(len(bits), -1).astype(float)


def wanted_bits(weights, n_bits):
    """Bits that queries would rather see: of words those of the better half of values."""
    if weights.shape[1] == n_bits:
        return weights > 0
    bits = [[value >> bit & 1 for bit in range(8)] for value in range(256)]
    signs = 2 * np.array(bits) - 1
    of_words = weights.reshape(len(weights), -1, 256).astype(float) @ signs
    return of_words.reshape(-1, n_bits) > 0
