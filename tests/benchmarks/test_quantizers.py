"""Contenders of the benchmark of embeddings: what each stores and finds."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from sklearn_talr.codes import PackedCodes
from sklearn_talr.hashing import AdditiveHasher, ITQHasher

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
N_BYTES = 16


@pytest.fixture
def quantizers(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("_quantizers")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(600, 128)).astype(np.float32)


@pytest.mark.parametrize(
    "name",
    [
        "ITQHasher",
        *(f"faiss {f}" for f in ("PCA+SQ4", "PQFastScan", "PCA+RaBitQ")),
        *(f"{rival}, 2 bits" for rival in ("ASH", "ASH with a factor", "RaBitQ")),
        *(f"{rival}, 2 bits" for rival in ("TurboQuant", "OSQ")),
        "components, allocated bits",
        "Gaussian reference",
    ],
)
def test_contenders_store_as_many_bytes_as_their_table_says(quantizers, name, rows):
    """Factors included: the table compares what is stored, not what is called a code."""
    contender = quantizers.CONTENDERS[name].make(rows.shape[1], N_BYTES, 0)
    contender.fit(rows)
    contender.add(rows)
    assert contender.n_bytes == N_BYTES


def test_stored_terms_are_counted(quantizers, rows):
    hashers = {
        ITQHasher(16): 2,
        AdditiveHasher(16, max_iter=1): 2 + 1,
        AdditiveHasher(16, metric="euclidean", max_iter=1): 2 + 2,
    }
    for hasher, n_bytes in hashers.items():
        contender = quantizers.Hasher(hasher)
        contender.fit(rows)
        contender.add(rows)
        codes = contender.codes
        assert contender.n_bytes == n_bytes
    contender.codes = PackedCodes(codes.data, 16, terms=np.ones((600, 2), np.float32))
    assert contender.n_bytes == 2 + 8


def test_every_search_returns_the_best_first(quantizers, rows):
    """Rows themselves as queries: each is found by its own code, and the best ten are a
    part of the best hundred, in the same order."""
    for name in ("AdditiveHasher, single bits", "RaBitQ, 4 bits", "faiss PCA+SQ4"):
        contender = quantizers.CONTENDERS[name].make(rows.shape[1], 32, 0)
        contender.fit(rows)
        contender.add(rows)
        few = dict(contender.search(rows[:50], 10))
        for search, found in contender.search(rows[:50], 100):
            assert found.shape == (50, 100)
            if search != "Hamming":  # which has ties
                np.testing.assert_array_equal(found[:, :10], few[search])
                assert np.mean(found[:, 0] == np.arange(50)) > 0.9
