"""Draw how_it_works.png, the picture of README.md, with the script that the guide uses.

    python docs/_static/draw_how_it_works.py

prints the alternative text of the picture, which README.md repeats;
tests/docs/test_readme.py compares the two.
"""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]


def main():
    sys.path[:0] = [str(DOCS), str(DOCS / "plots")]
    import picture_style
    import picture_words

    plt.switch_backend("agg")
    picture_style.set_style(None, None)
    runpy.run_path(str(DOCS / "plots" / "how_it_works.py"))
    plt.savefig(Path(__file__).with_name("how_it_works.png"), dpi=144)
    print(picture_words.take_words())


if __name__ == "__main__":
    main()
