"""Draw retrieval.png, the picture of README.md, by the script that draws it in the guide.

python docs/_static/draw_retrieval.py
"""

import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parents[1]


def main():
    sys.path[:0] = [str(DOCS), str(DOCS / "plots")]
    import picture_style

    plt.switch_backend("agg")
    picture_style.set_style(None, None)
    runpy.run_path(str(DOCS / "plots" / "one_query.py"))
    plt.savefig(Path(__file__).with_name("retrieval.png"), dpi=100)


if __name__ == "__main__":
    main()
