"""The tables of "Choose a method" are those of the stored results."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPARISON = ROOT / "benchmarks" / "comparison"
PAGE = ROOT / "docs" / "user_guide" / "choose.rst"
NAMES = "choice", "classifier", "scaling"


@pytest.fixture(scope="module")
def render():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(COMPARISON))
        patch.setenv("MPLBACKEND", "agg")
        yield import_module("render_choice")


def test_tables_are_rendered_from_the_results(render):
    texts = render.texts()
    assert tuple(texts) == NAMES
    for name, text in texts.items():
        assert (render.PAGE / f"{name}.txt").read_text(encoding="utf-8") == text


def test_the_page_shows_each_table():
    page = PAGE.read_text(encoding="utf-8")
    for name in NAMES:
        assert f".. include:: comparison/{name}.txt" in page


def test_what_the_page_says_of_the_tables(render):
    """Two stages lead wherever there are labels; a hidden layer is next; ITQ is last."""
    for name in render.SETS:
        found = render.Results(render.RESULTS / f"{name}-defaults.csv")
        column = "ndcg" if name == "scenes" else "ap"
        two, hidden, linear, itq = (
            render.mean(found, method, column) for _, method, *_ in render.CHOICES[1:]
        )
        if name == "scenes":
            assert two is None
            assert linear > hidden
        else:
            assert two > hidden > linear > itq + 0.1
