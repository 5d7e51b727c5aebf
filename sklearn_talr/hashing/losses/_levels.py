"""Affinity levels of the pairs of a batch, found on the device where that is possible."""

import numpy as np
import scipy.sparse as sp
import torch

from ...affinity import LabelAffinity, SharedLabelAffinity
from ...affinity._resolve import iter_level_blocks
from ..gradient._device import to_device

_PAIRS_PER_BLOCK = 2**20  # of an oracle, which may need many bytes for each


def batch_levels(affinity, levels, targets, device):
    """Return ``index(samples, n_queries)``: levels of the first samples and all, a tensor.

    Labels and dense label indicators are brought to the device once, checked already. Any
    other oracle is evaluated on the host.
    """
    if type(affinity) is LabelAffinity:
        return _EqualLabels(affinity, targets, device)
    if type(affinity) is SharedLabelAffinity and not sp.issparse(targets):
        return _SharedLabels(affinity, targets, device)
    return _AnyOracle(affinity, levels, targets, device)


class _EqualLabels:
    def __init__(self, affinity, targets, device):
        _, classes = affinity.group_targets(targets)
        self._classes = to_device(classes, device)

    def __call__(self, samples, n_queries):
        classes = self._classes[to_device(samples, self._classes.device)]
        return (classes[:n_queries, None] == classes).view(torch.uint8)


class _SharedLabels:
    def __init__(self, affinity, targets, device):
        self._labels = to_device((np.asarray(targets) > 0).astype(np.uint8), device)
        self._binary = affinity.binary

    def __call__(self, samples, n_queries):
        labels = self._labels[to_device(samples, self._labels.device)].float()
        shared = labels[:n_queries] @ labels.T
        return (shared > 0).view(torch.uint8) if self._binary else shared.short()


class _AnyOracle:
    def __init__(self, affinity, levels, targets, device):
        self._affinity = affinity
        self._levels = levels
        self._targets = targets
        self._device = device

    def __call__(self, samples, n_queries):
        queries, database = self._targets[samples[:n_queries]], self._targets[samples]
        dtype = np.uint8 if len(self._levels) <= 256 else np.int32
        index = np.empty((n_queries, len(samples)), dtype)
        n_rows = max(1, _PAIRS_PER_BLOCK // len(samples))
        for rows, block in iter_level_blocks(
            self._affinity, self._levels, queries, database, n_rows
        ):
            index[rows] = block
        return to_device(index, self._device)
