"""The allocator is told to keep freed memory when training begins, not before."""

from importlib.util import find_spec, module_from_spec

import numpy as np
import pytest
import torch

from sklearn_talr.hashing import TALRHasher, _training
from sklearn_talr.losses import DPSHLoss, _base, _soft_counts, soft_counts


@pytest.fixture
def allocated(monkeypatch):
    """Elements of all tensors that `torch.empty` has made."""
    sizes = []
    empty = torch.empty

    def recorded(*args, **kwargs):
        tensor = empty(*args, **kwargs)
        sizes.append(tensor.numel())
        return tensor

    monkeypatch.setattr(torch, "empty", recorded)
    _soft_counts.keep_freed_memory.cache_clear()
    return sizes


def test_imports_allocate_nothing(allocated):
    for imported in [_base, _soft_counts, _training]:
        spec = find_spec(imported.__name__)
        spec.loader.exec_module(module_from_spec(spec))
        assert max(allocated, default=0) < 1 << 20


def test_the_first_counts_of_a_process_do(allocated):
    bits = torch.zeros(2, 3)
    for _ in range(2):
        soft_counts(bits, bits, torch.zeros(2, 2, dtype=torch.int64), 1)
    assert sum(size >= 1 << 24 for size in allocated) == 1


def test_the_first_fit_of_a_process_does(allocated):
    """Also where the loss is one of pairs, and counts nothing."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    hasher = TALRHasher(4, loss=DPSHLoss(), max_iter=1, random_state=0)
    for _ in range(2):
        hasher.fit(X, np.arange(40) % 2)
    assert sum(size >= 1 << 24 for size in allocated) == 1
