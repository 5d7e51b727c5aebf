"""Signatures of everything public say their types, and type checkers believe them."""

import ast
import inspect
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sklearn_talr

PROGRAM = Path(__file__).with_name("every_name.py")
ROOT = PROGRAM.parents[2]
ROOMS = [
    name for name in sklearn_talr.__all__ if inspect.ismodule(getattr(sklearn_talr, name))
]
PUBLIC = {
    (module.__name__, name): getattr(module, name)
    for module in (sklearn_talr, *(import_module(f"sklearn_talr.{each}") for each in ROOMS))
    for name in module.__all__
    if name not in ROOMS
}


def functions_of(value):
    """The function itself, or methods, properties and ``__init__`` of a class."""
    if not inspect.isclass(value):
        yield from [value] if inspect.isfunction(value) else []
        return
    for name, member in inspect.getmembers_static(value):
        member = getattr(member, "fget", getattr(member, "fn", member))
        function = inspect.unwrap(getattr(member, "__func__", member))
        is_public = not name.startswith("_") or name in {"__init__", "__call__"}
        is_public = is_public and callable(function)  # and no default of a field
        if is_public and getattr(function, "__module__", "").startswith("sklearn_talr."):
            yield function


@pytest.mark.parametrize("room", sorted({room for room, _ in PUBLIC}))
def test_public_signatures_are_annotated(room):
    values = [value for (module, _), value in PUBLIC.items() if module == room]
    for function in (function for value in values for function in functions_of(value)):
        # The attribute behind a `fitted_property` has a type.
        if function.__name__ == "<lambda>":
            continue
        signature = inspect.signature(function)
        untyped = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.annotation is parameter.empty
            and parameter.name not in {"self", "cls"}
        ]
        assert not untyped, function.__qualname__
        assert signature.return_annotation is not signature.empty, function.__qualname__


def test_the_program_uses_every_public_name():
    nodes = ast.walk(ast.parse(PROGRAM.read_text()))
    used = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    names = {f"{module.removeprefix('sklearn_talr.')}.{name}" for module, name in PUBLIC}
    assert names <= used


def test_the_program_runs():
    runpy.run_path(str(PROGRAM))


@pytest.mark.slow  # `make lint` runs it, on each change: both take half a minute
@pytest.mark.parametrize(
    "command",
    [
        ["mypy", "--strict", "--follow-imports=silent"],
        ["basedpyright", "--level=error", "--pythonpath", sys.executable],
    ],
)
def test_its_types_hold(command):
    pytest.importorskip(command[0])
    command = [sys.executable, "-m", *command, str(PROGRAM)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_checkers_are_told_that_there_are_types():
    assert (Path(sklearn_talr.__file__).parent / "py.typed").exists()
