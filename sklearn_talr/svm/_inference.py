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
Algorithm 1 of the paper finds the rank of the middle negative of an interval, which bounds
the ranks of both halves. Intervals of one depth of this recursion do not depend on each
other. So a depth takes a handful of array operations on the candidate ranks of all its
intervals, about P candidates in all, and there are log2 N depths. Where the candidates are
few, the overhead of the operations outweighs their work; intervals are then cut at several
negatives at once, which makes fewer depths.
"""

import numpy as np
from sklearn.utils import check_array

from .._compat import StrOptions, validated
from .._types import Any, Array, ArrayLike, Literal


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
        One of `RANKING_LOSSES`, made for these queries.
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


_FEW_CANDIDATES = 4096
_MAX_CUTS = 7


def optimal_before(queries, place, score, *intervals):
    """Find how many positives come before each negative in the optimum.

    Parameters
    ----------
    queries : Queries
        The scores, and the loss.

    place, score : ndarray of shape (n,)
        Place (the j of the loss) and score of each negative. Within each interval places
        ascend and scores descend. The negatives may be made up: with any such places and
        scores the optima ascend.

    *intervals : start, stop, lo, hi, query, each of shape (n_intervals,) of int
        Intervals that cover 0..n-1, none of them empty. One holds the negatives
        start..stop-1 of a query, in the order of their scores. Each of them has at least lo
        and at most hi positives before it.

    Returns
    -------
    before : ndarray of shape (n,) of int
        The largest of equally good numbers.
    """
    intervals = np.array(np.broadcast_arrays(*intervals), dtype=np.intp)
    before = np.full(len(place), -1, dtype=np.intp)  # set where settled negatives begin
    while True:
        start, _, lo, hi, _ = intervals
        is_open = lo < hi
        before[start[~is_open]] = lo[~is_open]
        intervals = intervals[:, is_open]
        if not intervals.size:
            begin = np.flatnonzero(before >= 0)
            return np.repeat(before[begin], np.diff(begin, append=len(place)))

        # Negatives at which to cut each interval; one with few gets some of them twice
        start, stop, lo, hi, query = intervals
        n_candidates = hi - lo + 1
        n_cuts = min(max(_FEW_CANDIDATES // int(n_candidates.sum()), 1), _MAX_CUTS)
        steps = np.arange(1, n_cuts + 1)[:, None]
        cuts = start + (stop - start) * steps // (n_cuts + 1)

        # Terms of all positives k that each of them may have before it
        n_candidates = np.tile(n_candidates, n_cuts)
        end = np.cumsum(n_candidates)
        first = end - n_candidates
        each = np.repeat(np.arange(len(first)), n_candidates)
        position = np.arange(end[-1])
        k = position + (np.tile(lo, n_cuts) - first)[each]
        passed, at = np.maximum(k, 1), cuts.ravel()[each]
        of = np.tile(query, n_cuts)[each]
        lead = queries.positive[queries.first_positive[of] + passed - 1] - score[at]
        terms = queries.loss.gain(of, place[at], passed) - queries.swap[of] * lead
        terms[first] = (
            0  # with k positives before it, a negative forgoes those of lo + 1..k
        )

        # The best k, the largest of equally good ones
        lost = np.cumsum(terms)
        lost -= lost[first][each]
        least = np.minimum.reduceat(lost, first)
        position[lost != least[each]] = 0
        best = k[np.maximum.reduceat(position, first)].reshape(cuts.shape)
        before[cuts] = best

        # What lies before, between and after the cuts
        pieces = np.empty((5, n_cuts + 1, len(start)), dtype=np.intp)
        pieces[0, 0], pieces[0, 1:] = start, cuts + 1
        pieces[1, :-1], pieces[1, -1] = cuts, stop
        pieces[2, 0], pieces[2, 1:] = lo, best
        pieces[3, :-1], pieces[3, -1] = best, hi
        pieces[4] = query
        intervals = pieces[:, pieces[0] < pieces[1]]


class _OneMinusAP:
    """One minus AP: delta_j(i) = 1/P sum_{k >= i} [k/(k + j - 1) - k/(k + j)]."""

    def __init__(self, n_positive):
        self._share = 1 / n_positive

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        rank = k + j
        return self._share[query] * k / (rank * (rank - 1))

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        precision = np.bincount(query, k / (k + n_before), minlength=len(self._share))
        return 1 - precision * self._share


class _OneMinusNDCG:
    """One minus NDCG: delta_j(i) = 1/IDCG sum_{k >= i} [D(k + j - 1) - D(k + j)].

    D(r) = 1 / log2(r + 1) is the discount of rank r, and IDCG the sum of the first P
    discounts.
    """

    def __init__(self, n_positive):
        ranks = np.arange(1, n_positive.max(initial=0) + 1)
        self._share = 1 / np.cumsum(_discount(ranks))[n_positive - 1]

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        low = np.log((k + j).astype(float))  # natural logarithms of rank and rank + 1
        step = np.log1p(1 / (k + j))
        return self._share[query] * np.log(2) * step / (low * (low + step))

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        dcg = np.bincount(query, _discount(k + n_before), minlength=len(self._share))
        return 1 - dcg * self._share


RANKING_LOSSES = {"average_precision": _OneMinusAP, "ndcg": _OneMinusNDCG}


def _discount(rank):
    """Return the discount of a rank in DCG."""
    return 1 / np.log2(rank + 1.0)


_MIN_NEGATIVES = 20_000  # of all queries: sorting fewer is faster than distributing them
_PER_BUCKET = 16
_MAX_BUCKETS = 1 << 16  # so that their counts stay in cache


def most_violating(queries):
    """Distribute the negatives over buckets of scores and sort only what is not settled.

    Optima ascend with the place of a negative. So all negatives of a bucket have the same
    optimum if it is the same for its best place with the highest score that the bucket may
    hold and for its worst place with the lowest. At most as many buckets as there are
    positives are left to be sorted.
    """
    n_queries, n_negatives = len(queries.n_negative), len(queries.negative)
    first, number = queries.first_negative, np.arange(n_queries)
    if n_negatives < _MIN_NEGATIVES:
        query = np.repeat(number, queries.n_negative)
        order = descending(queries.negative, query)
        place = np.arange(1, n_negatives + 1) - first[query]
        each = first, first + queries.n_negative, 0, queries.n_positive, number
        before = np.empty(n_negatives, dtype=np.intp)
        before[order] = optimal_before(queries, place, queries.negative[order], *each)
        return before

    # Buckets of equal width between the highest and the lowest negative of each query
    per_query = max(1, min(n_negatives // _PER_BUCKET, _MAX_BUCKETS) // n_queries)
    top = np.maximum.reduceat(queries.negative, first)
    bottom = np.minimum.reduceat(queries.negative, first)
    span = top - bottom
    width = span * ((1 + 1e-9) / per_query)
    flat = width < np.finfo(float).tiny  # one bucket for all
    width[flat] = span[flat]
    scale = np.divide(1, width, out=np.zeros(n_queries), where=~flat)
    query = np.repeat(number, queries.n_negative) if n_queries > 1 else 0
    bucket = ((top[query] - queries.negative) * scale[query]).astype(np.intp)
    if n_queries > 1:
        bucket += query * per_query
    counts = np.bincount(bucket, minlength=n_queries * per_query)
    place = np.cumsum(counts) - counts + 1 - np.repeat(first, per_query)  # of the best

    # The least and the greatest optimum of the negatives of each bucket that has any
    filled = np.flatnonzero(counts)
    query, nth = np.divmod(filled, per_query)
    edges = [
        np.maximum(top[query] - n * width[query], bottom[query]) for n in (nth, nth + 1)
    ]
    ends = place[filled], place[filled] + counts[filled] - 1
    places, scores = (np.stack(pair, axis=1).ravel() for pair in (ends, edges))
    start = 2 * np.searchsorted(query, number)
    each = start, np.append(start[1:], len(places)), 0, queries.n_positive, number
    corners = optimal_before(queries, places, scores, *each)
    lo, hi = np.zeros((2, len(counts)), dtype=np.intp)
    lo[filled], hi[filled] = corners[::2], corners[1::2]

    # The optima of the others, which are sorted
    before = lo[bucket]
    rest = np.flatnonzero((lo < hi)[bucket])
    if len(rest):
        rest = rest[descending(queries.negative[rest], bucket[rest])]
        start = np.flatnonzero(np.diff(bucket[rest], prepend=-1))
        stop = np.append(start[1:], len(rest))
        which = bucket[rest[start]]
        places = np.arange(len(rest)) + np.repeat(place[which] - start, stop - start)
        each = start, stop, lo[which], hi[which], which // per_query
        before[rest] = optimal_before(queries, places, queries.negative[rest], *each)
    return before


@validated(
    positive_scores=["array-like"],
    negative_scores=["array-like"],
    loss=[StrOptions(set(RANKING_LOSSES))],
)
def loss_augmented_ranks(
    positive_scores: ArrayLike,
    negative_scores: ArrayLike,
    loss: Literal["average_precision", "ndcg"] = "average_precision",
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

    loss : {"average_precision", "ndcg"}, default="average_precision"
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
        If scores are not finite or empty, or shapes do not fit.

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
    n_positive, n_negative = (
        np.full(len(scores), scores.shape[1]) for scores in (positive, negative)
    )
    made = RANKING_LOSSES[loss](n_positive)
    queries = Queries(positive.ravel(), negative.ravel(), n_positive, n_negative, made)
    before = most_violating(queries)
    losses = queries.losses(queries.negatives_before(before))
    if n_dims[1] == 1:
        return before + 1, float(losses[0])
    return before.reshape(negative.shape) + 1, losses
