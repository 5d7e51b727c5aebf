"""Draw how_it_works.png, the picture of README.md, with the script that the guide uses.

    python docs/_static/draw_how_it_works.py

README.md has the docstring of that script as alternative text; a test compares both.
"""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]


def main():
    """Draw the picture and save it beside this file."""
    sys.path[:0] = [str(DOCS), str(DOCS / "plots")]
    import picture_style

    plt.switch_backend("agg")
    picture_style.set_style(None, None)
    runpy.run_path(str(DOCS / "plots" / "how_it_works.py"))
    plt.savefig(Path(__file__).with_name("how_it_works.png"), dpi=144)


if __name__ == "__main__":
    main()
