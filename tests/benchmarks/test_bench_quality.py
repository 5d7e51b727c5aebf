"""Scripts behind the guide's tables of quality: they run, go on, and mean what they say."""

import csv
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from sklearn_talr.affinity import LabelAffinity

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return import_module


@pytest.fixture
def data():
    """A small split of the digits; the training rows are the first of the database."""
    X, y = load_digits(return_X_y=True)
    X = ((X - 8) / 30).astype(np.float32)
    parts = {"train": slice(40, 240), "query": slice(40), "database": slice(40, 440)}
    rows = {f"X_{part}": X[rows] for part, rows in parts.items()}
    rows |= {f"y_{part}": y[rows] for part, rows in parts.items()}
    return Bunch(**rows, affinity=LabelAffinity().fit(rows["y_train"]))


def run(monkeypatch, bench, *arguments):
    monkeypatch.setattr(sys, "argv", ["bench.py", *map(str, arguments)])
    bench.main()


def test_honest_parts_are_disjoint(module):
    bench = module("bench_honest")
    X, _ = load_digits(return_X_y=True)
    for split in (bench.split_by_class, bench.split_by_file):
        parts = split(1)
        assert [len(y) for _, y in parts] == list(bench.PARTS)
        rows = np.concatenate([X for X, _ in parts])
        assert sorted(map(bytes, rows)) == sorted(map(bytes, X))


def test_honest_protocols(module, monkeypatch, tmp_path, capsys):
    bench = module("bench_honest")
    path = tmp_path / "honest.csv"
    monkeypatch.setattr(bench, "N_STATES", 2)
    run(monkeypatch, bench, "--csv", path, "--seeds", 0, "--bits", 16)
    store = bench.Store(path, bench.KEY, bench.FIGURES)
    ap = {row["protocol"]: float(row["ap"]) for row in store.rows()}
    assert ap["worst order of ties"] < ap["honest"] < ap["best order of ties"]
    for name in ("rows in random order", "rows sorted by class"):
        assert ap["worst order of ties"] < ap[name] < ap["best order of ties"]
    assert ap["queries find themselves"] > ap["queries rank each other"]
    assert "16 bits  honest" in capsys.readouterr().out
    monkeypatch.setattr(bench, "measure", None)  # all is measured
    run(monkeypatch, bench, "--csv", path, "--seeds", 0, "--bits", 16)


def test_training_study(module, monkeypatch, tmp_path, data, capsys):
    study, path = module("study_training"), tmp_path / "training.csv"
    monkeypatch.setenv("SKLEARN_TALR_DATA", str(tmp_path))
    monkeypatch.setattr(study, "load", lambda name, seed: data)
    changes = {"short": {"max_iter": 2}, "few": {"max_iter": 2, "n_rows": 50}}
    monkeypatch.setitem(study.STUDIES, "rows", changes)
    command = "rows", "--data", "digits", "--seeds", 0, "--csv", path
    run(monkeypatch, study, *command)
    rows = study.Store(path, study.KEY, study.FIGURES).rows()
    assert [row["change"] for row in rows] == ["default", "short", "few"]
    assert [row["n_epochs"] for row in rows] == ["100", "2", "2"]
    assert all(0.1 < float(row["score"]) <= 1 for row in rows)
    monkeypatch.setattr(study, "measure", None)  # all is measured
    run(monkeypatch, study, *command)
    assert "few" in capsys.readouterr().out


@pytest.mark.parametrize("second", ["TALR", "TALR of roots", "additive", "floats"])
@pytest.mark.parametrize("first", ["kernel", "kernel, width 0.45", "logistic, C=3, cv=5"])
def test_stages(module, monkeypatch, data, first, second):
    bench = module("bench_teacher")
    monkeypatch.setattr(bench, "load", lambda name: data)
    monkeypatch.setattr(bench, "gamma_of", lambda X, share: 1.0)
    monkeypatch.setattr(bench, "_FITTED", {})
    bench.probabilities.cache_clear()
    cell = bench.Cell(first, 1, second, 0 if second == "floats" else 12)
    rows = list(bench.measure("roots", "digits", cell))
    bench.probabilities.cache_clear()
    asked = {"floats": {"floats"}, "additive": {"Hamming", "weighted"}}
    assert {row["queries"] for row in rows} == asked.get(second, {"Hamming"})
    assert {row["items"] for row in rows} == {"all", "new"}
    assert all(0.3 < row["ap"] <= 1 for row in rows)


