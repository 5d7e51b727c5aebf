"""The benchmark of embeddings: its rows, that it goes on, its tables, and judged texts."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from sklearn_talr.metrics import tie_aware_ndcg_score

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
QUICK = ["components, allocated bits", "ASH, 1 bit", "ASH, 2 bits", "Gaussian reference"]


@pytest.fixture
def module(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module


@pytest.fixture
def bench(module, monkeypatch, tmp_path):
    """The benchmark with two small sets."""
    bench = module("bench_embeddings")
    rng = np.random.default_rng(0)
    for name, n_rows in (("a", 900), ("b", 700)):
        X = rng.normal(size=(n_rows, 40)) * np.geomspace(1, 0.1, 40)
        np.savez(tmp_path / f"{name}.npz", X=X.astype(np.float16))
    sets = {"coco17": bench.Set("a.npz", 400), "text": bench.Set("b.npz", 300)}
    monkeypatch.setenv("SKLEARN_TALR_DATA", str(tmp_path))
    monkeypatch.setattr(bench, "SETS", sets)
    for name, number in (("N_QUERIES", 50), ("N_FEW", 200), ("MOST_DATABASE", 350)):
        monkeypatch.setattr(bench, name, number)
    monkeypatch.setattr(module("_embedding_tables"), "FEW", 200)
    bench.load.cache_clear()
    yield bench
    bench.load.cache_clear()


def test_rows_are_apart_and_of_unit_length(bench):
    for name, n_many, n_database in (("coco17", 400, 350), ("text", 300, 350)):
        for seed in (0, 1):
            query, train, database, nearest = bench.load(name, seed)
            assert (len(query), len(train), len(database)) == (50, n_many, n_database)
            rows = np.vstack([query, train, database])
            assert len(np.unique(rows, axis=0)) == len(rows)
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
            order = np.argsort(-query @ database.T, axis=1)[:, :10]
            np.testing.assert_array_equal(nearest, order)
    assert not np.array_equal(bench.load("text", 0).query, bench.load("text", 1).query)


def test_cells_have_their_turn(bench):
    names = ["faiss ResidualQuantizer", "ASH, 1 bit", "faiss LocalSearchQuantizer"]
    cells = bench.cells(2, names, [8, 64])
    assert len(cells) == len(set(cells))
    assert {cell.n_train for cell in cells} == {200, 300, 400}
    # 2 sets, and 2 numbers of rows but for the last
    expected = [
        *[("ASH, 1 bit", 0, 8)] * 4,
        *[("faiss ResidualQuantizer", 0, 8)] * 4,
        *[("ASH, 1 bit", 1, 8)] * 4,
        *[("ASH, 1 bit", 0, 64)] * 4,
        *[("ASH, 1 bit", 1, 64)] * 4,
        *[("faiss LocalSearchQuantizer", 0, 8)] * 2,
        *[("faiss ResidualQuantizer", 1, 8)] * 4,
    ]
    assert [(cell.contender, cell.seed, cell.budget) for cell in cells] == expected


def run(bench, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["bench_embeddings.py", *map(str, arguments)])
    bench.main()


def test_runs_and_goes_on(bench, module, monkeypatch, tmp_path, capsys):
    path = tmp_path / "figures.csv"
    files = ["--csv", path, "--judged-csv", tmp_path / "none.csv"]
    command = [*files, "--seeds", 1, "--bytes", 2, 4, "--contenders", *QUICK]
    budgets = {
        name: bench.CONTENDERS[name]._replace(budgets=(2, 4), many=(2, 4)) for name in QUICK
    }
    monkeypatch.setattr(bench, "CONTENDERS", {**bench.CONTENDERS, **budgets})
    run(bench, monkeypatch, "recall", *command[:-1])
    before = path.read_text()
    assert len(before.splitlines()) == 1 + 8 * (2 + 1 + 1)
    run(bench, monkeypatch, "recall", *command)
    assert path.read_text().startswith(before)
    figures = module("_embedding_figures").read(path)
    assert len(figures) == 8 * (2 + 1 + 1 + 1)
    assert all(figure.n_bytes == figure.budget for figure in figures)
    assert all(0 < figure.recall < 1 for figure in figures)
    monkeypatch.setattr(bench, "measure", None)  # all is measured
    capsys.readouterr()
    run(bench, monkeypatch, "recall", *command)
    found = capsys.readouterr().out
    assert "| ASH, 2 bits, cosine |" in found
    assert "| 4 bytes | COCO | text | COCO+ | text+ |" in found


def test_more_bytes_find_more(bench):
    def recall(budget):
        cell = bench.Cell("coco17", 0, 400, budget, QUICK[0])
        return max(figure.recall for figure in bench.measure(cell))

    assert recall(2) + 0.1 < recall(4) < recall(8) - 0.1


def test_tables(module, capsys):
    """Means over seeds, and the best member and search of a family for each column."""
    figures, tables = module("_embedding_figures"), module("_embedding_tables")
    rows = [
        ("coco17", 0, 5_000, 8, "ASH, 1 bit", "cosine", 0.30, 1, 2, 10_000, 8),
        ("coco17", 1, 5_000, 8, "ASH, 1 bit", "cosine", 0.50, 3, 4, 10_000, 8),
        ("coco17", 0, 5_000, 8, "ASH, 2 bits", "cosine", 0.44, 9, 9, 10_000, 8),
        ("text", 0, 5_000, 8, "ASH, 2 bits", "cosine", 0.62, 2, 1, 10_000, 7),
        ("text", 0, 20_000, 8, "ASH, 2 bits", "cosine", 0.64, 5, 1, 10_000, 7),
        ("text", 0, 20_000, 8, "ASH, 2 bits", "product", 0.63, 5, 1, 10_000, 7),
    ]
    some = [figures.Figure(*row) for row in rows]
    tables.print_markdown(some)
    first, second = capsys.readouterr().out.strip().split("\n\n")
    header = "| 8 bytes | COCO | text | text+ | bytes | seeds | fit | fit+ | encode |"
    assert first.splitlines()[0] == second.splitlines()[0] == header
    assert "| ASH, 1 bit, cosine | 0.400 |  |  | 8 | 2 | 2.0 |  | 6.0 |" in first
    assert second.splitlines()[2:] == [
        "| ASH | 0.440 | 0.620 | 0.640 | 7-8 | 1 | 5.5 | 5.0 | 7.3 |"
    ]
    tables.print_rst(some)
    printed = capsys.readouterr().out
    assert '   "ASH", .440, .620, .640\n' in printed
    assert '   "ASH", 5.5, 5.0, 7.3\n' in printed


def test_ndcg_is_that_of_the_library(module):
    judged, rng = module("_judged_texts"), np.random.default_rng(0)
    relevant = rng.random((30, 60)) < 0.1
    relevant[:, 3] = True
    scores = rng.normal(size=relevant.shape)
    found = np.argsort(-scores, axis=1)[:, :10]
    expected = tie_aware_ndcg_score(relevant.astype(int), scores, dcg="log2", k=10)
    np.testing.assert_allclose(judged.ndcg(relevant, found), expected)


def test_judged_texts_go_on(bench, module, monkeypatch, tmp_path, capsys):
    judged, rng = module("_judged_texts"), np.random.default_rng(0)
    for name in judged.SETS:
        X = bench.unit_rows(rng.normal(size=(150, 40)) + 1)
        Q = bench.unit_rows(X[:20] + rng.normal(size=(20, 40)) / 9)
        pairs = np.stack([np.arange(19), np.arange(19), np.ones(19, int)], axis=1)
        np.savez(tmp_path / f"{name}.npz", X=X, Q=Q, judged=pairs)
    assert len(judged.load("cran").queries) == 19  # one has no relevant document
    path = tmp_path / "judged.csv"
    files = ["--csv", tmp_path / "none.csv", "--judged-csv", path]
    command = ["judged", *files, "--seeds", 1, "--contenders"]
    names = ["AdditiveHasher, single bits", "components, allocated bits"]
    run(bench, monkeypatch, *command, *names)
    figures = module("_embedding_figures").read(path, judged.JudgedFigure)
    assert len(figures) == 3 * 3 * (1 + 2)
    assert all(figure.n_bytes - figure.budget in (0, 1) for figure in figures)
    assert all(figure.ndcg_floats > 0.95 for figure in figures)
    assert all(f.ndcg_rescored == f.ndcg_floats for f in figures if f.budget == 32)
    assert min(figure.ndcg for figure in figures) < 0.9
    monkeypatch.setattr(judged, "measure", None)  # all is measured
    capsys.readouterr()
    run(bench, monkeypatch, *command, *names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("| 8 bytes | SciFact | Cranfield | CISI | SciFact rescored")
    assert len([line for line in lines if line.startswith("| Add")]) == 3


def test_judged_tables(module, capsys):
    """Percents of the floats, the mean over seeds, and the best member of a family."""
    texts, tables = module("_judged_texts"), module("_judged_tables")
    rows = [
        ("scifact", 0, 8, "ASH, 1 bit", "cosine", 0.3, 0.5, 0.5, 8),
        ("scifact", 1, 8, "ASH, 1 bit", "cosine", 0.4, 0.5, 0.5, 8),
        ("cran", 0, 8, "ASH, 1 bit", "cosine", 0.2, 0.4, 0.4, 8),
        ("cisi", 0, 8, "ASH, 1 bit", "cosine", 0.1, 0.4, 0.4, 8),
        ("scifact", 0, 8, "ASH, 2 bits", "cosine", 0.2, 0.5, 0.5, 8),
        ("cran", 0, 8, "ASH, 2 bits", "cosine", 0.1, 0.3, 0.4, 8),
        ("cisi", 0, 8, "ASH, 2 bits", "cosine", 0.3, 0.4, 0.4, 8),
    ]
    figures = [texts.JudgedFigure(*row) for row in rows]
    tables.print_markdown(figures)
    printed = capsys.readouterr().out
    assert "| ASH, 1 bit, cosine | 70.0 | 50.0 | 25.0 | 100.0 | 100.0 | 100.0 |" in printed
    assert "| ASH, 2 bits, cosine | 40.0 | 25.0 | 75.0 | 100.0 | 75.0 | 100.0 |" in printed
    tables.print_rst(figures)
    assert '   "ASH", 70.0, 50.0, 25.0, 100.0, 100.0, 100.0' in capsys.readouterr().out
