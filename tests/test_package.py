"""The package as a whole: names, laziness, version."""

import subprocess
import sys
from importlib import import_module

import pytest

import sklearn_talr

ROOMS = [
    "affinity",
    "codes",
    "datasets",
    "export",
    "hashing",
    "histogram",
    "metrics",
    "neighbors",
    "objectives",
    "svm",
]
NUMPY_ROOMS = [room for room in ROOMS if room not in ("hashing", "objectives")]
OPTIONAL = {"apsw", "duckdb", "faiss", "numba", "sqlite_vec", "torch", "usearch"}


def imported_by(statement):
    """Top-level modules that a fresh interpreter has loaded after `statement`."""
    code = f"{statement}; import sys; print(*sorted(m.split('.')[0] for m in sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


@pytest.mark.parametrize("room", NUMPY_ROOMS)
def test_numpy_rooms_import_neither_torch_nor_what_is_optional(room):
    assert not imported_by(f"import sklearn_talr.{room}") & OPTIONAL


@pytest.mark.parametrize(
    "room", ["metrics", "codes", "affinity", "histogram", "datasets", "svm"]
)
def test_numpy_rooms_do_not_import_torch(room):
    assert "torch" not in imported_by(f"import sklearn_talr.{room}")


def test_names_at_the_top():
    assert sklearn_talr.__all__ == sorted(sklearn_talr.__all__)
    for name in sklearn_talr.__all__:
        assert getattr(sklearn_talr, name) is not None
        assert name in dir(sklearn_talr)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sklearn_talr.nothing  # noqa: B018


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_are_sorted_and_documented(room):
    module = import_module(f"sklearn_talr.{room}")
    assert module.__doc__
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__


def test_version_is_a_development_version_or_a_release():
    assert sklearn_talr.__version__.split(".")[:2] == ["0", "1"]
