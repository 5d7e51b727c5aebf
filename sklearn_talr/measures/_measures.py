"""The measures: what each adds up over the ties; symbols are those of :mod:`._ties`."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ..histogram._rankings import padded_rows
from ._base import Measure, choice, is_real, level, parameter
from ._rank_sums import discount_sum, harmonic_sum
from ._ties import ALL_RANKS, CELLS_PER_BLOCK

_SPREAD = 24
_NEGLIGIBLE = 1e-18  # probability that no longer changes a float near 1
_LARGEST_EXPONENT = 1023  # of float64


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

    for a tie of n items, p of them relevant, after t items, :math:`t_p` of them relevant,
    of which the cutoff sees `take` ranks. The inner sum is a difference of harmonic
    numbers, so the cost does not depend on the size of the ties. Values are in [0, 1].

    Parameters
    ----------
    denominator : {"relevant", "min", "retrieved"}, default="relevant"
        Z, in which definitions of AP at k differ: all relevant items of the query, the
        smaller of their number and k, or the relevant items among the first k ranks. Of
        the last the expectation of the ratio is returned; an order that retrieves nothing
        relevant counts 0. Without a cutoff the three are equal where all relevant items
        are ranked.

    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    After a relevant item, a tie of which the cutoff sees half: the definitions differ.

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

    name, title = "AP", "average precision"

    denominator: str = choice("relevant", ("relevant", "min", "retrieved"))
    rel: int = level(1)

    def kernel(self, ties):
        """Expected sum of the precisions at relevant ranks, over the denominator."""
        terms = precision_sum(ties.n, ties.p, ties.t, ties.tp, ties.n)
        if self.denominator == "retrieved":
            return _over_retrieved(ties, terms)
        total = ties.sum_before_cut(terms) + precision_sum(*ties.divided)
        if self.denominator == "relevant":
            return total / np.maximum(ties.n_relevant, 1)
        return total / np.maximum(np.minimum(ties.k, ties.n_relevant), 1)


def precision_sum(n, p, t, tp, take):
    """Expected sum of the precisions at relevant ranks among the first `take` of a tie."""
    harmonic = harmonic_sum(t, take)
    among_others = (p - 1) / np.maximum(n - 1, 1)
    inner = among_others * (take - (t + 1) * harmonic) + (tp + 1) * harmonic
    return p / np.maximum(n, 1) * inner


def _over_retrieved(ties, terms):
    """Divide by the relevant items retrieved, of which only the divided tie is unsure.

    When ties are broken, how many relevant items the divided tie should contribute is part
    of the question, so that this tie is looked at as it was before.
    """
    if ties.order == "expected":
        return expected_over_retrieved(ties.sum_before_cut(terms), *ties.divided)
    t = ties.tied.divided[2]
    whole = np.where(t > 0, ties.cut_at(t).sum_before_cut(terms), 0)
    extreme = {"worst": worst_over_retrieved, "best": best_over_retrieved}[ties.order]
    return extreme(whole, *ties.tied.divided)


def expected_over_retrieved(whole, n, p, t, tp, take):
    """Mean over all orders, by the hypergeometric distribution of h."""
    shape = whole.shape
    columns = [np.ravel(column) for column in (whole, n, p, t, tp, take)]
    whole, n, p, t, tp, take = columns

    # Other h than these have no probability that would change a digit
    low, high = _possible(n, p, take)
    least = np.minimum(np.minimum(take, n - take), np.minimum(p, n - p))
    mean, spread = take * p / np.maximum(n, 1), np.sqrt(_SPREAD * least) + 1
    low = np.maximum(low, np.floor(mean - spread).astype(np.int64))
    high = np.minimum(high, np.ceil(mean + spread).astype(np.int64))
    width = high - low + 1
    values = np.empty(len(width))
    by_width = np.argsort(width)  # rows of a block are padded to the widest
    rows = max(1, CELLS_PER_BLOCK // width.max(initial=1))
    for start in range(0, len(width), rows):
        block = by_width[start : start + rows]
        h = low[block, None] + np.arange(width[block].max())
        whole, n, p, t, tp, take = (column[block, None] for column in columns)

        # Probabilities of consecutive h, from the ratios of neighbors: factorials of a
        # million would cost seven digits, and these ratios are exact
        outside = h > high[block, None]
        up = (take - h[:, 1:] + 1) * (p - h[:, 1:] + 1)
        down = h[:, 1:] * (n - take - p + h[:, 1:])
        up, down = (np.where(outside[:, 1:], 1, each) for each in (up, down))
        logs = np.zeros(h.shape)
        np.cumsum(np.log(up / down), axis=1, out=logs[:, 1:])
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights[outside] = 0
        weights /= weights.sum(axis=1, keepdims=True)

        # Mean over the orders that have h relevant items among the `take` ranks
        value = _ratio(whole + precision_sum(take, h, t, tp, take), tp + h)
        values[block] = (weights * value).sum(axis=1)
    return values.reshape(shape)


def best_over_retrieved(whole, n, p, t, tp, take):
    """Largest value: relevant items first, and as many or as few as the tie allows.

    The precisions that are added grow with h, so their running mean with those of the
    ties before falls, if at all, before it rises.
    """
    low, high = _possible(n, p, take)

    def value(h):
        return _ratio(whole + h - (t - tp) * harmonic_sum(t, h), tp + h)

    return np.maximum(value(low), value(high))


def worst_over_retrieved(whole, n, p, t, tp, take):
    """Smallest value: relevant items last; h is found by bisection.

    The sum of precisions is convex in h, so its ratio to tp + h falls, then rises.
    """
    low, high = _possible(n, p, take)
    k = t + take

    def value(h):
        irrelevant = k - tp - h
        return _ratio(whole + h - irrelevant * harmonic_sum(k - h, h), tp + h)

    while np.any(low < high):
        middle = (low + high) // 2
        rises = value(np.minimum(middle + 1, high)) >= value(middle)
        low, high = np.where(rises, low, middle + 1), np.where(rises, middle, high)
    return value(low)


def _possible(n, p, take):
    return np.maximum(0, take - (n - p)), np.minimum(take, p)


def _ratio(total, retrieved):
    return total / np.maximum(retrieved, 1)


@dataclass(frozen=True, kw_only=True, repr=False)
class OfRelevance(Measure):
    """The least affinity that is relevant."""

    rel: int = level(1)


class Precision(OfRelevance):
    """Precision: the relevant fraction of the first k ranks.

    Each rank of a tie is relevant with probability p/n, so a tie of which `take` ranks
    are within k adds ``take p / n`` to the expected number of relevant items there. That
    number is divided by k, even if there are fewer items; without a cutoff k is the number
    of items, and of a run a cutoff is needed. Values are in [0, 1].

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

    name, title, needs_cutoff = "P", "precision", True

    def kernel(self, ties):
        """Relevant items retrieved, over k."""
        return relevant_within(ties) / np.maximum(ties.k, 1)


