"""Loss-augmented inference: the order of items that violates the margin most.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
P, N        positives and negatives of a query
k           number of a positive, 1..P, from the highest score down
j           number ("place") of a negative, 1..N, from the highest score down
s_k, s_j    scores of a positive and of a negative
i           interleaving rank, 1..P + 1: one more than the positives before it
before      how many positives come before a negative: its rank minus 1
n_before    how many negatives come before a positive
delta_j(i)  share of the loss that negative j has at rank i; 0 at i = P + 1
gain        delta_j(k) - delta_j(k + 1): what j adds by passing positive k
==========  ==================================================================

With F of eq. 1, letting negative j pass positive k changes Delta + F by

    gain_j(k) - 2 / (P N) (s_k - s_j).

(F is the score of a ranking and Delta its loss.) A negative with `before` positives before
it has passed all positives k > before. The optimal `before` makes the sum of these terms
over the passed positives largest.

A loss is quicksort-suitable (Mohapatra et al., CVPR 2018) if the gain at every k does not
grow with j: a worse negative never gains more. Then the optimal ranks ascend with j.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from .._core.compat import validated
from .._core.types import Any, Array, ArrayLike
from .._core.validation import refuse_masked
from ..measures import Measure
from ..measures._base import measure_name


class QueryScores(NamedTuple):
    """Scores of the positives and the negatives of some queries, query after query."""

    positive: np.ndarray  # (n_positives,), float64
    negative: np.ndarray  # (n_negatives,), float64
    n_positive: np.ndarray  # (n_queries,), int, positives of each query, at least 1
    n_negative: np.ndarray  # (n_queries,), int, negatives of each query, at least 1


class ViolatingRankings(NamedTuple):
    """The most violating ranking of each of some queries."""

    before: np.ndarray  # (n_negatives,), int, positives before each negative
    n_before: np.ndarray  # (n_positives,), int, negatives before each positive
    losses: np.ndarray  # (n_queries,), loss Delta of each ranking


def most_violating(scores, loss):
    """Find the most violating ranking of each query.

    Parameters
    ----------
    scores : QueryScores
        In any order within a query.

    loss : {"AP", "nDCG"}
        One minus average precision, or one minus NDCG.

    Returns
    -------
    rankings : ViolatingRankings
        Positives and negatives are in the order of the scores.
    """
    from .._loops._rank_search import rank_negatives

    is_ndcg = loss == "nDCG"
    n_positive = scores.n_positive
    query = np.repeat(np.arange(len(n_positive)), n_positive)
    order = np.argsort(-scores.positive)
    order = order[np.argsort(query[order], kind="stable")]
    if is_ndcg:
        ideal = np.cumsum(_discount(np.arange(n_positive.max()) + 1))
        gain_factors = 1 / ideal[n_positive - 1]
    else:
        gain_factors = 1 / n_positive
    before = np.empty(len(scores.negative), np.intp)
    passed = np.empty(len(scores.positive), np.intp)
    sorted_scores = scores._replace(positive=scores.positive[order])
    rank_negatives(sorted_scores, gain_factors, is_ndcg, before, passed)
    first = np.cumsum(n_positive) - n_positive
    k = 1 + np.arange(len(query)) - first[query]
    gains = _discount(k + passed) if is_ndcg else k / (k + passed)
    n_before = np.empty_like(passed)
    n_before[order] = passed
    losses = 1 - np.bincount(query, gains) * gain_factors
    return ViolatingRankings(before, n_before, losses)


def _discount(rank):
    """Return the discount of a rank in DCG."""
    return 1 / np.log2(rank + 1.0)


@validated(
    positive_scores=["array-like"], negative_scores=["array-like"], loss=[str, Measure]
)
def loss_augmented_ranks(
    positive_scores: ArrayLike, negative_scores: ArrayLike, loss: str | Measure = "AP"
) -> tuple[Array, Any]:
    """Find the most violating ranking of positives and negatives.

    It maximizes loss plus score, eq. 6 of Mohapatra et al. (CVPR 2018), where the score of
    a ranking R is the mean of R (s+ - s-) over all pairs of a positive and a negative,
    R = 1 where the positive comes first and -1 elsewhere (eq. 1). The positives are in the
    order of their scores, and so are the negatives. So a ranking is known by the
    interleaving rank of each negative: one more than the number of positives before it.

    Parameters
    ----------
    positive_scores : array-like of shape (n_positives,) or (n_queries, n_positives)
        Scores of the relevant samples of one query, or of several.

    negative_scores : array-like of shape (n_negatives,) or (n_queries, n_negatives)
        Scores of the samples that are not relevant.

    loss : {"AP", "nDCG"}, default="AP"
        One minus average precision, or one minus NDCG.

    Returns
    -------
    ranks : ndarray of shape (n_negatives,) or (n_queries, n_negatives) of int
        Interleaving rank of each negative, in 1..n_positives + 1. If several ranks of a
        negative are equally good, up to rounding, this is the largest. Which of two
        negatives with equal scores comes first is not defined.

    loss_value : float or ndarray of shape (n_queries,)
        Loss of this ranking, without its score.

    Raises
    ------
    ValueError
        If scores are not finite or empty, shapes do not fit, or the loss is another.

    Examples
    --------
    The scores rank ``+ - (+ -)``, with a tie. The most violating ranking is ``- + - +``:
    it costs more, and its score is hardly lower. With ten times the scores only the tie is
    worth breaking, to ``+ - - +``.

    >>> from sklearn_talr.svm import loss_augmented_ranks
    >>> ranks, value = loss_augmented_ranks([0.9, 0.5], [0.6, 0.5])
    >>> ranks, round(value, 3)
    (array([1, 2]), 0.5)
    >>> ranks, value = loss_augmented_ranks([9.0, 5.0], [6.0, 5.0])
    >>> ranks, round(value, 3)
    (array([2, 2]), 0.25)
    """
    refuse_masked(positive_scores=positive_scores, negative_scores=negative_scores)
    positive = _check_scores(positive_scores, "positive_scores")
    negative = _check_scores(negative_scores, "negative_scores")
    n_dims = np.ndim(negative_scores)
    if np.ndim(positive_scores) != n_dims or len(positive) != len(negative):
        raise ValueError(
            "positive_scores and negative_scores must be of the same number of queries, "
            f"got shapes {np.shape(positive_scores)} and {np.shape(negative_scores)}."
        )
    scores = QueryScores(
        positive=positive.ravel(),
        negative=negative.ravel(),
        n_positive=np.full(len(positive), positive.shape[1]),
        n_negative=np.full(len(negative), negative.shape[1]),
    )
    rankings = most_violating(scores, measure_name(loss, "loss"))
    ranks = rankings.before + 1
    if n_dims == 1:
        return ranks, float(rankings.losses[0])
    return ranks.reshape(negative.shape), rankings.losses


def _check_scores(scores, name):
    """Scores as float64, a row a query."""
    return check_array(np.atleast_2d(scores), dtype=np.float64, input_name=name)
