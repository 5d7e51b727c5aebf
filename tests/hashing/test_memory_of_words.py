"""Tables of pairs of entries are the largest arrays of a fit, and have no second copy."""

import tracemalloc

import numpy as np
import pytest

from sklearn_talr.hashing._words import Table
from sklearn_talr.hashing._words_fit import _best_codebooks

N_WORDS, N_FEATURES = 6, 8
N_ENTRIES = 256 * N_WORDS
TABLE = 4 * N_ENTRIES**2  # bytes in float32


@pytest.fixture
def codebooks():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N_WORDS, 256, N_FEATURES), dtype=np.float32)


def bytes_of(function):
    """Most bytes while a function runs and those that its result keeps, and the result."""
    tracemalloc.start()
    try:
        result = function()
        kept, most = tracemalloc.get_traced_memory()
        return most, kept, result
    finally:
        tracemalloc.stop()


def test_table_is_converted_in_place(codebooks):
    most, kept, table = bytes_of(lambda: Table(codebooks))
    assert most < 1.2 * TABLE
    assert kept < 0.6 * TABLE
    entries = codebooks.reshape(-1, N_FEATURES)
    expected = entries @ entries.T
    for first in range(0, N_ENTRIES, 256):
        expected[first : first + 256, first : first + 256] = 0
    unit = np.float32(np.abs(expected).max() / 32_767)
    assert table._unit == unit
    assert table._table.dtype == np.int16
    np.testing.assert_array_equal(table._table, np.rint(expected / unit).astype(np.int16))


def test_least_squares_solve_in_place(codebooks):
    rng = np.random.default_rng(1)
    words = rng.integers(256, size=(400, N_WORDS), dtype=np.uint8)
    rows = rng.standard_normal((400, N_FEATURES), dtype=np.float32)
    _best_codebooks(rows, words, 0.1)  # loads code
    most, kept, _ = bytes_of(lambda: _best_codebooks(rows, words, 0.1))
    assert most < 1.2 * TABLE
    assert kept < 0.1 * TABLE
