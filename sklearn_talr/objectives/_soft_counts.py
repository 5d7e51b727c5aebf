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

import torch

__all__ = ["soft_counts"]

_PAIRS_PER_BLOCK = 1 << 17  # half a MiB of float32: it stays in cache between passes
_PAIRS_PER_DEVICE_BLOCK = 1 << 24  # an accelerator wants few and large steps
_ROWS_PER_BLOCK = 32  # at least: each block adds to the whole gradient of the database


def soft_counts(
    relaxed_query,
    relaxed_database,
    level_index,
    n_levels,
    *,
    n_bins=None,
    exclude_self=False,
):
    """Count database items by affinity level and relaxed Hamming distance.

    Implements eq. 13 to 16 of He et al. (CVPR 2018). Differentiable in both sets of
    relaxed bits. The kernel has a kink where a distance meets a bin centre; there the
    derivative from above is returned.

    Parameters
    ----------
    relaxed_query : Tensor of shape (n_query, n_bits), float
        Relaxed bits in [-1, 1], for instance ``tanh(scale * activations)``.

    relaxed_database : Tensor of shape (n_database, n_bits), float
        The same for the database; may be the same tensor.

    level_index : Tensor of shape (n_query, n_database), integer
        Affinity level of each pair in [0, n_levels), 0 for "not similar".

    n_levels : int
        Number of affinity levels, at least 1.

    n_bins : int, default=None
        Bins have width ``n_bits / n_bins``. None means `n_bits`: one per distance.

    exclude_self : bool, default=False
        Leave out the pairs (i, i): query i is item i of the database.

    Returns
    -------
    counts : Tensor of shape (n_query, n_levels, n_bins + 1), float
        Soft counts; each query's sum to the number of its database items.

    Raises
    ------
    ValueError
        If shapes do not fit or `n_bins` or `n_levels` is below 1.

    Examples
    --------
    A pair at distance 1 and one at distance 1.5, which is shared between two bins:

    >>> import torch
    >>> from sklearn_talr.objectives import soft_counts
    >>> query = torch.tensor([[1.0, 1.0]])
    >>> database = torch.tensor([[1.0, -1.0], [0.0, -1.0]])
    >>> soft_counts(query, database, torch.tensor([[1, 0]]), n_levels=2)
    tensor([[[0.0000, 0.5000, 0.5000],
             [0.0000, 1.0000, 0.0000]]])
    """
    n_bins = relaxed_query.shape[1] if n_bins is None else n_bins
    _check_shapes(
        relaxed_query, relaxed_database, level_index, n_levels, n_bins, exclude_self
    )
    return _SoftCounts.apply(
        relaxed_query, relaxed_database, level_index, n_levels, n_bins, exclude_self
    )


class _SoftCounts(torch.autograd.Function):
    """Scatter forward, gather and two matrix products backward, block by block of rows.

    Between the two passes a pair keeps one small integer, the flat index of its lower
    bin. The position inside the bin is not needed: the kernel is piecewise linear. Blocks
    write into the same buffers, which stay in cache.
    """

    @staticmethod
    def forward(ctx, query, database, level_index, n_levels, n_bins, exclude_self):
        n_query, n_bits = query.shape
        n_cells = n_levels * (n_bins + 1)
        # One cell to spare: the bin above the last takes shares of 0.
        counts = query.new_zeros(n_query, n_cells + 1)
        cells = torch.empty(
            level_index.shape, dtype=_cell_dtype(n_cells), device=query.device
        )
        centre = query.new_full((1, 1), 0.5 * n_bins)
        per_distance = -0.5 * n_bins / n_bits
        blocks = _row_blocks(cells)
        buffers = _buffers(cells, blocks, query.dtype, query.dtype, torch.int64)
        for rows in blocks:
            position, upper_share, index = (buffer[: _size(rows)] for buffer in buffers)
            torch.addmm(centre, query[rows], database.T, alpha=per_distance, out=position)
            position.clamp_(0, n_bins)
            cell = cells[rows].copy_(position)  # rounds down
            cell.add_(level_index[rows], alpha=n_bins + 1)
            index.copy_(cell)
            torch.frac(position, out=upper_share)
            lower_share = torch.sub(1, upper_share, out=position)
            if exclude_self:
                lower_share.diagonal(rows.start).zero_()
                upper_share.diagonal(rows.start).zero_()
            counts[rows].scatter_add_(1, index, lower_share)
            counts[rows, 1:].scatter_add_(1, index, upper_share)
        ctx.save_for_backward(query, database, cells)
        ctx.per_distance = per_distance
        ctx.exclude_self = exclude_self
        return counts[:, :-1].reshape(n_query, n_levels, n_bins + 1)

    @staticmethod
    def backward(ctx, grad_counts):
        query, database, cells = ctx.saved_tensors
        # Moving a pair up by one bin takes a count from its cell and gives it to the next;
        # in the last bin only the move down from it is left.
        step = grad_counts.diff(dim=2)
        step = torch.cat([step, step[:, :, -1:]], dim=2).flatten(1) * ctx.per_distance
        grad_query, grad_database = torch.empty_like(query), torch.zeros_like(database)
        blocks = _row_blocks(cells)
        buffers = _buffers(cells, blocks, step.dtype, torch.int64)
        for rows in blocks:
            grad_product, index = (buffer[: _size(rows)] for buffer in buffers)
            index.copy_(cells[rows])
            torch.gather(step[rows], 1, index, out=grad_product)
            if ctx.exclude_self:
                grad_product.diagonal(rows.start).zero_()
            torch.mm(grad_product, database, out=grad_query[rows])
            grad_database.addmm_(grad_product.T, query[rows])
        return grad_query, grad_database, None, None, None, None


def _row_blocks(cells):
    n_query, n_database = cells.shape
    pairs = _PAIRS_PER_BLOCK if cells.device.type == "cpu" else _PAIRS_PER_DEVICE_BLOCK
    size = max(_ROWS_PER_BLOCK, pairs // max(1, n_database))
    return [slice(start, min(start + size, n_query)) for start in range(0, n_query, size)]


def _buffers(cells, blocks, *dtypes):
    """Uninitialised tensors of one block of rows, one of each type."""
    shape = _size(blocks[0]) if blocks else 0, cells.shape[1]
    return [torch.empty(shape, dtype=dtype, device=cells.device) for dtype in dtypes]


def _size(rows):
    return rows.stop - rows.start


def _cell_dtype(n_cells):
    return torch.int16 if n_cells <= torch.iinfo(torch.int16).max else torch.int32


def _check_shapes(query, database, level_index, n_levels, n_bins, exclude_self):
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
    if n_levels < 1 or n_bins < 1:
        raise ValueError(
            f"n_levels and n_bins must be at least 1, got {n_levels} and {n_bins}."
        )
    if exclude_self and len(query) > len(database):
        raise ValueError(
            "exclude_self needs query i to be item i of the database, but there are "
            f"{len(query)} queries and {len(database)} items."
        )
