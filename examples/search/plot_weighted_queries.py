"""
Asymmetric distance: real-valued queries against binary codes
=============================================================

Items are stored as binary codes. A query is not stored, so it can stay real-valued
(asymmetric distance). This example measures how much average precision (AP) is lost if
queries are rounded to bits. :doc:`/user_guide/what_hashing_is` explains when to use
real-valued queries.
"""

# %%
# Geometry of asymmetric distance
# -------------------------------
# Codes of two bits are the corners of a square. A binary query is also a corner, and two
# other corners have the same distance from it. A real-valued query is a direction, and
# every corner has a different score.

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
    "real-valued query": [f"score {value:+.2f}" for value in scores],
}
tips = [np.sign(query[0]), query[0]]
arrow = {"arrowstyle": "->", "color": "tab:red", "lw": 2}
for ax, (title, labels), tip in zip(axes, panels.items(), tips):
    signs = 2 * corners - 1
    ax.scatter(*signs.T, s=90, color="tab:blue", zorder=2)
    for (x, y), bits, label in zip(signs, corners, labels):
        ax.annotate(
            f"{''.join(map(str, bits))}\n{label}",
            (x, y),
            xytext=(0, 12 * y),
            textcoords="offset points",
            ha="center",
            va="bottom" if y > 0 else "top",
        )
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
# Three kinds of codes are searched with binary queries (Hamming distance) and with
# real-valued queries:
#
# * TALR: a linear function of the features, trained on the ranking.
# * TALR, two stages: the same function of class probabilities
#   (:doc:`/user_guide/train_with_labels`).
# * additive, two stages: an additive quantizer of class probabilities.
#
# There are 100 training rows. A third of the digits are queries, and a third is the
# database.

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
    """Return the steps of unfitted pipelines from features to codes."""
    talr = TALRHasher(n_bits, max_iter=30, random_state=0)
    additive = AdditiveHasher(n_bits, metric="inner_product", random_state=0)
    return {
        "TALR": [StandardScaler(), talr],
        "TALR, two stages": [ClassProbabilities(), talr],
        "additive, two stages": [ClassProbabilities(), additive],
    }


lengths = [4, 8, 16]
curves = {}
for n_bits in lengths:
    for name, steps in methods(n_bits).items():
        hasher = make_pipeline(*steps).fit(X[train], y[train])
        index = HashedNeighbors(FrozenEstimator(hasher)).fit(X[database], y[database])
        for query in ("bits", "weights"):
            score = index.set_params(query=query).score(X[queries], y[queries])
            curves.setdefault((name, query), []).append(score)

print(f"{'AP':24s}{'query':9s}" + "".join(f"{n:3d} bits" for n in lengths))
for (name, query), values in curves.items():
    print(f"{name:24s}{query:9s}" + "".join(f"{value:8.3f}" for value in values))

# %%
# Solid lines show real-valued queries, and dotted lines show binary queries.

figure, ax = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
styles = {
    "TALR": ("black", "^"),
    "TALR, two stages": ("#CC79A7", "D"),
    "additive, two stages": ("#56B4E9", "X"),
}
for name, (color, marker) in styles.items():
    ax.plot(lengths, curves[name, "bits"], color=color, marker=marker, linestyle=":")
    ax.plot(
        lengths,
        curves[name, "weights"],
        color=color,
        marker=marker,
        linestyle="-",
        label=name,
    )
ax.set(xlabel="bits", ylabel="average precision", xticks=lengths)
ax.set_title("Average precision of real-valued and binary queries")
ax.legend(title="dotted: binary queries")
