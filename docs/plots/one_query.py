"""One query and its 20 nearest database images, by three codes of 16 bits.

The query is the one whose average precision is nearest to the mean, for all three at once.
"""

import digits
import matplotlib.pyplot as plt
import numpy as np

from sklearn_talr import HammingNeighbors
from sklearn_talr.metrics import tie_aware_average_precision

GREEN, RED = "#009E73", "#D55E00"
rows = digits.split()


def typical_query():
    aps = [tie_aware_average_precision(table) for table in digits.histograms().values()]
    gaps = [ap - ap.mean() for ap in aps]
    return np.argmin(np.square(gaps).sum(axis=0))


def show(ax, image, title="", color="black", linestyle="-"):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set_title(title, color=color, fontsize=12, pad=3)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=color, linewidth=2.5, linestyle=linestyle)
        spine.set_capstyle("projecting" if linestyle == "-" else "butt")  # keeps gaps open


query = typical_query()
figure = plt.figure(figsize=(5.8, 7.4))
figure.get_layout_engine().set(rect=(0.01, 0.01, 0.98, 0.98))
head, *panels = figure.subfigures(4, 1, height_ratios=[0.6, 1, 1, 1])
ax_query, text = head.subplots(1, 2, width_ratios=[1, 4.5])
show(ax_query, rows.X_query[query], "query")
text.axis("off")
text.text(
    0,
    0.5,
    "The 20 nearest by codes of 16 bits.\nAbove each: its Hamming distance.\n"
    "Dashed frame and $\\times$: another digit.",
    va="center",
    linespacing=1.4,
)
for panel, (name, hasher) in zip(panels, digits.hashers().items()):
    of_query, of_database = digits.codes(hasher)
    index = HammingNeighbors(n_neighbors=20).fit(of_database)
    distances, found, tied = index.kneighbors(of_query[[query]], return_tied=True)
    is_right = rows.y_database[found[0]] == rows.y_query[query]
    last = f"{len(tied[0])} items tied at {distances[0, -1]}"
    title = f"{name}: {is_right.sum()} of 20 right, {last}"
    panel.suptitle(title, fontsize=13, weight="bold")
    panel.get_layout_engine().set(h_pad=0.01, w_pad=0.03, hspace=0, wspace=0.02)
    cells = panel.subplots(2, 10).ravel()
    for ax, item, distance, right in zip(cells, found[0], distances[0], is_right):
        frame = ("", GREEN, "-") if right else (" $\\times$", RED, (0, (1.4, 0.8)))
        show(ax, rows.X_database[item], f"{distance}{frame[0]}", *frame[1:])
plt.show()