class Recall(OfRelevance):
    """Recall: the fraction of the relevant items that is among the first k ranks.

    The expected number of relevant items there, as of :data:`P`, is divided by the number
    of all relevant items, also of documents that a run has not retrieved. Values are in
    [0, 1]. Without a cutoff recall is 1, and of a run a cutoff is needed.

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

    name, title, needs_cutoff = "R", "recall", True

    def kernel(self, ties):
        """Relevant items retrieved, over all relevant items."""
        return relevant_within(ties) / np.maximum(ties.n_relevant, 1)


class HarmonicMean(OfRelevance):
    """F1: the harmonic mean of precision and recall.

    With H relevant items among the first k ranks and :math:`N^+` in all, the harmonic mean
    of precision :math:`H/k` and recall :math:`H/N^+` is :math:`2 H / (k + N^+)`. It is
    linear in H, so the expectation of H is put in, as of :data:`P`. Values are in [0, 1].

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

    name, title, needs_cutoff = "F1", "F1", True

    def kernel(self, ties):
        """Twice the relevant items retrieved, over k and all relevant items together."""
        both = np.add(ties.k, ties.n_relevant, dtype=np.float64)  # int64 may be too small
        return 2 * relevant_within(ties) / np.maximum(both, 1)


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

    name, title, needs_cutoff, takes_cutoff = "Rprec", "R-precision", False, False

    def ranks(self, ties, cutoffs):
        """The number of relevant items of each query, in place of a cutoff."""
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

    name, title, of_runs_only, rel = "Judged", "judged", True, None

    def ranks(self, ties, cutoffs):
        """The cutoffs, and the number of retrieved documents where that is less."""
        every = np.where(cutoffs == ALL_RANKS, np.iinfo(np.int64).max, cutoffs)
        return np.minimum(every, ties.n_items)

    def kernel(self, ties):
        """Judged documents among the first k, all of which count as relevant here."""
        return relevant_within(ties) / np.maximum(ties.k, 1)


