"""Normalized discounted cumulative gain of soft counts.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
c           soft count of one distance
C           how many items lie before that distance
G           sum of the gains 2**level - 1 of the items at that distance
D(t)        discount 1 / log2(t + 1) of rank t
S(n)        D(1) + ... + D(n), interpolated linearly between integers
==========  ==================================================================
"""

from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

import torch

from .._compat import validate_params

__all__ = ["simplified_ndcg", "soft_ndcg"]

_NEAR = 1e-6  # below this a tie's mean discount is that of its first rank


@validate_params(
    {
        "counts": [torch.Tensor],
        "levels": [torch.Tensor, "array-like"],
        "n_items": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def soft_ndcg(counts, levels, *, n_items=None):
    r"""Tie-aware NDCG, continued exactly to real counts.

    The expected DCG of a ranking whose items are tied within each distance is, for
    integer counts (eq. 7 of He et al., CVPR 2018), the tie's gains times its mean
    discount,

    .. math:: \sum_d \frac{G_d}{c_d}\, \bigl( S(C_d + c_d) - S(C_d) \bigr),

    with :math:`G_d` the sum of the gains at distance d, :math:`c_d` the items there and
    :math:`C_d` those before. The paper replaces the sum S of discounts by an integral (eq.
    12) that diverges at the first distance, where it starts at :math:`1/\ln 1`. Here S is
    interpolated between integers, so that the value equals tie-aware DCG at integer counts;
    it is divided by the DCG of the best ranking of the same counts.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance, for instance from :func:`soft_counts`.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. The gain is :math:`2^v - 1` of level v.

    n_items : int, default=None
        No query counts more items than this. None looks for the largest number in
        `counts`, and waits for an accelerator that is still computing them.

    Returns
    -------
    ndcg : Tensor of shape (n_query,)
        Values in [0, 1], to be maximized; computed in float64, returned in the dtype of
        `counts`. 0 where a query has nothing relevant.

    Examples
    --------
    One relevant item tied with another item: its discount is 1 or 0.63.

    >>> import torch
    >>> from sklearn_talr.losses import soft_ndcg
    >>> soft_ndcg(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.8155])
    """
    table, gains = counts.double(), _gains(counts, levels)
    discounts = _Discounts.of(table, n_items)
    dcg = _TiedGain.apply(_gain_per_distance(table, gains), table.sum(1), discounts)
    return _normalize(dcg, table, gains, discounts).to(counts.dtype)


@validate_params(
    {
        "counts": [torch.Tensor],
        "levels": [torch.Tensor, "array-like"],
        "n_items": [Integral, None],
    },
    prefer_skip_nested_validation=True,
)
def simplified_ndcg(counts, levels, *, n_items=None):
    r"""Simplified relaxation of tie-aware NDCG, eq. 66 of He et al.

    Replaces a tie's mean discount by the discount of its middle rank, which is a lower
    bound because the discount is convex:

    .. math:: \sum_d \frac{G_d}{\log_2(C_d + c_d/2 + 3/2)},

    divided by the DCG of the best ranking. Equals NDCG when there are no ties.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. The gain is :math:`2^v - 1` of level v.

    n_items : int, default=None
        No query counts more items than this. None looks for the largest number in
        `counts`, and waits for an accelerator that is still computing them.

    Returns
    -------
    ndcg : Tensor of shape (n_query,)
        To be maximized; 0 where a query has nothing relevant.

    Examples
    --------
    The tie of the example of :func:`soft_ndcg`, whose expected NDCG is .8155:

    >>> import torch
    >>> from sklearn_talr.losses import simplified_ndcg
    >>> simplified_ndcg(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.7565])
    """
    table, gains = counts.double(), _gains(counts, levels)
    c = table.sum(1)
    middle = 1 / torch.log2(c.cumsum(-1) - c / 2 + 1.5)
    dcg = (_gain_per_distance(table, gains) * middle).sum(-1)
    return _normalize(dcg, table, gains, _Discounts.of(table, n_items)).to(counts.dtype)


def _gains(counts, levels):
    levels = torch.as_tensor(levels, device=counts.device, dtype=torch.float64)
    return torch.exp2(levels) - 1


def _gain_per_distance(counts, gains):
    return torch.einsum("qvd,v->qd", counts, gains)


def _normalize(dcg, counts, gains, discounts):
    """Divide by the ideal DCG, giving 0 with zero gradient where nothing is relevant."""
    totals = counts.sum(-1).flip(-1)  # of each level, best first
    ideal = _TiedGain.apply(totals * gains.flip(-1), totals, discounts)
    return dcg / torch.where(ideal > 0, ideal, torch.inf)


class _Discounts(NamedTuple):
    """Tables by rank: D(1), D(2), ... and S(0), S(1), ..."""

    single: torch.Tensor
    cumulated: torch.Tensor

    @classmethod
    def of(cls, counts, n_items):
        """As many as any query has ranks, and one to spare."""
        if n_items is None:
            n_items = int(counts.detach().sum((1, 2)).max().ceil()) if len(counts) else 0
        return cls._of_ranks(n_items, counts.device)

    @classmethod
    @lru_cache(maxsize=4)
    def _of_ranks(cls, n_ranks, device):
        ranks = torch.arange(n_ranks + 2, dtype=torch.float64, device=device)
        single = 1 / torch.log2(ranks + 2)
        return cls(single, torch.nn.functional.pad(single.cumsum(0), (1, 0)))


class _TiedGain(torch.autograd.Function):
    """Sum over consecutive ties of their gain times their mean discount.

    The gradient is written out: autograd would spend most of the time of a step.
    """

    @staticmethod
    def forward(ctx, gain, c, discounts):
        ends = torch.nn.functional.pad(c.cumsum(-1), (1, 0))  # of a tie, start of the next
        index = ends.long()
        # S by linear interpolation; its derivative is the next rank's discount.
        following = discounts.single[index]
        cumulated = discounts.cumulated[index].addcmul_(ends.sub_(index), following)
        start, end = following[..., :-1], following[..., 1:]
        tiny = c < _NEAR
        share = c.clamp(min=_NEAR).reciprocal_()
        mean = torch.where(tiny, start, cumulated.diff(dim=-1).mul_(share))
        share.mul_(gain)
        by_start = (end - start).mul_(share)
        by_c = (end - mean).mul_(share) + by_start.sum(-1, keepdim=True)
        by_c.sub_(by_start.cumsum(-1))
        ctx.save_for_backward(mean, by_c)
        return (gain * mean).sum(-1)

    @staticmethod
    def backward(ctx, grad):
        mean, by_c = ctx.saved_tensors
        return grad[:, None] * mean, grad[:, None] * by_c, None
