"""Tie-aware reciprocal rank and success: where the first relevant item is.

Only the first tie with relevant items matters: n, p, t and take are those of this tie, as
:mod:`._ties` defines them.
"""

from dataclasses import dataclass

import numpy as np

from ._measure import Measure, level
from ._rank_sums import harmonic_sum
from ._ties import CELLS_PER_BLOCK

__all__ = ["RR", "Success"]

_NEGLIGIBLE = 1e-18  # probability that no longer changes a float near 1


@dataclass(frozen=True, kw_only=True, repr=False)
class ReciprocalRank(Measure):
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

    rel: int = level(1)

    def kernel(self, ties):
        """Sum over the places of the tie, until a relevant item is certain to have come."""
        return reciprocal_rank(*ties.first_relevant)


@dataclass(frozen=True, kw_only=True, repr=False)
class SuccessRate(Measure):
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
    ...     print(Success @ k, (Success @ k)(histogram).round(2))
    Success@1 [0.5]
    Success@2 [0.83]
    Success@3 [1.]
    """

    name, title, needs_cutoff = "Success", "success", True

    rel: int = level(1)

    def kernel(self, ties):
        """One minus the chance that no relevant item is among the ranks."""
        return hit_rate(*ties.first_relevant)


def reciprocal_rank(n, p, t, take):
    """Sum over the places of the tie, until a relevant item is certain to have come.

    At most about 41 n/p places are looked at. A single relevant item is at each place
    equally often.
    """
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


def hit_rate(n, p, _, take):
    """1 - C(n - take, p) / C(n, p), by a product of min(take, p) factors.

    Factors stop when the product vanishes: there are at most about sqrt(42 n).
    """
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
        active = active[(log_none[active] > np.log(_NEGLIGIBLE)) & (fewer[active] > factor)]
    return -np.expm1(log_none).reshape(take.shape)


RR, Success = ReciprocalRank(), SuccessRate()
