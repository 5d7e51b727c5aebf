"""Codebooks of least squared error, beside an ordinary least squares of dense matrices."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_talr.hashing._codebook_equations import CodebookEquations

ALPHA = 0.1


@pytest.fixture
def words():
    rng = np.random.default_rng(0)
    # Half of the codewords of the second codebook belong to no row.
    return rng.integers([0, 128], 256, (700, 2)).astype(np.uint8)


@pytest.fixture
def rows():
    return np.random.default_rng(1).standard_normal((700, 3)).astype(np.float32)


def ridge_regression(rows, words, alpha):
    """Codebooks by least squares with one more row for each penalty, less their means."""
    n_rows = len(rows)
    one_hot = np.eye(256)[words].reshape(n_rows, 512)
    entries = np.sqrt(n_rows * 10 * alpha / 256) * np.eye(512)
    design = [one_hot, entries]
    if alpha < 10:
        sums = np.sqrt(n_rows * (100 - 10 * alpha)) / 256
        design.append(sums * np.kron(np.eye(2), np.ones(256)))
    design = np.vstack(design)
    n_penalties = len(design) - n_rows
    targets = np.vstack([rows, np.zeros((n_penalties, rows.shape[1]))])
    codebooks = np.linalg.lstsq(design, targets, rcond=None)[0].reshape(2, 256, -1)
    return codebooks - codebooks.mean(axis=1, keepdims=True)


def error_of(codebooks, rows, words):
    return np.mean((rows - codebooks[0][words[:, 0]] - codebooks[1][words[:, 1]]) ** 2)


# With alpha=10 the entries of a codebook are penalized, and their sum is not.
@pytest.mark.parametrize("alpha", [0.001, 0.1, 10])
def test_codebooks_are_those_of_a_ridge_regression(rows, words, alpha):
    equations = CodebookEquations.from_alpha(words, alpha)
    codebooks = equations.solve(rows, tolerance=1e-6)
    assert codebooks.dtype == np.float32
    assert_allclose(codebooks, ridge_regression(rows, words, alpha), atol=1e-4)


def test_the_tolerance_of_a_fit_costs_little_error(rows, words):
    equations = CodebookEquations.from_alpha(words, ALPHA)
    error = error_of(equations.solve(rows), rows, words)
    least_error = error_of(ridge_regression(rows, words, ALPHA), rows, words)
    zero_error = np.mean(rows**2)
    assert least_error < 0.9 * zero_error
    assert abs(error - least_error) < 0.01 * (zero_error - least_error)


def test_a_solution_takes_no_steps(rows, words, monkeypatch):
    equations = CodebookEquations.from_alpha(words, ALPHA)
    solution = ridge_regression(rows, words, ALPHA).astype(np.float32)
    monkeypatch.setattr("sklearn_talr.hashing._codebook_equations._MOST_STEPS", 1)
    codebooks = equations.solve(rows, start=solution)
    assert_allclose(codebooks, solution, atol=1e-4)
    # From zeros one step is not enough.
    assert np.abs(equations.solve(rows) - solution).max() > 1e-2


@pytest.mark.parametrize("alpha", [1e-300, 1e-20, 1e30])
def test_extreme_penalties_leave_numbers_finite(rows, words, alpha):
    with np.errstate(all="raise", under="ignore"):
        codebooks = CodebookEquations.from_alpha(words, alpha).solve(rows)
    assert np.isfinite(codebooks).all()
    if alpha > 1:
        assert np.abs(codebooks).max() < 1e-3


def test_features_are_solved_one_by_one(words):
    """More features than a block holds, and one that is constant at 0."""
    rows = np.random.default_rng(2).standard_normal((700, 130)).astype(np.float32)
    rows[:, 129] = 0
    equations = CodebookEquations.from_alpha(words, ALPHA)
    codebooks = equations.solve(rows, tolerance=1e-6)
    assert_allclose(codebooks, ridge_regression(rows, words, ALPHA), atol=1e-4)
    assert not codebooks[:, :, 129].any()


def test_no_table_of_pairs_of_codewords_is_made():
    n_words = 12
    rng = np.random.default_rng(3)
    words = rng.integers(256, size=(400, n_words), dtype=np.uint8)
    rows = rng.standard_normal((400, 8), dtype=np.float32)
    tracemalloc.start()
    try:
        CodebookEquations.from_alpha(words, ALPHA).solve(rows)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    n_bytes_of_table = 4 * (256 * n_words) ** 2
    assert most < n_bytes_of_table / 10
