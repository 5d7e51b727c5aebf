"""Risks of the structured SVM and their subgradients, by query and by grade.

A risk is called with the scores. It returns its value and a subgradient, which is one
weight for each score. Every risk is convex, piecewise linear and at least 0.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
g_1 < g_2.. grades above 0 that occur
NDCG_t      NDCG if just the samples of grade g_t and above are relevant
IDCG_t      sum of the discounts of the first ranks, as many as are relevant then
==========  ==================================================================

The gain 2^g - 1 of a grade is a sum of steps 2^g_t - 2^g_(t-1) over the grades up to it,
with g_0 = 0. So the discounted gain of a ranking is the sum over t of a step times the
discounts of the samples of grade g_t and above, and

    1 - NDCG = sum_t share_t (1 - NDCG_t),   share_t ~ (2^g_t - 2^g_(t-1)) IDCG_t,

where the shares of a query add up to 1. Each 1 - NDCG_t is below its structured hinge, so
the same sum of hinges is a convex bound of 1 - NDCG. For two grades it is the hinge itself.
"""

import numpy as np

from ._inference import most_violating


class RankingRisk:
    """Mean over queries, or weighted sum, of the structured hinge of a ranking loss.

    This is eq. 4 of Mohapatra et al. (CVPR 2018).

    Parameters
    ----------
    positive : ndarray of shape (n_samples,) of bool
        Which samples are to come first.

    query : ndarray of shape (n_samples,) of int
        Number of the query of each sample. A query without positives or without negatives
        leaves nothing to rank and does not count.

    loss : {"AP", "nDCG"}
        What the hinge bounds: one minus AP, or one minus NDCG.

    query_weight : ndarray of shape (n_queries,), default=None
        Weight of each query in a sum that takes the place of the mean.

    Raises
    ------
    ValueError
        If no query has both a positive and a negative sample.
    """

    def __init__(self, positive, query, loss, query_weight=None):
        n_queries = query.max(initial=-1) + 1
        kinds = positive, ~positive
        counts = [np.bincount(query[kind], minlength=n_queries) for kind in kinds]
        ranked = (counts[0] > 0) & (counts[1] > 0)
        if not ranked.any():
            raise ValueError(
                "groups leave nothing to rank: no group has both a positive and a negative "
                "sample."
            )
        self.n_positive, self.n_negative = (count[ranked] for count in counts)
        # Rows of either kind, query by query
        chosen = [np.flatnonzero(kind & ranked[query]) for kind in kinds]
        self._rows = [rows[np.argsort(query[rows], kind="stable")] for rows in chosen]
        self._loss = loss
        mean = np.full(n_queries, 1 / ranked.sum())
        self._query_weight = (mean if query_weight is None else query_weight)[ranked]

    def linear(self, scores):
        """Return the linear function of the scores that equals the risk near these.

        Returns
        -------
        constant : float
            Mean, or weighted sum, of the losses of each query's most violating ranking.

        weights : ndarray of shape (n_samples,)
            Gradient of the mean, or weighted sum, of F(R) - F(R*), where R is the most
            violating ranking of a query, R* has all its positives first, and F is the score
            of a ranking.
        """
        samples = [scores[rows] for rows in self._rows]
        counts = self.n_positive, self.n_negative
        before, n_before, losses = most_violating(*samples, *counts, self._loss)
        swap = 2 / (self.n_positive * self.n_negative)  # weight of a pair in F
        passed = -n_before, np.repeat(self.n_positive, self.n_negative) - before
        weights = np.zeros(len(scores))
        for rows, n, n_passed in zip(self._rows, counts, passed):
            weights[rows] = n_passed * np.repeat(swap, n) * np.repeat(self._query_weight, n)
        return self._query_weight @ losses, weights

    def __call__(self, scores):
        constant, weights = self.linear(scores)
        return constant + weights @ scores, weights


class HingeRisk:
    """Weighted hinge of each sample, summed and divided by the number of samples.

    It is the structured hinge of the zero-one loss.

    Parameters
    ----------
    positive : ndarray of shape (n_samples,) of bool
        Which samples should score above 1; all others should score below -1.

    sample_weight : ndarray of shape (n_samples,)
        Weight of the hinge of each sample.
    """

    def __init__(self, positive, sample_weight):
        self._sign = np.where(positive, 1.0, -1.0)
        self._weight = sample_weight / len(positive)

    def __call__(self, scores):
        margin = 1 - self._sign * scores
        weight = np.where(margin > 0, self._weight, 0.0)
        return weight @ margin, -weight * self._sign


class GradedRisk:
    """Mean over queries of a convex bound of one minus NDCG with graded relevance.

    Parameters
    ----------
    grades : ndarray of shape (n_samples,) of int
        Grades of relevance, at least 0. A sample of grade g gains 2^g - 1.

    query : ndarray of shape (n_samples,) of int
        Number of the query of each sample. A query whose samples are all of one grade
        leaves nothing to rank and does not count.

    Raises
    ------
    ValueError
        If no query has samples of two grades.
    """

    def __init__(self, grades, query):
        levels = np.unique(grades[grades > 0])
        n_queries = query.max(initial=-1) + 1
        self._row = np.tile(np.arange(len(grades)), len(levels))
        relevant = (grades >= levels[:, None]).ravel()
        part = (query + n_queries * np.arange(len(levels))[:, None]).ravel()

        # Weight of each level of each query in the mean over queries, level by level
        n_parts = n_queries * len(levels)
        n_samples = np.bincount(part, minlength=n_parts)
        n_relevant = np.bincount(part[relevant], minlength=n_parts)
        discounts = 1 / np.log2(np.arange(2.0, n_relevant.max() + 2))
        ideal = np.append(0.0, np.cumsum(discounts))[n_relevant].reshape(len(levels), -1)
        # divided by the largest gain, which might overflow
        steps = np.diff(np.exp2((np.append(0, levels) - levels[-1]).astype(float)))
        share = steps[:, None] * ideal
        share /= np.maximum(share.sum(axis=0), np.finfo(float).tiny)
        ranked = ((n_relevant > 0) & (n_relevant < n_samples)).reshape(len(levels), -1)
        share = (share / max(1, ranked.any(axis=0).sum())).ravel()
        self._risk = RankingRisk(relevant, part, "nDCG", query_weight=share)
        self._n_samples = len(grades)

    def __call__(self, scores):
        """Return the risk and its subgradient, one weight for each score."""
        value, weights = self._risk(scores[self._row])
        return value, np.bincount(self._row, weights, minlength=self._n_samples)
