"""Pictures of the guide have a caption and an alternative text; examples name chapters."""

import ast
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*DOCS.glob("*.rst"), *(DOCS / "user_guide").glob("*.rst")]
SCRIPTS = sorted(set((DOCS / "plots").glob("*.py")) - {DOCS / "plots" / "digits.py"})
EXAMPLES = sorted((DOCS.parent / "examples").glob("*/*.py"))


def plots(page):
    """Names of the scripts that a page draws, with the options of each."""
    directive = r"\.\. plot:: (\S+)\n((?: {3}.*\n)+)"
    return re.findall(directive, page.read_text(encoding="utf-8"))


def test_every_picture_is_shown():
    shown = {name for page in PAGES for name, _ in plots(page)}
    assert shown == {script.name for script in SCRIPTS}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_have_a_caption(page):
    text = page.read_text(encoding="utf-8")
    assert text.count(".. plot::") == len(plots(page))
    for name, options in plots(page):
        assert ":caption:" in options, name
        assert ":alt:" not in options, f"{name}: its docstring is the alternative text"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_docstring_of_a_script_describes_its_picture(script):
    """docs/conf.py makes the docstring the alternative text."""
    words = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8")))
    assert 60 < len(words) < 500
    assert words[0].isupper()
    assert words.endswith(".")
    assert not re.search(r"[$\\`*]", words)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_name_their_chapter(example):
    introduction = example.read_text(encoding="utf-8").split('"""')[1]
    chapters = re.findall(r":doc:`/([^`]*)`", introduction)
    assert chapters
    for chapter in chapters:
        assert (DOCS / f"{chapter}.rst").exists()
