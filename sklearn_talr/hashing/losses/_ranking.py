"""The loss of a minibatch in which each sample ranks the others."""

import numpy as np
import torch

from ...objectives import soft_counts
from ...objectives._loss import mean_loss
from ..gradient._device import to_device
from ._levels import batch_levels
from ._minibatch import BatchLoss, keep_bits

_SHORTEST_NESTED = 4  # leading bits; fewer rank nothing


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
