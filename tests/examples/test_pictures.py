"""Pictures of the guide: one style, and a description of each."""

import re
from pathlib import Path

import pytest
from drawn_pictures import SCRIPTS, draw

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [*DOCS.glob("*.rst"), *(DOCS / "user_guide").glob("*.rst")]
EXAMPLES = sorted((DOCS.parent / "examples").glob("*/*.py"))


def plots(page):
    """Names of the scripts that a page draws, with the options of each."""
    directive = r"\.\. plot:: (\S+)\n((?: {3}.*\n)+)"
    return re.findall(directive, page.read_text(encoding="utf-8"))


def test_every_picture_is_shown():
    assert {name for page in PAGES for name, _ in plots(page)} == set(SCRIPTS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pictures_have_a_caption_and_their_words_come_from_the_script(page):
    text = page.read_text(encoding="utf-8")
    assert text.count(".. plot::") == len(plots(page))
    for name, options in plots(page):
        assert ":caption:" in options, name
        assert ":alt:" not in options, f"{name}: use picture_words.describe in the script"


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_say_what_they_have_drawn(script):
    if "torch" in (DOCS / "plots" / script).read_text(encoding="utf-8"):
        pytest.importorskip("torch")
    words = draw(script)
    assert 60 < len(words) < 500
    assert words[0].isupper()
    assert words.endswith(".")
    assert not re.search(r"\bnan\b|\s\s|[$\\]|array\(", words)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_name_their_chapter(example):
    introduction = example.read_text(encoding="utf-8").split('"""')[1]
    chapters = re.findall(r":doc:`/([^`]*)`", introduction)
    assert chapters
    for chapter in chapters:
        assert (DOCS / f"{chapter}.rst").exists()
