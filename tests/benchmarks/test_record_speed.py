"""Speeds are recorded for both sides of a task."""

import runpy
import sys
from pathlib import Path

import pytest

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
    ours, plain = RECORD["counts_of_pairs"]()
    assert (ours().counts == plain()).all()
    ours, scan = RECORD["violating_ranking"]()
    assert (ours()[0] == scan()[0]).all()
    ours, scipy = RECORD["paired_tests"]()
    assert ours().p_value == pytest.approx(scipy().pvalue, abs=0.03)
