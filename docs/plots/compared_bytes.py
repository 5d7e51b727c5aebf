"""Quality against stored bytes, two panels for each of six sets: binary queries and
weighted queries. With binary queries of 4 bytes, a classifier and then TALRHasher are
best on five sets, and a linear TALRHasher on the scenes.
"""

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from method_styles import SETS, style_of

RESULTS = Path("../../benchmarks/comparison/results")  # from this folder
METHODS = {
    "kernel + additive words": "classifier, then AdditiveHasher",
    "kernel + TALR-AP": "classifier, then TALRHasher",
    "TALR-NDCG, hidden layer": "TALRHasher, hidden layer",
    "TALR-AP": "TALRHasher, linear",
    "additive words": "AdditiveHasher, no labels",
    "ITQ": "ITQHasher, no labels",
}
figure, axes = plt.subplots(4, 3, figsize=(6.4, 8.8), sharex=True)
for column, (data, title) in enumerate(list(SETS.items())[:6]):
    found = defaultdict(list)
    with (RESULTS / f"{data}-defaults.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            for kind, end in enumerate(("", "_float")):
                value = row[("ndcg" if data == "scenes" else "ap") + end]
                if value and row["bytes"]:
                    key = kind, row["method"], float(row["bytes"])
                    found[key].append((int(row["n_bits"]), float(value)))
    for kind in (0, 1):
        ax = axes[2 * (column // 3) + kind, column % 3]
        for method in METHODS:
            points = []
            for n_bytes in (2, 4, 8):
                rows = found.get((kind, method, n_bytes), [])
                longest = max((n_bits for n_bits, _ in rows), default=None)
                values = [value for n_bits, value in rows if n_bits == longest]
                points += [(n_bytes, np.mean(values))] if values else []
            if points:
                ax.plot(*zip(*points), label=METHODS[method], **style_of(method))
        ax.set(xscale="log")
        ax.set_xticks([2, 4, 8], ["2", "4", "8"])
        ax.minorticks_off()
    binary, weighted = axes[2 * (column // 3) : 2 * (column // 3) + 2, column % 3]
    binary.set_title(title)
    weighted.sharey(binary)  # so that the two kinds of queries can be compared by eye
    weighted.autoscale(axis="y")
for ax in axes[3]:
    ax.set_xlabel("bytes")
for row, kind in enumerate(("binary", "weighted") * 2):
    axes[row, 0].set_ylabel(f"{kind} queries")
lines = {}
for ax in axes.flat:
    lines |= dict(zip(*ax.get_legend_handles_labels()[::-1]))
figure.legend(lines.values(), lines, loc="outside lower center", ncols=2)
plt.show()
