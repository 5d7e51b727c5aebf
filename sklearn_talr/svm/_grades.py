"""NDCG of graded relevance, bounded by hinges that know relevant samples and others.

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

from ._risks import RankingRisk

__all__ = ["GradedRisk"]


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
        share = _shares(levels, relevant, part, n_queries)
        self._risk = RankingRisk(relevant, part, "ndcg", query_weight=share)
        self._n_samples = len(grades)

    def __call__(self, scores):
        """Return the risk and its subgradient, one weight for each score."""
        value, weights = self._risk(scores[self._row])
        return value, np.bincount(self._row, weights, minlength=self._n_samples)


def _shares(levels, relevant, part, n_queries):
    """Weight of each level of each query in the mean over queries, level by level."""
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
    return (share / max(1, ranked.any(axis=0).sum())).ravel()
