"""Pictures of the guide as their scripts draw them, and the words these say of them."""

import os
import runpy
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1] / "docs"
METHOD_STYLES = runpy.run_path(str(DOCS / "method_styles.py"))
SCRIPTS = sorted({path.name for path in (DOCS / "plots").glob("*.py")} - {"digits.py"})


@contextmanager
def as_in_the_build():
    """The folder, path, backend and style in which Sphinx runs scripts of pictures."""
    here, backend = Path.cwd(), mpl.get_backend()
    path = [str(DOCS), str(DOCS / "plots"), *sys.path]
    plt.switch_backend("agg")
    os.chdir(DOCS / "plots")
    try:
        with mock.patch.object(sys, "path", path), mpl.rc_context():
            import picture_style

            picture_style.set_style(None, None)
            yield
    finally:
        os.chdir(here)
        plt.close("all")
        plt.switch_backend(backend)


@cache
def draw(script):
    """Words that a script says of its picture, and label, color and marker of lines."""
    with as_in_the_build():
        import picture_words

        picture_words.take_words()
        runpy.run_path(script)
        figures = [plt.figure(number) for number in plt.get_fignums()]
        return picture_words.take_words(), [each for f in figures for each in styles(f)]


def styles(figure):
    """Label, color and marker of each line of a figure that has a label."""
    for axes in figure.axes:
        for line in axes.lines:
            if not str(line.get_label()).startswith("_"):
                yield str(line.get_label()), line.get_color(), line.get_marker()


def check_styles(drawn):
    """Lines that have the name of a method have its color and marker, or no marker."""
    for label, color, marker in drawn:
        style = METHOD_STYLES["style_of"](label)
        if label in METHOD_STYLES["NAMES"]:
            assert mpl.colors.same_color(color, style["color"]), label
            assert marker in (style["marker"], "None", "none"), label
