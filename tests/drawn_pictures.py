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
    """Words that a script says of its picture."""
    with as_in_the_build():
        import picture_words

        picture_words.take_words()
        runpy.run_path(script)
        return picture_words.take_words()
