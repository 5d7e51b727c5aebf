"""Who imports whom in the package, read from its files.

A *room* is a folder directly in the package. Every room may import `_core`, on which all
stand, and `_loops`. CONTRIBUTING.md lists the rooms.
"""

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "sklearn_talr"
# What each room may import beside `_core`, `_loops` and itself
ALLOWED = {
    "_core": set(),
    "_loops": set(),
    "codes": set(),
    "affinity": {"codes"},
    "histogram": {"affinity", "codes"},
    "measures": {"histogram"},
    "metrics": {"affinity", "codes", "histogram", "inference", "measures"},
    "inference": set(),
    "runs": {"inference", "measures", "metrics"},
    "features": {"affinity"},
    "losses": {"affinity", "measures"},
    "kernel_ridge": {"affinity", "features"},
    "hashing": {
        "affinity",
        "codes",
        "features",
        "kernel_ridge",
        "losses",
        "measures",
        "metrics",
    },
    "svm": {"measures"},
    "baselines": {"affinity", "features", "hashing", "measures", "svm"},
    "neighbors": {"affinity", "codes", "histogram", "inference", "measures"},
    "export": {"codes", "hashing"},
    "dask": {"affinity", "codes", "histogram"},
    "commands": {"codes", "hashing", "histogram", "metrics", "neighbors", "svm"},
}
LEARN = {"features", "losses", "kernel_ridge", "hashing", "svm", "baselines"}
JUDGE = {"histogram", "measures", "metrics", "inference", "runs"}


def imports_of(path):
    """Pairs of a module of the package, as a path of names, and a name taken from it."""
    here = path.relative_to(PACKAGE).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level + 1]
            base += tuple(node.module.split(".")) if node.module else ()
            yield from ((base, alias.name) for alias in node.names)


FILES = sorted(PACKAGE.rglob("*.py"))
PLACES = [path.relative_to(PACKAGE) for path in FILES]
ROOMS = {place.parts[0] for place in PLACES if len(place.parts) > 1}


@cache  # every process of a parallel run imports this file, and one needs the answer
def all_imports():
    """Imports of each file of the package, by its path in the package."""
    return {place: list(imports_of(path)) for place, path in zip(PLACES, FILES)}


def room_of(base, name):
    room = (*base, name)[0]
    return room if room in ROOMS else None


def test_rooms_import_in_one_direction():
    assert set(ALLOWED) == ROOMS
    TopologicalSorter(ALLOWED).prepare()
    for path, pairs in all_imports().items():
        if len(path.parts) > 1:
            free = {None, path.parts[0], "_core", "_loops"}
            asked = {room_of(*pair) for pair in pairs} - free
            assert asked <= ALLOWED[path.parts[0]], path


def test_judge_imports_nothing_of_learn():
    reached, rest = set(), set(JUDGE)
    while rest:
        reached |= rest
        rest = set().union(*(ALLOWED[room] for room in rest)) - reached
    assert not reached & LEARN


def test_private_names_stay_in_their_room():
    """Rooms are entered by names without an underscore, also those of files within."""
    for path, pairs in all_imports().items():
        for base, name in pairs:
            room = room_of(base, name)
            if room not in {None, "_core", "_loops", path.parts[0]}:
                assert not name.startswith("_"), f"{path} takes {name} from {room}"


def test_no_files_import_each_other_in_a_circle():
    modules = {path.with_suffix("").parts: path for path in PLACES}
    arrows = {}
    for path, pairs in all_imports().items():
        found = {modules.get((*base, name)) or modules.get(base) for base, name in pairs}
        arrows[path] = found - {None, path}
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {error.args[1]}")
