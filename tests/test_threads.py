"""Training does not depend on how many threads torch and BLAS are given."""

import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn_talr.hashing.losses._ranking import RankingLoss
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_talr import TALRHasher, _threads
from sklearn_talr.hashing.gradient import _learned


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


@pytest.fixture
def set_torch_threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("batch_size", [256, 1500])
@pytest.mark.parametrize("params", [{}, {"hidden_layer_sizes": (32,), "objective": "ndcg"}])
def test_same_codes_with_one_thread_and_two(digits, set_torch_threads, batch_size, params):
    X, y = digits
    hasher = TALRHasher(16, batch_size=batch_size, max_iter=3, random_state=0, **params)
    fits = []
    for n_torch, n_blas in ((1, 1), (2, 1), (1, 2), (2, 2)):
        with threadpool_limits(n_blas):
            set_torch_threads(n_torch)
            codes = hasher.fit(X, y).transform(X)
        fits.append((codes, hasher.coefs_, hasher.loss_curve_))
    for codes, coefs, losses in fits[1:]:
        assert np.array_equal(codes, fits[0][0])
        assert all(map(np.array_equal, coefs, fits[0][1]))
        assert losses == fits[0][2]


@pytest.mark.parametrize("batch_size", [64, 1500])
def test_work_whose_rounding_depends_on_threads_has_one(
    digits, set_torch_threads, monkeypatch, batch_size
):
    found = []

    def recorded(function):
        def record(*args, **kwargs):
            blas = [pool["num_threads"] for pool in threadpool_info()]
            found.append(max(*blas, torch.get_num_threads()))
            return function(*args, **kwargs)

        return record

    monkeypatch.setattr(_learned, "start_weights", recorded(_learned.start_weights))
    monkeypatch.setattr(RankingLoss, "__call__", recorded(RankingLoss.__call__))
    with threadpool_limits(2):
        set_torch_threads(2)
        TALRHasher(8, batch_size=batch_size, max_iter=1, random_state=0).fit(*digits)
        assert torch.get_num_threads() == 2
    assert len(found) >= 3  # the start, and two batches at least
    assert set(found) == {1}


def test_thread_pools_are_looked_for_once_until_libraries_may_have_come(monkeypatch):
    class Counted(_threads.ThreadpoolController):
        n_searches = 0

        def __init__(self):
            Counted.n_searches += 1
            super().__init__()

    monkeypatch.setattr(_threads, "ThreadpoolController", Counted)
    _threads._thread_pools.cache_clear()
    for library in (None, None, "new", None):
        if library:
            monkeypatch.setitem(sys.modules, library, ModuleType(library))
        with _threads.one_thread():
            assert all(pool["num_threads"] == 1 for pool in threadpool_info())
    assert Counted.n_searches == 2
