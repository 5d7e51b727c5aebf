"""What `make` runs, by a Python in its environment that only tells what it was asked."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STUB = """#!/bin/sh
echo "$@" >> "$LOG"
case "$*" in *"not cluster"*) exit $ONE_HALF;; *) exit $OTHER_HALF;; esac
"""


@pytest.mark.skipif(not shutil.which("make"), reason="there is no make")
@pytest.mark.parametrize("target", ["test", "test-slow"])
@pytest.mark.parametrize(("one", "other"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_both_halves_of_the_suite_run_and_then_make_fails_if_one_did(
    tmp_path, target, one, other
):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(STUB)
    python.chmod(0o755)
    (tmp_path / ".tests").touch()  # newer than what it is built from
    codes = {"ONE_HALF": str(one), "OTHER_HALF": str(other)}
    log = tmp_path / "log"
    result = subprocess.run(
        ["make", target, f"VENV={tmp_path}"],
        cwd=ROOT,
        env=os.environ | codes | {"LOG": str(log)},
        capture_output=True,
        check=False,
    )
    first, second = log.read_text().splitlines()
    assert "not cluster" in first
    assert "not cluster" not in second
    assert all("-m pytest" in line for line in (first, second))
    assert (result.returncode == 0) == (one == other == 0)
