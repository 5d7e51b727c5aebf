"""What the build adds to pages: words of figures, scopes of header cells."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
WORDS = runpy.run_path(str(DOCS / "picture_words.py"))
MARKUP = runpy.run_path(str(DOCS / "site_markup.py"))


def test_a_figure_is_read_off_what_it_draws():
    figure, (left, right) = plt.subplots(1, 2)
    left.plot([2, 4, 8], [np.nan, 0.25, 0.5], label="ITQ")
    left.axvline(5)
    left.set(xlabel="bits", ylabel="average $precision$", title="Lines")
    right.bar([0, 1, 2], [3, 7, 5], label="same digit")
    right.set(xlabel="distance")
    figure.suptitle("Two\npanels")
    assert WORDS["read_figure"](figure) == (
        "Two panels; Lines: average precision against bits: ITQ from .25 to .5; "
        "distance: same digit is highest, 7, at 1."
    )
    plt.close(figure)


def test_values_may_lie_along_x():
    figure, ax = plt.subplots()
    ax.plot([0.3, 0.7], [0, 1], "o", label="LSH")
    ax.set(xlabel="mean")
    assert WORDS["read_figure"](figure) == "Mean: LSH from .3 to .7."
    plt.close(figure)


def test_images_are_counted_by_rows():
    figure, axes = plt.subplots(2, 2)
    for ax in axes.flat:
        ax.imshow([[0, 1]])
    axes[0, 0].set_ylabel("right")
    axes[1, 0].set_ylabel("wrong")
    assert WORDS["read_figure"](figure) == "4 images in rows for right, wrong."
    plt.close(figure)


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (10, "all"),
        (9, "nearly all"),
        (7, "most"),
        (4, "about half"),
        (2, "few"),
        (0, "none"),
    ],
)
def test_shares_are_words(part, word):
    assert WORDS["share"](part, 10) == word


def test_words_are_taken_once():
    WORDS["describe"]("One line\n   and", "another.")
    assert WORDS["take_words"]() == "One line and another."
    assert WORDS["take_words"]() is None


def test_measures_have_a_point_first():
    assert WORDS["measure"](0.62, 2) == ".62"
    assert WORDS["measure"](1.0) == "1.0"


def test_header_cells_get_a_scope():
    table = (
        '<thead><tr><th class="head">a</th><th scope="colgroup">b</th></tr></thead>'
        '<tbody><tr><th class="stub">c</th><td>d</td></tr></tbody>'
    )
    context = {"body": table}
    MARKUP["give_scopes"](SimpleNamespace(), "page", "page.html", context, None)
    assert context["body"] == (
        '<thead><tr><th scope="col" class="head">a</th><th scope="colgroup">b</th></tr>'
        '</thead><tbody><tr><th scope="row" class="stub">c</th><td>d</td></tr></tbody>'
    )


def test_the_style_sheet_is_whole():
    """A browser skips what it cannot read and says nothing, such as marks of a merge."""
    sheet = (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
    assert sheet.count("{") == sheet.count("}")
    assert not [
        line for line in sheet.splitlines() if line.startswith(("<<<", "===", ">>>"))
    ]
