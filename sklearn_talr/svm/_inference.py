"""Loss-augmented inference: the ranking with the greatest sum of loss and score."""

import numpy as np
from sklearn.utils import check_array

from .._compat import StrOptions, validate_params
from ._interleaving import Queries
from ._losses import NAMED_LOSSES, make_loss
from ._rank_search import SEARCHES

__all__ = ["loss_augmented_ranks"]


@validate_params(
    {
        "positive_scores": ["array-like"],
        "negative_scores": ["array-like"],
        "loss": [StrOptions(set(NAMED_LOSSES)), "array-like"],
        "method": [StrOptions(set(SEARCHES))],
    },
    prefer_skip_nested_validation=True,
)
def loss_augmented_ranks(
    positive_scores, negative_scores, loss="average_precision", *, method="auto"
):
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

    loss : {"average_precision", "ndcg"} or array-like of shape \
            (n_negatives, n_positives + 1), default="average_precision"
        One minus average precision, one minus NDCG, or a table: ``loss[j - 1, i - 1]`` is
        what the negative with the j-th highest score adds to the loss at interleaving rank
        i. The last column must be 0, and the loss quicksort-suitable: ``loss[j - 1, i - 1]
        - loss[j - 1, i]`` must not grow with j.

    method : {"auto", "quicksort", "sort", "exhaustive"}, default="auto"
        How to search. All methods find the same optimum. "auto" is the fastest; the others
        are there to be read, and to be compared with.

        * "auto": the divide and conquer of "quicksort", but with array operations on all
          intervals of one depth at once. Many negatives are first distributed over buckets
          of scores, and only those are sorted whose ranks do not follow from the bounds of
          their bucket.
        * "quicksort": Algorithm 1 of the paper, which partitions but never sorts the
          negatives, O(N log P) for P positives and N negatives.
        * "sort": sorts the negatives and tries all ranks for each, O(P N + N log N).
        * "exhaustive": tries all interleavings, of small queries only.

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
        If scores are not finite or empty, shapes do not fit, a table is not a
        quicksort-suitable loss, or "exhaustive" would take too long.

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
    positive = _check_side(positive_scores, "positive_scores")
    negative = _check_side(negative_scores, "negative_scores")
    if np.ndim(positive_scores) != np.ndim(negative_scores) or len(positive) != len(
        negative
    ):
        raise ValueError(
            "positive_scores and negative_scores must be of the same number of queries, "
            f"got shapes {np.shape(positive_scores)} and {np.shape(negative_scores)}."
        )
    n_positive, n_negative = (
        np.full(len(scores), scores.shape[1]) for scores in (positive, negative)
    )
    made = make_loss(loss, n_positive, n_negative)
    queries = Queries(positive.ravel(), negative.ravel(), n_positive, n_negative, made)
    before = SEARCHES[method](queries)
    losses = queries.losses(queries.negatives_before(before))
    if np.ndim(negative_scores) == 1:
        return before + 1, float(losses[0])
    return before.reshape(negative.shape) + 1, losses


def _check_side(scores, name):
    return check_array(np.atleast_2d(scores), dtype=np.float64, input_name=name)
