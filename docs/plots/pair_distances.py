"""How far similar and dissimilar images are from their queries, by three codes."""

import digits
import matplotlib.pyplot as plt
import numpy as np
from picture_words import describe, measure

from sklearn_talr.measures import AP

said = []
figure, axes = plt.subplots(1, 3, figsize=(5.4, 3), sharex=True, sharey=True)
for ax, (name, table) in zip(axes, digits.histograms().items()):
    other, same = table.counts.sum(axis=0)
    ax.bar(range(17), same / same.sum(), width=0.9, alpha=0.75, label="same digit")
    ax.step(
        range(17),
        other / other.sum(),
        where="mid",
        color="#D55E00",
        ls="-",
        label="other digits",
    )
    means = [np.average(range(17), weights=pairs) for pairs in (same, other)]
    said.append(f"by {name} {means[0]:.0f} and {means[1]:.0f}")
    ax.set_title(f"{name}, AP {measure(AP.of(table).mean(), 2)}")
    ax.set(xticks=range(0, 17, 8))
axes[1].set_xlabel("Hamming distance")
axes[0].set_ylabel("fraction of pairs")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
describe(
    "Bars of the Hamming distances of pairs at 16 bits, of one digit and of two.",
    "Their mean",
    f"distances are {', '.join(said)}: the better the codes, the less both overlap.",
)
plt.show()
