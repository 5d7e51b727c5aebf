"""
Near-duplicates: choose a Hamming radius for a required precision
=================================================================

To remove duplicates, you need a radius within which nearly all pairs are duplicates. This
example adds near-duplicates to handwritten digits, and chooses the radius with 300 labeled
pairs. :doc:`/user_guide/hash_lookup` explains the measures.
"""

# %%
# Digits with near-duplicates
# ---------------------------
# A tenth of the digits is copied, a little darker or lighter and with noise. ``item`` is
# the number of the original digit. Nine digits in ten have no duplicate.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sklearn_talr import HammingNeighbors, LSHHasher
from sklearn_talr.histogram import HammingHistogram, hamming_histogram
from sklearn_talr.metrics import (
    pair_precision,
    pair_recall,
    radius_at_precision,
    radius_precision,
)

rng = np.random.default_rng(0)
originals = load_digits().images
copied = rng.choice(len(originals), 180, replace=False)
shade = rng.uniform(0.85, 1.1, size=(180, 1, 1))
noise = rng.normal(scale=0.5, size=(180, 8, 8))
copies = np.clip(np.round(originals[copied] * shade + noise), 0, 16)
images = np.concatenate([originals, copies])
item = np.concatenate([np.arange(len(originals)), copied])

X = images.reshape(len(images), -1)
codes = LSHHasher(256, random_state=0).fit_transform(X)

# %%
# Precision per row and precision of pairs
# ----------------------------------------
# The mean precision of rows ignores the rows without a duplicate, although all pairs that
# these rows find are wrong. It counts a row that finds nothing as 0. The precision of pairs
# is the share of true duplicates among all pairs found.

histogram = hamming_histogram(codes, codes, "auto", item, item, exclude_self=True)
curves = {
    "precision, mean of rows": np.nanmean(radius_precision(histogram, 40), axis=0),
    "precision of pairs": pair_precision(histogram, 40),
    "recall of pairs": pair_recall(histogram, 40),
}
print(f"{'radius':24s}" + "".join(f"{radius:6d}" for radius in range(10, 41, 5)))
for name, values in curves.items():
    print(f"{name:24s}" + "".join(f"{value:6.2f}" for value in values[10::5]))

# %%
# Choose a radius with labeled pairs
# ----------------------------------
# In practice most rows are not labeled, but a person can label several hundred pairs within
# a large radius as duplicates or not. In this example ``item`` provides the labels. With
# ``confidence=0.95`` a lower confidence bound of the precision must reach 0.8.

neighbors = HammingNeighbors(radius=30).fit(codes)
neighbor_ids = neighbors.radius_neighbors(return_distance=False)
first = np.repeat(np.arange(len(codes)), [len(ids) for ids in neighbor_ids])
second = np.concatenate(neighbor_ids)
# Every pair is found from both sides. Only one of the two is kept.
pairs = np.stack([first, second], axis=1)[first < second]
labeled = pairs[rng.choice(len(pairs), 300, replace=False)]
labels = item[labeled[:, 0]] == item[labeled[:, 1]]

sample = HammingHistogram.from_pairs(codes[labeled[:, 0]], codes[labeled[:, 1]], labels)
print(f"\n{len(pairs)} pairs within radius 30")
print(f"{labels.sum()} of {len(labels)} labeled pairs are duplicates")
for confidence in (None, 0.95):
    radius = radius_at_precision(sample, 0.8, confidence=confidence)
    print(
        f"confidence {confidence}: radius {radius}, "
        f"precision of pairs {curves['precision of pairs'][radius]:.2f}, "
        f"recall of pairs {curves['recall of pairs'][radius]:.2f}"
    )

# %%
# The mean precision of rows is still high at radii at which half of the pairs are wrong.

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for (name, values), line in zip(curves.items(), (":", "-", "--")):
    ax.plot(values, line, label=name)
ax.axvline(radius, color="0.5", lw=1)
ax.annotate(
    "radius chosen with\n300 labeled pairs",
    (radius, 0.03),
    xytext=(-4, 0),
    textcoords="offset points",
    ha="right",
)
ax.set(xlabel="Hamming radius", ylabel="precision or recall", ylim=(-0.03, 1.03))
figure.legend(loc="outside upper center", ncols=3, fontsize="small")
figure.savefig("near_duplicates.png", dpi=120)

# %%
# Pairs within the chosen radius
# ------------------------------
# The upper row shows duplicates, and the lower row shows wrong pairs: different images
# that look alike.

distances = (codes[pairs[:, 0]] != codes[pairs[:, 1]]).sum(axis=1)
found = pairs[distances <= radius]
is_duplicate = item[found[:, 0]] == item[found[:, 1]]
rows = {"duplicates": found[is_duplicate], "wrong": found[~is_duplicate]}
figure, axes = plt.subplots(2, 7, figsize=(6.4, 1.4), layout="constrained")
for row, (name, row_pairs) in zip(axes, rows.items()):
    for ax, pair in zip(row, row_pairs):
        ax.imshow(np.hstack(images[pair]), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    for ax in row[len(row_pairs) :]:
        ax.set_axis_off()
    row[0].set_ylabel(name, rotation=0, ha="right", va="center")
figure.savefig("pairs_found.png", dpi=240)
