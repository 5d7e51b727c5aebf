"""Affinity levels of the pairs of a batch, found on the device where that is possible."""

import numpy as np
import scipy.sparse as sp

from ..affinity import LabelAffinity, SharedLabelAffinity
from ..affinity._resolve import level_index
from ._device import to_device


def batch_levels(affinity, levels, targets, device):
    """Return ``index(samples)``: the level of each pair of some samples, as a tensor.

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

    def __call__(self, samples):
        classes = self._classes[to_device(samples, self._classes.device)]
        return (classes[:, None] == classes).byte()


class _SharedLabels:
    def __init__(self, affinity, targets, device):
        self._labels = to_device((np.asarray(targets) > 0).astype(np.uint8), device)
        self._binary = affinity.binary

    def __call__(self, samples):
        labels = self._labels[to_device(samples, self._labels.device)].float()
        shared = labels @ labels.T
        return (shared > 0).byte() if self._binary else shared.short()


class _AnyOracle:
    def __init__(self, affinity, levels, targets, device):
        self._affinity = affinity
        self._levels = levels
        self._targets = targets
        self._device = device

    def __call__(self, samples):
        targets = self._targets[samples]
        index = level_index(self._affinity, self._levels, targets, targets)
        return to_device(np.ascontiguousarray(index), self._device)
