"""Recall of the ten nearest against stored bytes."""

import csv
from pathlib import Path

import matplotlib.pyplot as plt
from method_styles import SETS, style_of
from picture_words import describe

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
best = {}  # the sizes of each set at which a method finds most
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
    for b in budgets:
        of_methods = {m: recalls[data, m, b] for m in METHODS if (data, m, b) in recalls}
        if len(of_methods) > 1:
            method = max(of_methods, key=of_methods.get)
            best.setdefault(method, []).append(f"{title} at {b} bytes")
for ax in axes[:, 0]:
    ax.set_ylabel("recall of the ten nearest")
for ax in axes[1]:
    ax.set_xlabel("stored bytes")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
describe(
    "Recall of the ten nearest against stored bytes, a panel for each of four sets.",
    *(f"{method} finds most: {', '.join(cells)}." for method, cells in best.items()),
)
plt.show()
