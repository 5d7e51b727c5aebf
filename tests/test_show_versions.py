"""What a report of a bug is told: `show_versions`, and the command that prints it."""

import re
import subprocess
import sys
from configparser import ConfigParser
from importlib.metadata import version
from pathlib import Path

import pytest
from without_torch import run_without_torch

import sklearn_talr
from sklearn_talr import __main__ as command
from sklearn_talr import _show_versions

ROOT = Path(__file__).parents[1]
# Extras for those who use the package; the others are for those who work on it.
FOR_USERS = "dask", "plot", "engines", "embeddings", "save", "onnx", "runs"


@pytest.fixture
def described():
    return _show_versions.describe_machine()


def test_versions_are_those_of_the_installed_packages(described):
    rows = described["Python"]
    assert rows["python"] == ".".join(map(str, sys.version_info[:3]))
    assert rows["sklearn-talr"] == sklearn_talr.__version__
    for name in ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl"):
        assert rows[name] == version(name)


def test_every_package_that_setup_cfg_offers_to_users_is_asked_for():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = config["options.extras_require"]
    lines = "\n".join(extras[name] for name in FOR_USERS)
    lines += config["options"]["install_requires"]
    offered = set(re.findall(r"^[a-z][a-z0-9-]*", lines, re.MULTILINE))
    assert len(offered) > 10
    assert offered <= {*_show_versions.REQUIRED, *_show_versions.OPTIONAL}


def test_what_is_not_installed_is_named(monkeypatch):
    there = {"numpy": "2.0", "numba": "0.61"}
    monkeypatch.setattr(_show_versions, "_version", there.get)
    rows = _show_versions.describe_machine()["Python"]
    assert rows["numba"] == "0.61"
    assert rows["scipy"] == "not installed"
    assert "faiss-cpu" not in rows
    assert "faiss-cpu" in rows["not installed"].split(", ")
    assert "numba" not in rows["not installed"].split(", ")


def test_threads_processor_and_variables_are_told(described, monkeypatch):
    assert described["Machine"]["processor"]
    assert re.match(r"\d+, of which \d+ for", described["Machine"]["processors"])
    pools = described["Libraries of threads"]
    assert all("threads: " in words for words in pools.values())
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    variables = _show_versions.describe_machine()["Environment"]
    assert variables["OMP_NUM_THREADS"] == "1"
    assert variables["OPENBLAS_CORETYPE"] == "not set"


def test_torch_tells_its_threads(described):
    torch = pytest.importorskip("torch")
    assert described["torch"]["threads"] == torch.get_num_threads()
    assert (described["torch"]["CUDA devices"] == "none") != torch.cuda.is_available()


def test_a_torch_that_cannot_be_imported_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert _show_versions._torch() == {"torch": "cannot be imported: ModuleNotFoundError"}


def test_it_works_without_torch_and_imports_nothing_optional():
    printed = run_without_torch(
        "from importlib.metadata import PackageNotFoundError\n"
        "from sklearn_talr import _show_versions as shown\n"
        "before = shown._version\n"
        "shown._version = lambda name: None if name == 'torch' else before(name)\n"
        "shown.find_spec = lambda name: None\n"
        "shown.show_versions()\n"
        "heavy = {'numba', 'faiss', 'pandas', 'matplotlib', 'dask', 'sklearn'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    assert re.search(r"^  torch +not installed: only fits by gradients", printed, re.M)


def test_the_public_function_prints_each_section(capsys, described):
    assert sklearn_talr.show_versions() is None
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line[0] != " "] == list(described)
    assert str(Path.home()) not in printed


def test_the_command_prints_versions(capsys):
    assert command.main(["--versions"]) == 0
    assert capsys.readouterr().out.startswith("Python\n  python ")


def test_the_command_prints_help_where_nothing_is_asked(capsys):
    assert command.main([]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m sklearn_talr ")


def test_the_command_refuses_what_it_does_not_know():
    result = subprocess.run(
        [sys.executable, "-m", "sklearn_talr", "--vesrions"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert "unrecognized arguments: --vesrions" in result.stderr
    assert result.stdout == ""


def test_a_processor_without_further_instructions(monkeypatch, capsys):
    """NumPy leaves the key out where it finds none beyond those it was built for."""
    config = {"SIMD Extensions": {"baseline": ["SSE3"]}}
    monkeypatch.setattr("numpy.show_config", lambda mode: config)
    sklearn_talr.show_versions()
    assert "SSE3" in capsys.readouterr().out
