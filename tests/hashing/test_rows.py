"""Facts about rows: dense, memory-mapped or sparse, in any number of blocks."""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_talr.features import _scaling
from sklearn_talr.features._scaling import all_rows_equal, centered, mean_and_unit

KINDS = [np.asarray, sp.csr_array, sp.csr_matrix]


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch):
    monkeypatch.setattr(_scaling, "_CELLS_PER_BLOCK", 1000)


def test_mean_and_unit(few_digits):
    for kind in KINDS:
        X = few_digits[0] + (1e4 if kind is np.asarray else 0)
        mean, unit = mean_and_unit(kind(X))
        np.testing.assert_allclose(mean, X.mean(axis=0), atol=1e-10)
        expected = np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
        assert unit == pytest.approx(expected, rel=1e-10)


def test_equal_rows():
    for kind in KINDS:
        X = np.tile([0.0, 1.0, -2.0], (999, 1))
        assert all_rows_equal(kind(X))
        for row, column in ((998, 0), (0, 1)):
            other = X.copy()
            other[row, column] = 3.0
            assert not all_rows_equal(kind(other))


def test_single_precision_is_centered_in_double():
    X = np.float32([[1e4, 1], [1e4 + 1, 3]])
    rows, mean = centered(X)
    assert rows.dtype == mean.dtype == np.float64
    np.testing.assert_array_equal(rows, [[-0.5, -1], [0.5, 1]])
    np.testing.assert_array_equal(mean, [1e4 + 0.5, 2])
