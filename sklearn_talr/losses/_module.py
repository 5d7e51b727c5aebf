"""A loss for end-to-end networks: one minus a measure, of activations and targets."""

from numbers import Integral, Real

import torch
import torch.distributed as dist

from .._core.compat import Interval, validated
from .._core.types import Column, Count, Literal, Tensor
from ..measures._base import measure_name
from ._base import summable_grades
from ._soft_counts import check_shapes
from ._soft_measures import ranking_loss


class TieAwareLoss(torch.nn.Module):
    r"""One minus the mean tie-aware AP or NDCG of a batch whose items rank each other.

    For networks trained end to end: the last layer returns one activation per bit, and the
    signs of the activations are the code. All work stays on the device of the activations.
    The last layer should be ``BatchNorm1d(n_bits, affine=False)``. If there are classes,
    train with cross entropy first: from random weights all relaxed distances nearly tie,
    and training is slow and unstable.

    Parameters
    ----------
    measure : {"AP", "nDCG"}, default="AP"
        Measure to maximize, by any of its names or as a value, see
        :func:`soft_average_precision` and :func:`soft_ndcg`.

    simplified : bool, default=False
        Whether ties are taken at their middle rank, see
        :func:`simplified_average_precision` and :func:`simplified_ndcg`.

    levels : array-like of shape (n_levels,), default=None
        Affinity values in ascending order, first 0. Targets are then indices of levels, one
        for each pair. None: targets are labels or label indicators.

    tanh_scale : float, default=1.0
        Relaxed bits are :math:`\tanh(\alpha f)` of activations f, with this :math:`\alpha`.
        It is an attribute: raise it during training, for example from 1 to 8, to make codes
        almost binary.

    bit_dropout : float, default=0.0
        Fraction of the bits, in [0, 1), that each call in training mode leaves out. Torch's
        generator draws them. This regularizes: every part of a code must rank well by
        itself.

    n_bins : int, default=None
        Bins of the soft counts; None: one per distance. See :func:`soft_counts`.

    gather : bool, default=False
        Whether the items of all ranks of a torch.distributed process group are ranked, see
        Notes. Without a group, and in a group of one, it has no effect.

    See Also
    --------
    sklearn_talr.hashing.TALRHasher : Trains linear and shallow hash functions by this loss.

    Notes
    -----
    With `gather` the batches of all ranks are one joint batch: the items of a rank are the
    queries there, and every query ranks the items of all ranks but itself. Ranks may have
    different numbers of items, or none. With declared `levels` the columns of the targets
    are the items of rank 0, of rank 1, and so on. A database that is passed is gathered,
    too. All ranks leave out the same bits, which rank 0 draws.

    Every rank returns the loss of the joint batch. The gradient reaches the items of all
    ranks. It is scaled so that its mean over the ranks is the gradient of the joint batch,
    since DistributedDataParallel takes the mean. If you add gradients up instead, divide by
    the number of ranks. All ranks must call the loss, and its backward, equally often.

    A rank needs memory for its queries times the items of all ranks.

    Examples
    --------
    Two classes of two items. Item 0 is as far from its partner as from both other items, so
    its AP is the mean of 1, 1/2 and 1/3. The mean AP of the four items is 0.4653.

    >>> import torch
    >>> from sklearn_talr.losses import TieAwareLoss
    >>> activations = torch.tensor([[9.0, 9], [9, -9], [-9, 9], [9, -9]])
    >>> loss = TieAwareLoss("AP", tanh_scale=8.0)
    >>> loss(activations, torch.tensor([0, 0, 1, 1]))
    tensor(0.5347)
    """

    @validated(
        simplified=["boolean"],
        levels=["array-like", torch.Tensor, None],
        tanh_scale=[Interval(Real, 0, None, closed="neither")],
        bit_dropout=[Interval(Real, 0, 1, closed="left")],
        n_bins=[Interval(Integral, 1, None, closed="left"), None],
        gather=["boolean"],
    )
    def __init__(
        self,
        measure: Literal["AP", "nDCG"] = "AP",
        *,
        simplified: bool = False,
        levels: Column = None,
        tanh_scale: float = 1.0,
        bit_dropout: float = 0.0,
        n_bins: Count = None,
        gather: bool = False,
    ) -> None:
        super().__init__()
        self.measure = measure_name(measure)
        self.simplified = simplified
        self.tanh_scale = tanh_scale
        self.bit_dropout = bit_dropout
        self.n_bins = n_bins
        self.gather = gather
        levels = None if levels is None else torch.as_tensor(levels)
        if levels is not None:
            is_list = levels.ndim == 1 and len(levels) > 0
            if not is_list or levels[0] != 0 or (levels.diff() <= 0).any():
                raise ValueError(
                    "levels must be ascending affinity values, the first 0, got "
                    f"{levels.tolist()}."
                )
            if self.measure == "nDCG":
                summable_grades(levels.tolist())
        self.register_buffer("levels", levels, persistent=False)

    def forward(
        self,
        activations: Tensor,
        targets: Tensor,
        database_activations: Tensor | None = None,
        database_targets: Tensor | None = None,
    ) -> Tensor:
        """Compute the loss of a batch.

        Parameters
        ----------
        activations : Tensor of shape (n_query, n_bits), float
            Output of the network; each row is a query.

        targets : Tensor
            Labels of shape (n_query,): similar if equal. Or 0/1 indicators of shape
            (n_query, n_labels): the affinity is the number of shared labels. Or, with
            `levels`, the index of each pair's level, shape (n_query, n_database).

        database_activations : Tensor of shape (n_database, n_bits), default=None
            Items that every query ranks. None: each query ranks the rest of the batch.

        database_targets : Tensor, default=None
            Labels or indicators of the database; None with `levels`.

        Returns
        -------
        loss : Tensor, scalar
            1 minus the mean measure of the queries that have something similar, in [0, 1];
            1 without gradient if none has.

        Raises
        ------
        ValueError
            If the shapes of activations and targets do not fit each other.
        """
        device = activations.device
        targets = None if targets is None else torch.as_tensor(targets, device=device)
        if database_targets is not None:
            database_targets = torch.as_tensor(database_targets, device=device)
        ranks_itself = database_activations is None
        if ranks_itself:
            database_activations = activations
            database_targets = targets
        is_joined = self.gather and dist.is_available() and dist.is_initialized()
        n_ranks = dist.get_world_size() if is_joined else 1
        # Row of this rank's first item among the items of all ranks
        first = 0
        with torch.autocast(device.type, enabled=False):
            bits = self._draw_bits(activations, n_ranks)
            # One tensor stays one tensor.
            query = self._relax(activations, bits)
            database = query
            if database_activations is not activations:
                database = self._relax(database_activations, bits)
            # Items of all ranks, and targets in their order.
            if n_ranks > 1:
                sizes = _sizes_of_ranks(database)
                first = sum(sizes[: dist.get_rank()])
                database = _GatheredRows.apply(database, sizes)
                if self.levels is None and database_targets is not None:
                    database_targets = _GatheredRows.apply(database_targets, sizes)
            index, levels = self._level_index(targets, database_targets)
            check_shapes(query, database, index)
            if ranks_itself:
                # No item ranks itself. Indices may be unsigned, and the user's own tensor.
                index = index.to(torch.promote_types(index.dtype, torch.int16), copy=True)
                index.diagonal(first).fill_(-1)
            return ranking_loss(
                query,
                database,
                index,
                levels=levels,
                measure=self.measure,
                simplified=self.simplified,
                n_bins=self.n_bins,
                over_ranks=_sum_over_ranks if n_ranks > 1 else None,
            )

    def extra_repr(self) -> str:
        """Show the settings when the module is printed."""
        names = "simplified", "tanh_scale", "bit_dropout", "n_bins", "gather"
        settings = (f"{name}={getattr(self, name)}" for name in names)
        return ", ".join([repr(self.measure), *settings])

    def _draw_bits(self, activations, n_ranks):
        """The bits that take part, which are the same on all ranks."""
        n_bits = activations.shape[1]
        n_kept = max(1, round(n_bits * (1 - self.bit_dropout)))
        if n_kept == n_bits or not self.training:
            return slice(None)
        bits = torch.randperm(n_bits, device=activations.device)[:n_kept]
        if n_ranks > 1:
            dist.broadcast(bits, 0)
        return bits

    def _relax(self, activations, bits):
        """Relaxed bits that take part, in float32 at least."""
        dtype = torch.promote_types(activations.dtype, torch.float32)
        return torch.tanh(self.tanh_scale * activations[:, bits].to(dtype))

    def _level_index(self, targets, database_targets):
        """Index of each pair's level, and the levels."""
        if self.levels is not None:
            return targets, self.levels
        shape = None if targets is None else tuple(targets.shape)
        database_shape = None if database_targets is None else tuple(database_targets.shape)
        are_both = shape is not None and database_shape is not None
        if not are_both or len(shape) not in (1, 2) or shape[1:] != database_shape[1:]:
            raise ValueError(
                "targets and database_targets must both be labels of shape (n,) or both "
                f"indicators of shape (n, n_labels), got {shape} and {database_shape}. For "
                "affinities of pairs declare levels."
            )
        if targets.ndim == 1:
            index = targets[:, None] == database_targets
            return index.short(), torch.arange(2, device=index.device)
        n_shared = (targets > 0).float() @ (database_targets > 0).float().T
        if self.measure == "AP":
            return (n_shared > 0).short(), torch.arange(2, device=n_shared.device)
        n_levels = int(n_shared.max()) + 1 if n_shared.numel() else 1
        return n_shared.int(), torch.arange(n_levels, device=n_shared.device)


