"""Tie-aware precision, recall and F1: all are linear in the relevant items retrieved.

Each rank of a tie is relevant with probability p/n, so a tie of which `take` ranks are
within k adds ``take p / n`` to the expected number of relevant items there.
"""

from dataclasses import dataclass

import numpy as np

from ._measure import Measure, level
from ._ties import ALL_RANKS

__all__ = ["F1", "Judged", "P", "R", "Rprec"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Precision(Measure):
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

    rel: int = level(1)

    def kernel(self, ties):
        """Relevant items retrieved, over k."""
        return _relevant_within(ties) / np.maximum(ties.k, 1)


@dataclass(frozen=True, kw_only=True, repr=False)
class Recall(Measure):
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

    rel: int = level(1)

    def kernel(self, ties):
        """Relevant items retrieved, over all relevant items."""
        return _relevant_within(ties) / np.maximum(ties.n_relevant, 1)


@dataclass(frozen=True, kw_only=True, repr=False)
class HarmonicMean(Measure):
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

    rel: int = level(1)

    def kernel(self, ties):
        """Twice the relevant items retrieved, over k and all relevant items together."""
        both = np.add(ties.k, ties.n_relevant, dtype=np.float64)  # int64 may be too small
        return 2 * _relevant_within(ties) / np.maximum(both, 1)


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
        return _relevant_within(ties) / np.maximum(ties.k, 1)


def _relevant_within(ties):
    """Expected number of relevant items among the first k ranks."""
    n, p, _, tp, take = ties.divided
    return tp + take * p / np.maximum(n, 1)


P, R, F1 = Precision(), Recall(), HarmonicMean()
Rprec, Judged = RPrecision(), JudgedFraction()
