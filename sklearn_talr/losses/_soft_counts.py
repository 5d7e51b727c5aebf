"""Soft counts[query, level, distance]: the table that training differentiates.

====================  =======================================================
symbol                meaning
====================  =======================================================
phi, phi'             relaxed bits of a query and of a database item, in (-1, 1)
d = (b - phi.phi')/2  relaxed Hamming distance, in (0, b); eq. 1 of He et al. 2018
w = b / n_bins        width of a bin
lo, frac              bin below d / w, and how far d / w lies beyond it, in [0, 1]
c[q, v, j]            soft count of level v in bin j; eq. 15
====================  =======================================================

The triangular kernel (eq. 14 with Delta = w) gives a pair's mass to two bins, 1 - frac
to `lo` and frac to `lo + 1`: in all exactly 1. Only these two are ever touched.
"""

from numbers import Integral

import torch

from .._core.compat import Interval, validated
from .._core.types import Count, Tensor
from ._rankings import blocks_of_queries, keep_freed_memory

_PAIRS_PER_DEVICE_BLOCK = 1 << 23  # an accelerator wants few and large steps
_SHARE = 1 << 32


@validated(
    relaxed_query=[torch.Tensor],
    relaxed_database=[torch.Tensor],
    level_index=[torch.Tensor],
    n_levels=[Interval(Integral, 1, None, closed="left")],
    n_bins=[Interval(Integral, 1, None, closed="left"), None],
    exclude_self=["boolean"],
)
def soft_counts(
    relaxed_query: Tensor,
    relaxed_database: Tensor,
    level_index: Tensor,
    n_levels: int,
    *,
    n_bins: Count = None,
    exclude_self: bool = False,
) -> Tensor:
    r"""Count database items by affinity level and relaxed Hamming distance.

    Implements eq. 13 to 16 of He et al. (CVPR 2018). Differentiable in both sets of
    relaxed bits. The kernel has a kink where a distance meets a bin center; there the
    derivative from above is returned.

    Parameters
    ----------
    relaxed_query : Tensor of shape (n_query, n_bits), float
        Relaxed bits in [-1, 1], for instance :math:`\tanh(\alpha f)` of activations f.

    relaxed_database : Tensor of shape (n_database, n_bits), float
        Relaxed bits of the database items. May be the tensor of the queries itself.

    level_index : Tensor of shape (n_query, n_database), integer
        Affinity level of each pair in [0, n_levels), 0 for "not similar"; -1 leaves a pair
        out.

    n_levels : int
        Number of affinity levels, at least 1.

    n_bins : int, default=None
        Bins have width ``n_bits / n_bins``. None means `n_bits`: one per distance.

    exclude_self : bool, default=False
        Leave out the pairs (i, i): query i is item i of the database.

    Returns
    -------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Soft counts. The counts of a query sum to the number of its pairs.

    Raises
    ------
    ValueError
        If shapes do not fit, `n_bins` or `n_levels` is below 1, or an index of a level is
        below -1 or not below `n_levels`.

    Examples
    --------
    A pair at distance 1 and one at distance 1.5, which is shared between two bins:

    >>> import torch
    >>> from sklearn_talr.losses import soft_counts
    >>> query = torch.tensor([[1.0, 1.0]])
    >>> database = torch.tensor([[1.0, -1.0], [0.0, -1.0]])
    >>> soft_counts(query, database, torch.tensor([[1, 0]]), n_levels=2)
    tensor([[[0.0000, 0.5000, 0.5000],
             [0.0000, 1.0000, 0.0000]]])
    """
    n_bins = relaxed_query.shape[1] if n_bins is None else n_bins
    check_shapes(relaxed_query, relaxed_database, level_index)
    check_levels(level_index, n_levels)
    if exclude_self:
        if len(relaxed_query) > len(relaxed_database):
            raise ValueError(
                "exclude_self needs query i to be item i of the database, but there are "
                f"{len(relaxed_query)} queries and {len(relaxed_database)} items."
            )
        level_index = level_index.to(torch.int32, copy=True).fill_diagonal_(-1)
    keep_freed_memory()
    # Half precision cannot count.
    dtype = torch.promote_types(relaxed_query.dtype, torch.float32)
    counts = SoftCounts.apply(
        relaxed_query.to(dtype), relaxed_database.to(dtype), level_index, n_levels, n_bins
    )
    return counts.to(relaxed_query.dtype)


