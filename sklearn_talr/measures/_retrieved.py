"""Average precision over the relevant items *retrieved*: a ratio of two random numbers.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
n, p        items of the tie that the cutoff divides: all, and relevant ones
t, tp       items ranked before the tie: all, and relevant ones
take        how many ranks of the tie are within the cutoff
h           how many of these are relevant: random, or to be chosen
whole       sum of the precisions at relevant ranks of the ties before
==========  ==================================================================

All are arrays of shape (n_queries, n_cutoffs). The value of an order is (whole + sum of the
precisions at its h relevant ranks) / (tp + h), and 0 when nothing relevant is retrieved.
"""

import numpy as np

from ._rank_sums import harmonic_sum
from ._ties import CELLS_PER_BLOCK

# Outside mean +- sqrt(_SPREAD m) lies a probability below 2 exp(-2 _SPREAD) < 1e-20
# (Hoeffding), m being the least of take, n - take, p and n - p.
_SPREAD = 24


def expected_over_retrieved(whole, n, p, t, tp, take):
    """Mean over all orders, by the hypergeometric distribution of h."""
    shape = whole.shape
    columns = [np.ravel(column) for column in (whole, n, p, t, tp, take)]
    low, high = _likely(*columns[1:3], columns[5])
    width = high - low + 1
    values = np.empty(len(width))
    by_width = np.argsort(width)  # rows of a block are padded to the widest
    rows = max(1, CELLS_PER_BLOCK // width.max(initial=1))
    for start in range(0, len(width), rows):
        block = by_width[start : start + rows]
        h = low[block, None] + np.arange(width[block].max())
        of_block = [column[block, None] for column in columns]
        weights = _hypergeometric(h, high[block, None], *of_block[1:3], of_block[5])
        values[block] = (weights * _value(h, *of_block)).sum(axis=1)
    return values.reshape(shape)


def best_over_retrieved(whole, n, p, t, tp, take):
    """Largest value: relevant items first, and as many or as few as the tie allows.

    The precisions that are added grow with h, so their running mean with those of the
    ties before falls, if at all, before it rises.
    """
    low, high = _possible(n, p, take)

    def value(h):
        return _ratio(whole + h - (t - tp) * harmonic_sum(t, h), tp + h)

    return np.maximum(value(low), value(high))


def worst_over_retrieved(whole, n, p, t, tp, take):
    """Smallest value: relevant items last; h is found by bisection.

    The sum of precisions is convex in h, so its ratio to tp + h falls, then rises.
    """
    low, high = _possible(n, p, take)
    k = t + take

    def value(h):
        irrelevant = k - tp - h
        return _ratio(whole + h - irrelevant * harmonic_sum(k - h, h), tp + h)

    while np.any(low < high):
        middle = (low + high) // 2
        rises = value(np.minimum(middle + 1, high)) >= value(middle)
        low, high = np.where(rises, low, middle + 1), np.where(rises, middle, high)
    return value(low)


def _value(h, whole, n, p, t, tp, take):
    """Mean over the orders that have h relevant items among the `take` ranks."""
    harmonic = harmonic_sum(t, take)
    among_others = (h - 1) / np.maximum(take - 1, 1)
    inner = among_others * (take - (t + 1) * harmonic) + (tp + 1) * harmonic
    return _ratio(whole + h / np.maximum(take, 1) * inner, tp + h)


def _hypergeometric(h, high, n, p, take):
    """Probabilities of consecutive h, from the ratios of neighbors.

    Factorials of a million would cost seven digits; these ratios are exact.
    """
    up = (take - h[:, 1:] + 1) * (p - h[:, 1:] + 1)
    down = h[:, 1:] * (n - take - p + h[:, 1:])
    outside = h[:, 1:] > high
    steps = np.log(np.where(outside, 1, up) / np.where(outside, 1, down))
    logs = np.zeros(h.shape)
    np.cumsum(steps, axis=1, out=logs[:, 1:])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights[h > high] = 0
    return weights / weights.sum(axis=1, keepdims=True)


def _likely(n, p, take):
    low, high = _possible(n, p, take)
    least = np.minimum(np.minimum(take, n - take), np.minimum(p, n - p))
    mean = take * p / np.maximum(n, 1)
    spread = np.sqrt(_SPREAD * least) + 1
    return (
        np.maximum(low, np.floor(mean - spread).astype(np.int64)),
        np.minimum(high, np.ceil(mean + spread).astype(np.int64)),
    )


def _possible(n, p, take):
    return np.maximum(0, take - (n - p)), np.minimum(take, p)


def _ratio(total, retrieved):
    return total / np.maximum(retrieved, 1)
