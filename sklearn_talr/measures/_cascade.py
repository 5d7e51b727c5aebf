"""Tie-aware expected reciprocal rank (ERR), of a user who stops at a satisfying item."""

from dataclasses import dataclass

import numpy as np

from ..histogram._door import padded_rows
from ._gains import scale_of
from ._measure import Measure, level
from ._ties import CELLS_PER_BLOCK

__all__ = ["ERR"]


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

    def settled(self, *, gains, largest=None, is_all=True):
        """The measure itself, unless an affinity is beyond `max_rel`."""
        scale_of(self, largest or 0)
        return self

    def kernel(self, ties):
        """Mean, over orders of the ties, of the reciprocal rank of the stop."""
        return expected_reciprocal_rank(ties, self.max_rel)


def expected_reciprocal_rank(ties, max_rel):
    """Sum over ties of the chance to reach them, times the mean of 1 / rank in them."""
    items = ties.items
    passed = 1 - np.ldexp(np.ldexp(1.0, items.grade.astype(int)) - 1, -max_rel)
    first = np.flatnonzero(items.begins)
    p = np.diff(first, append=len(passed))
    query, n, t = items.query[first], items.n[first], items.t[first]
    before = _product_before(passed, items.query, len(items.n_items))[first]
    take = np.clip(ties.k[query] - t[:, None], 0, n[:, None])
    width = take.max(axis=1, initial=0)
    stops = np.zeros(take.shape)
    for of_block, item, inside in padded_rows(
        first, p, CELLS_PER_BLOCK, int(width.max(initial=0))
    ):
        chosen = passed[item]
        terms = _stops(chosen, inside, n[of_block], width[of_block].max(), t[of_block])
        stops[of_block] = np.take_along_axis(terms, take[of_block], axis=1)
    values = np.zeros((len(items.n_items), take.shape[1]))
    np.add.at(values, query, before[:, None] * stops)
    return values


def _stops(passed, inside, n, width, t):
    """Sums, over the first 0, ..., `width` places of each tie, of P(stop) / rank."""
    p = inside.sum(axis=1)
    place = np.arange(width + 1)
    mean = np.ones((len(n), width + 1))
    size = (n - p)[:, None]
    for i in range(passed.shape[1]):
        joined = inside[:, i, None]
        size = size + joined
        chance = np.minimum(place / np.maximum(size, 1), 1)
        with_it = passed[:, i, None] * np.roll(mean, 1, axis=1)
        mean = np.where(joined, (1 - chance) * mean + chance * with_it, mean)
    sums = np.zeros(mean.shape)
    ranks = t[:, None] + place[1:]
    np.cumsum((mean[:, :-1] - mean[:, 1:]) / ranks, axis=1, out=sums[:, 1:])
    return sums


def _product_before(factors, query, n_queries):
    """Product of the factors of the same query before each; `query` ascends."""
    size = np.bincount(query, minlength=n_queries)
    products = np.ones(len(factors))
    for _, item, inside in padded_rows(np.cumsum(size) - size, size, CELLS_PER_BLOCK):
        rows = np.ones(item.shape)
        np.cumprod(factors[item[:, :-1]], axis=1, out=rows[:, 1:])
        products[item[inside]] = rows[inside]
    return products


ERR = ExpectedReciprocalRank()
