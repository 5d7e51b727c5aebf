"""Scores of several queries in flat arrays, which every search for ranks reads.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
s_k, s_j    scores of a positive and of a negative
before      how many positives come before a negative: its rank minus 1
n_before    how many negatives come before a positive
==========  ==================================================================

With F of eq. 1, letting negative j pass positive k changes Delta + F by

    gain_j(k) - 2 / (P N) (s_k - s_j).

(F is the score of a ranking and Delta its loss.) A negative with `before` positives before
it has passed all positives k > before. The optimal `before` makes the sum of these terms
over the passed positives largest.
"""

import numpy as np


class Queries:
    """Scores of positives and negatives, query by query.

    Positives are sorted, best first; negatives stay in the order given.

    Parameters
    ----------
    positive, negative : ndarray of float64
        Scores. Those of one query are consecutive, and both arrays have the queries in the
        same order.

    n_positive, n_negative : ndarray of shape (n_queries,) of int
        How many positives and negatives each query has, at least 1.

    loss : object with methods ``gain`` and ``value``
        What :func:`make_loss` of ``_losses`` returns.
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
        """Return what Delta + F gains when the negative at place j passes positive k."""
        lead = self.positive[self.first_positive[query] + k - 1] - score
        return self.loss.gain(query, j, k) - self.swap[query] * lead

    def negatives_before(self, before):
        """Count the negatives before each positive, from the positives before negatives."""
        n_cells = self.n_positive + 1
        first = np.cumsum(n_cells) - n_cells
        if len(first) > 1:
            before = before + np.repeat(first, self.n_negative)
        counts = np.bincount(before, minlength=n_cells.sum())
        passed = np.cumsum(counts) - np.repeat(self.first_negative, n_cells)
        return np.delete(passed, first + n_cells - 1)

    def losses(self, n_before):
        """Return the loss Delta of each query, given the negatives before each positive."""
        return self.loss.value(self.query_of_positive, self.number, n_before)

    def weights(self, before, n_before):
        """Return the gradient of F(R) - F(R*) with respect to the scores.

        R is the ranking that `before` and `n_before` describe, and R* has all positives
        first. Returns two arrays, for the positives and for the negatives, each in the
        order in which they were given.
        """
        positive = np.empty(len(n_before))
        positive[self.order] = n_before
        positive *= -np.repeat(self.swap, self.n_positive)
        n_passed = np.repeat(self.n_positive, self.n_negative) - before
        return positive, n_passed * np.repeat(self.swap, self.n_negative)


def descending(values, group):
    """Return the order by ascending group and, within a group, by descending value."""
    order = np.argsort(-values)
    grouped = group[order]
    if (grouped[1:] < grouped[:-1]).any():
        order = order[np.argsort(grouped, kind="stable")]
    return order
