"""Training on features that must not be copied as a whole: sparse, memory-mapped."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import small

from sklearn_talr.hashing import _base, _host_engine, _linear, _torch_engine
from sklearn_talr.hashing._base import mean_and_unit
from sklearn_talr.hashing._host_engine import Features
from sklearn_talr.hashing._torch_engine import DeviceFeatures

CPU = torch.device("cpu")


def memory_mapped(tmp_path, X):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [Features, partial(DeviceFeatures, device=CPU)])
def test_batches_of_any_kind_are_equal(few_digits, tmp_path, monkeypatch, make, dtype):
    X = few_digits[0].astype(dtype)
    mean, unit = mean_and_unit(X)
    rows = np.array([5, 3, 299])
    expected = ((X[rows] - mean) / unit).astype(np.float32)
    mapped = memory_mapped(tmp_path, X)
    for most_copied in (0, X.size):
        for module in (_host_engine, _torch_engine):
            monkeypatch.setattr(module, "MOST_COPIED", most_copied)
        for kind in (X, mapped, sp.csr_array(X), sp.csr_matrix(X)):
            features = make(kind, mean, unit)
            is_copied = most_copied and not sp.issparse(kind)
            assert (features._resident is not None) == is_copied
            batch = np.asarray(features.batch(rows))
            assert batch.dtype == np.float32
            np.testing.assert_array_equal(batch, expected)
    # Block by block, as on a device that has room for a copy.
    monkeypatch.setattr(_base, "_CELLS_PER_BLOCK", 1000)
    features = make(X, mean, unit)
    np.testing.assert_array_equal(features.batch(rows), expected)


class TestSparse:
    @pytest.mark.parametrize(
        "params",
        [{}, {"init": "random", "hidden_layer_sizes": (16,)}, {"early_descent": True}],
    )
    def test_no_more_than_a_batch_is_made_dense(self, monkeypatch, params, learned):
        """Topics of words: sparse rows that would be large if dense."""
        rng = np.random.default_rng(0)
        y = np.arange(600) % 4
        words = 250 * y[:, None] + rng.integers(0, 350, (600, 30))
        X = sp.csr_array(
            (np.ones(18_000), (np.repeat(np.arange(600), 30), words.ravel())), (600, 1200)
        )
        monkeypatch.setattr(_linear, "_MOST_CELLS", 100 * X.shape[1])
        monkeypatch.setattr(_linear, "_MOST_DENSE_CELLS", 100 * X.shape[1])
        heights = []
        toarray = sp.csr_array.toarray

        def counted(self, *args, **kwargs):
            heights.append(self.shape[0])
            return toarray(self, *args, **kwargs)

        monkeypatch.setattr(sp.csr_array, "toarray", counted)
        hasher = small(max_iter=15, learning_rate_init=0.02, **params)
        hasher.set_params(random_state=learned.seed).fit(X, y)
        assert 32 < max(heights) <= 100
        learned.error(1 - hasher.score(X, y))

    def test_constant(self):
        X = sp.csr_array(np.tile([0.0, 1.0], (5, 1)))
        with pytest.raises(ValueError, match="X is constant"):
            small().fit(X, np.arange(5) % 2)
