"""The loss of a minibatch in which each sample ranks the others."""

import numpy as np
import torch

from ..affinity import ThresholdAffinity
from ..affinity._resolve import iter_level_blocks, len_targets, level_index
from ..objectives import soft_counts
from ..objectives._loss import OBJECTIVES

_SHORTEST_NESTED = 4  # leading bits; fewer rank nothing

_PAIRS_PER_BLOCK = 2**20  # whose affinities are looked at at once


class RankingLoss:
    """1 - mean objective of a minibatch in which each sample ranks the others."""

    def __init__(self, hasher, levels, targets, scales, rng):
        self.objective = OBJECTIVES[hasher.objective]
        self.affinity = hasher.affinity_
        self.bit_dropout = _resolve_bit_dropout(hasher.bit_dropout, hasher.affinity_)
        self.nested = hasher.nested
        self.binary = hasher.objective.startswith("ap")  # similar or not, no more
        self.levels = levels
        self.counted_levels = (
            torch.tensor([0, 1]) if self.binary else torch.from_numpy(levels)
        )
        self.targets = targets
        self.scales = scales
        self.rng = rng

    def __call__(self, activations, samples, progress):
        first, last = self.scales
        scale = first * (last / first) ** progress
        relaxed = torch.tanh(scale * self._drop_bits(activations))
        index = self._level_index(samples).to(activations.device)
        n_levels = len(self.counted_levels)
        counts = soft_counts(relaxed, relaxed, index, n_levels, exclude_self=True)
        value = self.objective(counts, self.counted_levels)
        # Without a similar sample in the batch a query has no metric, and no say.
        has_value = counts.detach()[:, 1:].sum((1, 2)) > 0.5
        return 1 - (value * has_value).sum() / has_value.sum().clamp(min=1)

    def _drop_bits(self, activations):
        """A random part of all bits or, if codes are nested, of some leading ones."""
        n_bits = activations.shape[1]
        n_leading = n_bits
        if self.nested:
            n_leading = self.rng.randint(min(n_bits, _SHORTEST_NESTED), n_bits + 1)
        n_kept = max(1, round(n_leading * (1 - self.bit_dropout)))
        if n_kept == n_bits:
            return activations
        kept = torch.from_numpy(self.rng.permutation(n_leading)[:n_kept])
        return activations[:, kept.to(activations.device)]

    def _level_index(self, samples):
        targets = self.targets[samples]
        index = level_index(self.affinity, self.levels, targets, targets)
        if self.binary:
            index = (index > 0).view(np.uint8)
        return torch.from_numpy(np.ascontiguousarray(index))


def _resolve_bit_dropout(bit_dropout, affinity):
    if bit_dropout == "auto":
        return 0.0 if isinstance(affinity, ThresholdAffinity) else 0.5
    return bit_dropout


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
