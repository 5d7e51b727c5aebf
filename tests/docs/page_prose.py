"""The prose of pages and docstrings: what is left without code, formulas and outputs."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT = {"_build", "generated", "auto_examples"}
CODE = re.compile(r" *\.\. (code-block|code|math|parsed-literal|toctree|raw|include)::")
INLINE = re.compile(r"``.+?``|:math:`[^`]+`", re.DOTALL)


@cache
def pages():
    """Text of every page that is written by hand, by its path under ``docs``."""
    paths = [path for path in DOCS.rglob("*.rst") if not BUILT & set(path.parts)]
    return {
        path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in sorted(paths)
    }


@cache
def docstrings():
    """Docstrings of the package, by their place: the file, and what they belong to."""
    found = {}
    for path in sorted((ROOT / "sklearn_talr").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        kinds = ast.Module, ast.ClassDef, ast.FunctionDef
        for node in ast.walk(tree):
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                name = getattr(node, "name", "module")
                found[f"{path.relative_to(ROOT).as_posix()}: {name}"] = text
    return found


def prose(text):
    """The text with code, formulas and outputs as blanks, so that places stay the same."""
    lines, blank_from, in_doctest = [], None, False
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            in_doctest = False
        elif blank_from is not None and indent <= blank_from:
            blank_from = None
        if blank_from is None and line.lstrip().startswith(">>> "):
            in_doctest = True
        is_code = in_doctest or blank_from is not None
        is_directive = line.lstrip().startswith(".. ")
        if not is_code and CODE.match(line):
            blank_from, is_code = indent, True
        elif not is_code and line.endswith("::") and not is_directive:
            blank_from = indent
        lines.append(" " * len(line) if is_code else line)
    return INLINE.sub(lambda found: re.sub(r"\S", " ", found[0]), "\n".join(lines))


def line_of(text, place):
    """Number of the line in which a place of the text is."""
    return text.count("\n", 0, place) + 1
