"""Training on features that must not be copied as a whole: sparse, memory-mapped."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.datasets import load_digits

from sklearn_talr import ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.hashing import _projections
from sklearn_talr.hashing.gradient import _features, _start
from sklearn_talr.hashing.gradient._features import Features, all_rows_equal, mean_and_unit

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def small(**params):
    """A hasher that trains in a moment."""
    defaults = {"n_bits": 8, "max_iter": 3, "batch_size": 64, "random_state": 0}
    return TALRHasher(**(defaults | params))


@pytest.fixture(scope="module")
def wide():
    """Topics of words: sparse rows that would be large if dense."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 4
    words = 500 * y[:, None] + rng.integers(0, 700, (600, 30))
    rows = np.repeat(np.arange(600), 30)
    values = np.ones(rows.size, dtype=np.float32)
    return sp.csr_array((values, (rows, words.ravel())), shape=(600, 4_000)), y


def memory_mapped(tmp_path, X):
    np.save(tmp_path / "X.npy", X)
    return np.load(tmp_path / "X.npy", mmap_mode="r")


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A file of 40 MB, and labels that its first features tell."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 512)).astype(np.float32)
    y = np.arange(len(X)) % 5
    X[:, :5] += 3 * np.eye(5, dtype=np.float32)[y]
    return memory_mapped(tmp_path_factory.mktemp("large"), X), y


class TestFeatures:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_batches_of_any_kind_are_equal(self, digits, tmp_path, monkeypatch, dtype):
        X = digits[0].astype(dtype)
        mean, unit = mean_and_unit(X)
        rows = np.array([5, 3, 299])
        expected = ((X[rows] - mean) / unit).astype(np.float32)
        mapped = memory_mapped(tmp_path, X)
        for kind in (X, mapped, sp.csr_array(X), sp.csr_matrix(X)):
            features = Features(kind, mean, unit, CPU)
            assert features._resident is None
            batch = features.batch(rows)
            assert batch.dtype == torch.float32
            np.testing.assert_array_equal(batch.numpy(), expected)
        # As on a device that has room for a copy.
        monkeypatch.setattr(_features, "_may_copy", lambda X, device: True)
        monkeypatch.setattr(_features, "_CELLS_PER_BLOCK", 1000)
        features = Features(X, mean, unit, CPU)
        assert features._resident.dtype == torch.float32
        np.testing.assert_array_equal(features.batch(rows).numpy(), expected)

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix])
    def test_mean_and_unit(self, digits, monkeypatch, kind):
        monkeypatch.setattr(_features, "_CELLS_PER_BLOCK", 1000)  # several blocks
        X = digits[0] + (0 if kind is not np.asarray else 1e4)
        mean, unit = mean_and_unit(kind(X))
        np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-10)
        expected = np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
        assert unit == pytest.approx(expected, rel=1e-10)

    @pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix])
    def test_constant_rows(self, monkeypatch, kind):
        monkeypatch.setattr(_features, "_CELLS_PER_BLOCK", 6)
        X = np.tile([0.0, 1.0, -2.0], (9, 1))
        assert all_rows_equal(kind(X))
        X[8, 0] = 1.0
        assert not all_rows_equal(kind(X))


