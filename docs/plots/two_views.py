"""Four left halves of digits, and the nine nearest right halves by two hashers. Most are of
the right digit with the hasher trained on halves that belong together, and nearly all with
the hasher trained on labels of both sides.
"""

import digits
import matplotlib.pyplot as plt

from sklearn_talr.hashing import CrossViewHasher
from sklearn_talr.neighbors import HammingNeighbors

GREEN, RED = "#009E73", "#D55E00"
QUERIES = [3, 0, 5, 2]  # numbers, so that the picture shows the same ones everywhere
rows = digits.split()


def halves(X):
    """Left and right halves of images."""
    images = X.reshape(-1, 8, 8)
    return images[:, :, :4].reshape(-1, 32), images[:, :, 4:].reshape(-1, 32)


def show(ax, image, title="", color="black", linestyle="-"):
    ax.imshow(image.reshape(8, 4), cmap="gray_r")
    ax.set_title(title, color=color, fontsize=11, pad=3)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=color, linewidth=2, linestyle=linestyle)


of_queries, of_items = halves(rows.X_train)
queries, _ = halves(rows.X_query[QUERIES])
_, items = halves(rows.X_database)
by_partners, by_labels = (CrossViewHasher(16, max_iter=20, random_state=0) for _ in "12")
hashers = {
    "trained on halves that belong together": by_partners.fit(of_items, X_query=of_queries),
    "trained on labels of both sides": by_labels.fit(
        of_items, rows.y_train, X_query=of_queries, y_query=rows.y_train
    ),
}

figure = plt.figure(figsize=(5.8, 7.6))
for panel, (name, hasher) in zip(figure.subfigures(2, 1), hashers.items()):
    index = HammingNeighbors(n_neighbors=9).fit(hasher.encode(items))
    distances, found = index.kneighbors(hasher.encode_query(queries))
    panel.suptitle(name[0].upper() + name[1:], fontsize=13, weight="bold")
    panel.get_layout_engine().set(h_pad=0.03, w_pad=0.01, hspace=0, wspace=0.02)
    cells = panel.subplots(len(QUERIES), 11, width_ratios=[1, 0.3, *[1] * 9])
    for line, query, label, distance, places in zip(
        cells, queries, rows.y_query[QUERIES], distances, found
    ):
        show(line[0], query, "query" if line is cells[0] else "")
        line[1].axis("off")
        for ax, item, d in zip(line[2:], places, distance):
            right = rows.y_database[item] == label
            frame = (GREEN, "-") if right else (RED, (0, (1.4, 0.8)))
            show(ax, items[item], f"{d}" if right else f"{d} $\\times$", *frame)
plt.show()
