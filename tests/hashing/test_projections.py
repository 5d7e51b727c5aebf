"""ITQ against the alternation of its paper, and against faiss."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from sklearn_talr.hashing import ITQHasher


@pytest.fixture(scope="module")
def digits():
    X, _ = load_digits(return_X_y=True)
    return X - X.mean(axis=0)


def criterion(projected):
    """What ITQ maximises: the sum of |VR|; error = const - 2 of it."""
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


@pytest.mark.parametrize("n_bits", [12, 32])
def test_reaches_what_the_alternation_reaches(digits, n_bits):
    V = PCA(n_bits).fit_transform(digits)
    expected = np.mean([criterion(textbook(V, seed)) for seed in range(4)])
    ours = np.mean(
        [
            criterion(
                ITQHasher(n_bits, random_state=seed).fit(digits).decision_function(digits)
            )
            for seed in range(4)
        ]
    )
    assert ours == pytest.approx(expected, rel=0.005)
    assert criterion(V) < 0.98 * expected  # the rotation matters


def test_is_no_worse_than_faiss(digits):
    faiss = pytest.importorskip("faiss")
    V = PCA(32).fit_transform(digits).astype(np.float32)
    rotation = faiss.ITQMatrix(32)
    rotation.train(V)
    ours = ITQHasher(32, random_state=0).fit(digits).decision_function(digits)
    assert criterion(ours) > 0.995 * criterion(rotation.apply(V))
