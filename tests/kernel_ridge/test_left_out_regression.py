"""Regression of numbers: predictions of samples left out, against refits without them."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from sklearn_talr._core.progress import Progress
from sklearn_talr.kernel_ridge._model import LeftOutRegression, fit_model, squared_error
from sklearn_talr.kernel_ridge._samples import distinct_samples

N = 30


@pytest.fixture
def data():
    """Features of which rows 3, 9 and 20 are copies, and numbers of any sign and unit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    X[9] = X[20] = X[3]
    Y = np.column_stack([np.sin(2 * X[:, 0]), 50 * X[:, 1] - 7])
    return X, Y + rng.normal(size=Y.shape) * [0.1, 5]


def rng():
    return np.random.RandomState(0)


def chosen_penalty(X, Y):
    samples = distinct_samples(X, Y, np.ones(len(X)), None)
    model = fit_model(samples, squared_error, rng(), Progress())
    return model.gamma, model.alpha


def solve(X, Y, gamma, alpha):
    """Weights a and intercept b of least |Y - K a - b|^2 + alpha a'K a, by definition."""
    K = rbf_kernel(X, gamma=gamma)
    n = len(X)
    system = np.block([[K + alpha * np.eye(n), np.ones((n, 1))], [np.ones(n), 0]])
    solution = np.linalg.solve(system, np.vstack([Y, np.zeros(Y.shape[1])]))
    return solution[:-1], solution[-1]


def test_left_out_rows_are_those_of_refits(data):
    """Copies of a row are left out together."""
    X, Y = data
    gamma, alpha = chosen_penalty(X, Y)
    regression = LeftOutRegression()
    left_out = regression.fit_left_out(X, Y, rng())
    assert left_out.dtype == np.float64
    assert regression.gamma_ == gamma
    for i in range(N):
        rest = np.any(X[i] != X, axis=1)
        assert rest.sum() == (N - 3 if i in (3, 9, 20) else N - 1)
        a, b = solve(X[rest], Y[rest], gamma, alpha)
        expected = rbf_kernel(X[[i]], X[rest], gamma=gamma) @ a + b
        assert_allclose(left_out[[i]], expected, atol=1e-7)


def test_transform_is_the_direct_solution(data):
    X, Y = data
    gamma, alpha = chosen_penalty(X, Y)
    regression = LeftOutRegression()
    left_out = regression.fit_left_out(X, Y, rng())
    a, b = solve(X, Y, gamma, alpha)
    others = np.random.default_rng(1).normal(size=(8, 3))
    for rows in (X, others):
        expected = rbf_kernel(rows, X, gamma=gamma) @ a + b
        found = regression.transform(rows)
        assert found.dtype == np.float64
        assert_allclose(found, expected, atol=1e-7)
        assert_allclose(regression.transform(sp.csr_array(rows)), expected, atol=1e-7)
        single = regression.transform(rows.astype(np.float32))
        assert_allclose(single, expected, atol=1e-2)
    assert np.square(left_out - Y).sum() > np.square(regression.transform(X) - Y).sum()


def test_the_chosen_penalty_has_the_least_error(data):
    """Of samples left out, among its neighbors."""
    X, Y = data
    gamma, alpha = chosen_penalty(X, Y)
    rest = np.array([i for i in range(N) if i not in (9, 20)])
    X, Y = X[rest], Y[rest]
    gamma, alpha = chosen_penalty(X, Y)

    def error(alpha):
        errors = []
        for i in range(len(X)):
            others = np.arange(len(X)) != i
            a, b = solve(X[others], Y[others], gamma, alpha)
            found = rbf_kernel(X[[i]], X[others], gamma=gamma) @ a + b
            errors.append(np.square(found - Y[i]).sum())
        return np.mean(errors)

    left_out = LeftOutRegression().fit_left_out(X, Y, rng())
    assert_allclose(np.square(left_out - Y).sum(axis=1).mean(), error(alpha))
    assert error(alpha) <= min(error(alpha * 10**0.5), error(alpha / 10**0.5))


def test_sparse_features_are_those_of_dense_ones(data):
    X, Y = data
    X = np.where(np.abs(X) < 0.5, 0, X)
    dense, sparse = LeftOutRegression(), LeftOutRegression()
    expected = dense.fit_left_out(X, Y, rng())
    assert_allclose(sparse.fit_left_out(sp.csr_array(X), Y, rng()), expected, atol=1e-6)
    assert_allclose(sparse.transform(X), dense.transform(X), atol=1e-6)


def test_squared_errors_are_weighted_by_copies():
    predictions, Y = np.array([[1.0, 1], [0, 0]]), np.array([[0.0, 0], [0, 3]])
    found = squared_error(predictions, Y, np.array([3.0, 1.0]))
    assert found == ((3 * 2 + 9) / 4, 1.0, 0.0)