class TestSparse:
    @pytest.mark.parametrize("container", [sp.csr_array, sp.csr_matrix, sp.coo_array])
    @pytest.mark.parametrize("hidden_layer_sizes", [(), (16,)])
    def test_codes_are_those_of_dense_features(self, digits, hidden_layer_sizes, container):
        X, y = digits
        dense = small(hidden_layer_sizes=hidden_layer_sizes).fit(X, y)
        sparse = small(hidden_layer_sizes=hidden_layer_sizes).fit(container(X), y)
        np.testing.assert_allclose(sparse.coefs_[0], dense.coefs_[0], rtol=1e-3, atol=1e-5)
        same = sparse.transform(container(X)) == dense.transform(X)
        assert same.mean() > 0.999
        assert sparse.score(container(X), y) == pytest.approx(dense.score(X, y), abs=1e-3)

    @pytest.mark.parametrize("hidden_layer_sizes", [(), (16,)])
    @pytest.mark.parametrize("init", ["itq", "pca", "random"])
    def test_no_more_than_a_batch_is_made_dense(
        self, wide, monkeypatch, init, hidden_layer_sizes
    ):
        X, y = wide
        monkeypatch.setattr(_start, "_MOST_CELLS", 100 * X.shape[1])
        monkeypatch.setattr(_projections, "_MOST_DENSE_CELLS", 100 * X.shape[1])
        heights = []
        toarray = sp.csr_array.toarray

        def counted(self, *args, **kwargs):
            heights.append(self.shape[0])
            return toarray(self, *args, **kwargs)

        monkeypatch.setattr(sp.csr_array, "toarray", counted)
        hasher = small(init=init, hidden_layer_sizes=hidden_layer_sizes, max_iter=15)
        hasher.set_params(learning_rate_init=0.02).fit(X, y)
        assert max(heights) <= 100
        assert hasher.score(X, y) > 0.9

    @pytest.mark.parametrize("init", ["itq", "pca", "random"])
    def test_the_sparse_start_is_that_of_dense_features(self, wide, monkeypatch, init):
        X, _ = wide
        X = X[:, :2200]
        features = Features(X, *mean_and_unit(X), CPU)
        samples = np.arange(600)
        first = _start.start_weights(
            features, samples, [], 8, init, np.random.RandomState(0)
        )
        monkeypatch.setattr(_start, "_MOST_CELLS", 1000)
        monkeypatch.setattr(_projections, "_MOST_DENSE_CELLS", 1000)
        coefs, intercepts = _start.start_weights(
            features, samples, [], 8, init, np.random.RandomState(0)
        )
        activations = features.block(samples) @ coefs[0] + intercepts[0]
        assert np.mean(activations**2) == pytest.approx(1.0, rel=1e-6)
        np.testing.assert_allclose(activations.mean(axis=0), 0, atol=1e-6)
        assert coefs[0].shape == first[0][0].shape

    @pytest.mark.parametrize("hasher", [LSHHasher, ITQHasher])
    def test_baselines_of_large_matrices(self, wide, monkeypatch, hasher):
        X, _ = wide
        X = X[:, :2200].astype(np.float64)
        dense = hasher(8, random_state=0).fit(X.toarray())
        monkeypatch.setattr(_projections, "_MOST_DENSE_CELLS", 1000)
        sparse = hasher(8, random_state=0).fit(X)
        codes = sparse.transform(X)
        np.testing.assert_array_equal(codes, sparse.transform(X.toarray()))
        assert 0.2 < codes.mean() < 0.8
        if hasher is LSHHasher:
            np.testing.assert_array_equal(codes, dense.transform(X))
        else:  # as much of the variance
            kept = [h.decision_function(X).var(axis=0).sum() for h in (dense, sparse)]
            assert kept[1] > 0.99 * kept[0]

    def test_early_stopping_and_chunks(self, wide):
        X, y = wide
        hasher = small(early_stopping=True).fit(X, y)
        assert hasher.best_validation_score_ > 0.5
        hasher.set_params(early_stopping=False).partial_fit(X[:200], y[:200])
        assert hasher.n_iter_ == 4

    def test_without_y(self, digits):
        X, _ = digits
        for affinity in ("auto", ThresholdAffinity()):
            with pytest.raises(ValueError, match="y=None"):
                small(affinity=affinity).fit(sp.csr_array(X))
        rows = small(affinity=ThresholdAffinity()).fit(sp.csr_array(X), X)
        np.testing.assert_array_equal(rows.transform(X), small().fit(X).transform(X))

    def test_constant(self):
        X = sp.csr_array(np.tile([0.0, 1.0], (5, 1)))
        with pytest.raises(ValueError, match="X is constant"):
            small().fit(X, np.arange(5) % 2)


class TestMemoryMapped:
    @pytest.mark.parametrize("target", ["labels", "distances"])
    def test_codes_are_those_in_memory(self, digits, tmp_path, target):
        X, y = digits
        y = y if target == "labels" else None
        mapped = small().fit(memory_mapped(tmp_path, X), y)
        np.testing.assert_array_equal(mapped.coefs_[0], small().fit(X, y).coefs_[0])

    @pytest.mark.parametrize("hidden_layer_sizes", [(), (8,)])
    @pytest.mark.parametrize("early_stopping", [False, True])
    def test_memory_does_not_grow_with_the_file(
        self, large, monkeypatch, hidden_layer_sizes, early_stopping
    ):
        X, y = large
        monkeypatch.setattr(_start, "_MOST_ROWS", 500)
        monkeypatch.setattr(_features, "_CELLS_PER_BLOCK", 2**15)
        hasher = small(
            max_iter=1,
            batch_size=256,
            hidden_layer_sizes=hidden_layer_sizes,
            early_stopping=early_stopping,
            validation_fraction=0.02,
        )
        hasher.fit(X[:500], y[:500])  # imports and caches
        tracemalloc.start()
        hasher.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.25 * X.nbytes

    def test_the_start_is_found_on_a_sample(self, digits, monkeypatch):
        X, y = digits
        monkeypatch.setattr(_start, "_MOST_ROWS", 100)
        seen = []
        first_weights = _start.first_weights

        def recorded(X, *args):
            seen.append(X.shape)
            return first_weights(X, *args)

        monkeypatch.setattr(_start, "first_weights", recorded)
        hasher = small(max_iter=20, n_bits=16, learning_rate_init=0.02).fit(X, y)
        assert seen == [(100, 64)]
        assert hasher.score(X, y) > 0.8
