"""The examples run from a clean directory and leave their picture."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(script, folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, str(EXAMPLES / script), *arguments],
        cwd=folder,
        env=os.environ | {"MPLBACKEND": "agg"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("script", "picture"),
    [
        ("plot_quickstart.py", "quickstart.png"),
        ("plot_labelme_protocol.py", "labelme_protocol.png"),
    ],
)
def test_example_runs(script, picture, tmp_path):
    result = run(script, tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / picture).stat().st_size > 10_000
    rows = [line.split() for line in result.stdout.splitlines() if " bits  " in line]
    assert rows
    for row in rows:
        worst, expected, best = map(
            float, row[-4:-1] if "NDCG" in result.stdout else row[-3:]
        )
        assert worst < expected < best


def test_reproduction_without_data_says_what_is_missing(tmp_path):
    result = run("reproduce_protocols.py", tmp_path, SKLEARN_TALR_DATA="")
    assert result.returncode != 0
    assert "SKLEARN_TALR_DATA" in result.stderr
