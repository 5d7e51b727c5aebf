"""The loss of a minibatch in which each sample ranks the others."""

import numpy as np
import torch

from ..affinity._resolve import iter_level_blocks, len_targets
from ..objectives import soft_counts
from ..objectives._loss import mean_loss
from ._batch_levels import batch_levels
from ._batch_loss import BatchLoss, keep_bits
from ._device import to_device

_SHORTEST_NESTED = 4  # leading bits; fewer rank nothing

_PAIRS_PER_BLOCK = 2**20  # whose affinities are looked at at once


class RankingLoss(BatchLoss):
    """1 - mean objective of a minibatch whose first samples rank all the others."""

    def __init__(self, hasher, levels, targets, scales, rng):
        super().__init__(hasher, scales, rng)
        self.level_index = batch_levels(hasher.affinity_, levels, targets, self.device)
        self.objective = hasher.objective
        self.nested = hasher.nested
        binary = hasher.objective.startswith("ap")  # similar or not, no more
        self.merges_levels = binary and len(levels) > 2
        counted_levels = np.array([0, 1]) if binary else levels
        self.counted_levels = to_device(counted_levels, self.device)

    def __call__(self, activations, samples, n_queries, progress):
        relaxed = torch.tanh(self.scale(progress) * self._drop_bits(activations))
        index = self.level_index(samples, n_queries)
        if self.merges_levels:
            index.clamp_(max=1)
        n_levels = len(self.counted_levels)
        queries = relaxed[:n_queries]
        counts = soft_counts(queries, relaxed, index, n_levels, exclude_self=True)
        return mean_loss(self.objective, counts, self.counted_levels, len(samples))

    def _drop_bits(self, activations):
        """A random part of all bits or, if codes are nested, of some leading ones."""
        n_bits = n_leading = activations.shape[1]
        if self.nested:
            n_leading = self.rng.randint(min(n_bits, _SHORTEST_NESTED), n_bits + 1)
        return keep_bits(activations, self.draw_bits(n_bits, n_leading))


def check_contrast(affinity, levels, targets):
    """Raise unless some pairs are similar and not all are equally so."""
    smallest, largest = len(levels), 0
    block_size = min(256, max(1, _PAIRS_PER_BLOCK // len_targets(targets)))
    for rows, index in iter_level_blocks(affinity, levels, targets, targets, block_size):
        queries = np.arange(len(index))
        others = np.ones(index.shape, dtype=bool)
        others[queries, queries + rows.start] = False
        smallest = min(smallest, index.min(where=others, initial=len(levels)))
        largest = max(largest, index.max(where=others, initial=0))
        if largest > smallest:
            return
    if largest == 0:
        raise ValueError(
            "No two samples are similar, so there is nothing to rank first. Check y; for "
            "samples without shared labels, y=None takes near neighbours as similar."
        )
    raise ValueError(
        "All pairs of samples are equally similar (only one class in y?), so every "
        "ranking is as good as any other. Fit on samples of at least two classes."
    )
