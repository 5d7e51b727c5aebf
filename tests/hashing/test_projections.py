"""Projections against the alternation of ITQ's paper, faiss, and their dense forms."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA

from sklearn_talr.hashing import ITQHasher, _linear
from sklearn_talr.hashing._linear import centered_projection, itq_projection, pca_projection


@pytest.fixture(scope="module")
def centered(digits):
    X = digits[0][:600]
    return X - X.mean(axis=0)


def criterion(projected):
    """What ITQ maximizes: the sum of |VR|; error = const - 2 of it."""
    return np.abs(projected).mean()


def textbook(V, seed, n_iterations=50):
    """Gong and Lazebnik 2011, section 2.2: B = sgn(VR); R from the SVD of B'V."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((V.shape[1], V.shape[1])))[0]
    for _ in range(n_iterations):
        codes = np.sign(V @ rotation)
        S, _, S_hat = np.linalg.svd(codes.T @ V)
        rotation = (S @ S_hat).T
    return V @ rotation


def test_itq_reaches_what_the_alternation_reaches(centered, learned):
    seeds = range(4 * learned.seed, 4 * learned.seed + 4)
    V = PCA(12).fit_transform(centered)
    expected = np.mean([criterion(textbook(V, seed)) for seed in seeds])
    ours = np.mean(
        [
            criterion(
                ITQHasher(12, random_state=seed).fit(centered).decision_function(centered)
            )
            for seed in seeds
        ]
    )
    learned.error(abs(ours / expected - 1), "against the alternation")
    learned.gain(1 - criterion(V) / ours, "the rotation matters")


def test_directions():
    """As many as bits; orthonormal up to the number of features, mixtures beyond."""
    for projection in [pca_projection, itq_projection]:
        for n_bits in [3, 7]:
            X = np.random.default_rng(0).standard_normal((50, 5)) * [5, 4, 3, 2, 1]
            X -= X.mean(axis=0)
            directions = projection(X, n_bits, np.random.RandomState(0))
            assert directions.shape == (5, n_bits)
            kept = min(n_bits, 5)
            axes = PCA(kept).fit(X).components_
            if projection is pca_projection:
                np.testing.assert_allclose(
                    np.abs(axes @ directions[:, :kept]), np.eye(kept), atol=1e-9
                )
                np.testing.assert_allclose(np.linalg.norm(directions, axis=0), 1)
            else:  # a rotation of the axes, with orthonormal rows
                rotation = axes @ directions
                np.testing.assert_allclose(rotation @ rotation.T, np.eye(kept), atol=1e-9)


@pytest.mark.parametrize("kind", ["itq", "pca", "random"])
def test_a_large_sparse_matrix_is_projected_as_a_dense_one(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((300, 40)) * (rng.random((300, 40)) < 0.2))
    mean = X.mean(axis=0)

    dense_rows = X.toarray() - mean

    def projected():
        return dense_rows @ centered_projection(X, mean, kind, 8, np.random.RandomState(0))

    dense = projected()
    monkeypatch.setattr(_linear, "_MOST_DENSE_CELLS", 1000)
    monkeypatch.setattr(sp.csr_array, "toarray", None)
    sparse = projected()
    if kind == "itq":  # as much of the variance, and about as near to signs
        assert sparse.var() == pytest.approx(dense.var(), rel=1e-6)
        assert criterion(sparse) == pytest.approx(criterion(dense), rel=0.02)
    else:  # but for the signs of principal directions
        np.testing.assert_allclose(np.abs(sparse), np.abs(dense), atol=1e-6)
