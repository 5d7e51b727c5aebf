"""Five steps: features of a query and six items; bits; Hamming distances; counts of
relevant and other items by distance; worst, expected and best AP: 0.76, 0.84, 0.92.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_talr.codes import hamming_distances
from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.metrics import tie_breaking_range

RELEVANT, OTHER = "#0072B2", "#E69F00"
N_BITS = 4
# Made up, so that two of the distances are shared by relevant and other items.
FEATURES = np.array(
    [
        [0.9, 0.7, -0.8, 0.4],
        [0.8, 0.5, -0.6, 0.7],
        [0.6, 0.9, -0.4, -0.3],
        [0.7, -0.4, -0.9, 0.5],
        [-0.5, 0.6, 0.8, 0.3],
        [0.3, 0.8, 0.9, -0.7],
        [-0.8, -0.6, 0.7, 0.6],
    ]
)
IS_RELEVANT = np.array([True, True, False, True, False, False])

codes = (FEATURES > 0).astype(np.uint8)
distances = hamming_distances(codes[:1], codes[1:])[0]
counts = np.zeros((2, N_BITS + 1), dtype=int)  # other and relevant items, by distance
np.add.at(counts, (IS_RELEVANT.astype(int), distances), 1)
histogram = RankingHistogram(counts[None], levels=[0, 1])
ap = {name: values[0] for name, values in tie_breaking_range(histogram)._asdict().items()}

figure, panels = plt.subplots(1, 5, figsize=(9, 2.9), width_ratios=[4, 4, 1.8, 4.4, 3.4])
n_rows = len(codes)
row_of_item = np.arange(1, n_rows)
names = ["query", *(f"item {row}" for row in row_of_item)]

of_features, of_bits, of_distances, of_counts, of_metric = panels
of_features.imshow(FEATURES, cmap="RdBu", vmin=-1.3, vmax=1.3, aspect="auto")
of_features.set_yticks(range(n_rows), names, fontsize=9)
of_bits.imshow(codes, cmap="Greys", vmin=-0.2, vmax=1.4, aspect="auto")
for (row, column), bit in np.ndenumerate(codes):
    color = "white" if bit else "black"
    of_bits.text(column, row, bit, ha="center", va="center", color=color, fontsize=10)
of_distances.set(xlim=(-0.5, 0.5), ylim=(n_rows - 0.5, -0.5))
for row, distance, is_relevant in zip(row_of_item, distances, IS_RELEVANT):
    color = RELEVANT if is_relevant else OTHER
    style = {"ha": "center", "va": "center", "color": color, "weight": "bold"}
    of_distances.text(0, row, f"{distance}", fontsize=12, **style)
for ax in (of_features, of_bits, of_distances):
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.axhline(0.5, color="black", linewidth=1)
of_bits.set_yticks([])
of_distances.set_yticks([])

places = np.arange(N_BITS + 1)
of_counts.bar(places, counts[1], color=RELEVANT, label="relevant")
of_counts.bar(
    places,
    counts[0],
    bottom=counts[1],
    color=OTHER,
    hatch="//",
    edgecolor="white",
    label="other",
)
of_counts.set(xticks=places, yticks=[0, 1, 2], ylim=(0, 3.2), xlabel="distance")
of_counts.legend(fontsize=9, loc="upper right", ncols=1)
of_metric.axis("off")
for place, (name, value) in enumerate(ap.items()):
    weight = "bold" if name == "expected" else "normal"
    of_metric.text(0, 0.75 - 0.27 * place, name, weight=weight, fontsize=11)
    of_metric.text(
        1, 0.75 - 0.27 * place, f"{value:.2f}", weight=weight, fontsize=11, ha="right"
    )
titles = ["features", "bits", "distance", "counts", "AP"]
for number, (ax, title) in enumerate(zip(panels, titles), start=1):
    ax.set_title(f"{number} {title}", fontsize=12, loc="left")
plt.show()
