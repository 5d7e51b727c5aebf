"""Training on features that must not be copied as a whole: sparse, memory-mapped."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hashers import small

from sklearn_talr import CrossViewHasher
from sklearn_talr.features import _scaling
from sklearn_talr.features._scaling import Scaling, mean_and_unit
from sklearn_talr.hashing import _linear
from sklearn_talr.hashing.training import _host, _plan, _torch
from sklearn_talr.hashing.training._host import Features
from sklearn_talr.hashing.training._torch import DeviceFeatures

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
        for module in (_host, _torch):
            monkeypatch.setattr(module, "MOST_COPIED", most_copied)
        for kind in (X, mapped, sp.csr_array(X), sp.csr_matrix(X)):
            features = make(kind, Scaling(mean, unit))
            is_copied = most_copied and not sp.issparse(kind)
            assert (features._resident is not None) == is_copied
            batch = np.asarray(features.batch(rows))
            assert batch.dtype == np.float32
            np.testing.assert_array_equal(batch, expected)
    # Block by block, as on a device that has room for a copy.
    monkeypatch.setattr(_scaling, "_CELLS_PER_BLOCK", 1000)
    features = make(X, Scaling(mean, unit))
    np.testing.assert_array_equal(features.batch(rows), expected)


class TestSparse:
    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"init": "random", "hidden_layer_sizes": (16,)},
            {"hidden_layer_sizes": (16,), "dropout": 0.0},
            {"early_stopping": True},
        ],
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
        leaves_features_out = "init" in params
        assert 32 * leaves_features_out <= max(heights, default=0) <= 100
        learned.error(1 - hasher.score(X, y))

    def test_constant(self):
        X = sp.csr_array(np.tile([0.0, 1.0], (5, 1)))
        with pytest.raises(ValueError, match="X is constant"):
            small().fit(X, np.arange(5) % 2)


class TestWide:
    """Rows of few entries are multiplied as they are, and learn what dense ones learn."""

    def topics(self, width=600):
        rng = np.random.default_rng(0)
        y = np.arange(200) % 4
        words = width // 5 * y[:, None] + rng.integers(0, width // 3, (200, 12))
        index = np.repeat(np.arange(200), 12), words.ravel()
        return sp.csr_array((rng.random(2400) + 0.5, index), (200, width)), y

    @pytest.mark.parametrize(
        "params",
        [
            {},
            {"solver": "adam"},
            {"hidden_layer_sizes": (9,), "dropout": (0.0, 0.5), "loss": "nDCG"},
            {"nested": True, "weight_decay": 0.3},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("engine", ["host", "torch"])
    def test_fits_and_chunks_are_those_of_dense_batches(self, params, engine, monkeypatch):
        X, y = self.topics()
        fits = []
        for wide in (20, np.inf):
            monkeypatch.setattr(_host, "_MIN_CELLS_PER_ENTRY", wide)
            hasher = small(n_bits=8, **params).partial_fit(X, y)
            if engine == "torch":  # goes on there, and comes back
                with monkeypatch.context() as patch:
                    patch.setattr(_plan, "LOSSES_ON_HOST", ())
                    hasher.partial_fit(X, y)
            fits.append(hasher.partial_fit(X, y).fit(X, y).partial_fit(X, y))
        wide, dense = fits
        assert Features(X, Scaling(0.0, 1.0)).is_wide is False  # what was set last
        np.testing.assert_allclose(wide.loss_curve_, dense.loss_curve_, rtol=1e-4)
        np.testing.assert_allclose(
            wide.decision_function(X), dense.decision_function(X), atol=1e-3
        )

    def test_two_views_and_one_function_for_both(self, monkeypatch):
        X, y = self.topics()
        for params in ({"shared": True}, {}):
            found = []
            for wide in (20, np.inf):
                monkeypatch.setattr(_host, "_MIN_CELLS_PER_ENTRY", wide)
                hasher = CrossViewHasher(8, teacher=None, max_iter=2, random_state=0)
                hasher.set_params(**params).fit(X, y, X_query=X[::-1], y_query=y[::-1])
                found.append(hasher.decision_function(X))
            np.testing.assert_allclose(*found, atol=1e-3)

    def test_products_and_gradients_are_those_of_dense_rows(self):
        X, _ = self.topics()
        rng = np.random.default_rng(1)
        scaling = Scaling(rng.random(600), rng.random(600) + 0.5)
        features, rows = Features(X, scaling), np.array([5, 3, 199, 7])
        assert features.is_wide
        dense = Features(X, scaling, may_be_sparse=False).batch(rows)
        weights, gradient = rng.normal(size=(600, 5)), rng.normal(size=(4, 3))
        batch = features.batch(rows)
        np.testing.assert_allclose(batch @ weights, dense @ weights, atol=1e-4)
        found = gradient.T @ batch
        found.kept = np.array([4, 0, 2])
        expected = np.zeros((5, 600))
        expected[found.kept] = gradient.T @ dense
        np.testing.assert_allclose(found.of_units(5), expected, atol=1e-5)
        np.testing.assert_allclose(
            found.squares(5), np.square(expected).sum(axis=1), rtol=1e-4
        )
        both = gradient.T @ batch + gradient.T @ batch
        np.testing.assert_allclose(both.of_units(3), 2 * gradient.T @ dense, atol=1e-5)