def test_rows_that_nobody_trained_on(module, data):
    is_new = module("bench_teacher").new_rows(data)
    assert list(is_new) == [False] * 200 + [True] * 200


def test_ways_to_ask(module, monkeypatch, tmp_path, data):
    pytest.importorskip("faiss")
    bench = module("bench_asked")
    monkeypatch.setattr(bench, "N_CANDIDATES", (10, 400))
    parts = bench.unit_rows(data.X_query), bench.unit_rows(data.X_train)
    rows = *parts, bench.unit_rows(data.X_database)
    monkeypatch.setattr(bench, "rows_of_coco", lambda: rows)
    for contender in ("signs", "LSH", "ITQ", "additive"):
        found = {
            row[:2]: row[2] for row in bench.measure("recall", "coco17", contender, 32)
        }
        for asked in {asked for asked, _ in found}:
            assert found[asked, 10] < found[asked, 400] == 1
    monkeypatch.setattr(bench, "load_benchmark", lambda name: data)
    for part, contender in (("labels", "TALR"), ("distances", "ITQ")):
        scores = {row[0]: row[2] for row in bench.measure(part, "digits", contender, 16)}
        assert list(scores) == ["Hamming", "activations", "saturated"]
        assert all(0.1 < score <= 1 for score in scores.values())


def test_steps(module, monkeypatch, tmp_path, data, capsys):
    bench, path = module("bench_steps"), tmp_path / "seconds.csv"
    monkeypatch.setenv("SKLEARN_TALR_SECONDS", str(path))
    monkeypatch.setattr(bench, "load_benchmark", lambda name, seed: data)
    monkeypatch.setattr(bench, "talr", lambda n_bits: bench.ITQHasher(n_bits))
    monkeypatch.setattr(bench, "HASHERS", {"ITQ": bench.ITQHasher(16)})
    monkeypatch.setattr(bench, "REPEATS", 1)
    run(monkeypatch, bench)
    rows = bench_rows(path)
    assert {row["quantity"] for row in rows if row["table"] == "hashers"} == {
        "fit, s",
        "encode, s",
        "model, bytes",
    }
    tables = {row["table"] for row in rows}
    assert tables == {"hashers", "learned, 32 bits", "learned, 64 bits", "random, 64 bits"}
    assert all(float(row["value"]) > 0 for row in rows)
    assert len(capsys.readouterr().out.splitlines()) == len(rows)


def bench_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_grades_are_kept_and_averaged(module, monkeypatch, tmp_path, capsys):
    bench = module("bench_svm")
    store = module("_store").Store(tmp_path / "svm.csv", *columns_of(bench))
    monkeypatch.setattr(bench, "STORE", store)
    monkeypatch.setattr(bench, "_draw_grades", lambda rng, mixing, n: small_grades(rng))
    for name in ("_fit_ndcg", "_fit_pairs"):
        monkeypatch.setattr(bench, name, lambda X, y, groups, C, grade=None: np.ones(2))
    bench.grades(seeds=(0, 1))
    rows = store.rows()
    assert len(rows) == 8
    assert {row["model"] for row in rows} >= {"RankingSVC, grades"}
    mean = np.mean([float(row["ndcg"]) for row in rows if row["model"] == rows[0]["model"]])
    assert f"ndcg {mean:.4f}" in capsys.readouterr().out
    monkeypatch.setattr(bench, "_mean_ndcg", None)  # all is measured
    bench.grades(seeds=(0, 1))


def columns_of(bench):
    """Key and figures of the script's own store."""
    columns = bench.STORE.columns[len(bench.STORE.key) : -1]
    return bench.STORE.key, columns


def small_grades(rng):
    """Three queries of four documents with two features, and their grades."""
    return rng.random((12, 2)), np.tile([0, 1, 2, 0], 3), np.repeat([0, 1, 2], 4)


def test_seconds_are_kept_only_if_asked(module, monkeypatch, tmp_path):
    store, path = module("_store"), tmp_path / "seconds.csv"
    monkeypatch.delenv("SKLEARN_TALR_SECONDS", raising=False)
    store.record("script", "table", "line", "ms", 1.5)
    monkeypatch.setenv("SKLEARN_TALR_SECONDS", str(path))
    store.record("script", "table", "line", "ms", 1.5)
    _, row = path.read_text().splitlines()
    assert row.startswith("script,table,line,ms,1.5,")
