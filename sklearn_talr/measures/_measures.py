"""The measures and their sums over the ties. :mod:`._ties` explains the symbols."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..histogram._rankings import padded_rows
from ._base import Measure, choice, is_real, level, parameter
from ._rank_sums import discount_sum, harmonic_sum
from ._ties import ALL_RANKS, CELLS_PER_BLOCK, TiedItems

# Numbers of relevant items that are further from their mean than the square root of this
# number times the smallest margin have a probability below the precision of float64.
_SPREAD = 24
# A probability of this size no longer changes a float near 1.
_NEGLIGIBLE = 1e-18
_LARGEST_EXPONENT = 1023  # largest power of two that float64 holds
# Least number of places of a tie that are looked at in one step.
_PLACES_PER_STEP = 16


@dataclass(frozen=True, kw_only=True, repr=False)
class AveragePrecision(Measure):
    r"""Average precision: the mean of the precisions at the ranks of relevant items.

    At any rank of a tie an item is relevant with probability p/n. Given that it is, its
    precision there counts itself, the :math:`t_p` relevant items before the tie, and of the
    j items of the tie that precede it the fraction (p - 1)/(n - 1) that is relevant. Hence
    (eq. 17 of He et al., CVPR 2018, after McSherry and Najork)

    .. math::

        \mathrm{AP}@k = \frac1Z \sum_{\text{ties}} \frac pn \sum_{j < \text{take}}
        \frac{t_p + 1 + j\, \frac{p - 1}{n - 1}}{t + 1 + j}

    for a tie of n items, p of which are relevant, after t items, :math:`t_p` of which are
    relevant. `take` of the ranks of the tie are within the cutoff. The inner sum is a
    difference of harmonic numbers, so the cost does not depend on the size of the ties.
    Values are in [0, 1].

    Parameters
    ----------
    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        Z, in which definitions of AP at k differ: "relevant" is the number of relevant
        items of the query, "min" is the smaller of that and k, and "retrieved" is the
        number of relevant items among the first k ranks. The last is random, so the
        expectation of the ratio is returned, and an order that retrieves nothing relevant
        counts 0. Without a cutoff the three are equal if all relevant items are ranked.

    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    After a relevant item the cutoff divides a tie of two. The definitions differ:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.measures import AP
    >>> histogram = RankingHistogram([[[0, 1], [1, 1]]], levels=[0, 1])
    >>> for denominator in ("relevant", "min", "retrieved"):
    ...     measure = AP(denominator=denominator) @ 2
    ...     print(measure, measure.of(histogram))
    AP@2 [0.75]
    AP(denominator="min")@2 [0.75]
    AP(denominator="retrieved")@2 [1.]
    """

    name = "AP"
    title = "average precision"

    denominator: str = choice("relevant", ("relevant", "min", "retrieved"))
    rel: int = level(1)

    def kernel(self, ties):
        """Expected sum of the precisions at relevant ranks, over the denominator."""
        terms = precision_sum(ties.whole)
        if self.denominator == "retrieved":
            return _over_retrieved(ties, terms)
        total = ties.sum_before_cut(terms) + precision_sum(ties.divided)
        if self.denominator == "relevant":
            return total / np.maximum(ties.n_relevant, 1)
        return total / np.maximum(np.minimum(ties.k, ties.n_relevant), 1)


def precision_sum(tie):
    """Expected sum of the precisions at relevant ranks among the first `take` of a tie."""
    harmonic = harmonic_sum(tie.t, tie.take)
    among_others = (tie.p - 1) / np.maximum(tie.n - 1, 1)
    inner = among_others * (tie.take - (tie.t + 1) * harmonic)
    inner += (tie.tp + 1) * harmonic
    return tie.p / np.maximum(tie.n, 1) * inner


def _over_retrieved(ties, terms):
    """Divide by the number of relevant items retrieved, which depends on the divided tie.

    The worst and the best order choose the number of relevant items of the divided tie that
    are retrieved. They need this tie as it was before it was broken.
    """
    if ties.order == "expected":
        return expected_over_retrieved(ties.sum_before_cut(terms), ties.divided)
    tie = ties.tied.divided
    before = ties.cut_at(tie.t).sum_before_cut(terms)
    total = np.where(tie.t > 0, before, 0)
    if ties.order == "worst":
        return worst_over_retrieved(total, tie)
    return best_over_retrieved(total, tie)


def expected_over_retrieved(total, tie):
    """Mean over all orders, by the hypergeometric distribution of the relevant items.

    Parameters
    ----------
    total : ndarray of shape (n_queries, n_cutoffs)
        Sum of the precisions at relevant ranks before the divided tie.

    tie : TiedItems of this shape
        The divided tie.
    """
    shape = total.shape
    total = np.ravel(total)
    tie = TiedItems(*map(np.ravel, tie))
    low, high = _likely_numbers(tie)
    width = high - low + 1
    means = np.empty(len(width))
    by_width = np.argsort(width)  # rows of a block are padded to the widest
    n_rows = max(1, CELLS_PER_BLOCK // width.max(initial=1))
    for start in range(0, len(width), n_rows):
        rows = by_width[start : start + n_rows]
        block = TiedItems(*(column[rows, None] for column in tie))
        n_found = low[rows, None] + np.arange(width[rows].max())
        probability = _hypergeometric(n_found, high[rows, None], block)
        # The mean over the orders with this number of relevant items among the `take` ranks
        # equals that of a tie with these ranks.
        taken = block._replace(n=block.take, p=n_found)
        precisions = total[rows, None] + precision_sum(taken)
        ratio = _ratio(precisions, block.tp + n_found)
        means[rows] = (probability * ratio).sum(axis=1)
    return means.reshape(shape)


def _likely_numbers(tie):
    """Least and greatest number of relevant items among the first `take` of a tie.

    Other numbers have a probability below the precision of float64.
    """
    least, greatest = _possible_numbers(tie)
    n_not_taken = tie.n - tie.take
    n_irrelevant = tie.n - tie.p
    margin = np.minimum(tie.take, n_not_taken)
    margin = np.minimum(margin, np.minimum(tie.p, n_irrelevant))
    mean = tie.take * tie.p / np.maximum(tie.n, 1)
    spread = np.sqrt(_SPREAD * margin) + 1
    low = np.maximum(least, np.floor(mean - spread).astype(np.int64))
    high = np.minimum(greatest, np.ceil(mean + spread).astype(np.int64))
    return low, high


def _hypergeometric(n_found, high, tie):
    """Probability of `n_found` relevant items among the first `take` of a tie.

    Each row of `n_found` holds consecutive numbers, which count up to `high`. Probabilities
    follow from the ratios of neighbors: factorials of a million would cost seven digits,
    and these ratios are exact.
    """
    is_padding = n_found > high
    next_found = n_found[:, 1:]
    up = (tie.take - next_found + 1) * (tie.p - next_found + 1)
    down = next_found * (tie.n - tie.take - tie.p + next_found)
    up = np.where(is_padding[:, 1:], 1, up)
    down = np.where(is_padding[:, 1:], 1, down)
    logs = np.zeros(n_found.shape)
    np.cumsum(np.log(up / down), axis=1, out=logs[:, 1:])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights[is_padding] = 0
    return weights / weights.sum(axis=1, keepdims=True)


def best_over_retrieved(total, tie):
    """Largest value: relevant items come first, as many or as few as the tie allows.

    The added precisions grow with the number of relevant items, so their running mean with
    the precisions of earlier ties falls first, if at all, and then rises.
    """
    low, high = _possible_numbers(tie)
    return np.maximum(_relevant_first(low, total, tie), _relevant_first(high, total, tie))


def _relevant_first(n_found, total, tie):
    """The value if `n_found` relevant items come first in the tie, and no more within k."""
    lost = (tie.t - tie.tp) * harmonic_sum(tie.t, n_found)
    return _ratio(total + n_found - lost, tie.tp + n_found)


def worst_over_retrieved(total, tie):
    """Smallest value: relevant items last; their number is found by bisection.

    The sum of precisions is convex in the number h of relevant items, so its ratio to
    tp + h falls, then rises.
    """
    low, high = _possible_numbers(tie)
    while np.any(low < high):
        middle = (low + high) // 2
        at_next = _relevant_last(np.minimum(middle + 1, high), total, tie)
        rises = at_next >= _relevant_last(middle, total, tie)
        low = np.where(rises, low, middle + 1)
        high = np.where(rises, middle, high)
    return _relevant_last(low, total, tie)


def _relevant_last(n_found, total, tie):
    """The value if `n_found` relevant items of the tie are on the last ranks within k."""
    k = tie.t + tie.take
    lost = (k - tie.tp - n_found) * harmonic_sum(k - n_found, n_found)
    return _ratio(total + n_found - lost, tie.tp + n_found)


def _possible_numbers(tie):
    """Least and greatest possible number of relevant items among the first `take`."""
    n_irrelevant = tie.n - tie.p
    least = np.maximum(0, tie.take - n_irrelevant)
    greatest = np.minimum(tie.take, tie.p)
    return least, greatest


def _ratio(total, retrieved):
    return total / np.maximum(retrieved, 1)


@dataclass(frozen=True, kw_only=True, repr=False)
class OfRelevance(Measure):
    """Base of measures of relevant and irrelevant items, without grades."""

    rel: int = level(1)


class Precision(OfRelevance):
    """Precision: the relevant fraction of the first k ranks.

    Each rank of a tie is relevant with probability p/n, so a tie of which `take` ranks
    are within k adds ``take p / n`` to the expected number of relevant items there. That
    number is divided by k, even if there are fewer items. Without a cutoff k is the number
    of items; a run needs a cutoff. Values are in [0, 1].

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    The second of three tied items is relevant in two orders of three:

    >>> from sklearn_talr.measures import P
    >>> (P @ 2).score([[1, 1, 0]], [[2.0, 2.0, 2.0]])
    0.666666...
    """

    name = "P"
    title = "precision"
    needs_cutoff = True

    def kernel(self, ties):
        """Relevant items retrieved, over k."""
        return relevant_within(ties) / np.maximum(ties.k, 1)


class Recall(OfRelevance):
    """Recall: the fraction of the relevant items that is among the first k ranks.

    The expected number of relevant items there, as for :data:`P`, is divided by the number
    of all relevant items, documents that a run has not retrieved included. Values are in
    [0, 1]. Without a cutoff recall is 1; a run needs a cutoff.

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    >>> from sklearn_talr.measures import R
    >>> (R @ 1).score([[1, 1, 0]], [[2.0, 2.0, 2.0]])
    0.333333...
    """

    name = "R"
    title = "recall"
    needs_cutoff = True

    def kernel(self, ties):
        """Relevant items retrieved, over all relevant items."""
        return relevant_within(ties) / np.maximum(ties.n_relevant, 1)


class HarmonicMean(OfRelevance):
    """F1: the harmonic mean of precision and recall.

    With H relevant items among the first k ranks and :math:`N^+` in all, the harmonic mean
    of precision :math:`H/k` and recall :math:`H/N^+` is :math:`2 H / (k + N^+)`. It is
    linear in H, so the expectation of H is put in, as for :data:`P`. Values are in [0, 1].

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    >>> from sklearn_talr.measures import F1
    >>> (F1 @ 1).score([[1, 1, 0]], [[2.0, 2.0, 2.0]])
    0.444444...
    """

    name = "F1"
    title = "F1"
    needs_cutoff = True

    def kernel(self, ties):
        """Twice the relevant items retrieved, over k and all relevant items together."""
        # The sum of two int64 may not fit int64.
        divisor = np.add(ties.k, ties.n_relevant, dtype=np.float64)
        return 2 * relevant_within(ties) / np.maximum(divisor, 1)


class RPrecision(Precision):
    """R-precision: precision at the rank that is the number of relevant items.

    All relevant items of the query count, also documents that a run has not retrieved.
    There is no cutoff. Values are in [0, 1].

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    >>> from sklearn_talr.measures import Rprec
    >>> Rprec.score([[1, 1, 0]], [[3.0, 2.0, 2.0]])
    0.75
    """

    name = "Rprec"
    title = "R-precision"
    needs_cutoff = False
    takes_cutoff = False

    def ranks(self, ties, cutoffs):
        """The number of relevant items of each query, which replaces a cutoff."""
        return ties.n_relevant


class JudgedFraction(Measure):
    """Share of judged documents among the first k ranks of a run.

    The divisor is k, or the number of retrieved documents if that is less. Values are in
    [0, 1]. Arrays and tables hold an affinity for every item, so that this is a measure of
    runs only.

    Examples
    --------
    Two documents share the first place, and one of them is judged:

    >>> from sklearn_talr.measures import Judged
    >>> from sklearn_talr.runs import evaluate_run
    >>> run = {"q": {"d1": 1.0, "d2": 1.0}}
    >>> evaluate_run({"q": {"d1": 0}}, run, Judged @ 1).expected
    array([[0.5]])
    """

    name = "Judged"
    title = "judged"
    of_runs_only = True
    rel = None

    def ranks(self, ties, cutoffs):
        """The cutoffs, or the number of retrieved documents if that is less."""
        n_ranks = np.where(cutoffs == ALL_RANKS, np.iinfo(np.int64).max, cutoffs)
        return np.minimum(n_ranks, ties.n_items)

    def kernel(self, ties):
        """Judged documents among the first k; all judged documents count as relevant."""
        return relevant_within(ties) / np.maximum(ties.k, 1)


class BinaryPreference(OfRelevance):
    r"""Bpref: a penalty for judged irrelevant documents that rank before relevant ones.

    A query has R relevant documents and N that were judged irrelevant, retrieved or not.
    Each relevant document that is retrieved after b judged irrelevant ones contributes

    .. math:: \frac1R \left(1 - \frac{\min(b, R)}{\min(N, R)}\right),

    or 1/R if none is before it, as in trec_eval. Unjudged documents do not matter. In a tie
    with m judged irrelevant documents, b is their number before the tie plus any number
    from 0 to m with equal probability, and the mean over these numbers is taken. Values are
    in [0, 1]. Arrays and tables hold an affinity for every item, so that this is a measure
    of runs only.

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant. Documents with a lower affinity from 0 on are
        irrelevant.

    Examples
    --------
    The unjudged document does not matter, and in half of the orders of the tie the relevant
    document is before the irrelevant one:

    >>> from sklearn_talr.measures import Bpref
    >>> from sklearn_talr.runs import evaluate_run
    >>> run = {"q": {"d1": 2.0, "d2": 1.0, "d3": 1.0}}
    >>> evaluate_run({"q": {"d2": 1, "d3": 0}}, run, Bpref).expected
    array([[0.5]])
    """

    name = "Bpref"
    title = "bpref"
    of_runs_only = True
    takes_cutoff = False

    def kernel(self, ties):
        """Sum over the ties of the contributions of their relevant documents."""
        relevant = ties.gains(lambda grade: grade >= self.rel)
        irrelevant = ties.gains(lambda grade: (grade >= 0) & (grade < self.rel))
        _, n_relevant = ties.sums(relevant)
        before, n_irrelevant = ties.sums(irrelevant)
        # A relevant document has b irrelevant ones before it, one of the irrelevant + 1
        # numbers from `before` on. The first of these are below n_relevant.
        n_below = np.clip(n_relevant - before, 0, irrelevant + 1)
        total = n_below * before + n_below * (n_below - 1) / 2
        total += (irrelevant + 1 - n_below) * n_relevant
        most = np.maximum(np.minimum(n_irrelevant, n_relevant), 1)
        lost = total / (irrelevant + 1) / most
        return ties.sum_before_cut(relevant * (1 - lost) / np.maximum(n_relevant, 1))


def relevant_within(ties):
    """Expected number of relevant items among the first k ranks."""
    tie = ties.divided
    return tie.tp + tie.take * tie.p / np.maximum(tie.n, 1)


class ReciprocalRank(OfRelevance):
    r"""Reciprocal rank of the first relevant item; its mean over queries is MRR.

    The first tie with relevant items has n items, p of which are relevant, and comes after
    t items. Its first relevant item is at place j with probability
    :math:`\binom{n-j}{p-1} \big/ \binom np`, and then counts :math:`1 / (t + j)`, or 0
    beyond the cutoff. Values are in [0, 1].

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    A relevant and an irrelevant item are tied, so the rank is 1 or 2 with equal chance:

    >>> from sklearn_talr.measures import RR
    >>> RR.score([[1, 0]], [[2.0, 2.0]])
    0.75
    """

    name = "RR"
    title = "reciprocal rank"

    def kernel(self, ties):
        """Sum over the places of the tie, until a relevant item has certainly come.

        The loop visits at most about 41 n/p places. A single relevant item is at each place
        with equal probability.
        """
        n, p, t, take = ties.first_relevant
        mean_of_ranks = harmonic_sum(t, take) / np.maximum(n, 1)
        values = np.where(p == 1, mean_of_ranks, 0)
        none_yet = np.ones(len(values))  # probability that no place so far is relevant
        n_places = take.max(axis=1, initial=0) * (p[:, 0] > 1)
        n_done = 0
        active = np.flatnonzero(n_places)
        while active.size:
            width = max(_PLACES_PER_STEP, CELLS_PER_BLOCK // active.size)
            n_remaining = n_places[active].max() - n_done
            places = n_done + np.arange(min(width, n_remaining))
            n_left = np.maximum(n[active] - places, 1)
            n_irrelevant = np.maximum(n_left - p[active], 0)
            before = none_yet[active, None]
            none = np.cumprod(n_irrelevant / n_left, axis=1)
            none *= before
            none_before = np.concatenate((before, none[:, :-1]), axis=1)
            # Each place has this chance to hold the first relevant item.
            chance = none_before * p[active] / n_left
            ranks = t[active] + places + 1
            sums = np.zeros((len(active), len(places) + 1))
            np.cumsum(chance / ranks, axis=1, out=sums[:, 1:])
            within = np.clip(take[active] - n_done, 0, len(places))
            values[active] += np.take_along_axis(sums, within, axis=1)
            none_yet[active] = none[:, -1]
            n_done += len(places)
            goes_on = (none_yet[active] > _NEGLIGIBLE) & (n_places[active] > n_done)
            active = active[goes_on]
        return values


class SuccessRate(OfRelevance):
    r"""Success, or hit rate: the chance of a relevant item among the first k ranks.

    A tie has n items, p of which are relevant. None is among `take` of its ranks with
    probability :math:`\binom{n - \text{take}}{p} \big/ \binom np`. Values are in [0, 1].
    Without a cutoff the value is 1; a run needs a cutoff.

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    Two of four tied items are relevant:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.measures import Success
    >>> histogram = RankingHistogram([[[2], [2]]], levels=[0, 1])
    >>> for k in (1, 2, 3):
    ...     print(Success @ k, (Success @ k).of(histogram).round(2))
    Success@1 [0.5]
    Success@2 [0.83]
    Success@3 [1.]
    """

    name = "Success"
    title = "success"
    needs_cutoff = True

    def kernel(self, ties):
        """1 - C(n - take, p) / C(n, p), by a product of min(take, p) factors.

        Factors stop when the product vanishes: there are at most about sqrt(42 n).
        """
        n, p, _, take = ties.first_relevant
        n_factors = np.minimum(take, p).ravel()
        drawn = np.maximum(take, p).ravel()
        n = np.broadcast_to(n, take.shape).ravel()
        log_none = np.zeros(len(n))
        n_done = 0
        active = np.flatnonzero(n_factors)
        while active.size:
            width = max(_PLACES_PER_STEP, CELLS_PER_BLOCK // active.size)
            n_remaining = n_factors[active].max() - n_done
            places = n_done + np.arange(min(width, n_remaining))
            n_left = np.maximum(n[active, None] - places, 1)
            share = drawn[active, None] / n_left
            share[places >= n_factors[active, None]] = 0
            # A hit is certain if the chance of none is 0, whose logarithm is -inf.
            with np.errstate(divide="ignore"):
                log_none[active] += np.log1p(-np.minimum(share, 1)).sum(axis=1)
            n_done += len(places)
            is_likely = log_none[active] > np.log(_NEGLIGIBLE)
            active = active[is_likely & (n_factors[active] > n_done)]
        return -np.expm1(log_none).reshape(take.shape)


@dataclass(frozen=True, kw_only=True, repr=False)
class _Discounted(Measure):
    """The gain of DCG and of nDCG, which a name may leave open."""

    dcg: str | None = choice(None, ("log2", "exp-log2"))

    @property
    def takes_real_grades(self):
        """Whether affinities may be other numbers than integers."""
        return self.dcg == "log2"

    def completed(self, *, gains, largest=None, is_all=True):
        """The measure with its gain; if none is set, `gains` is the gain."""
        return self if self.dcg else replace(self, dcg=gains)

    def _gain(self, affinity):
        """The gain of each affinity."""
        if self.dcg == "log2":
            return affinity.astype(np.float64)
        return np.ldexp(1.0, affinity.astype(np.int32)) - 1

    def _refuse_overflow(self, ties):
        """Raise ValueError unless float64 holds the gains of items of the largest affinity.

        All items of a query may have it.
        """
        largest = ties.cells.grade.max(initial=0)
        n_items = max(1, ties.n_items.max(initial=1), ties.n_relevant.max(initial=1))
        if self.dcg == "log2":
            if largest > np.finfo(np.float64).max / n_items:
                raise ValueError(
                    f"Grades of {largest} overflow float64 when they are summed over "
                    f"up to {n_items} items. Pass y_true divided by its maximum."
                )
        elif largest + np.log2(n_items) > _LARGEST_EXPONENT:
            raise ValueError(
                f"The exponential gain 2**affinity - 1 of affinity {largest} overflows "
                f"float64 when it is summed over up to {n_items} items. Pass "
                "dcg='log2', or give similar items a smaller affinity."
            )


@dataclass(frozen=True, kw_only=True, repr=False)
class DiscountedCumulativeGain(_Discounted):
    r"""Discounted cumulative gain.

    Every item of a tie takes each of its ranks equally often, so a tie contributes its
    mean gain at each rank (eq. 20 of He et al., CVPR 2018, after McSherry and Najork):

    .. math::

        \mathrm{DCG}@k = \sum_{\text{ties}} \bar g
        \sum_{t < r \le \min(t + n,\, k)} \frac{1}{\log(r + 1)},

    with :math:`\bar g` the mean gain of a tie of n items after t items, and the logarithm
    to the base `log_base`. Values are not negative.

    Parameters
    ----------
    dcg : {"log2", "exp-log2"}, default=None
        The gain of an item: its affinity a, or :math:`2^a - 1`. None leaves it open, as
        explained for :data:`nDCG`.

    log_base : float, default=2
        Base of the logarithm, above 1.

    Examples
    --------
    An item of affinity 1 tied with an irrelevant one takes rank 1 or rank 2:

    >>> from sklearn_talr.histogram import RankingHistogram
    >>> from sklearn_talr.measures import DCG
    >>> DCG.of(RankingHistogram([[[1], [1]]], levels=[0, 1]))
    array([0.81546488])
    """

    name = "DCG"
    title = "DCG"
    range = (0.0, math.inf)

    log_base: float = parameter(2, lambda v: is_real(v) and v > 1, "a number above 1")

    def kernel(self, ties):
        """Discounted gains, in units of the logarithm to this base."""
        self._refuse_overflow(ties)
        return discounted(ties, self._gain) * np.log2(float(self.log_base))


class NormalizedDCG(_Discounted):
    """DCG over the DCG of the best ranking.

    The best ranking has all relevant items by descending affinity, including documents that
    a run has not retrieved. Tied items share gains as in :data:`DCG`. Values are in [0, 1];
    the base of the logarithm cancels.

    Parameters
    ----------
    dcg : {"log2", "exp-log2"}, default=None
        The gain of an item: its affinity a (linear), or :math:`2^a - 1` (exponential).
        With None the gain depends on the kind of data, see Notes.

    Notes
    -----
    There are two definitions of NDCG. trec_eval and ir_measures have linear gains. Papers
    on learning to rank, such as the TALR paper, have exponential gains. With `dcg` set, a
    measure is the same for all data. The default of ``nDCG`` depends on the data:

    * For runs and judgments (:func:`~sklearn_talr.runs.evaluate_run`, its command and the
      provider for ir_measures) it is ``nDCG(dcg="log2")``.
    * For tables of counts and for arrays (everything else, including scores of hashers) it
      is ``nDCG(dcg="exp-log2")``, the name that reports, pictures and scorers print.

    The two are equal if all affinities are 0 or 1.

    Examples
    --------
    The item of affinity 2 ranks after the item of affinity 1:

    >>> from sklearn_talr.measures import nDCG
    >>> for measure in (nDCG, nDCG(dcg="exp-log2"), nDCG(dcg="log2")):
    ...     print(measure, round(measure.score([[1, 2]], [[2.0, 1.0]]), 4))
    nDCG 0.7967
    nDCG(dcg="exp-log2") 0.7967
    nDCG(dcg="log2") 0.8597
    """

    name = "nDCG"
    title = "nDCG"

    def kernel(self, ties):
        """Discounted gains, over the discounted gains of the best ranking."""
        self._refuse_overflow(ties)
        ideal = discounted(ties.ideal, self._gain)
        return discounted(ties, self._gain) / np.where(ideal == 0, 1, ideal)


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedPrecision(Measure):
    r"""Rank-biased precision: gains discounted by the chance that a user reads this far.

    A user reads on after each item with probability p (Moffat and Zobel, 2008):

    .. math:: \mathrm{RBP}@k = \sum_{r \le k} g_r\, (1 - p)\, p^{r - 1},

    with :math:`g_r` the gain at rank r. Every rank of a tie has the mean gain of the tie,
    and the discounts of its ranks are a geometric sum. Values are in [0, 1].

    Parameters
    ----------
    p : float, default=0.8
        The probability, between 0 and 1.

    rel : int, default=None
        The least affinity that is relevant; the gain of relevant items is 1 then. None
        means graded gains, the affinity over `max_rel`.

    max_rel : int, default=None
        The affinity of gain 1. None means the largest affinity. A table of counts may be
        only a part of the data, so with graded affinities it needs a `max_rel`.

    Examples
    --------
    >>> from sklearn_talr.measures import RBP
    >>> RBP(p=0.5).score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.375
    """

    name = "RBP"
    title = "rank-biased precision"

    p: float = parameter(
        0.8, lambda v: is_real(v) and 0 < v < 1, "a number between 0 and 1"
    )
    rel: int | None = level(None)
    max_rel: int | None = level(None)

    def completed(self, *, gains, largest=None, is_all=True):
        """The measure with the affinity of gain 1."""
        if self.rel is not None and self.max_rel is not None:
            raise ValueError("RBP takes rel or max_rel: gains of 1, or graded ones.")
        if self.rel is not None or largest is None:
            return self
        if self.max_rel is None and largest > 1 and not is_all:
            raise ValueError(
                "RBP of a table of counts needs the affinity of gain 1, as a table may be "
                f"a part of the data. Pass RBP(max_rel={largest}), or rel for gains of 1."
            )
        return replace(self, max_rel=max(1, scale_of(self, largest)))

    def kernel(self, ties):
        """Discounted gains of the first k ranks."""
        return discounted(ties, self._gain, self._discount_sum)

    def _gain(self, grade):
        """The gain of each grade."""
        return (grade > 0).astype(float) if self.rel else grade / self.max_rel

    def _discount_sum(self, start, length):
        """Sum of the discounts over ranks start + 1, ..., start + length."""
        log_p = np.log(self.p)
        return -np.exp(log_p * start) * np.expm1(log_p * length)


def scale_of(measure, largest):
    """The `max_rel` of a measure, which no affinity may exceed, or the largest affinity."""
    if measure.max_rel is not None and largest > measure.max_rel:
        raise ValueError(
            f"{measure.name} has max_rel={measure.max_rel}, but a relevance is {largest}. "
            f"Pass '{measure.name}(max_rel={largest})'."
        )
    return measure.max_rel or largest


def discounted(ties, gain, rank_sum=discount_sum):
    """Mean gain of each tie, at each of its ranks within the cutoff.

    `rank_sum` is the sum of discounts over ranks start + 1, ..., start + length.
    """
    mean_gain = ties.gains(gain) / np.maximum(ties.n, 1)
    whole = mean_gain * rank_sum(ties.t, ties.n)
    divided = ties.at_cut(mean_gain) * rank_sum(ties.at_cut(ties.t), ties.take)
    return ties.sum_before_cut(whole) + divided


@dataclass(frozen=True, kw_only=True, repr=False)
class ExpectedReciprocalRank(Measure):
    r"""Expected reciprocal rank: the mean reciprocal rank at which a user stops.

    A user who reads an item of affinity g, at most `max_rel`, stops there with probability
    :math:`(2^g - 1) / 2^{\text{max\_rel}}` (Chapelle et al., 2009). Whether all items
    before a tie are passed does not depend on their order; let P be the probability. In a
    tie of n, let :math:`m_j` be the mean, over all sets of j of its items, of the
    probability to pass them all. In random order the user then stops at place j + 1 with
    probability :math:`m_j - m_{j+1}`. With t items before the tie, and `take` of its ranks
    within the cutoff,

    .. math::

        \mathrm{ERR} = \sum_{\text{ties}} P
        \sum_{j < \text{take}} \frac{m_j - m_{j+1}}{t + j + 1}.

    One more item, passed with probability q, joins the j chosen of now n with probability
    j/n, so that :math:`m_j` becomes :math:`((n - j)\, m_j + j q\, m_{j-1}) / n`. Items that
    are not relevant are always passed, and leave all :math:`m_j` at 1. Values are in [0,
    1]. The cost grows with the size of the ties within the cutoff.

    Parameters
    ----------
    max_rel : int, default=4
        The largest possible affinity. The default is the value in TREC's gdeval.

    Examples
    --------
    >>> from sklearn_talr.measures import ERR
    >>> (ERR(max_rel=1) @ 20).score([[1, 0, 1]], [[2.0, 2.0, 1.0]])
    0.4583333...
    """

    name = "ERR"
    title = "expected reciprocal rank"

    max_rel: int = level(4)

    def completed(self, *, gains, largest=None, is_all=True):
        """The measure itself, unless an affinity is beyond `max_rel`."""
        scale_of(self, largest or 0)
        return self

    def kernel(self, ties):
        """Sum over ties of the chance to reach them, times the mean of 1 / rank in them."""
        cells = ties.cells
        n_queries = len(ties.n_items)
        # The relevant items one by one, and the chance to pass each.
        grade = np.repeat(cells.grade, cells.count)
        gain = np.ldexp(1.0, grade.astype(int)) - 1
        passes = 1 - np.ldexp(gain, -self.max_rel)
        n_of_query = np.bincount(np.repeat(cells.query, cells.count), minlength=n_queries)
        reach = _chance_to_reach(passes, n_of_query)
        tie = _TiesOfItems.from_ties(ties)
        stops = _stop_sums(passes, tie)
        terms = reach[tie.first][:, None] * stops
        values = np.zeros((n_queries, terms.shape[1]))
        np.add.at(values, tie.query, terms)
        return values


class _TiesOfItems(NamedTuple):
    """Ties that a cutoff reaches, with their relevant items one by one.

    Parameters
    ----------
    query : ndarray of shape (n_ties,) of int
        Query of each tie.

    n, p, t : ndarray of shape (n_ties,) of int
        Items of the tie, its relevant items, and items before it.

    first : ndarray of shape (n_ties,) of int
        Place of the first relevant item of the tie among the relevant items of all ties.

    take : ndarray of shape (n_ties, n_cutoffs) of int
        How many ranks of the tie are within each cutoff.
    """

    query: np.ndarray
    n: np.ndarray
    p: np.ndarray
    t: np.ndarray
    first: np.ndarray
    take: np.ndarray

    @classmethod
    def from_ties(cls, ties):
        """The ties that a cutoff reaches; the others would double the work."""
        has_relevant = ties.p > 0
        n = ties.n[has_relevant]
        p = ties.p[has_relevant]
        t = ties.t[has_relevant]
        query = ties.cells.query[ties.cells.starts]
        n_reached = ties.reached[query] - t[:, None]
        take = np.clip(n_reached, 0, n[:, None])
        all_ties = cls(query=query, n=n, p=p, t=t, first=np.cumsum(p) - p, take=take)
        is_reached = take.max(axis=1, initial=0) > 0
        return cls(*(column[is_reached] for column in all_ties))


def _chance_to_reach(passes, n_of_query):
    """The chance to pass all items of the same query that come before each item.

    Parameters
    ----------
    passes : ndarray of shape (n_items,)
        The chance to pass each item.

    n_of_query : ndarray of shape (n_queries,) of int
        Number of consecutive items of each query.
    """
    reach = np.ones(len(passes))
    first = np.cumsum(n_of_query) - n_of_query
    for _, item, inside in padded_rows(first, n_of_query, CELLS_PER_BLOCK):
        rows = np.ones(item.shape)
        np.cumprod(passes[item[:, :-1]], axis=1, out=rows[:, 1:])
        reach[item[inside]] = rows[inside]
    return reach


def _stop_sums(passes, tie):
    """Mean over the orders of each tie of 1 / rank of the stop in it, once it is reached.

    Parameters
    ----------
    passes : ndarray of shape (n_items,)
        The chance to pass each relevant item.

    tie : _TiesOfItems
        The ties.

    Returns
    -------
    stops : ndarray of shape (n_ties, n_cutoffs)
        Sums over the ranks within each cutoff.
    """
    stops = np.zeros(tie.take.shape)
    width = tie.take.max(axis=1, initial=0)
    widest = int(width.max(initial=0))
    for block, item, inside in padded_rows(tie.first, tie.p, CELLS_PER_BLOCK, widest):
        n_irrelevant = (tie.n[block] - tie.p[block])[:, None]
        n_places = width[block].max()
        passed = _mean_passed(passes[item], inside, n_irrelevant, n_places)
        ranks = tie.t[block, None] + np.arange(1, n_places + 1)
        sums = np.zeros(passed.shape)
        stop_chance = passed[:, :-1] - passed[:, 1:]
        np.cumsum(stop_chance / ranks, axis=1, out=sums[:, 1:])
        stops[block] = np.take_along_axis(sums, tie.take[block], axis=1)
    return stops


def _mean_passed(passes, inside, n_irrelevant, n_places):
    """Mean chance to pass all of j items, over all sets of j items of a tie.

    Relevant items join the irrelevant ones, which are always passed, one after another.

    Parameters
    ----------
    passes : ndarray of shape (n_ties, n_columns)
        The chance to pass each relevant item.

    inside : ndarray of shape (n_ties, n_columns) of bool
        Whether there is an item.

    n_irrelevant : ndarray of shape (n_ties, 1) of int
        Number of the other items of the tie.

    n_places : int
        The largest j.

    Returns
    -------
    mean : ndarray of shape (n_ties, n_places + 1)
        For each j from 0 on.
    """
    j = np.arange(n_places + 1)
    mean = np.ones((len(passes), n_places + 1))
    size = n_irrelevant
    for column in range(passes.shape[1]):
        joins = inside[:, column, None]
        size = size + joins
        is_chosen = np.minimum(j / np.maximum(size, 1), 1)
        with_item = passes[:, column, None] * np.roll(mean, 1, axis=1)
        mean = np.where(joins, (1 - is_chosen) * mean + is_chosen * with_item, mean)
    return mean


AP = AveragePrecision()
Bpref = BinaryPreference()
DCG = DiscountedCumulativeGain()
ERR = ExpectedReciprocalRank()
F1 = HarmonicMean()
Judged = JudgedFraction()
P = Precision()
R = Recall()
RBP = RankBiasedPrecision()
RR = ReciprocalRank()
Rprec = RPrecision()
Success = SuccessRate()
nDCG = NormalizedDCG()  # noqa: N816
