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
OPTIONAL = {
    "apsw",
    "duckdb",
    "faiss",
    "matplotlib",
    "numba",
    "sqlite_vec",
    "torch",
    "usearch",
}
# Imports each room as if it were the first, and prints what that has loaded.
IMPORT_ROOMS = """
import sys
from importlib import import_module

for room in sys.argv[1:]:
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn_talr"]:
        del sys.modules[name]
    before = set(sys.modules)
    import_module(f"sklearn_talr.{room}")
    print(room, *sorted({name.split(".")[0] for name in set(sys.modules) - before}))
"""


def test_numpy_rooms_import_neither_torch_nor_what_is_optional():
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_ROOMS, *NUMPY_ROOMS],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in result.stdout.splitlines()]
    assert [room for room, *_ in lines] == NUMPY_ROOMS
    for room, *loaded in lines:
        assert "sklearn_talr" in loaded
        assert not set(loaded) & OPTIONAL, room


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
