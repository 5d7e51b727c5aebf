"""A handwritten nine and its 20 nearest images by three kinds of codes: about half are
right with LSH, most with ITQ, and nearly all with TALR. The Hamming distance stands above
each image. The title of each list counts the items tied at its last distance.
"""

import digits
import matplotlib.pyplot as plt

from sklearn_talr import HammingNeighbors

GREEN, RED = "#009E73", "#D55E00"
# Its average precision is near the mean of each hasher. It is a number and not computed, so
# that the picture shows the same digit whatever the last digits of training are.
QUERY = 216
rows = digits.split()


def show(ax, image, title="", color="black", linestyle="-"):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set_title(title, color=color, fontsize=12, pad=3)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=color, linewidth=2.5, linestyle=linestyle)
        spine.set_capstyle("projecting" if linestyle == "-" else "butt")  # keeps gaps open


figure = plt.figure(figsize=(5.8, 7.4))
figure.get_layout_engine().set(rect=(0.01, 0.01, 0.98, 0.98))
head, *panels = figure.subfigures(4, 1, height_ratios=[0.6, 1, 1, 1])
ax_query, text = head.subplots(1, 2, width_ratios=[1, 4.5])
show(ax_query, rows.X_query[QUERY], "query")
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
    distances, found, tied = index.kneighbors(of_query[[QUERY]], return_tied=True)
    is_right = rows.y_database[found[0]] == rows.y_query[QUERY]
    last = f"{len(tied[0])} items tied at {distances[0, -1]}"
    title = f"{name}: {is_right.sum()} of 20 right, {last}"
    panel.suptitle(title, fontsize=13, weight="bold")
    panel.get_layout_engine().set(h_pad=0.01, w_pad=0.03, hspace=0, wspace=0.02)
    cells = panel.subplots(2, 10).ravel()
    for ax, item, distance, right in zip(cells, found[0], distances[0], is_right):
        frame = ("", GREEN, "-") if right else (" $\\times$", RED, (0, (1.4, 0.8)))
        show(ax, rows.X_database[item], f"{distance}{frame[0]}", *frame[1:])
plt.show()
