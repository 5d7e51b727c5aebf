"""Ranking measures of soft counts, and the loss that is one minus their mean."""

import numpy as np
import torch

from .._core.compat import validated
from .._core.types import Tensor
from ._rankings import (
    MeasureTables,
    keep_freed_memory,
    measure_counts,
    measure_rankings,
)
from ._soft_counts import SoftCounts, check_levels, check_shapes, is_on_host

_CONSTRAINTS = {"counts": [torch.Tensor], "levels": [torch.Tensor, "array-like"]}
# Rounding makes no count of 0 smaller than this.
_LEAST_COUNT = -1e-3
# Up to this many pairs are moved from a device, which starts many small steps slowly.
_MAX_PAIRS_MOVED = 1 << 18


@validated(**_CONSTRAINTS)
def soft_average_precision(counts: Tensor, levels: Tensor) -> Tensor:
    """Tie-aware average precision, continued exactly to real counts.

    The expected AP of a ranking whose items are tied within each distance is, for
    integer counts (eq. 6 of He et al., CVPR 2018),

        sum_d c+/(c N+) [ r c + (C+ + 1 - r x) (H(C + c) - H(C)) ],   r = (c+ - 1)/(c - 1).

    The paper replaces the harmonic numbers H by logarithms (eq. 11), which diverges at
    the first non-empty distance (C = 0) and has a pole at c = 1. H(n) continues to real
    n as ``digamma(n + 1) + 0.577...``, and with it the pole is removable: the same sum is

        sum_d c+/(c N+) [ (c+ - 1) (1 - x M) + (C+ + 1) (1/x + (c - 1) M) ]

    with x = C + 1 and M the mean of the derivative of digamma from x + 1 to x + c, which
    is smooth for all c >= 0. So the value equals tie-aware AP at integer counts, and
    gradients are finite at empty distances, at c = 1 and when all items are tied.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance, for instance from :func:`soft_counts`.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. All positive levels are relevant.

    Returns
    -------
    ap : Tensor of shape (n_query,)
        Values in [0, 1], to be maximized; computed in float64, returned in the dtype of
        `counts`. 0 where a query has nothing relevant.

    Examples
    --------
    One relevant item tied with another item: half the time it comes first.

    >>> import torch
    >>> from sklearn_talr.losses import soft_average_precision
    >>> soft_average_precision(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.7500])
    """
    return _Measure.apply(counts, levels, "AP", False)


@validated(**_CONSTRAINTS)
def simplified_average_precision(counts: Tensor, levels: Tensor) -> Tensor:
    """Simplified relaxation of tie-aware average precision, eq. 62 of He et al.

    Replaces the average over the ranks of a tie by its value at the middle rank:

        sum_d c+/N+ (2 C+ + c+ + 1) / (2 C + c + 1).

    Cheaper than :func:`soft_average_precision`. It equals AP when there are no ties; on
    short tied lists it is off by up to 0.12.

    Parameters
    ----------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Counts by affinity level and distance.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0. All positive levels are relevant.

    Returns
    -------
    ap : Tensor of shape (n_query,)
        To be maximized; 0 where a query has nothing relevant.

    Examples
    --------
    The tie of the example of :func:`soft_average_precision`, whose expected AP is 0.75:

    >>> import torch
    >>> from sklearn_talr.losses import simplified_average_precision
    >>> simplified_average_precision(torch.tensor([[[1.0], [1.0]]]), torch.tensor([0, 1]))
    tensor([0.6667])
    """
    return _Measure.apply(counts, levels, "AP", True)


@validated(**_CONSTRAINTS)
def soft_ndcg(counts: Tensor, levels: Tensor) -> Tensor:
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
    return _Measure.apply(counts, levels, "nDCG", False)


@validated(**_CONSTRAINTS)
def simplified_ndcg(counts: Tensor, levels: Tensor) -> Tensor:
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
    return _Measure.apply(counts, levels, "nDCG", True)


