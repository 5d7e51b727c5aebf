"""
Near-duplicates: the radius for a wanted precision
==================================================

Whoever removes duplicates needs a radius within which nearly all of the pairs found are
duplicates. This example plants near-duplicates among handwritten digits, shows that the
mean over rows cannot choose this radius, and chooses it by a few hundred labeled pairs.
:doc:`/user_guide/hash_lookup` explains the measures.
"""

# %%
# Digits and copies of some of them
# ---------------------------------
# A tenth of the digits is copied, a little darker or lighter and with noise. ``item`` tells
# which images are the same. Nine rows in ten have no relative.

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
# Two precisions
# --------------
# The mean over rows leaves out the rows that have no duplicate. What they find is wrong,
# all of it, and that mean does not see it. It also counts a row that finds nothing as 0.
# The precision of the pairs counts every pair that is found, and nothing else.

histogram = hamming_histogram(codes, codes, "auto", item, item, exclude_self=True)
of_rows = np.nanmean(radius_precision(histogram, 40), axis=0)
of_pairs = pair_precision(histogram, 40)
recall = pair_recall(histogram, 40)

print("radius                 " + "".join(f"{r:6d}" for r in range(10, 41, 5)))
for name, values in {
    "precision, mean of rows": of_rows,
    "precision of the pairs ": of_pairs,
    "recall of the pairs    ": recall,
}.items():
    print(name + "".join(f"{value:6.2f}" for value in values[10::5]))

# %%
# A radius by labeled pairs
# -------------------------
# In practice most rows are not labeled. But a person can label several hundred of the pairs
# found within a large radius as duplicates or not. In this example ``item`` provides these
# labels. With ``confidence``, a lower confidence bound of the precision must reach the
# requested precision, because the labeled pairs are few.

neighbors = HammingNeighbors(radius=30).fit(codes)
found = neighbors.radius_neighbors(return_distance=False)
first = np.repeat(np.arange(len(found)), [len(indices) for indices in found])
second = np.concatenate(found)
pairs = np.stack([first, second], axis=1)[first < second]  # each pair once
shown = pairs[rng.choice(len(pairs), 300, replace=False)]
answers = item[shown[:, 0]] == item[shown[:, 1]]

labeled = HammingHistogram.from_pairs(codes[shown[:, 0]], codes[shown[:, 1]], answers)
print(f"{len(pairs)} pairs within radius 30, {len(shown)} labeled, {answers.sum()} right")
chosen = {}
for confidence in (None, 0.95):
    radius = radius_at_precision(labeled, 0.8, confidence=confidence)
    chosen[confidence] = radius
    print(
        f"confidence {confidence}: radius {radius}, "
        f"precision of all pairs within it {of_pairs[radius]:.2f}, "
        f"recall {recall[radius]:.2f}"
    )

# %%
# The mean over rows is still high where half of the pairs are wrong.

figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(of_rows, ":", label="precision, mean of rows")
ax.plot(of_pairs, "-", label="precision of the pairs")
ax.plot(recall, "--", label="recall of the pairs")
ax.axvline(chosen[0.95], color="0.5", lw=1)
ax.annotate(
    "chosen by\n300 pairs",
    (chosen[0.95], 0.03),
    xytext=(-4, 0),
    textcoords="offset points",
    ha="right",
)
ax.set(xlabel="Hamming radius", ylabel="share", ylim=(-0.03, 1.03))
figure.legend(loc="outside upper center", ncols=3, fontsize="small")
figure.savefig("near_duplicates.png", dpi=120)

# %%
# Which pairs are wrong
# ---------------------
# Pairs of the chosen radius, right ones above and wrong ones below. What the labels call
# wrong are digits that two people wrote alike.

radius = chosen[0.95]
found = pairs[(codes[pairs[:, 0]] != codes[pairs[:, 1]]).sum(axis=1) <= radius]
is_right = item[found[:, 0]] == item[found[:, 1]]
figure, axes = plt.subplots(2, 7, figsize=(6.4, 1.4), layout="constrained")
for row, kind in zip(axes, (True, False)):
    for ax, pair in zip(row, found[is_right == kind]):
        ax.imshow(np.hstack(images[pair]), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
    for ax in row[np.sum(is_right == kind) :]:
        ax.set_axis_off()
    row[0].set_ylabel("right" if kind else "wrong")
figure.savefig("pairs_found.png", dpi=240)
