"""A handwritten five and its ten nearest images by three codes of 16 bits: by codes learned
by ranking (TALR, two stages) all are fives, by codes learned without labels (ITQ) most, and
by random codes (LSH) about half.
"""

import digits
import matplotlib.pyplot as plt

from sklearn_talr import HammingNeighbors
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

GREEN, RED = "#009E73", "#D55E00"
# Its average precision is near the mean of each hasher. It is a number and not computed, so
# that the picture shows the same digit whatever the last digits of training are.
QUERY = 188
METHODS = ["TALR, two stages", "ITQ", "LSH"]
rows = digits.split()


def show(ax, image, color="black", linestyle="-"):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=color, linewidth=2.2, linestyle=linestyle)
        spine.set_capstyle("projecting" if linestyle == "-" else "butt")  # keeps gaps open


def draw_row(cells, found, is_right):
    for ax, item, right in zip(cells, found, is_right):
        show(
            ax, rows.X_database[item], *([GREEN, "-"] if right else [RED, (0, (1.4, 0.8))])
        )
        if not right:
            style = {"color": RED, "ha": "right", "weight": "bold", "fontsize": 15}
            ax.text(7.3, 1.6, "$\\times$", **style)


figure = plt.figure(figsize=(6, 2.6))
figure.get_layout_engine().set(rect=(0.005, 0.005, 0.99, 0.99))
side, main = figure.subfigures(1, 2, width_ratios=[1, 7.6])
_, ax_query, note = side.subplots(3, 1)
_.axis("off")
note.axis("off")
show(ax_query, rows.X_query[QUERY])
ax_query.set_title("query", fontsize=12, pad=4)
hashers = {"TALR, two stages": digits.two_stages()} | digits.hashers()
for panel, name in zip(main.subfigures(3, 1), METHODS):
    of_query, of_database = digits.codes(hashers[name])
    table = hamming_histogram(of_query, of_database, "auto", rows.y_query, rows.y_database)
    index = HammingNeighbors(n_neighbors=10).fit(of_database)
    found = index.kneighbors(of_query[[QUERY]], return_distance=False)[0]
    is_right = rows.y_database[found] == rows.y_query[QUERY]
    ap = AP.of(table).mean()
    title = f"{name}: {is_right.sum()} of 10 right, mean AP {ap:.2f}"
    style = {"weight": "bold" if name == METHODS[0] else "normal", "ha": "left", "x": 0.005}
    panel.suptitle(title, fontsize=12, **style)
    panel.get_layout_engine().set(h_pad=0.01, w_pad=0.02, hspace=0, wspace=0.02)
    draw_row(panel.subplots(1, 10), found, is_right)
plt.show()
