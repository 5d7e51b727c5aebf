"""The benchmarks on BitBudget's and mteb's protocols: their rows, and that they go on."""

import re
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_talr.codes import hamming_distances
from sklearn_talr.hashing import ITQHasher
from sklearn_talr.metrics import tie_aware_ndcg_score

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
METHODS = ["binary", "rabitq", "float32", "ITQ, Hamming, 128", "additive bits, 128"]


@pytest.fixture
def texts(monkeypatch):
    """Two small collections in place of the real ones."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    judged = import_module("_judged_texts")

    def load(name):
        rng = np.random.default_rng(len(name))
        X = rng.normal(size=(200, 128)).astype(np.float32)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        Q = X[:30] + rng.normal(size=(30, 128), scale=0.05).astype(np.float32)
        relevant = np.zeros((30, 200), dtype=bool)
        relevant[np.arange(30), np.arange(30)] = True
        relevant[:, 50:80] = rng.random((30, 30)) < 0.1
        return judged.Texts(X, Q, relevant)

    return load


@pytest.fixture
def bitbudget(texts, monkeypatch):
    pytest.importorskip("bitbudget", reason="bitbudget is not installed")
    bench = import_module("bench_bitbudget")
    monkeypatch.setattr(bench, "load", texts)
    for cached in (bench.problem, bench.of_floats):
        cached.cache_clear()
    yield bench
    for cached in (bench.problem, bench.of_floats):
        cached.cache_clear()


def test_values_are_those_of_all_documents(bitbudget):
    """The best ten and what is tied with them are enough."""
    X, Q, *judged = bitbudget.problem("cran")
    hasher = ITQHasher(16, random_state=0).fit(X)
    scores = -hamming_distances(hasher.encode(Q), hasher.encode(X))
    result = bitbudget.values_with_ties(scores, *judged)
    documents, queries, qrels = judged
    relevant = np.array([[qrels[q].get(d, 0) for d in documents] for q in queries])
    assert_allclose(
        result.expected[:, 0],
        tie_aware_ndcg_score(relevant, scores, k=10, average=False),
        atol=1e-12,
    )
    worst = tie_aware_ndcg_score(relevant, 2 * scores - relevant, k=10, average=False)
    best = tie_aware_ndcg_score(relevant, 2 * scores + relevant, k=10, average=False)
    assert_allclose(result.worst[:, 0], worst, atol=1e-12)
    assert_allclose(result.best[:, 0], best, atol=1e-12)
    low, high = bitbudget.shuffled(scores, *judged)
    assert worst.mean() < low < high < best.mean()


def test_bytes_of_both_sides(bitbudget):
    X, Q, *_ = bitbudget.problem("cran")
    names = "ITQ, Hamming, 128", "additive bits, 128", "additive bits, 256, rescored"
    found = {name: bitbudget.ours(0)[name](X, Q) for name in names}
    assert found["ITQ, Hamming, 128"][1] == 16
    assert found["additive bits, 128"][1] == 16 + 4  # the factor
    assert found["additive bits, 256, rescored"][1] == 32 + 4 + 4 * 128
    for name, (scores, _, hasher) in found.items():
        assert scores.shape == (30, 200)
        shared = bitbudget.shared_bytes(name, 128, hasher)
        assert shared >= 4 * 128 * min(128, int(re.search(r"\d+", name)[0]))
    row = dict(zip(bitbudget.FIELDS, bitbudget.measure("cran", "binary+rerank", 0)))
    assert row["bytes"] == 16 + 4 * 128
    assert bitbudget.shared_bytes("pq", 128) == 4 * 256 * 128


def test_it_measures_each_method_once(bitbudget, monkeypatch, tmp_path, capsys):
    path = tmp_path / "bitbudget.csv"
    command = ["bench_bitbudget.py", "--csv", str(path), "--sets", "cran", "cisi"]
    monkeypatch.setattr(sys, "argv", [*command, "--seeds", "0", "1", "--methods", *METHODS])
    bitbudget.main()
    rows = bitbudget.read(path)
    assert len(rows) == 2 * (len(METHODS) + 3)  # three of them draw
    for row in rows:
        worst, reported, best = (float(row[key]) for key in ("worst", "ndcg", "best"))
        assert worst - 1e-4 <= reported <= best + 1e-4
        low, high = float(row["shuffled_low"]), float(row["shuffled_high"])
        assert worst - 1e-4 <= low <= high <= best + 1e-4
        if row["method"] == "float32":
            assert float(row["difference"]) == 0
            assert float(row["pct_float"]) == 100
    assert "| binary | 16 | 0 |" in capsys.readouterr().out
    monkeypatch.setattr(bitbudget, "measure", None)  # all is measured
    bitbudget.main()


def test_pairs(bitbudget, monkeypatch, tmp_path):
    monkeypatch.setattr(bitbudget, "COMPARED", ["additive bits, 192", "binary", "rabitq"])
    path = tmp_path / "bitbudget.csv"
    command = ["bench_bitbudget.py", "--csv", str(path), "--sets", "cran", "--compare"]
    monkeypatch.setattr(sys, "argv", command)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "by nDCG.* is better than", UserWarning)
        bitbudget.main()
    rows = bitbudget.read(path.with_name("bitbudget_pairs.csv"))
    assert len(rows) == 3
    for row in rows:
        assert float(row["lowest"]) <= float(row["difference"]) <= float(row["highest"])
        assert 0 <= float(row["adjusted_p_value"]) <= float(row["adverse_p_value"]) <= 1


def test_mteb_runs_the_collections(texts, monkeypatch, tmp_path, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("mteb", reason="mteb is not installed")
        bench = import_module("bench_mteb")
        monkeypatch.setattr(bench, "load", texts)
        path = tmp_path / "mteb.csv"
        command = ["bench_mteb.py", "--csv", str(path), "--sets", "cran", "--seeds", "0"]
        names = ["floats", "ITQ, 128 bits", "ITQ, 128 bits, 100 rescored"]
        monkeypatch.setattr(sys, "argv", [*command, "1", "--backends", *names])
        bench.main()
    rows = bench.read(path)
    assert [row["seed"] for row in rows] == ["0", "0", "0", "1", "1"]
    for row in rows:
        assert float(row["worst"]) <= float(row["expected"]) <= float(row["best"])
        assert float(row["bytes"]) >= (512 if "rescored" in row["backend"] else 16)
    floats, bits, rescored = (float(row["best"]) - float(row["worst"]) for row in rows[:3])
    assert floats == rescored == 0 < bits  # only whole distances are tied
    assert "| floats | 512 |" in capsys.readouterr().out
