"""The tables of "Choose a method" are those of the stored results."""

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMPARISON = ROOT / "benchmarks" / "comparison"
PAGE = ROOT / "docs" / "user_guide" / "choose.rst"
NAMES = "choice", "classifier", "scaling", "small"


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
    """Two stages lead on the four large sets, and ITQ is last.

    A hidden layer is ahead of a linear function where an item has one label.
    """
    for name in ("cifar10", "coco17", "tmc2007", "fashion_mnist"):
        two, hidden, linear, itq = (
            render.of_new_rows(name, *method) for _, method, _ in render.CHOICES[1:]
        )
        assert two > max(hidden, linear) > min(hidden, linear) > itq + 0.1
        assert (hidden > linear) == (name in ("cifar10", "fashion_mnist"))
    scenes = render.Results(render.RESULTS / "scenes-defaults.csv")
    methods = [method for *_, method in render.CHOICES[2:4]]
    hidden, linear = (render.mean(scenes, method, "ndcg") for method in methods)
    assert linear > hidden
