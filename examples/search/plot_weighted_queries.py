"""
Weighted queries against binary codes
=====================================

The codes of millions of items must be short, so they are binary. A query is not stored, so
it can stay real-valued (asymmetric distance). This example shows how much average precision
is lost if queries are rounded to bits, and how much is gained with bits that are learned
for real-valued queries. :ref:`asymmetric_distance` explains when to use them.
"""

# %%
# Geometry of asymmetric distance
# -------------------------------
# The codes of two bits are the corners of a square. A binary query is also a corner, and
# two other corners have the same distance from it. A real-valued query is a direction, and
# every corner has its own score.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_talr.codes import hamming_distances, weighted_scores

corners = np.array([[1, 1], [1, 0], [0, 1], [0, 0]])
query = np.array([[1.0, 0.35]])
distances = hamming_distances(query > 0, corners)[0]
scores = weighted_scores(query, corners)[0]

figure, axes = plt.subplots(
    1, 2, figsize=(7.6, 3.6), sharex=True, sharey=True, layout="constrained"
)
panels = {
    "binary query": [f"distance {value}" for value in distances],
    "weighted query": [f"score {value:+.2f}" for value in scores],
}
for ax, (title, labels) in zip(axes, panels.items()):
    signs = 2 * corners - 1
    ax.scatter(*signs.T, s=90, color="tab:blue", zorder=2)
    for (x, y), bits, label in zip(signs, corners, labels):
        text = f"{''.join(map(str, bits))}\n{label}"
        side = "bottom" if y > 0 else "top"
        place = {"xytext": (0, 12 * y), "textcoords": "offset points"}
        ax.annotate(text, (x, y), **place, ha="center", va=side)
    tip = query[0] if title.startswith("weighted") else np.sign(query[0])
    arrow = {"arrowstyle": "->", "color": "tab:red", "lw": 2}
    ax.annotate("", tip, (0, 0), arrowprops=arrow)
    ax.text(0, -0.18, "query", color="tab:red", ha="center")
    ax.set(title=title, xlim=(-1.7, 1.7), ylim=(-1.8, 1.8), xlabel="first bit")
    ax.set_xticks([-1, 1], ["0", "1"])
    ax.set_yticks([-1, 1], ["0", "1"])
axes[0].set_ylabel("second bit")
figure.savefig("weighted_queries.png", dpi=120)

# %%
# Gain on handwritten digits
# --------------------------
# Three kinds of short codes are searched with the Hamming distance and with real-valued
# (weighted) queries: a linear function of the features, trained on the ranking; the same
# function of class probabilities (:doc:`/user_guide/train_with_labels`); and an additive
# quantizer of these probabilities. A third of the digits are queries, and a third is the
# database. 100 of the other digits are training rows; with more training rows, most
# probabilities would be near 0 or 1.

from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import ClassProbabilities, HashedNeighbors, TALRHasher
from sklearn_talr.hashing import AdditiveHasher

X, y = load_digits(return_X_y=True)
train, database, queries = (slice(start, None, 3) for start in range(3))
train = slice(0, 300, 3)


def methods(n_bits):
    """Fresh pipelines from features to codes."""
    talr = TALRHasher(n_bits, max_iter=30, random_state=0)
    additive = AdditiveHasher(n_bits, metric="inner_product", random_state=0)
    return {
        "TALR": [StandardScaler(), talr],
        "TALR, two stages": [ClassProbabilities(), talr],
        "additive, two stages": [ClassProbabilities(), additive],
    }


lengths = 4, 8, 16
curves = {}
for n_bits in lengths:
    for name, steps in methods(n_bits).items():
        hasher = make_pipeline(*steps).fit(X[train], y[train])
        index = HashedNeighbors(FrozenEstimator(hasher)).fit(X[database], y[database])
        for query in ("bits", "weights"):
            score = index.set_params(query=query).score(X[queries], y[queries])
            curves.setdefault((name, query), []).append(score)

print(f"{'average precision at':43s}" + "".join(f"{n:5d}" for n in lengths) + " bits")
for (name, query), values in curves.items():
    print(f"{name:32s}{query:17s}" + "".join(f"{value:6.3f}" for value in values))

# %%
# Solid lines are real-valued queries, dotted lines are binary queries.

figure, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
styles = {
    "TALR": ("black", "^"),
    "TALR, two stages": ("#CC79A7", "D"),
    "additive, two stages": ("#56B4E9", "X"),
}
for name, (color, marker) in styles.items():
    for query, style in (("bits", ":"), ("weights", "-")):
        drawn = {"color": color, "marker": marker, "linestyle": style}
        label = name if style == "-" else None
        ax.plot(lengths, curves[name, query], label=label, **drawn)
ax.set(xlabel="bits", ylabel="average precision", xticks=lengths)
ax.set_title("Weighted queries find more in the same bits")
ax.legend(title="dotted: bits of the query")
