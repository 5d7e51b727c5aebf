"""The comparison's runner: what it writes, that it goes on, and how it shows results."""

import csv
import gzip
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import ParameterGrid

BENCHMARKS = Path(__file__).parents[2] / "benchmarks" / "comparison"


@pytest.fixture
def module(monkeypatch):
    """Import a module of the benchmarks by name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setenv("MPLBACKEND", "agg")
    return import_module


@pytest.fixture
def run(module, monkeypatch, tmp_path):
    """Call the runner with a command line; return its rows."""

    def call(*arguments):
        command = ["compare_methods.py", "--out", str(tmp_path), *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", command)
        module("compare_methods").main()
        (path,) = tmp_path.glob("*.csv")
        with open(path, newline="") as file:
            return list(csv.DictReader(file))

    return call


@pytest.fixture
def digits_file(tmp_path, few_digits):
    X, y = few_digits
    np.savez(tmp_path / "mine.npz", X=X, y=y)
    return tmp_path / "mine.npz"


SMALL = ("--bits", 8, 16, "--seeds", 0, 1)


def test_runs_goes_on_and_renders(run, digits_file, tmp_path, capsys):
    methods = ("LSH", "ITQ", "one-hot predictions", "classifier scores")
    command = ("--data", digits_file, *SMALL, "--methods", *methods)
    rows = run(*command)
    assert len(rows) == 2 * (2 + 2 + 1 + 1)
    for row in rows:
        if row["method"] != "classifier scores":
            assert float(row["ap_worst"]) <= float(row["ap"]) <= float(row["ap_best"])
        assert 0 < float(row["ap"]) < float(row["ndcg"]) < 1
    assert (tmp_path / "mine.png").stat().st_size
    table = (tmp_path / "mine.md").read_text()
    assert "| method | 8 bits | 16 bits |" in table
    assert "one-hot predictions" in (tmp_path / "mine.rst").read_text()

    capsys.readouterr()
    assert run(*command) == rows  # nothing was run again
    assert "min left" not in capsys.readouterr().out
    more = run(*command, "--seeds", 0, 1, 2)
    assert more[: len(rows)] == rows
    assert len(more) == 3 * len(rows) // 2


def test_tuning_is_done_once_for_all_lengths(run, module, digits_file, monkeypatch):
    hasher = module("_methods").METHODS["CSQ"]
    monkeypatch.setattr(hasher, "max_iter", 2)
    rows = run("--data", digits_file, "--bits", 8, 16, "--seeds", 0, "--methods", "CSQ")
    assert [float(row["tune_seconds"]) > 0 for row in rows] == [True, False]
    assert rows[0]["params"] == rows[1]["params"] != "{}"


def test_every_method_has_the_same_budget(module):
    methods = module("_methods")
    untuned = ("LSH", "ITQ", "BRE", "MACHash", "FastHash", "StructHash")
    for name, hasher in methods.METHODS.items():
        tuned = set(methods.GRID) & set(hasher.get_params())
        assert tuned == (set() if name in untuned else set(methods.GRID))
    grids = (methods.GRID, methods.CLASSIFIER_GRID)
    assert len({len(ParameterGrid(grid)) for grid in grids}) == 1


def test_jobs_side_by_side_find_the_same(run, digits_file, tmp_path):
    """As a user starts it: what the processes need must reach them."""
    command = ("--data", digits_file, *SMALL, "--methods", "LSH", "ITQ", "--no-tuning")
    script = (BENCHMARKS / "compare_methods.py", "--out", tmp_path / "beside", "--jobs", 2)
    subprocess.run([sys.executable, *map(str, (*script, *command))], check=True)
    with open(tmp_path / "beside" / "mine-defaults.csv", newline="") as file:
        beside = list(csv.DictReader(file))
    key = lambda row: (row["method"], row["n_bits"], row["seed"], row["ap"])  # noqa: E731
    assert sorted(map(key, beside)) == sorted(map(key, run(*command)))


def test_several_labels(run, tmp_path):
    X, y = make_multilabel_classification(120, random_state=0)
    np.savez(tmp_path / "tags.npz", X=X, y=y)
    methods = ("ITQ", "one-hot predictions", "classifier scores")
    rows = run("--data", tmp_path / "tags.npz", *SMALL, "--methods", *methods)
    assert len(rows) == 2 * (2 + 1 + 1)


def test_unseen_classes_are_not_trained_on(module, digits_file):
    load = module("_data").load_comparison
    data = load(str(digits_file), 0, unseen=True)
    seen, others = set(data.y_train), set(data.y_query) | set(data.y_database)
    assert not seen & others
    assert len(seen) == 7
    assert len(others) == 3


def test_fashion_mnist_from_files(module, tmp_path, monkeypatch):
    """In the format of the data set: a header, then bytes."""
    rng = np.random.default_rng(0)
    images, labels = rng.integers(256, size=(30, 784)), rng.integers(10, size=30)
    for part, rows in (("train", slice(0, 20)), ("t10k", slice(20, 30))):
        files = (("images-idx3", 16, images[rows]), ("labels-idx1", 8, labels[rows]))
        for kind, n_header, values in files:
            with gzip.open(tmp_path / f"{part}-{kind}-ubyte.gz", "wb") as file:
                file.write(bytes(n_header) + values.astype(np.uint8).tobytes())
    source = module("_data")
    monkeypatch.setattr(source, "_FASHION_MNIST", tmp_path)
    data = source.load_comparison("fashion_mnist", 0)
    order = np.random.default_rng(0).permutation(30)
    np.testing.assert_array_equal(data.y_query, labels[order[:3]])
    mean = images[order[3:]].mean(axis=0)
    first = images[order[0]] - mean
    np.testing.assert_allclose(data.X_query[0], first / np.linalg.norm(first), atol=1e-6)


def test_unseen_classes_need_labels(module, tmp_path):
    X, y = make_multilabel_classification(60, random_state=0)
    np.savez(tmp_path / "tags.npz", X=X, y=y)
    load = module("_data").load_comparison
    with pytest.raises(SystemExit, match="one label per sample"):
        load(str(tmp_path / "tags.npz"), 0, unseen=True)


def test_lookup(run, module, digits_file, monkeypatch):
    for hasher in module("_methods").LOOKUP_METHODS.values():
        monkeypatch.setattr(hasher, "max_iter", 2)
    command = ("--lookup", "--no-tuning", "--bits", 16, "--seeds", 0)
    rows = run("--data", digits_file, *command)
    assert [row["method"] for row in rows] == ["DSH", "4-DSH", "8-DSH", "12-DSH"]
    for row in rows:
        for curve in ("ramap", "empty", "radius_precision", "lookup_ms"):
            assert len(json.loads(row[curve])) == 5


def test_foreign_results_are_refused(module, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("method,ap\nLSH,0.5\n")
    with pytest.raises(SystemExit, match="other columns"):
        module("_results").Results(path)


def test_tables(module):
    results = module("_results")
    rows = [["method", "8 bits"], ["LSH", "0.100 ±0.010"], ["ITQ", ""]]
    assert results.as_markdown(rows).splitlines() == [
        "| method | 8 bits |",
        "|---|---|",
        "| LSH | 0.100 ±0.010 |",
        "| ITQ |  |",
    ]
    assert results.as_rst(rows).splitlines() == [
        "======  ============",
        "method  8 bits",
        "======  ============",
        "LSH     0.100 ±0.010",
        "ITQ",
        "======  ============",
    ]
