"""The risks that training minimizes, as functions of the scores of the samples.

A risk is called with the scores. It returns its value and a subgradient, which is one
weight for each score. Every risk is convex, piecewise linear and at least 0.
"""

import numpy as np

from ._interleaving import Queries
from ._losses import RANKING_LOSSES
from ._rank_search import fastest

__all__ = ["HingeRisk", "RankingRisk"]


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

    loss : {"average_precision", "ndcg", "none"}
        What the hinge bounds: one minus AP, one minus NDCG, or 0.

    query_weight : ndarray of shape (n_queries,), default=None
        Weight of each query in a sum that takes the place of the mean.

    Raises
    ------
    ValueError
        If no query has both a positive and a negative sample.
    """

    def __init__(self, positive, query, loss, query_weight=None):
        n_queries = query.max(initial=-1) + 1
        counts = [
            np.bincount(query[kind], minlength=n_queries) for kind in _kinds(positive)
        ]
        ranked = (counts[0] > 0) & (counts[1] > 0)
        if not ranked.any():
            raise ValueError(
                "groups leave nothing to rank: no group has both a positive and a negative "
                "sample."
            )
        self.n_positive, self.n_negative = (count[ranked] for count in counts)
        self._of_kind = [
            _rows_by_query(kind & ranked[query], query) for kind in _kinds(positive)
        ]
        self._loss = RANKING_LOSSES[loss](self.n_positive)
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
        samples = [scores[rows] for rows in self._of_kind]
        queries = Queries(*samples, self.n_positive, self.n_negative, self._loss)
        before = fastest(queries)
        n_before = queries.negatives_before(before)
        weights = np.zeros(len(scores))
        counts = self.n_positive, self.n_negative
        for rows, n, values in zip(
            self._of_kind, counts, queries.weights(before, n_before)
        ):
            weights[rows] = values * np.repeat(self._query_weight, n)
        return self._query_weight @ queries.losses(n_before), weights

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


def _kinds(positive):
    """Return masks of the positive and of the negative samples."""
    return positive, ~positive


def _rows_by_query(chosen, query):
    """Return the rows of the chosen samples, query by query."""
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(query[rows], kind="stable")]
