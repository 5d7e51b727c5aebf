"""The runners for two views: what is held out, what they rank by, and that they go on."""

import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module


def test_parts_are_disjoint_and_all_queries_can_ask(modules):
    sets = modules("_view_sets")
    rng = np.random.default_rng(0)
    asks = rng.random(900) < 0.3
    train, query, item = sets.parts(rng.permutation(900), asks=asks)
    rows = np.concatenate([train, query, item])
    assert len(np.unique(rows)) == len(rows) == 900
    assert np.all(asks[query])


@pytest.mark.parametrize("form", ["paired", "unpaired"])
def test_judgments_are_of_classes(modules, form):
    views = modules("_view_sets").load(f"digits, {form}", 0)
    same = views.items.y[:, None] == views.queries.y
    np.testing.assert_array_equal(views.judgments.toarray(), same)
    assert (views.pairs is not None) == (form == "paired")
    rows, columns = np.array([0, 3]), np.array([5, 1, 2])
    graded = views.grades(rows, columns)
    expected = views.test_queries.y[rows][:, None] == views.test_items.y[columns]
    np.testing.assert_array_equal(graded, expected)


def test_nearest_hundredth(modules):
    X = np.arange(200.0)[:, None]
    near = modules("_view_sets").nearest(np.array([[0.0], [100.4]]), X)
    np.testing.assert_array_equal(np.argwhere(near), [[0, 0], [0, 1], [1, 100], [1, 101]])


def test_canonical_directions_find_what_views_share(modules):
    rivals = modules("_view_rivals")
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(400, 2))
    X, Q = (np.hstack([shared, rng.normal(size=(400, 3))]) for _ in "xq")
    weights = sp.eye_array(400, format="csr")
    model = rivals.Canonical.fit(X, Q @ rng.normal(size=(5, 5)), weights, 1e-9, 2)
    assert np.all(np.linalg.matrix_rank(model.item_directions) == 2)
    assert np.all(np.abs(model.item_directions[2:]) < 0.2)
    lengths = np.linalg.norm(model.item_directions[:2], axis=0)
    np.testing.assert_allclose(lengths, 1, atol=0.1)


def test_items_relevant_to_the_same_queries_are_alike(modules):
    judgments = sp.csr_matrix([[1, 1, 0], [1, 1, 0], [0, 0, 2], [0, 0, 0]])
    alike = modules("_view_rivals").co_relevance(judgments).toarray()
    assert alike[0, 1] == alike[1, 0] > 0
    assert not alike[0, 2]
    assert not alike[3].any()


def test_runs_and_goes_on(modules, monkeypatch, tmp_path, capsys):
    bench, path = modules("bench_views"), tmp_path / "views.csv"
    asked = ["CCA, floats", "relevance-CCA + ITQ", "ridge to ITQ bits of the pair"]
    command = ["--csv", str(path), "--sets", "digits, paired", "--seeds", "0"]
    monkeypatch.setattr(sys, "argv", ["bench_views.py", *command, "--contenders", *asked])
    bench.main()
    rows = bench.read(path)
    assert len(rows) == 1 + 2 * 2 * 2  # two lengths, two contenders, bits and weights
    assert all(0.2 < float(row["ap"]) < 1 for row in rows)
    assert "| relevance-CCA + ITQ |" in capsys.readouterr().out
    monkeypatch.setattr(bench, "measure", None)  # all is measured
    bench.main()
    assert bench.read(path) == rows


def test_queries_that_share_a_document_are_held_out_together(modules, monkeypatch):
    texts = modules("bench_view_texts")
    rng = np.random.default_rng(0)
    relevant = rng.random((30, 300)) < 0.003
    relevant[:, :30] |= np.eye(30, dtype=bool)
    found = modules("_judged_texts").Texts(np.eye(300), np.ones((30, 4)), relevant)
    monkeypatch.setattr(texts, "load", lambda data: found)
    tested = []
    for views, test in texts.folds("any", 5):
        train = np.setdiff1d(np.arange(30), test)
        assert not (relevant[train].any(axis=0) & relevant[test].any(axis=0)).any()
        np.testing.assert_array_equal(views.judgments.toarray().T, relevant[train])
        tested.extend(test)
    assert sorted(tested) == list(range(30))
    ((views, test),) = texts.folds("any", 1)
    assert (len(test), views.judgments.shape) == (30, (300, 0))
