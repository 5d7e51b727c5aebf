"""Tables of inner products are the largest arrays of a fit, and have no second copy."""

import tracemalloc

import numpy as np
import pytest

from sklearn_talr.hashing._words import Table

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


def test_table_is_made_in_blocks(codebooks):
    most, kept, table = bytes_of(lambda: Table(codebooks))
    assert most < TABLE
    assert kept < 0.6 * TABLE
    entries = codebooks.reshape(-1, N_FEATURES).astype(np.float64)
    expected = entries @ entries.T
    for first in range(0, N_ENTRIES, 256):
        expected[first : first + 256, first : first + 256] = 0
    assert table._table.dtype == np.int16
    products = table._table * table._units[:, None]
    steps = table._units[:, None] * np.ones(N_ENTRIES)
    assert (np.abs(products - expected) <= 0.501 * steps + 1e-5).all()
    # Steps are so small that the largest numbers of a codeword take most of the 16 bits.
    assert np.abs(table._table.astype(int)).max() > 2**14
