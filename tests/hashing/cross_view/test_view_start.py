"""First weights of two views: correlations of partners and of relevant pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh, subspace_angles
from sklearn.cross_decomposition import CCA

from sklearn_talr.affinity import JudgmentAffinity
from sklearn_talr.features import _similar_rows
from sklearn_talr.features._scaling import Scaling
from sklearn_talr.hashing import _towers
from sklearn_talr.hashing._views import Pairs
from sklearn_talr.hashing.training._host import Features

N, N_BITS = 80, 3


@pytest.fixture
def partners():
    """Rows of two views with three things in common, centered."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(N, 3)) * [1, 2, 3]
    X = common @ rng.normal(size=(3, 5)) + rng.normal(size=(N, 5))
    X_query = common @ rng.normal(size=(3, 4)) + rng.normal(size=(N, 4))
    return X - X.mean(axis=0), X_query - X_query.mean(axis=0)


def pairs_of(grades):
    """Of grades of shape (n_items, n_queries)."""
    levels = np.union1d([0], np.unique(grades))
    numbers, judgments = np.arange(grades.shape[0]), sp.csr_array(grades.T)
    return Pairs(JudgmentAffinity(), judgments, numbers, levels, unjudged="irrelevant")


def features_of(X):
    return Features(X, Scaling(np.zeros(X.shape[1]), 1.0))


def start(X, X_query, init="cca", n_bits=N_BITS, grades=None):
    """Last layers and intercepts of both views."""
    grades = np.eye(len(X), dtype=int) if grades is None else grades
    return _towers.start_towers(
        _towers.Tower(features_of(X), layer_sizes=()),
        _towers.Tower(features_of(X_query), layer_sizes=()),
        pairs_of(grades),
        is_shared=False,
        init=init,
        n_bits=n_bits,
        rng=np.random.RandomState(0),
    )


def shrunk(X, share):
    C = X.T @ X / len(X)
    return (1 - share) * C + share * np.trace(C) / len(C) * np.eye(len(C))


def generalized_eigenproblem(X, X_query, relevant, share, n_directions):
    """Directions a, b of largest a'Mb of unit variances, from one symmetric problem."""
    n_relevant = np.maximum(relevant.sum(axis=1, keepdims=True), 1)
    M = X.T @ (relevant / n_relevant).T @ X_query
    p, q = M.shape
    A = np.block([[np.zeros((p, p)), M], [M.T, np.zeros((q, q))]])
    zero = np.zeros((p, q))
    B = np.block([[shrunk(X, share), zero], [zero.T, shrunk(X_query, share)]])
    vectors = eigh(A, B)[1][:, ::-1][:, :n_directions]
    return vectors[:p], vectors[p:]


def assert_one_span(found, expected, atol=1e-5):
    assert found.shape == expected.shape
    np.testing.assert_allclose(subspace_angles(found, expected), 0, atol=atol)


def test_partners_have_the_directions_of_canonical_correlation(partners, monkeypatch):
    """Those of scikit-learn, once nothing is shrunk."""
    monkeypatch.setattr(_similar_rows, "_LEAST_SHRINKAGE", 0.0)
    (coefs, _), (coefs_query, _) = start(*partners)
    cca = CCA(n_components=N_BITS, scale=False, tol=1e-12, max_iter=10000)
    cca.fit(*partners)
    assert_one_span(coefs[0], cca.x_rotations_, 1e-4)
    assert_one_span(coefs_query[0], cca.y_rotations_, 1e-4)


def graded():
    rng = np.random.default_rng(5)
    grades = rng.integers(0, 3, (N, N - 20)) * (rng.random((N, N - 20)) < 0.1)
    grades[:, 3] = 0
    return grades


@pytest.mark.parametrize("grades", [np.eye(N, dtype=int), graded()], ids=["one", "some"])
def test_relevant_pairs_have_the_directions_of_an_eigenproblem(partners, grades):
    X, X_query = partners
    X_query = X_query[: grades.shape[1]] - X_query[: grades.shape[1]].mean(axis=0)
    (coefs, _), (coefs_query, _) = start(X, X_query, grades=grades)
    share = _similar_rows._LEAST_SHRINKAGE
    relevant = (grades > 0).T
    expected = generalized_eigenproblem(X, X_query, relevant, share, N_BITS)
    assert_one_span(coefs[0], expected[0])
    assert_one_span(coefs_query[0], expected[1])


def test_rotations_and_offsets_of_features_do_not_matter(partners):
    """Up to signs of directions, from which iterative quantization starts."""
    rng = np.random.default_rng(1)
    turns = [np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (5, 4)]
    others = partners[0] @ turns[0] + 3, partners[1] @ turns[1] - 5
    found, expected = (
        [of_view @ coefs[0] + offset[0] for of_view, (coefs, offset) in zip(both, weights)]
        for both, weights in ((both, start(*both)) for both in (others, partners))
    )
    for of_view, activations in zip(found, expected):
        assert_one_span(of_view, activations)
    # Rotated together, both views keep what they have in common.
    np.testing.assert_allclose(
        np.linalg.svd(found[0].T @ found[1])[1],
        np.linalg.svd(expected[0].T @ expected[1])[1],
    )


@pytest.mark.parametrize("init", ["cca", "random"])
def test_activations_have_mean_0_and_mean_square_1(init, partners):
    X, X_query = partners[0] + 2, partners[1] - 1
    weights = start(X, X_query, init, 7)
    for of_view, (coefs, intercepts) in zip((X, X_query), weights):
        activations = of_view @ coefs[0] + intercepts[0]
        np.testing.assert_allclose(activations.mean(axis=0), 0, atol=1e-6)
        assert np.mean(activations**2) == pytest.approx(1)


def test_views_without_a_correlation_start_at_random():
    """No relevant pair among the rows to start from, or views at right angles."""
    X = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    for grades in (np.zeros((4, 4), dtype=int), np.ones((4, 4), dtype=int)):
        for coefs, _ in start(X, X, grades=grades):
            assert np.isfinite(coefs[0]).all()
            assert np.linalg.matrix_rank(coefs[0]) == 2
