"""Bars over the 17 Hamming distances. Nearly all items of the same digit are at distances 0
to 4, where up to 40 are tied at one distance. Items of other digits are farther; most of
them, about 200, are tied at distance 7.
"""

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
