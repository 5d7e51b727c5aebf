"""The loss of a minibatch in which each sample ranks the others."""

import numpy as np
import torch

from ..affinity import ThresholdAffinity
from ..affinity._resolve import iter_level_blocks, level_index
from ..objectives import (
    average_precision,
    average_precision_simplified,
    ndcg,
    ndcg_simplified,
    soft_counts,
)

OBJECTIVES = {
    "ap": average_precision,
    "ap_simplified": average_precision_simplified,
    "ndcg": ndcg,
    "ndcg_simplified": ndcg_simplified,
}


class RankingLoss:
    """1 - mean objective of a minibatch in which each sample ranks the others."""

    def __init__(self, hasher, levels, targets, scales, rng):
        self.objective = OBJECTIVES[hasher.objective]
        self.affinity = hasher.affinity_
        self.bit_dropout = _resolve_bit_dropout(hasher.bit_dropout, hasher.affinity_)
        self.levels = levels
        self.targets = targets
        self.scales = scales
        self.rng = rng

    def __call__(self, activations, samples, progress):
        first, last = self.scales
        scale = first * (last / first) ** progress
        relaxed = torch.tanh(scale * self._drop_bits(activations))
        index = self._level_index(samples).to(activations.device)
        counts = soft_counts(relaxed, relaxed, index, len(self.levels), exclude_self=True)
        value = self.objective(counts, torch.from_numpy(self.levels))
        # Without a similar sample in the batch a query has no metric, and no say.
        has_value = (index > 0).sum(1) > (index.diagonal() > 0)
        return 1 - (value * has_value).sum() / has_value.sum().clamp(min=1)

    def _drop_bits(self, activations):
        n_bits = activations.shape[1]
        n_kept = max(1, round(n_bits * (1 - self.bit_dropout)))
        if n_kept == n_bits:
            return activations
        kept = torch.from_numpy(self.rng.permutation(n_bits)[:n_kept])
        return activations[:, kept.to(activations.device)]

    def _level_index(self, samples):
        targets = self.targets[samples]
        index = level_index(self.affinity, self.levels, targets, targets)
        return torch.from_numpy(np.ascontiguousarray(index))


def _resolve_bit_dropout(bit_dropout, affinity):
    if bit_dropout == "auto":
        return 0.0 if isinstance(affinity, ThresholdAffinity) else 0.5
    return bit_dropout


def check_contrast(affinity, levels, targets):
    """Raise unless some pairs are similar and not all are equally so."""
    smallest, largest = len(levels), 0
    for rows, index in iter_level_blocks(affinity, levels, targets, targets):
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
