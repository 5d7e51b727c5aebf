"""Tables of the guide follow from the results, and the results from the scripts."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def module(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return import_module


def test_tables_are_those_of_the_results(module):
    writer = module("write_tables")
    for name, make in writer.TABLES.items():
        assert (writer.PAGES / f"{name}.csv").read_text() == writer.as_text(make()), name


def test_embeddings_go_on(module, monkeypatch, tmp_path):
    pytest.importorskip("faiss")
    bench = module("bench_embeddings")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 8)).astype(np.float16)
    np.savez(tmp_path / "text_minilm384.npz", X=X)
    monkeypatch.setenv("SKLEARN_TALR_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn_talr.commands.codes.N_QUERIES", 50)
    methods = ["AdditiveHasher", "faiss ResidualQuantizer", "ITQHasher"]
    plan = [(["text"], ["cosine", "euclidean"], [4], [0], methods)]
    monkeypatch.setattr(bench, "PLAN", plan)
    monkeypatch.setattr(bench.STORE, "path", tmp_path / "found.csv")
    monkeypatch.setattr(sys, "argv", ["bench", "--csv", str(tmp_path / "found.csv")])
    bench.main()
    found = bench.STORE.rows()
    assert len(found) == 2 * len(methods)
    assert all(0.01 < float(row["recall"]) < 1 for row in found)
    bench.main()
    assert bench.STORE.rows() == found
