"""Tie-aware average precision; n, p, t, tp and take are those of :mod:`._ties`."""

from dataclasses import dataclass

import numpy as np

from ._measure import Measure, choice, level
from ._rank_sums import harmonic_sum
from ._retrieved import (
    best_over_retrieved,
    expected_over_retrieved,
    worst_over_retrieved,
)

__all__ = ["AP"]


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
    ...     print(measure, measure(histogram))
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
    whole = ties.sum_before_tied(terms)
    extreme = {"worst": worst_over_retrieved, "best": best_over_retrieved}[ties.order]
    return extreme(whole, *ties.tied.divided)


AP = AveragePrecision()
