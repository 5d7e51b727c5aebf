"""
Image retrieval: four hashers with 16 bits
==========================================

A photograph of a shirt is a query for similar photographs. In this example, four hashers
encode photographs of clothes in 16 bits (two bytes) each, and their search results are
compared. :doc:`/user_guide/what_hashing_is` introduces the terms.

The photographs are from Fashion-MNIST, with 28 x 28 gray pixels. Debian's package
``dataset-fashion-mnist`` installs them; ``--fashion-mnist`` on the command line fetches
them from OpenML. Without either the example takes scikit-learn's handwritten digits, and
says so.
"""

# %%
# Queries, training rows and database
# -----------------------------------
# 1 000 photographs are queries, 3 000 others are training rows, and 10 000 more are the
# database. So no hasher is trained on a query or on an item of the database.

import gzip
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml, load_digits
from sklearn.model_selection import train_test_split

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
CLOTHES = (
    "T-shirt",
    "trousers",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "boot",
)


def read_idx(name, n_header):
    """The bytes of one of Debian's files after its header."""
    with gzip.open(DEBIAN / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=n_header)


def load_images():
    """Images as rows of gray values, their labels, and the names of the labels."""
    if DEBIAN.is_dir():
        X = read_idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 28 * 28)
        return X, read_idx("train-labels-idx1-ubyte.gz", 8), CLOTHES
    if "--fashion-mnist" in sys.argv:
        X, y = fetch_openml("Fashion-MNIST", version=1, return_X_y=True, as_frame=False)
        return X, y.astype(int), CLOTHES
    print("Fashion-MNIST is not installed: these are handwritten digits.")
    return *load_digits(return_X_y=True), tuple("0123456789")


X, y, names = load_images()
X, y = X[:14_000].astype(np.float32), y[:14_000]
X_rest, X_query, y_rest, y_query = train_test_split(
    X, y, test_size=len(X) // 14, stratify=y, random_state=0
)
X_database, X_train, y_database, y_train = train_test_split(
    X_rest, y_rest, test_size=3 * len(X) // 14, stratify=y_rest, random_state=0
)
print(f"{len(X_query)} queries, {len(X_train)} training rows, {len(X_database)} to search")

# %%
# Four hashers
# ------------
# LSH uses random directions, ITQ learns without labels, and TALR learns to rank images of
# the same class first. TALR is trained on the pixels, and in two stages on the class
# probabilities of a classifier (:doc:`/user_guide/train_with_labels`). The table shows the
# mean average precision of the queries: the mean over all orders of tied images, and the
# values of the worst and the best order.

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.hashing import ClassProbabilities, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_breaking_range

N_BITS = 16
hashers = {
    "LSH": [LSHHasher(N_BITS, random_state=0)],
    "ITQ": [ITQHasher(N_BITS, random_state=0)],
    "TALR": [TALRHasher(N_BITS, max_iter=20, random_state=0)],
}
hashers["TALR, two stages"] = [ClassProbabilities(), *hashers["TALR"]]
codes = {}
print(f"\n{'average precision':20s}{'worst':>8s}{'expected':>10s}{'best':>8s}")
for name, steps in hashers.items():
    model = make_pipeline(StandardScaler(), *steps).fit(X_train, y_train)
    codes[name] = model.transform(X_query), model.transform(X_database)
    table = hamming_histogram(*codes[name], "auto", y_query, y_database)
    worst, expected, best = (values.mean() for values in tie_breaking_range(table))
    print(f"{name:20s}{worst:8.3f}{expected:10.3f}{best:8.3f}")

# %%
# What they find
# --------------
# The first photographs of three kinds ask, and
# :class:`~sklearn_talr.neighbors.HammingNeighbors` finds the eight nearest codes. The
# number above each image is its Hamming distance. A dashed frame and a cross mark another
# kind.

import matplotlib.pyplot as plt

from sklearn_talr import HammingNeighbors

GREEN, RED = "#009E73", "#D55E00"
N_FOUND = 8


def draw(ax, image, color="black", dashes="-"):
    side = round(len(image) ** 0.5)
    ax.imshow(image.reshape(side, side), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=color, linestyle=dashes, linewidth=2)
        spine.set_capstyle("projecting" if dashes == "-" else "butt")  # keeps gaps open


figure = plt.figure(figsize=(6.4, 9.4), layout="constrained")
kinds = [6, 4, 7]  # shirts, coats and sneakers; or these digits
queries = [np.flatnonzero(y_query == kind)[0] for kind in kinds]
for panel, (name, (of_query, of_database)) in zip(
    figure.subfigures(len(codes), 1), codes.items()
):
    index = HammingNeighbors(n_neighbors=N_FOUND).fit(of_database)
    distances, found = index.kneighbors(of_query[queries])
    right = y_database[found] == y_query[queries][:, None]
    panel.suptitle(f"{name}: {right.sum()} of {right.size} right", weight="bold")
    cells = panel.subplots(len(queries), N_FOUND + 1)
    for row, query in enumerate(queries):
        draw(cells[row, 0], X_query[query])
        kind = names[y_query[query]]
        cells[row, 0].set_ylabel(kind, rotation=0, ha="right", va="center")
        for ax, item, distance, is_right in zip(
            cells[row, 1:], found[row], distances[row], right[row]
        ):
            style = (GREEN, "-") if is_right else (RED, (0, (1.4, 0.8)))
            draw(ax, X_database[item], *style)
            mark = "" if is_right else r" $\times$"
            ax.set_title(f"{distance}{mark}", color=style[0], fontsize=11, pad=2)
figure.savefig("image_retrieval.png", dpi=150)
print("\nFigure saved as image_retrieval.png")

# %%
# Shirts are hard for all four, because they look like coats, pullovers and T-shirts. Where
# many items are tied at distance 0, as here, longer codes tell more apart.
# :ref:`sphx_glr_auto_examples_first_steps_plot_quickstart.py` shows how to choose the
# length, and :doc:`/user_guide/search` how to search.
