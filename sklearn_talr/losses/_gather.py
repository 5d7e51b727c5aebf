"""Items of all ranks of a process group, with gradients that find their way back."""

import torch
import torch.distributed as dist


class ProcessGroup:
    """The ranks of torch.distributed's default group, which rank each other's items.

    Every call is a collective operation: all ranks must make it, in the same order.

    Attributes
    ----------
    n_ranks, rank : int
        Number of processes, and which of them this one is.
    """

    def __init__(self):
        self.n_ranks, self.rank = dist.get_world_size(), dist.get_rank()

    @classmethod
    def joined(cls):
        """The group, or None for a process on its own."""
        if not dist.is_available() or not dist.is_initialized():
            return None
        return cls() if dist.get_world_size() > 1 else None

    def sizes(self, tensor):
        """Number of rows of each rank, a list of int."""
        size = torch.tensor([len(tensor)], device=tensor.device)
        sizes = [torch.empty_like(size) for _ in range(self.n_ranks)]
        dist.all_gather(sizes, size)
        return torch.cat(sizes).tolist()

    def gather(self, tensor, sizes):
        """Rows of all ranks: of this rank first, then of the other ranks in order.

        The gradients of a row, from all ranks, are summed on the rank that the row is from.
        """
        return _GatheredRows.apply(tensor, self.rank, sizes)

    def own_first(self, columns, sizes):
        """Columns in order of rank, put in the order of :meth:`gather`."""
        start = sum(sizes[: self.rank])
        stop = start + sizes[self.rank]
        parts = columns[:, start:stop], columns[:, :start], columns[:, stop:]
        return torch.cat(parts, dim=1)

    def total(self, value, count):
        """Sums over all ranks of a value and a count.

        The gradient of the value is the gradient of this rank's part times the number of
        ranks, so that the mean over all ranks is the gradient of the sum.
        """
        both = torch.stack([value.detach(), count.to(value.dtype)])
        dist.all_reduce(both)
        own = self.n_ranks * value
        return both[0] + (own - own.detach()), both[1]

    def same(self, tensor):
        """The tensor of the first rank."""
        dist.broadcast(tensor, 0)
        return tensor


class _GatheredRows(torch.autograd.Function):
    """Forward, rows padded to the longest part; backward, one sum of all gradients."""

    @staticmethod
    def forward(ctx, tensor, rank, sizes):
        ctx.rank, ctx.sizes = rank, sizes
        # Backends know few types of integers.
        sent = tensor if tensor.is_floating_point() else tensor.long()
        padded = sent.new_zeros((max(sizes), *tensor.shape[1:]))
        padded[: len(tensor)] = sent
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        parts = [part[:size] for part, size in zip(parts, sizes)]
        return torch.cat([parts[rank], *parts[:rank], *parts[rank + 1 :]])

    @staticmethod
    def backward(ctx, grad):
        own = ctx.sizes[ctx.rank]
        start = sum(ctx.sizes[: ctx.rank])
        by_rank = torch.cat([grad[own : own + start], grad[:own], grad[own + start :]])
        dist.all_reduce(by_rank)
        return by_rank[start : start + own], None, None
