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

import numpy as np
from sklearn.utils import check_array

from .._arrays import refuse_masked
from .._compat import validated
from .._types import Any, Array, ArrayLike
from ..measures import Measure
from ..measures._base import measure_name


def most_violating(positive, negative, n_positive, n_negative, loss):
    """Find the most violating ranking of each query.

    Parameters
    ----------
    positive, negative : ndarray of float64
        Scores, in any order within a query. Those of one query are consecutive, and both
        arrays have the queries in the same order.

    n_positive, n_negative : ndarray of shape (n_queries,) of int
        How many positives and negatives each query has, at least 1.

    loss : {"AP", "nDCG"}
        One minus average precision, or one minus NDCG.

    Returns
    -------
    before : ndarray of the shape of `negative` of int
        How many positives come before each negative.

    n_before : ndarray of the shape of `positive` of int
        How many negatives come before each positive.

    losses : ndarray of shape (n_queries,)
        Loss Delta of each ranking.
    """
    from .._loops._rank_search import rank_negatives

    query = np.repeat(np.arange(len(n_positive)), n_positive)
    order = np.argsort(-positive)
    order = order[np.argsort(query[order], kind="stable")]
    share = 1 / n_positive
    if loss == "nDCG":
        share = 1 / np.cumsum(_discount(np.arange(n_positive.max()) + 1))[n_positive - 1]
    before, passed = (np.empty(len(each), np.intp) for each in (negative, positive))
    how = n_positive, n_negative, share, loss == "nDCG"
    rank_negatives(positive[order], negative, *how, (before, passed))
    first = np.cumsum(n_positive) - n_positive
    k = 1 + np.arange(len(query)) - first[query]
    gains = _discount(k + passed) if loss == "nDCG" else k / (k + passed)
    n_before = np.empty_like(passed)
    n_before[order] = passed
    return before, n_before, 1 - np.bincount(query, gains) * share


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
    sides = {"positive_scores": positive_scores, "negative_scores": negative_scores}
    refuse_masked(**sides)
    positive, negative = (
        check_array(np.atleast_2d(scores), dtype=np.float64, input_name=name)
        for name, scores in sides.items()
    )
    n_dims = [np.ndim(scores) for scores in sides.values()]
    if n_dims[0] != n_dims[1] or len(positive) != len(negative):
        raise ValueError(
            "positive_scores and negative_scores must be of the same number of queries, "
            f"got shapes {np.shape(positive_scores)} and {np.shape(negative_scores)}."
        )
    sizes = (np.full(len(scores), scores.shape[1]) for scores in (positive, negative))
    both = positive.ravel(), negative.ravel(), *sizes
    before, _, losses = most_violating(*both, measure_name(loss, "loss"))
    if n_dims[1] == 1:
        return before + 1, float(losses[0])
    return before.reshape(negative.shape) + 1, losses
