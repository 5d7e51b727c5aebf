"""Measures of early enrichment and the ROC curve, as used in virtual screening."""

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ._base import is_real, parameter
from ._measures import OfRelevance, relevant_within


class EnrichmentFactor(OfRelevance):
    r"""Enrichment factor: density of relevant items in the first k ranks, over that of all.

    A query has N items, n of which are relevant. H is the mean number of relevant items
    among the first k ranks over all orders of ties:

    .. math:: \mathrm{EF}@k = \frac{H / k}{n / N}.

    A cutoff is a number of ranks or a share of the list, ``EF @ "1%"``, which is rounded up
    to whole ranks: 1 % of 4 832 items are 49. Relevant documents that a run has not
    retrieved count in N and n, but never in H. Values are in [0, N / k].

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    Two of four items share the first place, and one of them is relevant:

    >>> from sklearn_talr.measures import EF
    >>> (EF @ "25%").score([[1, 0, 0, 0]], [[2.0, 2.0, 1.0, 0.0]])
    2.0
    """

    name = "EF"
    title = "enrichment factor"
    needs_cutoff = True
    range = (0.0, math.inf)

    def kernel(self, ties):
        """Share of the relevant items that is within k, over the share of the list."""
        list_share = np.minimum(ties.k, ties.n_listed) / np.maximum(ties.n_listed, 1)
        recall = relevant_within(ties) / np.maximum(ties.n_relevant, 1)
        return recall / np.where(list_share > 0, list_share, 1)


class _OfAllRanks(OfRelevance):
    """Sum of a weight over the ranks of relevant items, compared with other rankings.

    Every relevant item of a tie takes each of its ranks equally often. Relevant documents
    that a run has not retrieved have the ranks after its last. If only relevant documents
    are listed, there is no ranking, and the value is the share that is retrieved.
    """

    takes_cutoff = False

    @abstractmethod
    def weight(self, start, length, n_listed):
        """Sum of the weights of ranks start + 1, ..., start + length."""

    def total(self, ties):
        """The sum of each query."""
        weights = self.weight(ties.t, ties.n, ties.spread(ties.n_listed))
        ranked = ties.sum_before_cut(ties.p / np.maximum(ties.n, 1) * weights)
        n_missing = ties.n_listed - ties.n_items
        return ranked + self.weight(ties.n_items, n_missing, ties.n_listed)

    def kernel(self, ties):
        """The value, or the share that is retrieved if there is nothing to rank."""
        n_relevant = np.maximum(ties.n_relevant, 1)
        n_missing = ties.n_listed - ties.n_items
        recall = (ties.n_relevant - n_missing) / n_relevant
        is_ranking = ties.n_listed > ties.n_relevant
        with np.errstate(divide="ignore", invalid="ignore"):
            compared = self.compared(ties, n_relevant, ties.n_listed)
        return np.where(is_ranking, compared, recall)

    def compared(self, ties, n_relevant, n_listed):
        """The sum, from 0 in the worst of all rankings to 1 in the best."""
        least = self.weight(n_listed - n_relevant, n_relevant, n_listed)
        most = self.weight(np.zeros_like(n_relevant), n_relevant, n_listed)
        return (self.total(ties) - least) / (most - least)


class AreaUnderROC(_OfAllRanks):
    """Area under the ROC curve: the share of pairs in the right order, with ties as 1/2.

    A pair is a relevant and an irrelevant item. Relevant documents that a run has not
    retrieved rank after its last document. If only relevant documents are listed, the value
    is the share that is retrieved. Values are in [0, 1], and 1/2 for a random order.

    Parameters
    ----------
    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    >>> from sklearn_talr.measures import AUC
    >>> AUC.score([[1, 0, 0]], [[2.0, 2.0, 1.0]])
    0.75
    """

    name = "AUC"
    title = "area under the ROC curve"

    def weight(self, start, length, n_listed):
        """The weight of a rank is its negative."""
        return -length * (2.0 * start + length + 1) / 2


@dataclass(frozen=True, kw_only=True, repr=False)
class BoltzmannEnhanced(_OfAllRanks):
    r"""Boltzmann-enhanced discrimination of ROC: early enrichment between 0 and 1.

    Rank r of N weighs :math:`e^{-\alpha r / N}`, and the sum over the relevant items is
    scaled so that the worst ranking has 0 and the best 1 (Truchon and Bayly, 2007). With
    alpha=20 the first 8 % of the list contribute 80 % of the value. Relevant documents that
    a run has not retrieved rank after its last document. Values are in [0, 1].

    Parameters
    ----------
    alpha : float, default=20
        Weight of early ranks, from 0.01, which is close to AUC, to 10000.

    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    >>> from sklearn_talr.measures import BEDROC
    >>> round(BEDROC.score([[1, 0, 0]], [[2.0, 2.0, 1.0]]), 3)
    0.501
    """

    name = "BEDROC"
    title = "BEDROC"

    alpha: float = parameter(
        20, lambda value: is_real(value) and 0.01 <= value <= 1e4, "between 0.01 and 10000"
    )

    def weight(self, start, length, n_listed):
        """A geometric sum, in units of the weight of rank 1."""
        rate = -self.alpha / np.maximum(n_listed, 1)
        return np.exp(rate * start) * np.expm1(rate * length) / np.expm1(rate)


class RobustInitialEnhancement(BoltzmannEnhanced):
    """Robust initial enhancement: mean weight of relevant items, over that of all items.

    Ranks have the weights of :data:`BEDROC`. The mean weight of relevant items is divided
    by the mean weight of all (Sheridan et al., 2001). Values are positive, and 1 for a
    random order.

    Parameters
    ----------
    alpha : float, default=20
        Weight of early ranks, from 0.01 to 10000.

    rel : int, default=1
        The least affinity that is relevant.

    Examples
    --------
    >>> from sklearn_talr.measures import RIE
    >>> round(RIE.score([[1, 0, 0]], [[2.0, 2.0, 1.0]]), 3)
    1.5
    """

    name = "RIE"
    title = "RIE"
    range = (0.0, math.inf)

    def compared(self, ties, n_relevant, n_listed):
        """Mean weight of the relevant items over that of all."""
        all_items = self.weight(np.zeros_like(n_relevant), n_listed, n_listed)
        return self.total(ties) / n_relevant * n_listed / all_items


AUC = AreaUnderROC()
BEDROC = BoltzmannEnhanced()
EF = EnrichmentFactor()
RIE = RobustInitialEnhancement()
