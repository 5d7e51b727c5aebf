"""Average precision against the number of judged queries to learn from."""

import csv
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from picture_words import describe, measure

RESULTS = Path("../../benchmarks/results/views.csv")  # from this folder
NUMBERS = [100, 300, 1_000, 3_000, 10_000]
LINES = {  # by contender and what queries are
    ("CrossViewHasher, weights", "weights"): ('CrossViewHasher(query="weights")', "o"),
    ("CrossViewHasher", "bits"): ("CrossViewHasher()", "s"),
    ("relevance-CCA + ITQ", "bits"): ("CCA of what is relevant, ITQ", "^"),
}
found = defaultdict(list)
with RESULTS.open(newline="") as file:
    for row in csv.DictReader(file):
        if row["n_bits"] == "32":
            line = row["contender"], row["queries"]
            found[line, row["data"]].append(float(row["ap"]))

figure, ax = plt.subplots(figsize=(6, 4))
said = []
for line, (label, marker) in LINES.items():
    values = [np.mean(found[line, f"cifar10, {n} judged"]) for n in NUMBERS]
    ax.plot(NUMBERS, values, marker=marker, label=label)
    said.append(f"{label} from {measure(values[0], 2)} to {measure(values[-1], 2)}")
unjudged = np.mean(found[("CCA + ITQ", "bits"), "cifar10, paired"])
ax.axhline(unjudged, color="0.3", ls="--", label="CCA of 5 000 partners, ITQ: no judgments")
ax.set(xscale="log", ylim=(0.2, 0.85))
ax.set(xlabel="judged queries to learn from", ylabel="average precision")
ax.set_xticks(NUMBERS, [f"{n:,}".replace(",", " ") for n in NUMBERS])
ax.minorticks_off()
ax.legend(loc="upper left")
describe(
    f"Average precision against {NUMBERS[0]} to {NUMBERS[-1]} judged queries:",
    f"{', '.join(said)}.",
    f"CCA of partners without judgments, {measure(unjudged, 2)}, is below all.",
)
plt.show()
