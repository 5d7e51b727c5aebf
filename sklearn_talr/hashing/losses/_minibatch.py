"""What a minibatch costs: the levels of its pairs, and the bits that take part."""

import numpy as np
import scipy.sparse as sp
import torch

from ...affinity import LabelAffinity, SharedLabelAffinity
from ...affinity._resolve import iter_level_blocks
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
    """Levels whose gains, 2**level - 1, NDCG is trained on: numbers of shared labels.

    With gains that grow exponentially the few pairs of a batch that share the most labels
    outweigh all others; held-out NDCG with these gains was no higher for it, and average
    precision lower. All other affinities keep the gains of the metric: by distance NDCG
    was lower without them, and what the levels of any other oracle mean is not known.
    """
    if isinstance(data.affinity, SharedLabelAffinity):
        return np.log2(1.0 + data.levels)
    return data.levels


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
    if type(affinity) is LabelAffinity:
        return _EqualLabels(affinity, targets, device)
    if type(affinity) is SharedLabelAffinity and not sp.issparse(targets):
        return _SharedLabels(affinity, targets, device)
    return _AnyOracle(affinity, levels, targets, device)


class _EqualLabels:
    """Level 1 for pairs of equal labels, 0 for others."""

    def __init__(self, affinity, targets, device):
        _, classes = affinity.group_targets(targets)
        self._classes = to_device(classes, device)

    def __call__(self, samples):
        classes = self._classes[to_device(samples, self._classes.device)]
        return (classes[:, None] == classes).view(torch.uint8)


class _SharedLabels:
    """The number of shared labels, or whether there are any."""

    def __init__(self, affinity, targets, device):
        self._labels = to_device((np.asarray(targets) > 0).astype(np.uint8), device)
        self._binary = affinity.binary

    def __call__(self, samples):
        labels = self._labels[to_device(samples, self._labels.device)].float()
        shared = labels @ labels.T
        return (shared > 0).view(torch.uint8) if self._binary else shared.short()


class _AnyOracle:
    """What the oracle answers, asked a block of rows at a time."""

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
        for rows, block in iter_level_blocks(
            self._affinity, self._levels, targets, targets, n_rows
        ):
            index[rows] = block
        return to_device(index, self._device)
