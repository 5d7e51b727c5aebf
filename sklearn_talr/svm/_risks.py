"""What training minimises, as a function of the scores of the training samples.

A risk takes scores and returns its value with a subgradient, the weight of each score.
All are convex, piecewise linear and at least 0.
"""

import numpy as np

from ._losses import RANKING_LOSSES
from ._queries import Queries
from ._search import fastest

__all__ = ["HingeRisk", "RankingRisk"]


class RankingRisk:
    """Mean over queries of the structured hinge of a ranking loss, eq. 4.

    Parameters
    ----------
    positive : ndarray of shape (n_samples,) of bool

    query : ndarray of shape (n_samples,) of int
        Number of the query of each sample. Queries without a positive or without a
        negative have nothing to rank, and weight 0.

    loss : {"ap", "ndcg", "none"}
    """

    def __init__(self, positive, query, loss):
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

    def linear(self, scores):
        """The risk near these scores: a constant, and the weights of the scores.

        The constant is the mean loss of the most violating rankings; the weights are those
        of their scores less those of the perfect rankings.
        """
        samples = [scores[rows] for rows in self._of_kind]
        queries = Queries(*samples, self.n_positive, self.n_negative, self._loss)
        before = fastest(queries)
        n_before = queries.negatives_before(before)
        weights = np.zeros(len(scores))
        for rows, values in zip(self._of_kind, queries.weights(before, n_before)):
            weights[rows] = values
        return queries.losses(n_before).mean(), weights / len(self.n_positive)

    def __call__(self, scores):
        constant, weights = self.linear(scores)
        return constant + weights @ scores, weights


class HingeRisk:
    """Mean over samples of the hinge: the structured hinge of the zero-one loss.

    Parameters
    ----------
    positive : ndarray of shape (n_samples,) of bool

    sample_weight : ndarray of shape (n_samples,)
    """

    def __init__(self, positive, sample_weight):
        self._sign = np.where(positive, 1.0, -1.0)
        self._weight = sample_weight / len(positive)

    def __call__(self, scores):
        margin = 1 - self._sign * scores
        weight = np.where(margin > 0, self._weight, 0.0)
        return weight @ margin, -weight * self._sign


def _kinds(positive):
    return positive, ~positive


def _rows_by_query(chosen, query):
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(query[rows], kind="stable")]