class _Measure(torch.autograd.Function):
    """Values of a measure by query, and their gradient by the counts."""

    @staticmethod
    def forward(ctx, counts, levels, measure, simplified):
        if len(levels) != counts.shape[1]:
            raise ValueError(
                "levels must name the affinity of each level: counts have "
                f"{counts.shape[1]} levels, but levels has {len(levels)} values."
            )
        # Tables of counts are small, wherever the pairs were counted: a loop on the host
        # reads them. Values and gradients are NaN if any count is NaN or infinite.
        table = counts.detach().to("cpu", torch.float64).contiguous().numpy()
        values = np.full(len(table), np.nan)
        gradients = np.full_like(table, np.nan)
        if np.isfinite(table).all():
            if table.min(initial=0) < _LEAST_COUNT:
                raise ValueError(f"counts must be at least 0, got {table.min()}.")
            n_items = np.abs(table).sum(axis=(1, 2)).max(initial=0)
            tables = _tables(levels, measure, simplified, n_items)
            values, gradients = measure_counts(table.reshape(len(table), -1), tables)
            gradients = gradients.reshape(table.shape)
        ctx.save_for_backward(torch.from_numpy(gradients).to(counts))
        return torch.from_numpy(values).to(counts)

    @staticmethod
    def backward(ctx, grad_values):
        (gradients,) = ctx.saved_tensors
        return gradients * grad_values[:, None, None], None, None, None


def _tables(levels, measure, simplified, n_items):
    levels = torch.as_tensor(levels, dtype=torch.float64).cpu().numpy()
    return MeasureTables.from_levels(
        levels, measure=measure, is_simplified=simplified, n_items=int(np.ceil(n_items))
    )


def ranking_loss(
    query,
    items,
    level_index,
    *,
    levels,
    measure,
    simplified,
    n_bins=None,
    over_ranks=None,
):
    """One minus the mean measure of relaxed queries that rank relaxed items.

    Parameters
    ----------
    query, items : Tensors of shapes (n_query, n_bits) and (n_items, n_bits), float
        Relaxed bits in [-1, 1]. Items that rank each other are both.

    level_index : Tensor of shape (n_query, n_items), integer
        Places in `levels` of the affinities of all pairs; -1 leaves a pair out.

    levels : Tensor of shape (n_levels,)
        Affinity values in ascending order, first 0.

    measure : {"AP", "nDCG"}
        What is to be maximized.

    simplified : bool
        Whether each tie counts by its middle rank.

    n_bins : int, default=None
        As of :func:`soft_counts`.

    over_ranks : callable, default=None
        ``over_ranks(total, n_queries)``: their sums over ranks, whose queries are averaged
        over, too.

    Returns
    -------
    loss : Tensor, scalar
        In [0, 1]; 1 without gradient if no query has something relevant.
    """
    keep_freed_memory()
    check_shapes(query, items, level_index)
    device = query.device
    rank_each_other = items is query
    # Half precision cannot count.
    dtype = torch.promote_types(query.dtype, torch.float32)
    query = query.to(dtype)
    items = query if rank_each_other else items.to(dtype)
    if level_index.numel() <= _MAX_PAIRS_MOVED:
        query = query.cpu()
        items = query if rank_each_other else items.cpu()
        level_index = level_index.cpu()
    if rank_each_other:
        # Autograd adds the gradients of a tensor and of its view in one order.
        query = query.view_as(query)
    n_bins = query.shape[1] if n_bins is None else n_bins
    with torch.autocast(device.type, enabled=False):
        # Sum of the measure over queries that have something relevant, and their number.
        if is_on_host(query):
            check_levels(level_index, len(levels))
            tables = _tables(levels, measure, simplified, len(items))
            total, n_queries = _RankingOnHost.apply(
                query, items, level_index, tables, n_bins
            )
        else:
            counts = SoftCounts.apply(query, items, level_index, len(levels), n_bins)
            values = _Measure.apply(counts, levels, measure, simplified)
            # Every pair has mass 1: a query with less than a half has nothing relevant.
            has_value = counts.detach()[:, 1:].sum((1, 2)) > 0.5
            total = (values * has_value).sum()
            n_queries = has_value.sum()
        total = total.to(device)
        n_queries = n_queries.to(device)
        if over_ranks is not None:
            total, n_queries = over_ranks(total, n_queries)
        return 1 - total / n_queries.clamp(min=1)


class _RankingOnHost(torch.autograd.Function):
    """Counts, measure and gradient of each query in one go.

    Autograd, with a node for each step, would take longer than all of them.
    """

    @staticmethod
    def forward(ctx, query, items, level_index, tables, n_bins):
        rankings = measure_rankings(
            query.detach().numpy(),
            items.detach().numpy(),
            level_index.detach().contiguous().numpy(),
            tables=tables,
            n_bins=n_bins,
        )
        ctx.save_for_backward(
            torch.from_numpy(rankings.grad_query), torch.from_numpy(rankings.grad_items)
        )
        n_queries = query.new_tensor(rankings.n_queries)
        ctx.mark_non_differentiable(n_queries)
        return query.new_tensor(rankings.total), n_queries

    @staticmethod
    def backward(ctx, grad_total, _):
        grad_query, grad_items = ctx.saved_tensors
        return grad_total * grad_query, grad_total * grad_items, None, None, None
