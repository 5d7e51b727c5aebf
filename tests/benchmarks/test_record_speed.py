"""Speeds are recorded for both sides of a task."""

import runpy
import sys
from functools import partial
from inspect import signature
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))
RECORD = runpy.run_path(str(ROOT / "benchmarks" / "record_speed.py"))


def test_the_newest_record_has_all_tasks():
    newest = max(RECORD["read_history"](), key=lambda record: record["committed"])
    assert set(newest["ratios"]) == set(RECORD["RATIOS"])


def test_what_a_commit_does_not_have_is_left_out():
    def make():
        from sklearn_talr import no_such_name  # noqa: F401

    assert RECORD["measure"](make) is None


def test_both_sides_of_a_task_give_one_result():
    ours, plain = RECORD["counts_of_pairs"](n_items=1_000)
    assert (ours().counts == plain()).all()
    ours, scan = RECORD["violating_ranking"](n_negative=2_000)
    assert (ours()[0] == scan()[0]).all()
    ours, scipy = RECORD["paired_tests"]()
    assert ours().p_value == pytest.approx(scipy().pvalue, abs=0.03)
    ours, autograd = RECORD["training_step"](n_rows=40)
    assert_allclose(ours(), autograd(), atol=1e-6)
    assert abs(autograd()).max() > 1e-4


def test_nearest_codes_are_those_of_faiss():
    pytest.importorskip("faiss")
    ours, faiss = RECORD["nearest_codes"](n_items=2_000, n_queries=20)
    assert (ours()[0] == faiss()[0]).all()


def test_every_task_is_measured(monkeypatch):
    """As they are recorded, but in small and once."""
    monkeypatch.setitem(RECORD["measure"].__globals__, "REPEATS", 1)
    for task in RECORD["RATIOS"].values():
        sizes = dict.fromkeys(signature(task).parameters, 20)
        milliseconds = RECORD["measure"](partial(task, **sizes))
        assert milliseconds["ours_ms"] > 0
        assert milliseconds["rival_ms"] > 0