class BinaryPreference(OfRelevance):
    r"""Bpref: how few irrelevant documents a run has before its relevant ones.

    Of R relevant documents and N that were judged irrelevant, retrieved or not, each
    relevant one that is retrieved after b irrelevant ones counts

    .. math:: \frac1R \left(1 - \frac{\min(b, R)}{\min(N, R)}\right),

    or 1/R if none is before it, as in trec_eval. Documents that nobody judged do not
    matter. In a tie that holds m judged irrelevant documents, b is that of the tie's
    beginning plus any number from 0 to m, each as likely, over which the mean is taken.
    Values are in [0, 1]. Arrays and tables hold an affinity for every item, so that this is
    a measure of runs only.

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant. What was judged lower, but not below 0, is
        irrelevant.

    Examples
    --------
    The document that nobody judged does not matter, and half of the orders of the tie have
    the relevant one before the irrelevant one:

    >>> from sklearn_talr.measures import Bpref
    >>> from sklearn_talr.runs import evaluate_run
    >>> run = {"q": {"d1": 2.0, "d2": 1.0, "d3": 1.0}}
    >>> evaluate_run({"q": {"d2": 1, "d3": 0}}, run, Bpref).expected
    array([[0.5]])
    """

    name, title, of_runs_only, takes_cutoff = "Bpref", "bpref", True, False

    def kernel(self, ties):
        """Sum over the ties of what their relevant documents count."""
        relevant = ties.gains(lambda grade: grade >= self.rel)
        others = ties.gains(lambda grade: (grade >= 0) & (grade < self.rel))
        (_, n_relevant), (before, n_others) = ties.sums(relevant), ties.sums(others)
        # Of the others + 1 numbers from `before` on the first are those below n_relevant
        n_below = np.clip(n_relevant - before, 0, others + 1)
        total = n_below * before + n_below * (n_below - 1) / 2
        total += (others + 1 - n_below) * n_relevant
        lost = total / (others + 1) / np.maximum(np.minimum(n_others, n_relevant), 1)
        return ties.sum_before_cut(relevant * (1 - lost) / np.maximum(n_relevant, 1))


def relevant_within(ties):
    """Expected number of relevant items among the first k ranks."""
    n, p, _, tp, take = ties.divided
    return tp + take * p / np.maximum(n, 1)


