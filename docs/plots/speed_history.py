"""Ratios of speed, commit by commit, as benchmarks/record_speed.py has recorded them."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import picture_words

HISTORY = Path(picture_words.__file__).parents[1] / "benchmarks" / "history"
MARKERS = "osD^v"

records = [json.loads(path.read_text()) for path in HISTORY.glob("*.json")]
records.sort(key=lambda record: record["committed"])
names = list(records[-1]["ratios"])

figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
said = []
for name, marker in zip(names, MARKERS):
    points = [
        (place, figures[name]["rival_ms"] / figures[name]["ours_ms"])
        for place, figures in enumerate(record["ratios"] for record in records)
        if name in figures
    ]
    axes.plot(*zip(*points), marker=marker, label=name)
    said.append(f"{name} {points[0][1]:.2g} to {points[-1][1]:.2g}")
axes.axhline(1, color="black", linewidth=1)
axes.set(yscale="log", ylabel="times as fast as the rival")
axes.set_xticks(
    range(len(records)),
    [f"{record['committed'][5:10]}\n{record['commit']}" for record in records],
)
axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
picture_words.describe(
    f"Speed against rivals at {len(records)} commits, from the first that has the task to",
    f"the last: {'; '.join(said)}. Above 1 this package is faster.",
)
