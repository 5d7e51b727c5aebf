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

from .._compat import StrOptions, validate_params


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
        What :func:`make_loss` of ``_losses`` returns.
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

    def terms(self, query, j, score, k):
        """Return what Delta + F gains when the negative at place j passes positive k."""
        lead = self.positive[self.first_positive[query] + k - 1] - score
        return self.loss.gain(query, j, k) - self.swap[query] * lead

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


# Rows of a table of intervals, one column each. An interval holds the negatives
# start..stop-1 of one query, in the order of their scores. Each of them has at least lo and
# at most hi positives before it.
START, STOP, LO, HI, QUERY = range(5)

_FEW_CANDIDATES = 4096
_MAX_CUTS = 7


def intervals_of(start, stop, lo, hi, query):
    """Return the table of intervals with these rows."""
    table = np.empty((5, len(start)), dtype=np.intp)
    for row, values in enumerate((start, stop, lo, hi, query)):
        table[row] = values
    return table


def optimal_before(queries, place, score, intervals):
    """Find how many positives come before each negative in the optimum.

    Parameters
    ----------
    queries : Queries
        The scores, and the loss.

    place, score : ndarray of shape (n,)
        Place (the j of the loss) and score of each negative. Within each interval places
        ascend and scores descend. The negatives may be made up: with any such places and
        scores the optima ascend.

    intervals : ndarray of shape (5, n_intervals) of int
        Intervals that cover 0..n-1, none of them empty.

    Returns
    -------
    before : ndarray of shape (n,) of int
        The largest of equally good numbers.
    """
    settled = []
    while intervals.shape[1]:
        is_open = intervals[LO] < intervals[HI]
        settled.append(intervals[:, ~is_open])
        intervals = intervals[:, is_open]
        if intervals.shape[1]:
            cuts = _cuts(intervals)
            lo, hi, query = (np.tile(intervals[row], len(cuts)) for row in (LO, HI, QUERY))
            at = cuts.ravel()
            best = _best_before(queries, place[at], score[at], lo, hi, query)
            settled.append(intervals_of(at, at + 1, best, best, query))
            intervals = _pieces(intervals, cuts, best.reshape(cuts.shape))
    pieces = np.concatenate(settled, axis=1)
    start, first = np.unique(pieces[START], return_index=True)
    return np.repeat(pieces[LO, first], np.diff(start, append=len(place)))


