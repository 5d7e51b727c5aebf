"""Recall of the ten nearest against stored bytes, with the Gaussian reference."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from method_styles import style_of
from picture_words import describe

RESULTS = Path("../../benchmarks/results/embeddings.csv")  # from this folder
SETS = {"coco17": "COCO", "scenes": "scenes", "cifar10": "CIFAR-10", "text": "text"}
METHODS = [
    "AdditiveHasher",
    "AdditiveHasher, single bits",
    "faiss ResidualQuantizer",
    "components, allocated bits",
    "ASH",
    "RaBitQ",
    "OSQ",
    "Gaussian reference",
]
BUDGETS = 8, 16, 32
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

figure, axes = plt.subplots(2, 2, figsize=(6.2, 6.8), sharex=True, sharey=True)
for ax, (data, title) in zip(axes.flat, SETS.items()):
    for method in METHODS:
        budgets = [b for b in BUDGETS if (data, method, b) in best]
        values = [best[data, method, b] for b in budgets]
        ax.plot(budgets, values, label=method, **style_of(method))
    ax.set(title=title, xscale="log", ylim=(0.15, 0.95))
    ax.set_xticks(BUDGETS, BUDGETS)
    ax.minorticks_off()
for ax in axes[:, 0]:
    ax.set_ylabel("recall of the ten nearest")
for ax in axes[1]:
    ax.set_xlabel("stored bytes")
figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
ahead = {}  # at which bytes which method is first, by set
for data, title in SETS.items():
    for budget in BUDGETS:
        of_methods = {m: best.get((data, m, budget), 0) for m in METHODS[:-1]}
        first = max(of_methods, key=of_methods.get)
        ahead.setdefault(first, {}).setdefault(title, []).append(str(budget))
describe(
    "Recall of the ten nearest against stored bytes, a panel for each of four sets.",
    *(
        f"{method} is highest on "
        + "; ".join(f"{title} at {', '.join(b)} bytes" for title, b in places.items())
        + "."
        for method, places in ahead.items()
    ),
)
plt.show()
