"""Tie-aware sums of discounted gains: DCG, nDCG and RBP."""

import math
from dataclasses import dataclass, replace

import numpy as np

from ._measure import Measure, choice, is_real, level, parameter
from ._rank_sums import discount_sum

__all__ = ["DCG", "RBP", "nDCG"]

_LARGEST_EXPONENT = 1023  # of float64


class _Discounted(Measure):
    """The gain of DCG and of nDCG, which a name may leave open."""

    @property
    def takes_real_grades(self):
        """Whether affinities of arrays may be other numbers than integers."""
        return self.dcg == "log2"

    def settled(self, *, gains, largest=None, is_all=True):
        """The measure with its gain; a name that leaves it open takes that of the data."""
        return self if self.dcg else replace(self, dcg=gains)

    def _gain(self, ties):
        """The gain as a function of an array of affinities."""
        most_items = max(1, ties.n_items.max(initial=1), ties.n_relevant.max(initial=1))
        gain = {"exp-log2": _exponential_gain, "log2": _linear_gain}[self.dcg]
        return lambda affinity: gain(affinity, most_items)


def _gains_parameter():
    return choice(None, ("log2", "exp-log2"))


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
    >>> DCG(RankingHistogram([[[1], [1]]], levels=[0, 1]))
    array([0.81546488])
    """

    name, title, range = "DCG", "DCG", (0.0, math.inf)

    dcg: str | None = _gains_parameter()
    log_base: float = parameter(
        2, lambda value: is_real(value) and value > 1, "a number above 1"
    )

    def kernel(self, ties):
        """Discounted gains, in units of the logarithm to this base."""
        gains = discounted(*ties.graded(self._gain(ties)))
        return gains * np.log2(float(self.log_base))


@dataclass(frozen=True, kw_only=True, repr=False)
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

    dcg: str | None = _gains_parameter()

    def kernel(self, ties):
        """Discounted gains over those of the best ranking."""
        gain = self._gain(ties)
        ideal = discounted(*ties.ideal(gain))
        return discounted(*ties.graded(gain)) / np.where(ideal == 0, 1, ideal)


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
        0.8, lambda value: is_real(value) and 0 < value < 1, "a number between 0 and 1"
    )
    rel: int | None = level(None)
    max_rel: int | None = level(None)

    def settled(self, *, gains, largest=None, is_all=True):
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

        return discounted(*ties.graded(gain), rank_sum)


def scale_of(measure, largest):
    """`max_rel` of a measure, or the largest affinity; no affinity may be beyond it."""
    if measure.max_rel is not None and largest > measure.max_rel:
        raise ValueError(
            f"{measure.name} has max_rel={measure.max_rel}, but a relevance is {largest}. "
            f"Pass '{measure.name}(max_rel={largest})'."
        )
    return measure.max_rel or largest


def discounted(ladder, gains, rank_sum=discount_sum):
    """Mean gain of each tie, at each of its ranks within the cutoff.

    `rank_sum` is the sum of discounts over ranks start + 1, ..., start + length.
    """
    mean = gains / np.maximum(ladder.n, 1)
    total = ladder.sum_before_cut(mean * rank_sum(ladder.t, ladder.n))
    part = ladder.at_cut(mean) * rank_sum(ladder.at_cut(ladder.t), ladder.take)
    return total + part


def _exponential_gain(affinity, most_items):
    largest = affinity.max(initial=0)
    if largest + np.log2(most_items) > _LARGEST_EXPONENT:
        raise ValueError(
            f"The exponential gain 2**affinity - 1 of affinity {largest} overflows "
            f"float64 when it is summed over up to {most_items} items. Pass "
            "gain='linear', of measures dcg='log2', or give similar items a smaller "
            "affinity."
        )
    return np.ldexp(1.0, affinity.astype(np.int32)) - 1


def _linear_gain(affinity, most_items):
    largest = affinity.max(initial=0)
    if largest > np.finfo(np.float64).max / most_items:
        raise ValueError(
            f"Grades of {largest} overflow float64 when they are summed over up to "
            f"{most_items} items. Pass y_true divided by its maximum."
        )
    return affinity.astype(np.float64)


DCG, RBP = DiscountedCumulativeGain(), RankBiasedPrecision()
nDCG = NormalizedDCG()  # noqa: N816