class SoftCounts(torch.autograd.Function):
    """A loop forward, and one and two matrix products backward, block by block of rows.

    Between the two passes a pair keeps one integer, its cell. The position inside the bin
    is not needed: the kernel is piecewise linear.
    """

    @staticmethod
    def forward(ctx, query, database, level_index, n_levels, n_bins):
        from .._loops._soft import Bins, count_softly

        n_cells = n_levels * (n_bins + 1)
        cells = torch.empty(level_index.shape, dtype=torch.int32, device=query.device)
        counts = query.new_empty((len(query), n_cells))
        ctx.scale = 0.5 * n_bins / query.shape[1]
        for rows in _blocks(cells):
            products = query[rows] @ database.T
            levels = level_index[rows]
            if is_on_host(query):
                count_softly(
                    products.numpy(),
                    levels.contiguous().numpy(),
                    Bins.from_scale(ctx.scale, n_bins, products.numpy().dtype),
                    counts[rows].numpy(),
                    cells[rows].numpy(),
                )
            else:
                _count_on_device(
                    products,
                    levels,
                    scale=ctx.scale,
                    n_bins=n_bins,
                    counts=counts[rows],
                    cells=cells[rows],
                )
        ctx.save_for_backward(query, database, cells)
        return counts.view(len(query), n_levels, n_bins + 1)

    @staticmethod
    def backward(ctx, grad_counts):
        query, database, cells = ctx.saved_tensors
        # Gradient of moving a pair of each cell up by one bin, which moves a count from a
        # bin to the next. The last bin has no next one, and no pair has its cell or the
        # spare cell after it.
        steps = grad_counts.diff(dim=2, append=grad_counts[:, :, -1:])
        steps = torch.nn.functional.pad(steps.flatten(1), (0, 1))
        grad_query = torch.empty_like(query)
        # It is transposed, since a product that adds to rows is faster than one to columns.
        grad_database = database.new_zeros(database.shape[::-1])
        for rows in _blocks(cells):
            grad_products = torch.gather(steps[rows], 1, cells[rows].long())
            grad_query[rows].addmm_(grad_products, database, beta=0, alpha=-ctx.scale)
            grad_database.addmm_(query[rows].T, grad_products, alpha=-ctx.scale)
        return grad_query, grad_database.T, None, None, None


def is_on_host(tensor):
    """Whether the numbers of a tensor are in memory that compiled loops can read."""
    return tensor.device.type == "cpu"


def _count_on_device(products, levels, *, scale, n_bins, counts, cells):
    """Count as `count_softly` does, with torch, and equally in every run.

    Shares of pairs are summed as integer multiples of 2**-32, since a device adds numbers
    in any order.
    """
    position = (0.5 * n_bins - scale * products).clamp_(0, n_bins)
    lo = position.int().clamp_(max=n_bins - 1)
    torch.add(lo, levels, alpha=n_bins + 1, out=cells)
    cells.masked_fill_(levels < 0, counts.shape[1])
    upper = position.sub_(lo)
    index = cells.long()
    is_lost = upper.isnan().any(1, keepdim=True)
    sums = index.new_zeros((2, len(products), counts.shape[1] + 1))
    sums[0].scatter_add_(1, index, torch.ones_like(index))
    sums[1].scatter_add_(1, index, (upper.double() * _SHARE).long())
    upper = sums[1].double().div_(_SHARE)
    torch.sub(sums[0, :, :-1], upper[:, :-1], out=counts)
    counts[:, 1:] += upper[:, :-2]
    counts.masked_fill_(is_lost, torch.nan)


def _blocks(pairs):
    """Slices of queries whose pairs stay in the cache, or fill an accelerator."""
    if is_on_host(pairs):
        return blocks_of_queries(pairs.shape)
    return blocks_of_queries(pairs.shape, _PAIRS_PER_DEVICE_BLOCK)


def check_shapes(query, database, level_index):
    """Raise ValueError unless there is a level for each pair of rows of equal length."""
    if query.ndim != 2 or database.ndim != 2 or query.shape[1] != database.shape[1]:
        raise ValueError(
            "relaxed_query and relaxed_database must be 2-D with equally many bits, got "
            f"shapes {tuple(query.shape)} and {tuple(database.shape)}."
        )
    expected = len(query), len(database)
    if tuple(level_index.shape) != expected:
        raise ValueError(
            f"level_index must have shape (n_query, n_database) = {expected}, got "
            f"{tuple(level_index.shape)}."
        )


def check_levels(level_index, n_levels):
    """Raise ValueError at places of levels beyond a table, where loops would write."""
    if level_index.numel():
        lowest, highest = map(int, level_index.aminmax())
        if lowest < -1 or highest >= n_levels:
            raise ValueError(
                f"level_index must be in [0, n_levels) = [0, {n_levels}), or -1, got "
                f"values from {lowest} to {highest}: places of levels, not affinities."
            )
