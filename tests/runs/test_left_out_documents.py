"""Documents that do not count: unjudged ones, and the query itself."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_talr.runs import evaluate_run
from sklearn_talr.runs.__main__ import main

MEASURES = ["AP", "nDCG@5", "RR", "P@3", "Bpref", "Judged@5", "R@4"]
ORDERS = "expected", "worst", "best", "listed"


def problem(seed):
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(12)]
    qrels = {
        q: {d: int(rng.integers(-1, 3)) for d in names if rng.random() < 0.6}
        for q in names[:6]
    }
    run = {
        q: {d: float(rng.integers(0, 4)) for d in names if rng.random() < 0.8}
        for q in names[:6]
    }
    return qrels, run


def compare(result, expected):
    assert result.queries == expected.queries
    for order in ORDERS:
        name = order if hasattr(result, order) else "trec_eval"
        assert_allclose(getattr(result, name), getattr(expected, name), err_msg=order)


@pytest.mark.parametrize("seed", range(4))
def test_values_are_those_of_the_documents_that_are_left(seed):
    qrels, run = problem(seed)
    judged = {
        q: {d: s for d, s in found.items() if d in qrels[q]} for q, found in run.items()
    }
    compare(
        evaluate_run(qrels, run, MEASURES, judged_only=True),
        evaluate_run(qrels, judged, MEASURES),
    )
    others, left = (
        {q: {d: v for d, v in row.items() if d != q} for q, row in table.items()}
        for table in (qrels, run)
    )
    plain = evaluate_run(others, left, MEASURES)
    compare(evaluate_run(qrels, run, MEASURES, ignore_identical_ids=True), plain)
    both = {
        q: {d: s for d, s in found.items() if d in others[q]} for q, found in left.items()
    }
    options = {"judged_only": True, "ignore_identical_ids": True}
    found = evaluate_run(qrels, run, MEASURES, **options)
    compare(found, evaluate_run(others, both, MEASURES))


def test_a_query_that_has_nothing_left_counts_zero():
    qrels, run = {"a": {"b": 1}, "c": {"d": 1}}, {"a": {"x": 1.0}, "c": {"d": 1.0}}
    result = evaluate_run(qrels, run, "AP", judged_only=True, missing_queries="skip")
    assert result.queries == ["a", "c"]
    assert_allclose(result.expected, [[0.0], [1.0]])


def test_the_command_has_both_options(tmp_path, capsys):
    qrels, run = problem(1)
    paths = tmp_path / "qrels.json", tmp_path / "run.json"
    for path, table in zip(paths, (qrels, run)):
        path.write_text(json.dumps(table))
    flags = ["--judged-only", "--ignore-identical-ids", "--format", "json"]
    assert main([*map(str, paths), "-m", "AP", *flags]) == 0
    found = json.loads(capsys.readouterr().out)["run"]["AP"]["expected"]
    options = {"judged_only": True, "ignore_identical_ids": True}
    expected = evaluate_run(qrels, run, "AP", **options).means["AP"]["expected"]
    assert found == pytest.approx(expected)
