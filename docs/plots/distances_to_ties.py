"""How many of 997 database images lie at each of the 17 distances from one query."""

import digits
import matplotlib.pyplot as plt

table = digits.histograms()["TALR"]
other, same = table.counts[0]
figure, ax = plt.subplots(figsize=(6, 3.6))
ax.bar(range(17), same, label="same digit")
bars = ax.bar(
    range(17),
    other,
    bottom=same,
    color="#E69F00",
    hatch="//",
    edgecolor="white",
    label="other digits",
)
ax.bar_label(bars, [n or "" for n in same + other], fontsize=10)
ax.set(xlabel="Hamming distance", ylabel="items tied", xticks=range(0, 17, 2))
ax.legend()
plt.show()
