"""The runner for classes not trained on: its parts, its folds, and that it goes on."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("bench_unseen")


def test_parts_are_disjoint_and_train_on_seen_classes_only(bench):
    y = np.repeat(np.arange(10), 40)
    parts = bench.parts_by_class(np.random.default_rng(0), y)
    rows = np.concatenate(list(parts.values()))
    assert len(np.unique(rows)) == len(rows)
    seen, unseen = np.unique(y[parts["train"]]), np.unique(y[parts["unseen_items"]])
    assert (len(seen), len(unseen)) == (7, 3)
    assert not np.intersect1d(seen, unseen).size
    assert set(y[parts["seen_query"]]) | set(y[parts["seen_items"]]) == set(seen)
    assert set(y[parts["unseen_query"]]) <= set(unseen)


def test_folds_rank_classes_that_they_do_not_train_on(bench):
    rng = np.random.default_rng(0)
    y = rng.integers(7, size=100)
    indicator = rng.random((100, 7)) < 0.3
    tested = np.zeros(100)
    for train, test in bench.class_folds(y, seed=0):
        assert not set(y[train]) & set(y[test])
        tested[test] += 1
    assert np.all(tested == 1)
    n_labels = []
    for train, test in bench.class_folds(indicator, seed=0):
        held_out = ~indicator[train].any(axis=0)
        n_labels.append(held_out.sum())
        assert np.all(indicator[test][:, held_out].any(axis=1))
        assert len(train) + len(test) == 100
    assert sum(n_labels) == 7


def test_runs_and_goes_on(bench, monkeypatch, tmp_path, capsys):
    path = tmp_path / "unseen.csv"
    command = ["bench_unseen.py", "--csv", str(path), "--sets", "digits", "--seeds", "0"]
    monkeypatch.setattr(sys, "argv", [*command, "--contenders", "ITQ", "features"])
    bench.main()
    rows = bench.read(path)
    # Four protocols, and weighted queries among unseen classes for ITQ of two lengths
    assert len(rows) == 4 + 5 + 5
    assert all(0.1 < float(row["ap"]) < 1 for row in rows)
    assert "| ITQ | 32 |" in capsys.readouterr().out
    monkeypatch.setattr(bench, "measure", None)  # all is measured
    bench.main()
    assert bench.read(path) == rows


def test_differences_are_paired(bench, capsys):
    of_split = {"a": ("TALR, recipe", [0.5, 0.9]), "b": ("ITQ", [0.4, 0.7])}
    rows = [
        dict(zip(bench.FIELDS, ("set", str(seed), name, "32", "bits", "unseen", str(ap))))
        for name, values in of_split.values()
        for seed, ap in enumerate(values)
    ]
    bench.print_tables(rows)  # differences -0.1 and -0.2
    assert "| ITQ | 32 | 0.550 (-0.150 ±0.050) | 2 |" in capsys.readouterr().out
