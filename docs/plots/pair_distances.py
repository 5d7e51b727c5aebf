"""Bars of the Hamming distances of pairs at 16 bits, for pairs of one digit and of two
digits. The mean distances are 6 and 8 with LSH, 5 and 8 with ITQ, and 2 and 8 with TALR.
The better the codes, the less the bars overlap.
"""

import digits
import matplotlib.pyplot as plt

from sklearn_talr.measures import AP

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
    ax.set_title(f"{name}, AP {AP.of(table).mean():.2f}")
    ax.set(xticks=range(0, 17, 8))
axes[1].set_xlabel("Hamming distance")
axes[0].set_ylabel("fraction of pairs")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
plt.show()
