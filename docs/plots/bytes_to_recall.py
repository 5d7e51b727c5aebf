"""Recall of the ten nearest against stored bytes, a panel for each of four sets.
AdditiveHasher has the highest recall in all panels but scenes, and in scenes at 32 bytes.
"""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
from method_styles import SETS, style_of

RESULTS = Path("../../benchmarks/results/embeddings.csv")  # from this folder
METHODS = [
    "AdditiveHasher",
    "AdditiveHasher, single bits",
    "faiss ResidualQuantizer",
    "faiss OPQ+PQ",
    "ITQHasher",
]
with RESULTS.open(newline="") as file:
    recalls = {
        (row["data"], row["method"], int(row["n_bytes"])): float(row["recall"])
        for row in csv.DictReader(file)
        if row["metric"] == "cosine" and row["seed"] == "0"
    }
budgets = sorted({n_bytes for _, method, n_bytes in recalls if method in METHODS})

figure, axes = plt.subplots(2, 2, figsize=(6.2, 6.8), sharex=True, sharey=True)
for ax, data in zip(axes.flat, ["coco17", "scenes", "cifar10", "text"]):
    title = SETS[data]
    for method in METHODS:
        found = [
            (b, recalls[data, method, b]) for b in budgets if (data, method, b) in recalls
        ]
        if found:
            ax.plot(*zip(*found), label=method, **style_of(method))
    ax.set(title=title, xscale="log")
    ax.set_xticks(budgets, budgets)
    ax.minorticks_off()
for ax in axes[:, 0]:
    ax.set_ylabel("recall of the ten nearest")
for ax in axes[1]:
    ax.set_xlabel("stored bytes")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()
