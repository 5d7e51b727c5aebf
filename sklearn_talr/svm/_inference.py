"""Loss-augmented inference: the ranking that a structured hinge loss fears most."""

import numpy as np
from sklearn.utils import check_array

from ._losses import make_loss
from ._queries import Queries
from ._search import SEARCHES

__all__ = ["interleaving_loss", "loss_augmented_ranks"]


def loss_augmented_ranks(positive_scores, negative_scores, loss="ap", *, method="auto"):
    """Find the most violating ranking of positives and negatives.

    It maximises loss plus score, eq. 6 of Mohapatra et al. (CVPR 2018), where the score of
    a ranking R is the mean of R (s+ - s-) over all pairs of a positive and a negative,
    R = 1 where the positive comes first and -1 elsewhere (eq. 1). Positives and negatives
    among themselves are in the order of their scores, so that the ranking is known by the
    interleaving rank of each negative.

    Parameters
    ----------
    positive_scores : array-like of shape (n_positives,) or (n_queries, n_positives)
        Scores of the relevant samples of a query, or of several.

    negative_scores : array-like of shape (n_negatives,) or (n_queries, n_negatives)
        Scores of the others.

    loss : {"ap", "ndcg"} or array-like of shape (n_negatives, n_positives + 1), \
            default="ap"
        One minus average precision, one minus NDCG, or a table: ``loss[j - 1, i - 1]`` is
        what the negative with the j-th highest score adds to the loss at interleaving rank
        i. The last column must be 0, and the loss quicksort-suitable: ``loss[j - 1, i - 1]
        - loss[j - 1, i]`` must not grow with j.

    method : {"auto", "quicksort", "sort", "exhaustive"}, default="auto"
        How to search; all find the same optimum, O(P N) and slower where they are there to
        compare with.

        * "auto": sorts only negatives in buckets of scores whose ranks are not settled by
          the bounds of the bucket, and treats all intervals of one depth of the divide and
          conquer at once.
        * "quicksort": Algorithm 1, which partitions but never sorts the negatives.
        * "sort": sorts the negatives and tries all ranks for each.
        * "exhaustive": tries all interleavings, of small queries only.

    Returns
    -------
    ranks : ndarray of shape (n_negatives,) or (n_queries, n_negatives) of int
        Interleaving rank of each negative in 1..n_positives + 1: one more than the number
        of positives before it. Of several optimal ranks the last one, but for rounding.
        Which of two negatives with equal scores comes first is not defined.

    loss_value : float or ndarray of shape (n_queries,)
        Loss of this ranking.

    Raises
    ------
    ValueError
        If scores are not finite or empty, shapes do not fit, a table is not a
        quicksort-suitable loss, or "exhaustive" would take too long.

    See Also
    --------
    interleaving_loss : Loss of any ranks.

    Examples
    --------
    The scores rank ``+ - (+ -)``, with a tie. The ranking to fear is ``- + - +``: it costs
    more, and its score is hardly lower. Ten times the scores leave only the tie to fear.

    >>> from sklearn_talr.svm import loss_augmented_ranks
    >>> ranks, value = loss_augmented_ranks([0.9, 0.5], [0.6, 0.5])
    >>> ranks, round(value, 3)
    (array([1, 2]), 0.5)
    >>> ranks, value = loss_augmented_ranks([9.0, 5.0], [6.0, 5.0])
    >>> ranks, round(value, 3)
    (array([2, 2]), 0.25)
    """
    if method not in SEARCHES:
        raise ValueError(f"method must be one of {sorted(SEARCHES)}, got {method!r}.")
    positive = _check_scores(positive_scores, "positive_scores")
    negative = _check_scores(negative_scores, "negative_scores")
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
    queries = Queries(
        positive.ravel(),
        negative.ravel(),
        n_positive,
        n_negative,
        make_loss(loss, n_positive, n_negative),
    )
    before = SEARCHES[method](queries)
    losses = queries.losses(queries.negatives_before(before))
    if np.ndim(negative_scores) == 1:
        return before + 1, float(losses[0])
    return before.reshape(negative.shape) + 1, losses


def interleaving_loss(ranks, n_positives, loss="ap"):
    """Loss of a ranking that is known by the interleaving ranks of its negatives.

    Parameters
    ----------
    ranks : array-like of shape (n_negatives,) or (n_queries, n_negatives) of int
        One more than the number of positives before each negative, in 1..n_positives + 1,
        in any order.

    n_positives : int
        Number of positives of a query, at least 1.

    loss : {"ap", "ndcg"} or array-like of shape (n_negatives, n_positives + 1), \
            default="ap"
        As for :func:`loss_augmented_ranks`.

    Returns
    -------
    loss_value : float or ndarray of shape (n_queries,)
        0 if all positives come first.

    Raises
    ------
    ValueError
        If a rank is out of range or `n_positives` below 1.

    Examples
    --------
    The ranking ``+ + - + - + - -`` of eq. 7 of Mohapatra et al.:

    >>> from sklearn_talr.svm import interleaving_loss
    >>> round(interleaving_loss([3, 4, 5, 5], n_positives=4), 3)
    0.146
    >>> round(interleaving_loss([3, 4, 5, 5], n_positives=4, loss="ndcg"), 3)
    0.056
    """
    if n_positives < 1:
        raise ValueError(f"n_positives must be at least 1, got {n_positives!r}.")
    table = check_array(
        np.atleast_2d(ranks), dtype="numeric", input_name="ranks", ensure_min_features=1
    )
    if (table != np.floor(table)).any() or table.min() < 1 or table.max() > n_positives + 1:
        raise ValueError(
            f"ranks must be integers in 1..n_positives + 1 = {n_positives + 1}, got values "
            f"from {table.min()} to {table.max()}."
        )
    sizes = [np.full(len(table), n) for n in (n_positives, table.shape[1])]
    made = make_loss(loss, *sizes)
    unknown = np.zeros(n_positives * len(table))
    queries = Queries(unknown, np.zeros(table.size), *sizes, made)
    before = table.ravel().astype(np.intp) - 1
    losses = queries.losses(queries.negatives_before(before))
    return float(losses[0]) if np.ndim(ranks) == 1 else losses


def _check_scores(scores, name):
    return check_array(np.atleast_2d(scores), dtype=np.float64, input_name=name)
