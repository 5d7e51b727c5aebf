"""What a report of a bug is told: `show_versions`, and the command that prints it."""

import subprocess
import sys
from importlib.metadata import version

import pytest

import sklearn_talr


def printed(capsys):
    assert sklearn_talr.show_versions() is None
    text = capsys.readouterr().out
    return dict(line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)


def test_versions_instructions_and_variables_are_told(capsys, monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    rows = printed(capsys)
    assert rows["version"] == sklearn_talr.__version__
    for name in ("numpy", "scipy", "scikit-learn", "numba", "torch", "joblib"):
        assert rows[name] == version(name)
    assert rows["torch threads"] == str(torch.get_num_threads())
    assert rows["OMP_NUM_THREADS"] == "1"
    assert "OPENBLAS_CORETYPE" not in rows


def test_a_torch_that_cannot_be_imported_is_reported(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "cannot be imported" in printed(capsys)["torch"]


def test_a_processor_without_further_instructions(monkeypatch, capsys):
    """NumPy leaves the key out where it finds none beyond those it was built for."""
    for key in ("baseline", "found"):
        config = {"SIMD Extensions": {key: ["SSE3"]}}
        monkeypatch.setattr("numpy.show_config", lambda mode, config=config: config)
        assert printed(capsys)["NumPy instructions"] == "SSE3"


@pytest.mark.parametrize(
    ("argument", "code", "expected"),
    [
        ("--versions", 0, "scikit-learn: "),
        ("--help", 0, "usage: python -m sklearn_talr "),
        ("--vesrions", 2, "unrecognized arguments: --vesrions"),
    ],
)
def test_the_command(argument, code, expected):
    command = [sys.executable, "-m", "sklearn_talr", argument]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == code
    assert expected in result.stdout + result.stderr
