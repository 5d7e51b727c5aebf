"""Ten items in three ties. AP is 0.729 with relevant items first in each tie, and 0.415
with relevant items last. The mean over all orders is 0.561.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from sklearn_talr.histogram import RankingHistogram
from sklearn_talr.metrics import tie_aware_average_precision_score, tie_breaking_range

GREEN, GRAY = "#009E73", "0.85"
# Distances 1, 2 and 3 hold 2, 5 and 3 items; relevant ones come first in the best order.
ties = [[1, 0], [1, 1, 0, 0, 0], [1, 0, 0]]
distances = np.repeat([1, 2, 3], [len(tie) for tie in ties])
orders = {
    "relevant items first": np.concatenate([sorted(tie, reverse=True) for tie in ties]),
    "relevant items last": np.concatenate([sorted(tie) for tie in ties]),
}
counts = [[[tie.count(level) for tie in ties] for level in (0, 1)]]
worst, expected, best = np.ravel(
    tie_breaking_range(RankingHistogram(counts, levels=[0, 1]))
)

figure, axes = plt.subplots(3, 1, figsize=(6, 4.6), height_ratios=[1, 1, 1])
for ax, (name, relevant) in zip(axes, orders.items()):
    # any scores that fall from rank to rank give the AP of this one order
    ap = tie_aware_average_precision_score([relevant], [-np.arange(10)])
    for rank, is_relevant in enumerate(relevant):
        color, mark = (GREEN, "✓") if is_relevant else (GRAY, "-")
        ax.add_patch(Rectangle((rank + 0.08, 0), 0.84, 0.8, color=color))
        shade = "white" if is_relevant else "black"
        ax.text(rank + 0.5, 0.4, mark, ha="center", va="center", color=shade)
    for distance in (1, 2, 3):
        start, *_, end = np.flatnonzero(distances == distance)
        ax.plot([start + 0.08, end + 0.92], [-0.15, -0.15], color="black", lw=1.5, ls="-")
        ax.text((start + end + 1) / 2, -0.3, f"distance {distance}", ha="center", va="top")
    ax.set(xlim=(0, 10), ylim=(-0.9, 0.85))
    ax.set_title(f"{name}: AP {ap:.3f}", loc="left")
    ax.axis("off")
ax = axes[-1]
ax.plot([worst, best], [0, 0], lw=10, alpha=0.35, solid_capstyle="butt", ls="-")
ax.plot(expected, 0, "o", color="#0072B2", markersize=10)
for value, label in ((worst, "worst"), (expected, "mean of all orders"), (best, "best")):
    ax.text(value, 0.5, f"{label}\n{value:.3f}", ha="center")
ax.set(ylim=(-0.5, 2), yticks=[], xlabel="average precision", xlim=(0.3, 0.9))
ax.spines["left"].set_visible(False)
plt.show()
