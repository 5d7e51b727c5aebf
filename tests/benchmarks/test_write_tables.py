"""Tables of the guide follow from the results, and the results from the scripts."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
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
    monkeypatch.setattr(bench, "N_QUERIES", 50)
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


def write_features(folder, kind):
    """Features and labels in a file, and what names both."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 16)).astype(np.float32), np.arange(300) % 3
    path, labels = folder / f"mine.{kind}", "y"
    if kind == "npy":
        np.save(path, X)
        labels = folder / "labels.txt"
        labels.write_text("\n".join("abc"[i] for i in y))
    elif kind == "npz":
        np.savez(path, X=X, y=y)
    else:
        pd.DataFrame(X).rename(columns=str).assign(y=y).to_parquet(path)
    return X, y, path, labels


@pytest.mark.parametrize("kind", ["npy", "npz", "parquet"])
def test_own_features_are_read(module, tmp_path, kind):
    X, y, path, labels = write_features(tmp_path, kind)
    found, of_found = module("bench_embeddings").read_features(path, labels)
    places = [np.flatnonzero((row == X).all(axis=1))[0] for row in found]
    assert sorted(places) == list(range(300))
    names = y[places] if kind != "npy" else np.array(list("abc"))[y[places]]
    assert of_found.tolist() == names.tolist()


def test_own_features(module, monkeypatch, tmp_path, capsys):
    bench = module("bench_embeddings")
    *_, path, labels = write_features(tmp_path, "npy")
    monkeypatch.setattr(bench, "faiss", None)
    monkeypatch.setattr(bench, "SIZES", [2, 4])
    command = ["bench", "--features", str(path), "--labels", str(labels)]
    monkeypatch.setattr(sys, "argv", command)
    bench.main()
    printed = capsys.readouterr().out
    assert "random_state=0)  # 4 bytes\n" in printed
    assert "TALRHasher(random_state=0)  # 4 bytes: bits 0." in printed
    assert (tmp_path / "mine_recall.png").stat().st_size
    rows = (tmp_path / "mine_recall.csv").read_text().splitlines()
    assert len(rows) == 1 + 2 * 3  # without faiss
    monkeypatch.setattr(bench, "SIZES", [2, 8])
    monkeypatch.setattr(sys, "argv", [*command, "--minutes", "0"])
    bench.main()
    assert "AdditiveHasher, 8 bytes: left out" in capsys.readouterr().out
