"""What a minibatch costs: the levels of its pairs, and the bits that take part."""

import numpy as np
import torch

from ..gradient._features import to_device

_SHORTEST_NESTED = 4  # leading bits; fewer rank nothing
_PAIRS_PER_BLOCK = 2**20  # of an oracle, which may need many bytes for each


class BatchLoss:
    """Base of losses of a minibatch, as a `Trainer` calls them.

    Subclasses define ``__call__(activations, samples, progress) -> scalar tensor``.

    Parameters
    ----------
    settings : Settings
        How many bits a step keeps, and the device.

    tanh_scale : (float, float) or None, default=None
        Scale of tanh in the first and the last epoch; None leaves activations as they are.

    nested : bool, default=False
        Whether each step has a random number of leading bits.
    """

    def __init__(self, settings, tanh_scale=None, nested=False):
        self.device = settings.device
        self.n_kept = settings.n_kept_bits
        self.tanh_scale = tanh_scale
        self.nested = nested

    def begin(self, rng):
        """Training begins, once the first weights are drawn."""
        self.rng = rng

    def draw_bits(self, n_bits):
        """Indices of the bits to keep in this step, or None for all."""
        n_leading = n_bits
        if self.nested:
            n_leading = self.rng.randint(min(n_bits, _SHORTEST_NESTED), n_bits + 1)
        n_kept = self.n_kept[n_leading]
        if n_kept == n_bits:
            return None
        return to_device(self.rng.permutation(n_leading)[:n_kept], self.device)

    def scale(self, activations, progress):
        """Activations times the scale of tanh at this stage of training."""
        first, last = self.tanh_scale
        return first * (last / first) ** progress * activations


class PairwiseLoss(BatchLoss):
    """A function of the bits of a minibatch and of the levels of its pairs.

    Parameters
    ----------
    function : callable
        ``function(bits, level_index) -> scalar tensor``. Bits are activations, or relaxed
        by tanh if it has a scale; `level_index` has shape (n, n).

    data : TrainingData
        Targets and affinity of all samples.

    settings : Settings
        How many bits a step keeps, and the device.

    tanh_scale : (float, float) or None, default=None
        Scale of tanh in the first and the last epoch; None leaves activations as they are.

    nested : bool, default=False
        Whether each step has a random number of leading bits.

    binary : bool, default=False
        Whether all levels above 0 count as one.
    """

    def __init__(
        self, function, data, settings, *, tanh_scale=None, nested=False, binary=False
    ):
        super().__init__(settings, tanh_scale, nested)
        self.function = function
        self.level_index = batch_levels(
            data.affinity, data.levels, data.targets, settings.device
        )
        self.merges_levels = binary and len(data.levels) > 2

    def __call__(self, activations, samples, progress):
        bits = keep_bits(activations, self.draw_bits(activations.shape[1]))
        if self.tanh_scale is not None:
            bits = torch.tanh(self.scale(bits, progress))
        index = self.level_index(samples)
        if self.merges_levels:
            index.clamp_(max=1)
        return self.function(bits, index)


def levels_of_gains(data):
    """Levels whose gains, 2**level - 1, NDCG is trained on, as the affinity has them."""
    return data.affinity.gain_levels(data.levels)


def keep_bits(bits, kept):
    """Select the columns that :meth:`BatchLoss.draw_bits` has drawn."""
    return bits if kept is None else bits.index_select(1, kept)


def batch_levels(affinity, levels, targets, device):
    """Make a function that gives the levels of all pairs of some samples.

    Labels and dense label indicators are checked and brought to the device once. Any other
    oracle is evaluated on the host, for each batch.

    Parameters
    ----------
    affinity : affinity oracle
        Who is similar to whom.

    levels : ndarray
        Values that the affinity takes, in ascending order.

    targets : sequence
        Checked targets of all samples.

    device : torch.device
        Where levels are wanted.

    Returns
    -------
    index : callable
        ``index(samples)`` takes row indices, and returns an integer tensor of shape
        (n, n) of places in `levels`.
    """
    table = affinity.batch_table(targets)
    if table is None:
        return _LevelsByHost(affinity, levels, targets, device)
    return _LevelsByTable(affinity, to_device(table, device))


class _LevelsByTable:
    """Levels of pairs by rows of the table of an affinity, which is on the device."""

    def __init__(self, affinity, table):
        self._affinity = affinity
        self._table = table

    def __call__(self, samples):
        rows = self._table[to_device(samples, self._table.device)]
        index = self._affinity.compare_batch(rows)
        return index.view(torch.uint8) if index.dtype == torch.bool else index


class _LevelsByHost:
    """Levels of pairs by an affinity that is asked on the host, some rows at a time."""

    def __init__(self, affinity, levels, targets, device):
        self._affinity = affinity
        self._levels = levels
        self._targets = targets
        self._device = device

    def __call__(self, samples):
        targets = self._targets[samples]
        dtype = np.uint8 if len(self._levels) <= 256 else np.int32
        index = np.empty((len(samples), len(samples)), dtype)
        n_rows = max(1, _PAIRS_PER_BLOCK // len(samples))
        for rows, block in self._affinity.level_blocks(
            targets, targets, self._levels, n_rows
        ):
            index[rows] = block
        return to_device(index, self._device)
