"""The rival of loss-augmented inference: sort the negatives, try every rank for each."""

import numpy as np

_PAIRS_PER_BLOCK = 2**18  # so that they stay in the cache


def scan(positive, negative, loss="average_precision"):
    """Most violating interleaving rank of each negative, in O(P N + N log N)."""
    n_positive = len(positive)
    k = np.arange(1, n_positive + 1)
    lead = np.sort(positive)[::-1]
    ideal = np.sum(1 / np.log2(k + 1))
    order = np.argsort(-negative, kind="stable")
    ranks = np.empty(len(negative), dtype=int)
    n_rows = max(1, _PAIRS_PER_BLOCK // n_positive)
    for start in range(0, len(order), n_rows):
        rows = order[start : start + n_rows]
        rank = k + np.arange(start + 1, start + 1 + len(rows))[:, None]
        if loss == "average_precision":
            terms = k / (rank * (rank - 1)) / n_positive
        else:
            terms = (1 / np.log2(rank) - 1 / np.log2(rank + 1)) / ideal
        terms -= 2 * (lead - negative[rows, None]) / (n_positive * len(negative))
        lost = np.zeros((len(rows), n_positive + 1))
        np.cumsum(terms, axis=1, out=lost[:, 1:])
        ranks[rows] = n_positive + 1 - lost[:, ::-1].argmin(axis=1)
    return ranks
