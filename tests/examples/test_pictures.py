"""Pictures of the guide: one style, and a description of each."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

from sklearn_talr.metrics._displays import _axes

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*DOCS.glob("*.rst"), *(DOCS / "user_guide").glob("*.rst")]
DRAWN = {path.name for path in (DOCS / "plots").glob("*.py")} - {"digits.py"}
EXAMPLES = sorted((DOCS.parent / "examples").glob("*/*.py"))


def plots(page):
    """Names of the scripts that a page draws, with the options of each."""
    directive = r"\.\. plot:: (\S+)\n((?: {3}.*\n)+)"
    return re.findall(directive, page.read_text(encoding="utf-8"))


def test_the_style_has_the_palette_of_the_displays():
    style = mpl.rc_params_from_file(DOCS / "talr.mplstyle", use_default_template=False)
    cycle = style["axes.prop_cycle"].by_key()
    assert cycle == {"color": _axes._COLORS, "linestyle": _axes._LINES}


def test_every_picture_is_shown():
    assert {name for page in PAGES for name, _ in plots(page)} == DRAWN


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_have_a_caption_and_words_for_who_cannot_see_them(page):
    text = page.read_text(encoding="utf-8")
    assert text.count(".. plot::") == len(plots(page))
    for name, options in plots(page):
        assert ":alt:" in options, name
        assert ":caption:" in options, name


def numbers(text):
    return set(re.findall(r"\d+(?:\.\d+)?", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_words_of_learned_pictures_hold_on_every_processor(page):
    """They name what their script names, and of what it learns no more than a tenth."""
    shared = (DOCS / "plots" / "digits.py").read_text(encoding="utf-8")
    for name, options in plots(page):
        script = (DOCS / "plots" / name).read_text(encoding="utf-8")
        if "import digits" in script:
            found = numbers(options) - numbers(script + shared)
            assert {
                number for number in found if not re.fullmatch(r"0\.\d", number)
            } == set()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_name_their_chapter(example):
    introduction = example.read_text(encoding="utf-8").split('"""')[1]
    chapters = re.findall(r":doc:`/([^`]*)`", introduction)
    assert chapters
    for chapter in chapters:
        assert (DOCS / f"{chapter}.rst").exists()
