"""Who imports whom in the package, read from its files.

A *room* is a file or folder directly in the package. Modules are named by their path in the
package, with dots; a folder's name is that of its ``__init__.py``, and the package's own is
the empty string. Ground files stand directly in the package and are no rooms: every room
stands on them. What begins with an underscore stays in its file or room.
"""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRIBUTING = ROOT / "CONTRIBUTING.md"

GROUND = {
    "_arrays",
    "_compat",
    "_hashers",
    "_lazy",
    "_loops",
    "_random",
    "_show_versions",
    "_state",
    "_threads",
}
LINES_OF_A_LIST = 40  # an __init__.py up to this length that defines nothing is but a list

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


class Package:
    """The files of a package, and what they import from each other.

    Attributes
    ----------
    texts, trees : dict of str to str, dict of str to ast.Module
        What is in each module.

    folders : list of str
        Modules that are an ``__init__.py``, the package's own first.

    asked : dict of str to set of tuple
        What each module imports from the package, anywhere in it: pairs of a module and a
        name in it, or None for the module itself.

    imports : dict of str to set of str
        Modules that each module imports. A name that a folder's ``__init__.py`` hands on
        counts as imported from where it is defined.
    """

    def __init__(self, root):
        self.root, self.texts, self.folders = root, {}, []
        for path in sorted(root.rglob("*.py")):
            *parts, last = path.relative_to(root).with_suffix("").parts
            name = ".".join(parts if last == "__init__" else [*parts, last])
            self.texts[name] = path.read_text()
            if last == "__init__":
                self.folders.append(name)
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}
        self.asked = {name: self._asked_by(name) for name in self.trees}
        self.imports = {
            name: {self._home(base, what, {name}) for base, what in pairs} - {name}
            for name, pairs in self.asked.items()
        }

    def _asked_by(self, name):
        """What a module imports from the package: (module, name in it or None)."""
        top = self.root.name
        pairs = set()
        for node in ast.walk(self.trees[name]):
            if isinstance(node, ast.Import):
                dotted = [alias.name.split(".") for alias in node.names]
                pairs |= {(".".join(d[1:]), None) for d in dotted if d[0] == top}
            elif isinstance(node, ast.ImportFrom):
                base = node.module.split(".") if node.module else []
                if node.level:
                    folder = name.split(".") if name else []
                    n_up = node.level - (name in self.folders)
                    base = folder[: len(folder) - n_up] + base
                elif base.pop(0) != top:
                    continue
                pairs |= {(".".join(base), alias.name) for alias in node.names}
        return pairs

    def _home(self, base, what, seen):
        """The module that a name comes from."""
        if what is None:
            return base
        whole = f"{base}.{what}" if base else what
        if whole in self.trees:
            return whole
        if base in self.folders and base not in seen:
            for source, name in sorted(self.asked[base], key=str):
                if name == what:
                    return self._home(source, what, seen | {base})
        return base

    def crossings(self):
        """Yield (module, other module, name) for names that cross rooms."""
        for module, pairs in self.asked.items():
            for base, what in sorted(pairs, key=str):
                room = room_of(base or what)
                if module and base and room not in GROUND | {room_of(module)}:
                    yield module, base, what

    def units(self, folder):
        """Arrows between the files and folders that lie directly in a folder."""
        inside = {}
        for name in self.trees:
            if name == folder:
                if not self._is_list(name):
                    inside[name] = "__init__"
            elif not folder or name.startswith(f"{folder}."):
                inside[name] = name.removeprefix(f"{folder}.").split(".")[0]
        arrows = {unit: set() for unit in inside.values()}
        for name, unit in inside.items():
            arrows[unit] |= {inside[to] for to in self.imports[name] if to in inside}
        return {unit: targets - {unit} for unit, targets in arrows.items()}

    def _is_list(self, name):
        nodes = ast.walk(self.trees[name])
        defines = any(isinstance(node, FUNCTIONS | ast.ClassDef) for node in nodes)
        return not defines and self.n_lines(name) <= LINES_OF_A_LIST

    def n_lines(self, name):
        return len(self.texts[name].splitlines())


def room_of(module):
    return module.split(".")[0]


def shown(module):
    return module or "__init__"


def allowed(contributing):
    """The table of CONTRIBUTING.md: for each room the rooms that it may import."""
    rows, in_table = {}, False
    for line in contributing.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == ["room", "subject", "may import"]:
            in_table = True
        elif in_table and not line.startswith("|"):
            break
        elif in_table and not set(line) <= set("|-: "):
            rows |= {room: set(_quoted(cells[2])) for room in _quoted(cells[0])}
    return rows


def _quoted(cell):
    names = re.findall(r"`([^`]+)`", cell)
    return [name.removesuffix("/").removesuffix(".py") for name in names]


def circle(arrows):
    """A circle of arrows, as a list that ends where it begins, or None."""
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return None


# What is wrong


def against_the_table(package, contributing):
    rows, problems = allowed(contributing), []
    rooms = {room_of(name) for name in package.trees} - {""}
    problems += [f"{room} is not in the table" for room in sorted(rooms - set(rows))]
    problems += [f"{room} of the table is not there" for room in sorted(set(rows) - rooms)]
    for name, targets in package.imports.items():
        room = room_of(name)
        problems += [
            f"{name} imports {shown(target)}"
            for target in sorted(targets)
            if room in rows and room_of(target) not in rows[room] | {room} | GROUND
        ]
    if circle(rows):
        problems.append("the table allows the circle " + " -> ".join(circle(rows)))
    return problems


