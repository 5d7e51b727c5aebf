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

from ._inference import QueryScores, most_violating


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
        n_positive = np.bincount(query[positive], minlength=n_queries)
        n_negative = np.bincount(query[~positive], minlength=n_queries)
        is_ranked = (n_positive > 0) & (n_negative > 0)
        if not is_ranked.any():
            raise ValueError(
                "groups leave nothing to rank: no group has both a positive and a negative "
                "sample."
            )
        self.n_positive = n_positive[is_ranked]
        self.n_negative = n_negative[is_ranked]
        self._positive_rows = _rows_by_query(positive & is_ranked[query], query)
        self._negative_rows = _rows_by_query(~positive & is_ranked[query], query)
        self._loss = loss
        if query_weight is None:
            query_weight = np.full(n_queries, 1 / is_ranked.sum())
        self._query_weight = query_weight[is_ranked]

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
        n_positive = self.n_positive
        n_negative = self.n_negative
        query_scores = QueryScores(
            positive=scores[self._positive_rows],
            negative=scores[self._negative_rows],
            n_positive=n_positive,
            n_negative=n_negative,
        )
        rankings = most_violating(query_scores, self._loss)
        pair_weight = 2 / (n_positive * n_negative)  # weight of a pair in F
        # A pair whose order is not that of R* changes F by its weight.
        by_positive = -rankings.n_before * np.repeat(pair_weight, n_positive)
        by_positive *= np.repeat(self._query_weight, n_positive)
        n_passed = np.repeat(n_positive, n_negative) - rankings.before
        by_negative = n_passed * np.repeat(pair_weight, n_negative)
        by_negative *= np.repeat(self._query_weight, n_negative)
        weights = np.zeros(len(scores))
        weights[self._positive_rows] = by_positive
        weights[self._negative_rows] = by_negative
        return self._query_weight @ rankings.losses, weights

    def __call__(self, scores):
        constant, weights = self.linear(scores)
        return constant + weights @ scores, weights


def _rows_by_query(is_chosen, query):
    """Rows of the samples that are chosen, query after query."""
    rows = np.flatnonzero(is_chosen)
    return rows[np.argsort(query[rows], kind="stable")]


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
        n_levels = len(levels)
        n_queries = query.max(initial=-1) + 1
        self._n_samples = len(grades)
        # Every level has all samples, and ranks each query: this is a part.
        self._row = np.tile(np.arange(len(grades)), n_levels)
        relevant = grades >= levels[:, None]
        part = query + n_queries * np.arange(n_levels)[:, None]
        n_parts = n_queries * n_levels
        n_samples = np.bincount(part.ravel(), minlength=n_parts)
        n_relevant = np.bincount(part[relevant], minlength=n_parts)
        shares = _shares_of_levels(
            levels,
            n_relevant.reshape(n_levels, -1),
            n_samples.reshape(n_levels, -1),
        )
        self._risk = RankingRisk(
            relevant.ravel(), part.ravel(), "nDCG", query_weight=shares.ravel()
        )

    def __call__(self, scores):
        """Return the risk and its subgradient, one weight for each score."""
        value, weights = self._risk(scores[self._row])
        return value, np.bincount(self._row, weights, minlength=self._n_samples)


def _shares_of_levels(levels, n_relevant, n_samples):
    """Weight of each level of each query in the mean over queries.

    Parameters
    ----------
    levels : ndarray of shape (n_levels,) of int
        Grades above 0, ascending.

    n_relevant, n_samples : ndarrays of shape (n_levels, n_queries) of int
        Samples of each query that have this grade or a higher one, and all of its samples.

    Returns
    -------
    shares : ndarray of shape (n_levels, n_queries)
    """
    discounts = 1 / np.log2(np.arange(2.0, n_relevant.max() + 2))
    ideal = np.append(0.0, np.cumsum(discounts))[n_relevant]
    # Gains are divided by the largest one, which might overflow.
    gains = np.exp2((np.append(0, levels) - levels[-1]).astype(float))
    shares = np.diff(gains)[:, None] * ideal
    shares /= np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    is_ranked = (n_relevant > 0) & (n_relevant < n_samples)
    n_ranked = is_ranked.any(axis=0).sum()
    return shares / max(1, n_ranked)
