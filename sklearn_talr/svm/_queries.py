"""Scores of some queries, laid out flat: what every search for ranks reads.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
s_k, s_j    scores of a positive and of a negative
before      how many positives come before a negative: its rank minus 1
n_before    how many negatives come before a positive
==========  ==================================================================

With F of eq. 1, letting negative j pass positive k changes Delta + F by

    gain_j(k) - 2 / (P N) (s_k - s_j).

The optimum passes the positives k > before, where the sum of these terms is largest.
"""

import numpy as np


class Queries:
    """Positives of each query, best first, and negatives in the order given.

    Parameters
    ----------
    positive, negative : ndarray of float64
        Scores; those of a query are consecutive, and queries in the same order in both.

    n_positive, n_negative : ndarray of shape (n_queries,) of int
        How many of them each query has, at least 1.

    loss : object of _losses
    """

    def __init__(self, positive, negative, n_positive, n_negative, loss):
        self.n_positive, self.n_negative, self.loss = n_positive, n_negative, loss
        self.negative = negative
        self.first_positive = np.cumsum(n_positive) - n_positive
        self.first_negative = np.cumsum(n_negative) - n_negative
        self.swap = 2 / (n_positive * n_negative)  # weight of a pair in F
        self.query_of_positive = np.repeat(np.arange(len(n_positive)), n_positive)
        self.order = descending(positive, self.query_of_positive)
        self.positive = positive[self.order]
        self.number = np.arange(len(positive)) - np.repeat(self.first_positive, n_positive)
        self.number += 1  # k of each positive

    def terms(self, query, j, score, k):
        """What Delta + F gains when the negative at place j passes positive k."""
        lead = self.positive[self.first_positive[query] + k - 1] - score
        return self.loss.gain(query, j, k) - self.swap[query] * lead

    def negatives_before(self, before):
        """Count the negatives before each positive."""
        n_cells = self.n_positive + 1
        first = np.cumsum(n_cells) - n_cells
        if len(first) > 1:
            before = before + np.repeat(first, self.n_negative)
        counts = np.bincount(before, minlength=n_cells.sum())
        passed = np.cumsum(counts) - np.repeat(self.first_negative, n_cells)
        return np.delete(passed, first + n_cells - 1)

    def losses(self, n_before):
        """Delta of each query."""
        return self.loss.value(self.query_of_positive, self.number, n_before)

    def weights(self, before, n_before):
        """Gradient of F(R) - F(R*) by the scores: positives, then negatives, as given."""
        positive = np.empty(len(n_before))
        positive[self.order] = n_before
        positive *= -np.repeat(self.swap, self.n_positive)
        n_passed = np.repeat(self.n_positive, self.n_negative) - before
        return positive, n_passed * np.repeat(self.swap, self.n_negative)


def descending(values, group):
    """Order by group, ascending, then by value, descending."""
    order = np.argsort(-values)
    grouped = group[order]
    if (grouped[1:] < grouped[:-1]).any():
        order = order[np.argsort(grouped, kind="stable")]
    return order
