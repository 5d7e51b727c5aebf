"""Above, a triangle over each integer distance; an item at 2.3 gives 0.7 to distance 2 and
0.3 to distance 3. Below, a table of integers, and a table of real numbers whose rows have
the same sums, 3 and 4.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from sklearn_talr.losses import soft_counts

BLUE, RED = "#0072B2", "#D55E00"


def kernel_panel(ax):
    """Count of each bin by the library's own soft counts, for an item that moves."""
    query = torch.ones(1, 4)
    distances = torch.linspace(0, 4, 401)
    items = (1 - distances / 2)[:, None].expand(-1, 4)  # at these distances from the query
    counts = [
        soft_counts(query, item[None], torch.tensor([[0]]), n_levels=1)[0, 0]
        for item in items
    ]
    counts = torch.stack(counts)
    for place in range(5):
        shown = place in (2, 3)
        style = {"ls": "-", "lw": 2.5 if shown else 1}
        ax.plot(distances, counts[:, place], color=BLUE if shown else "0.6", **style)
    at = int(torch.argmin((distances - 2.3).abs()))
    ax.axvline(2.3, color="black", lw=1, ls=":")
    for place in (2, 3):
        value = counts[at, place].item()
        ax.plot(2.3, value, "o", color=RED, markersize=8)
        ax.annotate(
            f"{value:.1f} to {place}",
            (2.3, value),
            xytext=(-14, 0) if place == 2 else (16, -3),
            textcoords="offset points",
            ha="right" if place == 2 else "left",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    ax.set(xlabel="relaxed distance", ylabel="soft count", xticks=range(5))
    ax.set_title("An item at 2.3 counts .7 at 2 and .3 at 3")


def table_panel(ax, table, title):
    """A table of counts, one row for each level of affinity."""
    ax.imshow(table, cmap="Blues", vmin=0, vmax=4, aspect="auto")
    for (level, place), value in np.ndenumerate(table):
        shade = "white" if value > 2.5 else "black"
        text = f"{value:.2f}" if title.startswith("soft") else f"{value:.0f}"
        ax.text(place, level, text, ha="center", va="center", color=shade)
    ax.set(xticks=range(5), yticks=[0, 1], xlabel="Hamming distance")
    ax.set_yticks([0, 1], ["not similar", "similar"])
    ax.set_title(title)
    ax.grid(False)


# Seven items by the activations of four bits, four of them similar to the query.
query = torch.tensor([[1.0, 0.9, 0.8, -0.9]])
items = [
    [1.2, 0.8, 0.9, -1.1],
    [0.9, 1.0, -0.3, -0.8],
    [0.7, 0.2, 0.9, -1.0],
    [1.0, -0.7, 0.1, -0.6],
    [0.5, -0.9, -1.0, 0.2],
    [-0.8, 0.4, -0.9, 1.1],
    [-1.0, -0.8, -0.2, 0.9],
]
level_index = torch.tensor([[1, 1, 1, 1, 0, 0, 0]])
activations = torch.tensor(items)
tables = {
    "hard table, of signs": [torch.sign(query), torch.sign(activations)],
    "soft table, of tanh": [torch.tanh(2 * query), torch.tanh(2 * activations)],
}
figure, axes = plt.subplots(3, 1, figsize=(6, 7), height_ratios=[1.7, 1, 1])
figure.get_layout_engine().set(hspace=0.08)
kernel_panel(axes[0])
for ax, (title, (bits, of_items)) in zip(axes[1:], tables.items()):
    counts = soft_counts(bits, of_items, level_index, n_levels=2)[0]
    table_panel(ax, counts.numpy(), title)
axes[1].set_xlabel("")
plt.show()