def _cuts(intervals):
    """Return the negatives at which to cut each interval, shape (n_cuts, n_intervals).

    An interval with fewer negatives than cuts gets some of them twice.
    """
    n_candidates = int((intervals[HI] - intervals[LO] + 1).sum())
    n_cuts = min(max(_FEW_CANDIDATES // n_candidates, 1), _MAX_CUTS)
    steps = np.arange(1, n_cuts + 1)[:, None]
    length = intervals[STOP] - intervals[START]
    return intervals[START] + length * steps // (n_cuts + 1)


def _best_before(queries, place, score, lo, hi, query):
    """Return the best of lo..hi for each negative, the largest of equally good ones."""
    n_candidates = hi - lo + 1
    end = np.cumsum(n_candidates)
    first = end - n_candidates
    each = np.repeat(np.arange(len(first)), n_candidates)
    position = np.arange(end[-1])
    k = position + (lo - first)[each]
    terms = queries.terms(query[each], place[each], score[each], np.maximum(k, 1))
    terms[first] = 0  # with k positives before it, a negative forgoes those of lo + 1..k
    lost = np.cumsum(terms)
    lost -= lost[first][each]
    least = np.minimum.reduceat(lost, first)
    position[lost != least[each]] = 0
    return k[np.maximum.reduceat(position, first)]


def _pieces(intervals, cuts, best):
    """Return the intervals that lie before, between and after the cuts."""
    shape = len(cuts) + 1, cuts.shape[1]
    pieces = np.empty((5, *shape), dtype=np.intp)
    pieces[START, 0], pieces[START, 1:] = intervals[START], cuts + 1
    pieces[STOP, :-1], pieces[STOP, -1] = cuts, intervals[STOP]
    pieces[LO, 0], pieces[LO, 1:] = intervals[LO], best
    pieces[HI, :-1], pieces[HI, -1] = best, intervals[HI]
    pieces[QUERY] = intervals[QUERY]
    return pieces[:, pieces[START] < pieces[STOP]]


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


class _NoLoss:
    """A loss of 0 for every ranking, so that the optimal ranking is that by scores."""

    def __init__(self, n_positive):
        self._n_queries = len(n_positive)

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        return 0.0

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        return np.zeros(self._n_queries)


class _TableLoss:
    """A loss given as delta_j(i) = table[j - 1, i - 1], one table for all queries."""

    def __init__(self, table, n_positive):
        self._n_queries = len(n_positive)
        self._gain = table[:, :-1] - table[:, 1:]
        self._passed = np.vstack([np.zeros(table.shape[1] - 1), self._gain.cumsum(axis=0)])

    def gain(self, query, j, k):
        """What negative j adds to the loss of its query by passing positive k."""
        return self._gain[j - 1, k - 1]

    def value(self, query, k, n_before):
        """Loss of each query; `n_before` negatives come before each positive."""
        return np.bincount(query, self._passed[n_before, k - 1], minlength=self._n_queries)


NAMED_LOSSES = {"average_precision": _OneMinusAP, "ndcg": _OneMinusNDCG}
RANKING_LOSSES = {**NAMED_LOSSES, "none": _NoLoss}  # "none": direct loss


def make_loss(loss, n_positive, n_negative):
    """Make the loss of a set of queries from its name or from a table of delta_j(i).

    Parameters
    ----------
    loss : {"average_precision", "ndcg", "none"} or array-like
        Name or table.

    n_positive, n_negative : ndarray of shape (n_queries,) of int
        How many positives and negatives each query has.

    Returns
    -------
    ranking_loss : object with methods ``gain`` and ``value``
        Loss of rankings of these queries.
    """
    if isinstance(loss, str):
        return RANKING_LOSSES[loss](n_positive)
    return _TableLoss(_check_table(loss, n_positive, n_negative), n_positive)


def _check_table(table, n_positive, n_negative):
    table = np.asarray(table, dtype=float)
    expected = (int(n_negative.max()), int(n_positive.max()) + 1)
    if table.shape != expected:
        raise ValueError(
            "loss, given as a table of delta_j(i), must have shape (n_negatives, "
            f"n_positives + 1) = {expected}, got {table.shape}."
        )
    if not np.isfinite(table).all() or table[:, -1].any():
        raise ValueError(
            "loss, given as a table of delta_j(i), must be finite and 0 in its last "
            "column, where the negative comes after all positives."
        )
    gain = table[:, :-1] - table[:, 1:]
    if (np.diff(gain, axis=0) > 1e-12 * np.abs(gain).max(initial=0)).any():
        raise ValueError(
            "loss is not quicksort-suitable: delta_j(i) - delta_j(i + 1) must not grow "
            "with j, but it does. No fast search finds its optimum."
        )
    return table


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
    if n_negatives < _MIN_NEGATIVES:
        query = np.repeat(np.arange(n_queries), queries.n_negative)
        order = descending(queries.negative, query)
        each = intervals_of(
            queries.first_negative,
            queries.first_negative + queries.n_negative,
            0,
            queries.n_positive,
            np.arange(n_queries),
        )
        place = np.arange(1, n_negatives + 1) - queries.first_negative[query]
        before = np.empty(n_negatives, dtype=np.intp)
        before[order] = optimal_before(queries, place, queries.negative[order], each)
        return before
    return _by_buckets(queries)


def _by_buckets(queries):
    buckets = _Buckets(queries)
    lo, hi = buckets.bounds()
    before = lo[buckets.of_negative]
    rest = np.flatnonzero((lo < hi)[buckets.of_negative])
    if len(rest):
        bucket = buckets.of_negative[rest]
        order = descending(queries.negative[rest], bucket)
        rest, bucket = rest[order], bucket[order]
        before[rest] = _settled(queries, buckets, bucket, queries.negative[rest], lo, hi)
    return before


def _settled(queries, buckets, bucket, score, lo, hi):
    """Find the optima of sorted negatives, given the bounds lo and hi of each bucket."""
    start = np.flatnonzero(np.diff(bucket, prepend=-1))
    stop = np.append(start[1:], len(bucket))
    which = bucket[start]
    place = np.arange(len(bucket)) + np.repeat(buckets.place[which] - start, stop - start)
    intervals = intervals_of(start, stop, lo[which], hi[which], which // buckets.per_query)
    return optimal_before(queries, place, score, intervals)


class _Buckets:
    """Buckets of equal width between the highest and the lowest negative of each query."""

    def __init__(self, queries):
        self.queries = queries
        n_queries, n_negatives = len(queries.n_negative), len(queries.negative)
        limit = min(n_negatives // _PER_BUCKET, _MAX_BUCKETS)
        self.per_query = max(1, limit // n_queries)
        first = queries.first_negative
        self.top = np.maximum.reduceat(queries.negative, first)
        self.bottom = np.minimum.reduceat(queries.negative, first)
        span = self.top - self.bottom
        self.width = span * ((1 + 1e-9) / self.per_query)
        flat = self.width < np.finfo(float).tiny  # one bucket for all
        self.width[flat] = span[flat]
        self.scale = np.divide(1, self.width, out=np.zeros(n_queries), where=~flat)
        self.of_negative = self._distribute()
        self.counts = np.bincount(self.of_negative, minlength=n_queries * self.per_query)
        ends = np.cumsum(self.counts)
        self.place = ends - self.counts + 1 - np.repeat(first, self.per_query)

    def _distribute(self):
        n_negative = self.queries.n_negative
        if len(n_negative) == 1:
            return ((self.top - self.queries.negative) * self.scale).astype(np.intp)
        query = np.repeat(np.arange(len(n_negative)), n_negative)
        within = (self.top[query] - self.queries.negative) * self.scale[query]
        return within.astype(np.intp) + query * self.per_query

    def bounds(self):
        """Return the least and the greatest optimum of the negatives of each bucket."""
        filled = np.flatnonzero(self.counts)
        query = filled // self.per_query
        place = self.place[filled]
        best, worst = self._edges(filled, query)
        start = 2 * np.searchsorted(query, np.arange(len(self.top)))
        intervals = intervals_of(
            start,
            np.append(start[1:], 2 * len(filled)),
            0,
            self.queries.n_positive,
            np.arange(len(start)),
        )
        corners = optimal_before(
            self.queries,
            _alternate(place, place + self.counts[filled] - 1),
            _alternate(best, worst),
            intervals,
        )
        lo, hi = np.zeros((2, len(self.counts)), dtype=np.intp)
        lo[filled], hi[filled] = corners[::2], corners[1::2]
        return lo, hi

    def _edges(self, bucket, query):
        """Return the highest and the lowest score of each bucket, up to rounding."""
        number, width = bucket % self.per_query, self.width[query]
        top, bottom = self.top[query], self.bottom[query]
        best = np.maximum(top - number * width, bottom)
        return best, np.maximum(top - (number + 1) * width, bottom)


def _alternate(first, second):
    return np.stack([first, second], axis=1).ravel()


@validate_params(
    {
        "positive_scores": ["array-like"],
        "negative_scores": ["array-like"],
        "loss": [StrOptions(set(NAMED_LOSSES)), "array-like"],
    },
    prefer_skip_nested_validation=True,
)
def loss_augmented_ranks(positive_scores, negative_scores, loss="average_precision"):
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
        If scores are not finite or empty, shapes do not fit, or a table is not
        a quicksort-suitable loss.

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
    before = most_violating(queries)
    losses = queries.losses(queries.negatives_before(before))
    if np.ndim(negative_scores) == 1:
        return before + 1, float(losses[0])
    return before.reshape(negative.shape) + 1, losses


def _check_side(scores, name):
    return check_array(np.atleast_2d(scores), dtype=np.float64, input_name=name)
