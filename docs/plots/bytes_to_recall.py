"""Recall of the ten nearest against stored bytes, with the Gaussian reference."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

RESULTS = Path("../../benchmarks/results/embeddings.csv")  # from this folder
SETS = {"coco17": "COCO", "scenes": "scenes", "cifar10": "CIFAR-10", "text": "text"}
METHODS = {
    "AdditiveHasher": "o",
    "AdditiveHasher, single bits": "X",
    "faiss ResidualQuantizer": "s",
    "components, allocated bits": "D",
    "ASH": "^",
    "RaBitQ": "v",
    "OSQ": "P",
    "Gaussian reference": "",
}
recalls = defaultdict(lambda: defaultdict(list))
with RESULTS.open(newline="") as file:
    for row in csv.DictReader(file):
        # Of one, two and four bits a dimension, and of ways of searching, the best counts
        method = re.sub(", (1 bit|2 bits|4 bits)$", "", row["contender"])
        if int(row["n_train"]) > 5_000 and method in METHODS:
            key = row["data"], method, int(row["budget"])
            search = row["contender"], row["search"]
            recalls[key][search].append(float(row["recall"]))
best = {key: max(map(np.mean, searches.values())) for key, searches in recalls.items()}

figure, axes = plt.subplots(2, 2, figsize=(8, 6.4), sharex=True, sharey=True)
for ax, (data, title) in zip(axes.flat, SETS.items()):
    for method, marker in METHODS.items():
        budgets = [b for b in (8, 16, 32, 64) if (data, method, b) in best]
        values = [best[data, method, b] for b in budgets]
        style = {"ls": "-", "marker": marker} if marker else {"ls": "--", "color": "0.3"}
        ax.plot(budgets, values, label=method, **style)
    ax.set(title=title, xscale="log", ylim=(0.15, 0.95))
    ax.set_xticks([8, 16, 32, 64], ["8", "16", "32", "64"])
    ax.minorticks_off()
for ax in axes[:, 0]:
    ax.set_ylabel("recall of the ten nearest")
for ax in axes[1]:
    ax.set_xlabel("stored bytes")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
