"""Normalised discounted cumulative gain of soft counts.

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

import torch

__all__ = ["ndcg", "ndcg_simplified"]

_NEAR = 1e-6  # below this a tie's mean discount is that of its first rank


def ndcg(counts, levels):
    """Tie-aware NDCG, continued exactly to real counts.

    The expected DCG of a ranking whose items are tied within each distance is, for
    integer counts (eq. 7 of He et al., CVPR 2018), the tie's gains times its mean
    discount,

        sum_d G (S(C + c) - S(C)) / c.

    The paper replaces the sum S of discounts by an integral (eq. 12) that diverges at the
    first distance, where it starts at 1 / ln 1. Here S is interpolated between integers,
    so that the value equals tie-aware DCG at integer counts; it is divided by the DCG of
    the best ranking of the same counts.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance, for instance from :func:`soft_counts`.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. The gain is ``2**level - 1``.

    Returns
    -------
    ndcg : Tensor of shape (n_query,)
        Values in [0, 1], to be maximised; computed in float64, returned in the dtype of
        `counts`. 0 where a query has nothing relevant.

    Examples
    --------
    One relevant item tied with another item: its discount is 1 or 0.63.

    >>> import torch
    >>> from sklearn_talr.objectives import ndcg
    >>> ndcg(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.8155])
    """
    table, gains = counts.double(), _gains(counts, levels)
    discounts = _discounts(table)
    mean = _mean_discount(table.sum(1), discounts)
    dcg = (_gain_per_distance(table, gains) * mean).sum(-1)
    return _normalise(dcg, table, gains, discounts).to(counts.dtype)


def ndcg_simplified(counts, levels):
    """Simplified relaxation of tie-aware NDCG, eq. 66 of He et al.

    Replaces a tie's mean discount by the discount of its middle rank, which is a lower
    bound because the discount is convex:

        sum_d G / log2(C + c/2 + 3/2),

    divided by the DCG of the best ranking. Equals NDCG when there are no ties.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. The gain is ``2**level - 1``.

    Returns
    -------
    ndcg : Tensor of shape (n_query,)
        To be maximised; 0 where a query has nothing relevant.

    Examples
    --------
    The tie of the example of :func:`ndcg`, whose expected NDCG is 0.8155:

    >>> import torch
    >>> from sklearn_talr.objectives import ndcg_simplified
    >>> ndcg_simplified(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.7565])
    """
    table, gains = counts.double(), _gains(counts, levels)
    c = table.sum(1)
    middle = 1 / torch.log2(c.cumsum(-1) - c / 2 + 1.5)
    dcg = (_gain_per_distance(table, gains) * middle).sum(-1)
    return _normalise(dcg, table, gains, _discounts(table)).to(counts.dtype)


def _gains(counts, levels):
    levels = torch.as_tensor(levels, device=counts.device, dtype=torch.float64)
    return torch.exp2(levels) - 1


def _gain_per_distance(counts, gains):
    return torch.einsum("qvd,v->qd", counts, gains)


def _normalise(dcg, counts, gains, discounts):
    """Divide by the ideal DCG, giving 0 with zero gradient where nothing is relevant."""
    totals = counts.sum(-1).flip(-1)  # of each level, best first
    ideal = (totals * gains.flip(-1) * _mean_discount(totals, discounts)).sum(-1)
    return dcg / torch.where(ideal > 0, ideal, torch.inf)


def _mean_discount(c, discounts):
    """Mean discount of consecutive ties of sizes `c`, shape (n_query, n_ties)."""
    ends = torch.nn.functional.pad(c.cumsum(-1), (1, 0))  # of a tie, start of the next
    index = ends.detach().long()
    next_discount = discounts[index]
    # S by linear interpolation; its derivative is the next rank's discount.
    cumulated = torch.nn.functional.pad(discounts.cumsum(0), (1, 0))[index]
    cumulated = torch.addcmul(cumulated, ends - index, next_discount)
    tiny = c < _NEAR
    mean = cumulated.diff(dim=-1) / torch.where(tiny, 1.0, c)
    return torch.where(tiny, next_discount[..., :-1], mean)


def _discounts(counts):
    """D(1), D(2), ... for as many ranks as any query has, and one to spare."""
    n_items = int(counts.detach().sum((1, 2)).max().ceil()) if len(counts) else 0
    ranks = torch.arange(n_items + 2, dtype=torch.float64, device=counts.device)
    return 1 / torch.log2(ranks + 2)