# Every function below is a collective operation: all ranks must call it, in the same order.


def _sizes_of_ranks(tensor):
    """Number of rows of each rank, a list of int."""
    size = torch.tensor([len(tensor)], device=tensor.device)
    sizes = [torch.empty_like(size) for _ in range(dist.get_world_size())]
    dist.all_gather(sizes, size)
    return torch.cat(sizes).tolist()


def _sum_over_ranks(value, count):
    """Sums over all ranks of a value and a count.

    The gradient of the value is the gradient of this rank's part times the number of ranks,
    so that the mean over all ranks is the gradient of the sum.
    """
    sums = torch.stack([value.detach(), count.to(value.dtype)])
    dist.all_reduce(sums)
    scaled = dist.get_world_size() * value
    return sums[0] + (scaled - scaled.detach()), sums[1]


class _GatheredRows(torch.autograd.Function):
    """Rows of all ranks, in their order.

    Forward they are padded to the longest part. Backward the gradients of a row, from all
    ranks, are summed on the rank that the row is from.
    """

    @staticmethod
    def forward(ctx, tensor, sizes):
        ctx.sizes = sizes
        # Backends know few types of integers.
        sent = tensor if tensor.is_floating_point() else tensor.long()
        padded = sent.new_zeros((max(sizes), *tensor.shape[1:]))
        padded[: len(tensor)] = sent
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes)])

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad.split(ctx.sizes)[dist.get_rank()], None
