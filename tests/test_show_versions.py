"""What a report of a bug is told: `show_versions`, and the command that prints it."""

import runpy
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


@pytest.mark.filterwarnings("ignore:'sklearn_talr.__main__' found in sys.modules")
def test_the_command(monkeypatch, capsys):
    def run(argument):
        monkeypatch.setattr(sys, "argv", ["sklearn_talr", argument])
        runpy.run_module("sklearn_talr", run_name="__main__")

    run("--versions")
    assert "scikit-learn: " in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^0$"):
        run("--help")
    assert "usage: python -m sklearn_talr " in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"^2$"):
        run("--vesrions")
    assert "unrecognized arguments: --vesrions" in capsys.readouterr().err
