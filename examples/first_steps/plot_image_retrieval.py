"""
Image retrieval: four hashers with 16 bits
==========================================

This example encodes photographs of clothes in 16 bits with four hashers, and compares the
search results. :doc:`/user_guide/what_hashing_is` introduces the terms.

The photographs are from Fashion-MNIST. Debian's package ``dataset-fashion-mnist`` installs
them, and the option ``--fashion-mnist`` fetches them from OpenML. Without them the example
uses scikit-learn's handwritten digits.
"""

# %%
# Queries, training rows and database
# -----------------------------------
# 1 000 photographs are queries, 3 000 are training rows, and 10 000 are the database. No
# hasher is trained on a query or on an item of the database.

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
    """Return the bytes of a file of Debian's package after its header."""
    with gzip.open(DEBIAN / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=n_header)


def load_images():
    """Return images as rows of gray values, their labels, and the names of the labels."""
    if DEBIAN.is_dir():
        X = read_idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 28 * 28)
        return X, read_idx("train-labels-idx1-ubyte.gz", 8), CLOTHES
    if "--fashion-mnist" in sys.argv:
        X, y = fetch_openml("Fashion-MNIST", version=1, return_X_y=True, as_frame=False)
        return X, y.astype(int), CLOTHES
    print("Fashion-MNIST is not installed. The images are handwritten digits.")
    return *load_digits(return_X_y=True), tuple("0123456789")


X, y, names = load_images()
X, y = X[:14_000].astype(np.float32), y[:14_000]
X_rest, X_query, y_rest, y_query = train_test_split(
    X, y, test_size=len(X) // 14, stratify=y, random_state=0
)
X_database, X_train, y_database, y_train = train_test_split(
    X_rest, y_rest, test_size=3 * len(X) // 14, stratify=y_rest, random_state=0
)
print(f"{len(X_train)} training rows, {len(X_database)} items, {len(X_query)} queries")

# %%
# Four hashers
# ------------
# LSH uses random directions, ITQ learns without labels, and TALR learns to rank images of
# the same class first. In two stages, TALR is trained on the class probabilities of a
# classifier (:doc:`/user_guide/train_with_labels`). Average precision is shown for the
# worst order of tied images, the mean over all orders (expected), and the best order.

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
print(f"\n{'Average precision':20s}{'worst':>8s}{'expected':>10s}{'best':>8s}")
for name, steps in hashers.items():
    model = make_pipeline(StandardScaler(), *steps).fit(X_train, y_train)
    codes[name] = model.transform(X_query), model.transform(X_database)
    table = hamming_histogram(*codes[name], "auto", y_query, y_database)
    worst, expected, best = (values.mean() for values in tie_breaking_range(table))
    print(f"{name:20s}{worst:8.3f}{expected:10.3f}{best:8.3f}")

# %%
# The eight nearest images of three queries
# -----------------------------------------
# Each row shows a query and the eight images with the nearest codes. The number above an
# image is its Hamming distance. A solid frame marks an image of the query's class, and a
# dashed frame with a cross marks an image of another class.

import matplotlib.pyplot as plt

from sklearn_talr import HammingNeighbors

GREEN, RED = "#009E73", "#D55E00"
N_NEIGHBORS = 8


def draw(ax, image, color="black", dashes="-"):
    side = round(len(image) ** 0.5)
    ax.imshow(image.reshape(side, side), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=color, linestyle=dashes, linewidth=2)
        # Caps of the style "projecting" would close the gaps between dashes.
        spine.set_capstyle("projecting" if dashes == "-" else "butt")


figure = plt.figure(figsize=(6.4, 9.4), layout="constrained")
# Shirts, coats and sneakers, or the digits 6, 4 and 7
classes = [6, 4, 7]
queries = [np.flatnonzero(y_query == label)[0] for label in classes]
panels = figure.subfigures(len(codes), 1)
for panel, (name, (query_codes, database_codes)) in zip(panels, codes.items()):
    index = HammingNeighbors(n_neighbors=N_NEIGHBORS).fit(database_codes)
    distances, neighbors = index.kneighbors(query_codes[queries])
    is_relevant = y_database[neighbors] == y_query[queries][:, None]
    panel.suptitle(
        f"{name}: {is_relevant.sum()} of {is_relevant.size} have the query's class",
        weight="bold",
    )
    axes = panel.subplots(len(queries), N_NEIGHBORS + 1)
    for row, query in enumerate(queries):
        draw(axes[row, 0], X_query[query])
        axes[row, 0].set_ylabel(names[y_query[query]], rotation=0, ha="right", va="center")
        for ax, item, distance, same_class in zip(
            axes[row, 1:], neighbors[row], distances[row], is_relevant[row]
        ):
            if same_class:
                color, dashes, mark = GREEN, "-", ""
            else:
                color, dashes, mark = RED, (0, (1.4, 0.8)), r" $\times$"
            draw(ax, X_database[item], color, dashes)
            ax.set_title(f"{distance}{mark}", color=color, fontsize=11, pad=2)
figure.savefig("image_retrieval.png", dpi=150)
print("\nFigure saved as image_retrieval.png")

# %%
# Shirts are hard for all four hashers, because they look like coats, pullovers and
# T-shirts. :ref:`sphx_glr_auto_examples_first_steps_plot_quickstart.py` chooses the code
# length.
