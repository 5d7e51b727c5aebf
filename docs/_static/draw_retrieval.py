"""Draw retrieval.png, the picture of README.md, by the script that draws it in the guide.

    python docs/_static/draw_retrieval.py

prints the words that README.md has for it; tests/docs/test_readme.py holds them together.
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
    runpy.run_path(str(DOCS / "plots" / "landing.py"))
    plt.savefig(Path(__file__).with_name("retrieval.png"), dpi=144)
    print(picture_words.take_words())


if __name__ == "__main__":
    main()
