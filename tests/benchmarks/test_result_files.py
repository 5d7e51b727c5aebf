"""Files of results say what their columns mean, and stores of them go on."""

import csv
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
FILES = sorted(path.name for path in RESULTS.glob("*.csv"))


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    return import_module("_store").Store(tmp_path / "new" / "a.csv", ["data"], ["ap"])


@pytest.mark.parametrize("name", FILES)
def test_columns_are_explained(name):
    text = (RESULTS / "README.md").read_text("utf-8")
    common, *sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    (section,) = [part for part in sections if name in part.split("\n")[0]]
    explained = re.findall(r"`(\w+)`", common + section)
    with open(RESULTS / name, newline="") as file:
        columns = next(csv.reader(file))
    assert not set(columns) - set(explained)


def test_rows_are_kept(store):
    assert store.rows() == []
    store.add(data="a", ap=0.12345)
    store.add(data="b", ap=1)
    assert [(row["data"], row["ap"]) for row in store.rows()] == [
        ("a", "0.1235"),
        ("b", "1"),
    ]
    assert store.has(data="b")
    assert not store.has(data="c")
    assert "numpy" in store.rows()[0]["machine"]


def test_other_columns_are_refused(store):
    store.path.parent.mkdir()
    store.path.write_text("data,ndcg\n")
    with pytest.raises(SystemExit, match="other columns"):
        store.rows()
