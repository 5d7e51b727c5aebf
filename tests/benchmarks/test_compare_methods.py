"""The comparison's runner: what it writes, that it goes on, and how it shows results."""

import csv
import sys

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.measures import AP
from sklearn_talr.metrics import make_retrieval_scorer


@pytest.fixture
def run(comparison, monkeypatch, tmp_path):
    """Call the runner with a command line; return its rows."""

    def call(*arguments):
        command = ["compare_methods.py", "--out", str(tmp_path), *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", command)
        comparison("compare_methods").main()
        (path,) = tmp_path.glob("*.csv")
        return read_rows(path)

    return call


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def digits_file(tmp_path, few_digits):
    X, y = few_digits
    np.savez(tmp_path / "mine.npz", X=X, y=y)
    return tmp_path / "mine.npz"


SMALL = ("--bits", 8, 16, "--seeds", 0)


BITS_AND_FLOATS = {"logistic one-hot": ("",), "logistic scores": ("_float",)}


def test_runs_and_goes_on(run, digits_file, capsys):
    methods = ("LSH", "logistic + additive", *BITS_AND_FLOATS)
    command = ("--data", digits_file, *SMALL, "--methods", *methods, "--no-tuning")
    rows = run(*command)
    assert len(rows) == 2 + 2 + 1 + 1  # two lengths of codes, one of a classifier
    for row in rows:
        kinds = BITS_AND_FLOATS.get(row["method"], ("", "_float"))
        if "" in kinds:
            assert float(row["ap_worst"]) <= float(row["ap"]) <= float(row["ap_best"])
        for kind in ("", "_float"):
            if kind in kinds:
                assert 0 < float(row[f"ap{kind}"]) < float(row[f"ndcg{kind}"]) < 1
            else:
                assert row[f"ap{kind}"] == row[f"ndcg{kind}"] == ""
    capsys.readouterr()
    assert run(*command) == rows  # nothing was run again
    assert "min left" not in capsys.readouterr().out
    more = run(*command, "--seeds", 0, 1)
    assert more[: len(rows)] == rows
    assert len(more) == 2 * len(rows)


def test_methods_behind_the_teacher_are_pipelines(comparison, digits_file):
    """The teacher is fitted once, and its seconds are among those of every method."""
    data = comparison("_data").load_comparison(str(digits_file), 1)
    measure, taught = comparison("_measures").measure, comparison("_teacher").taught
    rows = {
        name: measure(f"kernel {name}", 16, 1, data, {})
        for name in ("+ additive", "one-hot", "scores")
    }
    assert taught(data) is taught(data)
    for row in rows.values():
        assert row["fit_seconds"] >= taught(data).fit_seconds > 0
        seconds = 1e-6 * row["encode_seconds_per_million"] * len(data.X_database)
        assert seconds >= 0.99 * taught(data).encode_seconds > 0

    additive = AdditiveHasher(16, metric="inner_product", random_state=1)
    hasher = make_pipeline(ClassProbabilities(), additive)
    hasher.fit(data.X_train, data.y_train)
    database = data.X_database, data.y_database
    scorer = make_retrieval_scorer("nDCG", database=database, query="weights")
    expected = scorer(hasher, data.X_query, data.y_query)
    assert rows["+ additive"]["ndcg_float"] == pytest.approx(expected, rel=1e-5)

    classes = KernelRidgeClassifierCV(random_state=0).fit(data.X_train, data.y_train)
    same = classes.predict(data.X_query)[:, None] == classes.predict(data.X_database)
    true = data.affinity(data.y_query, data.y_database)
    expected = AP.of(RankingHistogram.from_scores(true, same.astype(float))).mean()
    assert rows["one-hot"]["ap"] == pytest.approx(expected, rel=1e-5)
    assert rows["scores"]["bytes"] == 40


def test_unseen_classes_are_not_trained_on(comparison, digits_file):
    load = comparison("_data").load_comparison
    data = load(str(digits_file), 0, unseen=True)
    seen, others = set(data.y_train), set(data.y_query) | set(data.y_database)
    assert not seen & others
    assert len(seen) == 7
    assert len(others) == 3