def with_circles(package):
    graphs = {"files": package.imports}
    graphs |= {f"{shown(name)}/": package.units(name) for name in package.folders}
    return [
        f"{where}: " + " -> ".join(map(shown, circle(arrows)))
        for where, arrows in graphs.items()
        if circle(arrows)
    ]


def private_elsewhere(package):
    """Private names, or whole modules, that are taken from another room."""
    return [
        f"{module} takes {what} from {base}, which is private there"
        for module, base, what in package.crossings()
        if what is None or what.startswith("_")
    ]


def refuse(problems):
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture(scope="module")
def ours():
    return Package(ROOT / "sklearn_talr")


def test_rooms_import_what_the_table_of_contributing_allows(ours):
    refuse(against_the_table(ours, CONTRIBUTING))


def test_what_is_private_stays_in_its_room(ours):
    refuse(private_elsewhere(ours))


def test_metrics_and_losses_know_nothing_of_each_other(ours):
    """Also not by way of other rooms."""
    arrows = ours.units("")
    for room, other in [("metrics", "losses"), ("losses", "metrics")]:
        reached, rest = set(), {room}
        while rest:
            reached |= rest
            rest = set().union(*(arrows[unit] for unit in rest)) - reached
        assert other not in reached


def test_there_is_no_circle(ours):
    refuse(with_circles(ours))


# That each of these can fail


@pytest.fixture
def made(tmp_path):
    """Makes a package of files, given by their paths and texts."""

    def write(files):
        for path, text in {"__init__.py": "", **files}.items():
            (tmp_path / "made" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "made" / path).write_text(text)
        return Package(tmp_path / "made")

    return write


def test_imports_are_found_wherever_they_stand(made):
    package = made(
        {
            "a.py": "import os\nfrom made import b\nimport made.c.d as d\n",
            "b.py": "def f():\n    from .c import inner, handed\n    from . import c\n",
            "c/__init__.py": "if CHECKING:\n    from .f import handed\n",
            "c/d.py": "from .. import unknown\nfrom .f import g\nfrom .. import a\n",
            "c/f.py": "from made.c import nothing\nfrom ..c.d import x\nimport numpy\n",
            "c/g/__init__.py": "from ..f import y\nfrom ... import b\nfrom os import path",
        }
    )
    assert package.imports == {
        "": set(),
        "a": {"b", "c.d"},
        "b": {"c", "c.f"},
        "c": {"c.f"},
        "c.d": {"", "c.f", "a"},
        "c.f": {"c", "c.d"},
        "c.g": {"c.f", "b"},
    }


TABLE = """
| room | subject | may import |
|---|---|---|
| `a.py`, `g.py` | first | |
| `b/` | second | `a` (only once) |
| `c/` | third | `a`, `b` |

| `d` | another table | `e` |
"""


def test_the_table_is_held(made, tmp_path):
    contributing = tmp_path / "CONTRIBUTING.md"
    contributing.write_text(TABLE)
    assert allowed(contributing) == {"a": set(), "b": {"a"}, "c": {"a", "b"}, "g": set()}
    files = {
        "a.py": "",
        "b/__init__.py": "from ..a import x",
        "c/__init__.py": "",
        "c/d.py": "from ..b import y\nfrom . import z\n",
        "g.py": "",
    }
    assert against_the_table(made(files), contributing) == []
    wrong = made({**files, "b/e.py": "from ..c.d import z", "f.py": "from . import a"})
    problems = ["f is not in the table", "b.e imports c.d"]
    assert against_the_table(wrong, contributing) == problems
    contributing.write_text(
        TABLE.replace("first | |", "first | `c` |\n| `f`, `h` | | `a` |")
    )
    missing, *problems, ring = against_the_table(wrong, contributing)
    assert missing == "h of the table is not there"
    assert problems == ["b.e imports c.d"]
    assert ring.startswith("the table allows the circle ")


def test_private_names_of_other_rooms_are_found(made):
    files = {
        "_arrays.py": "",
        "a/__init__.py": "from ._x import open",
        "a/_x.py": "from .._arrays import _f",
        "b/__init__.py": "from ..a import open\nfrom ..a._x import inner\n",
        "b/y.py": "def f():\n    from made.a._x import _inner\n    from ..a import _x",
    }
    package = made(files)
    assert package.imports["b"] == {"a._x"}
    assert private_elsewhere(package) == [
        "b.y takes _x from a, which is private there",
        "b.y takes _inner from a._x, which is private there",
    ]


def test_circles_are_found(made):
    files = {f"hashing/m{i}.py": f"from .m{i + 1} import x" for i in range(5)}
    files |= {"hashing/__init__.py": "from .m0 import x\ndef f(): x()\n"}
    assert with_circles(made({**files, "hashing/m5.py": ""})) == []
    package = made({**files, "hashing/m5.py": "def f():\n    from . import m3\n"})
    assert set(circle(package.imports)) == {"hashing.m3", "hashing.m4", "hashing.m5"}
    assert [each.split(":")[0] for each in with_circles(package)] == ["files", "hashing/"]


def test_circles_of_folders_are_found_where_files_have_none(made):
    package = made(
        {
            "a/__init__.py": "",
            "a/x.py": "from ..b import z",
            "a/y.py": "",
            "b/__init__.py": "",
            "b/z.py": "",
            "b/w.py": "from ..a import y",
        }
    )
    assert circle(package.imports) is None
    assert [each.split(":")[0] for each in with_circles(package)] == ["__init__/"]