class ReciprocalRank(OfRelevance):
    r"""Reciprocal rank of the first relevant item; its mean over queries is MRR.

    In the first tie that has p relevant among its n items, after t items, the first
    relevant one is at place j of the tie with probability
    :math:`\binom{n-j}{p-1} \big/ \binom np` and then counts :math:`1 / (t + j)`, or 0 if
    that is beyond the cutoff. Values are in [0, 1].

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    A relevant and an irrelevant item, tied: the rank is 1 or 2, as chance has it.

    >>> from sklearn_talr.measures import RR
    >>> RR.score([[1, 0]], [[2.0, 2.0]])
    0.75
    """

    name, title = "RR", "reciprocal rank"

    def kernel(self, ties):
        """Sum over the places of the tie, until a relevant item is certain to have come.

        At most about 41 n/p places are looked at. A single relevant item is at each place
        equally often.
        """
        n, p, t, take = ties.first_relevant
        values = np.where(p == 1, harmonic_sum(t, take) / np.maximum(n, 1), 0)
        none_yet = np.ones(len(values))  # probability that no place so far is relevant
        most = take.max(axis=1, initial=0) * (p[:, 0] > 1)
        place = 0
        active = np.flatnonzero(most)
        while active.size:
            width = max(16, CELLS_PER_BLOCK // active.size)
            places = place + np.arange(min(width, most[active].max() - place))
            left = np.maximum(n[active] - places, 1)
            none = np.cumprod(np.maximum(left - p[active], 0) / left, axis=1)
            none *= none_yet[active, None]
            none_before = np.concatenate((none_yet[active, None], none[:, :-1]), axis=1)
            sums = np.zeros((len(active), len(places) + 1))
            terms = none_before * p[active] / left / (t[active] + places + 1)
            np.cumsum(terms, axis=1, out=sums[:, 1:])
            within = np.clip(take[active] - place, 0, len(places))
            values[active] += np.take_along_axis(sums, within, axis=1)
            none_yet[active] = none[:, -1]
            place += len(places)
            active = active[(none_yet[active] > _NEGLIGIBLE) & (most[active] > place)]
        return values


class SuccessRate(OfRelevance):
    r"""Success: the chance of a relevant item among the first k ranks, the hit rate.

    A tie of n items, p of them relevant, leaves none among `take` of its ranks with
    probability :math:`\binom{n - \text{take}}{p} \big/ \binom np`. Values are in [0, 1].
    Without a cutoff it is 1, and of a run a cutoff is needed.

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

    name, title, needs_cutoff = "Success", "success", True

    def kernel(self, ties):
        """1 - C(n - take, p) / C(n, p), by a product of min(take, p) factors.

        Factors stop when the product vanishes: there are at most about sqrt(42 n).
        """
        n, p, _, take = ties.first_relevant
        fewer = np.minimum(take, p).ravel()
        more = np.maximum(take, p).ravel()
        n = np.broadcast_to(n, take.shape).ravel()
        log_none = np.zeros(len(n))
        factor = 0
        active = np.flatnonzero(fewer)
        while active.size:
            width = max(16, CELLS_PER_BLOCK // active.size)
            factors = factor + np.arange(min(width, fewer[active].max() - factor))
            drawn = more[active, None] / np.maximum(n[active, None] - factors, 1)
            drawn[factors >= fewer[active, None]] = 0
            with np.errstate(divide="ignore"):  # a certain hit
                log_none[active] += np.log1p(-np.minimum(drawn, 1)).sum(axis=1)
            factor += len(factors)
            goes_on = (log_none[active] > np.log(_NEGLIGIBLE)) & (fewer[active] > factor)
            active = active[goes_on]
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
        """The measure with its gain; a name that leaves it open takes that of the data."""
        return self if self.dcg else replace(self, dcg=gains)

    def _gain(self, ties):
        """The gain as a function of an array of affinities."""
        most_items = max(1, ties.n_items.max(initial=1), ties.n_relevant.max(initial=1))

        def gain(affinity):
            # Of items of the largest affinity the sum must not overflow
            largest = affinity.max(initial=0)
            if self.dcg == "log2":
                if largest > np.finfo(np.float64).max / most_items:
                    raise ValueError(
                        f"Grades of {largest} overflow float64 when they are summed over "
                        f"up to {most_items} items. Pass y_true divided by its maximum."
                    )
                return affinity.astype(np.float64)
            if largest + np.log2(most_items) > _LARGEST_EXPONENT:
                raise ValueError(
                    f"The exponential gain 2**affinity - 1 of affinity {largest} overflows "
                    f"float64 when it is summed over up to {most_items} items. Pass "
                    "dcg='log2', or give similar items a smaller affinity."
                )
            return np.ldexp(1.0, affinity.astype(np.int32)) - 1

        return gain


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

    name, title, range = "DCG", "DCG", (0.0, math.inf)

    log_base: float = parameter(2, lambda v: is_real(v) and v > 1, "a number above 1")

    def kernel(self, ties):
        """Discounted gains, in units of the logarithm to this base."""
        return discounted(ties, self._gain(ties)) * np.log2(float(self.log_base))


class NormalizedDCG(_Discounted):
    """DCG over that of the best ranking.

    The best ranking has all relevant items by descending affinity, also documents that a
    run has not retrieved. Tied items share gains as in :data:`DCG`. Values are in [0, 1];
    the base of the logarithm cancels.

    Parameters
    ----------
    dcg : {"log2", "exp-log2"}, default=None
        The gain of an item: its affinity a (linear), or :math:`2^a - 1` (exponential).
        None leaves the gain to the kind of data, see Notes.

    Notes
    -----
    Two customs bear the name. trec_eval and ir_measures have linear gains, and papers on
    learning to rank, such as the one that this library is named after, exponential ones.
    A measure with `dcg` means the same of all data. ``nDCG`` by itself follows the custom
    of its data:

    * Of runs and judgments (:func:`~sklearn_talr.runs.evaluate_run`, its command and the
      provider for ir_measures) it is ``nDCG(dcg="log2")``.
    * Of tables of counts and of arrays (everything else, scores of hashers included) it is
      ``nDCG(dcg="exp-log2")``, and reports, pictures and scorers print it so.

    With affinities 0 and 1 alone the two are equal.

    Examples
    --------
    The item of affinity 2 is behind the one of affinity 1:

    >>> from sklearn_talr.measures import nDCG
    >>> for measure in (nDCG, nDCG(dcg="exp-log2"), nDCG(dcg="log2")):
    ...     print(measure, round(measure.score([[1, 2]], [[2.0, 1.0]]), 4))
    nDCG 0.7967
    nDCG(dcg="exp-log2") 0.7967
    nDCG(dcg="log2") 0.8597
    """

    name, title = "nDCG", "nDCG"

    def kernel(self, ties):
        """Discounted gains over those of the best ranking."""
        gain = self._gain(ties)
        ideal = discounted(ties.ideal, gain)
        return discounted(ties, gain) / np.where(ideal == 0, 1, ideal)


@dataclass(frozen=True, kw_only=True, repr=False)
class RankBiasedPrecision(Measure):
    r"""Rank-biased precision: gains discounted by the chance that a user reads so far.

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
        The affinity of gain 1. None means the largest of all. A table of counts may be a
        part of the data, so with graded affinities it needs a `max_rel`.

    Examples
    --------
    >>> from sklearn_talr.measures import RBP
    >>> RBP(p=0.5).score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.375
    """

    name, title = "RBP", "rank-biased precision"

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
        log_p = np.log(self.p)

        def rank_sum(start, length):
            return -np.exp(log_p * start) * np.expm1(log_p * length)

        def gain(grade):
            return (grade > 0).astype(float) if self.rel else grade / self.max_rel

        return discounted(ties, gain, rank_sum)


def scale_of(measure, largest):
    """`max_rel` of a measure, or the largest affinity; no affinity may be beyond it."""
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
    mean = ties.gains(gain) / np.maximum(ties.n, 1)
    total = ties.sum_before_cut(mean * rank_sum(ties.t, ties.n))
    return total + ties.at_cut(mean) * rank_sum(ties.at_cut(ties.t), ties.take)


@dataclass(frozen=True, kw_only=True, repr=False)
class ExpectedReciprocalRank(Measure):
    r"""Expected reciprocal rank: the mean reciprocal rank at which a user stops.

    A user who reads an item of affinity g, at most `max_rel`, stops there with probability
    :math:`(2^g - 1) / 2^{\text{max\_rel}}` (Chapelle et al., 2009). Whether all items
    before a tie are passed does not depend on their order; let P be the probability. In a
    tie of n, let :math:`m_j` be the mean, over all sets of j of its items, of the
    probability to pass them all. In random order the user then stops at place j + 1 with
    probability :math:`m_j - m_{j+1}`. With t items before the tie, of which the cutoff sees
    `take` ranks,

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
        The largest affinity that may occur; 4 is that of TREC's gdeval.

    Examples
    --------
    >>> from sklearn_talr.measures import ERR
    >>> (ERR(max_rel=1) @ 20).score([[1, 0, 1]], [[2.0, 2.0, 1.0]])
    0.4583333...
    """

    name, title = "ERR", "expected reciprocal rank"

    max_rel: int = level(4)

    def completed(self, *, gains, largest=None, is_all=True):
        """The measure itself, unless an affinity is beyond `max_rel`."""
        scale_of(self, largest or 0)
        return self

    def kernel(self, ties):
        """Sum over ties of the chance to reach them, times the mean of 1 / rank in them."""
        # Items one by one, and the chance to pass all of their query that come before
        cells, p, n_queries = ties.cells, ties.p[ties.p > 0], len(ties.n_items)
        grade = np.repeat(cells.grade, cells.count)
        passed = 1 - np.ldexp(np.ldexp(1.0, grade.astype(int)) - 1, -self.max_rel)
        size = np.bincount(np.repeat(cells.query, cells.count), minlength=n_queries)
        before = np.ones(len(passed))
        for _, item, inside in padded_rows(np.cumsum(size) - size, size, CELLS_PER_BLOCK):
            rows = np.ones(item.shape)
            np.cumprod(passed[item[:, :-1]], axis=1, out=rows[:, 1:])
            before[item[inside]] = rows[inside]

        # Ties that a cutoff reaches; the others would double the work
        n, t = ties.n[ties.p > 0], ties.t[ties.p > 0]
        query, first = cells.query[cells.starts], np.cumsum(p) - p
        take = np.clip(ties.reached[query] - t[:, None], 0, n[:, None])
        width = take.max(axis=1, initial=0)
        columns = query, n, t, first, p, before[first], take, width
        query, n, t, first, p, before, take, width = (c[width > 0] for c in columns)
        stops = np.zeros(take.shape)
        widest = int(width.max(initial=0))
        for block, item, inside in padded_rows(first, p, CELLS_PER_BLOCK, widest):
            # The mean chance to pass all of j items for each j, one item after another
            place = np.arange(width[block].max() + 1)
            mean = np.ones((len(item), len(place)))
            size = (n[block] - p[block])[:, None]
            for i in range(item.shape[1]):
                joined = inside[:, i, None]
                size = size + joined
                chance = np.minimum(place / np.maximum(size, 1), 1)
                with_it = passed[item[:, i], None] * np.roll(mean, 1, axis=1)
                mean = np.where(joined, (1 - chance) * mean + chance * with_it, mean)

            # Sums of P(stop) / rank over the first places
            sums = np.zeros(mean.shape)
            ranks = t[block, None] + place[1:]
            np.cumsum((mean[:, :-1] - mean[:, 1:]) / ranks, axis=1, out=sums[:, 1:])
            stops[block] = np.take_along_axis(sums, take[block], axis=1)
        values = np.zeros((n_queries, take.shape[1]))
        np.add.at(values, query, before[:, None] * stops)
        return values


AP, Bpref = AveragePrecision(), BinaryPreference()
DCG, RBP = DiscountedCumulativeGain(), RankBiasedPrecision()
ERR = ExpectedReciprocalRank()
P, R, F1 = Precision(), Recall(), HarmonicMean()
RR, Success = ReciprocalRank(), SuccessRate()
Rprec, Judged = RPrecision(), JudgedFraction()
nDCG = NormalizedDCG()  # noqa: N816
