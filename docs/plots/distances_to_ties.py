"""How many of 997 database images lie at each of the 17 distances from one query."""

import digits
import matplotlib.pyplot as plt
from picture_words import describe, share

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
near = same[:5].sum()
describe(
    "Bars over the 17 Hamming distances. Of the items of the same digit",
    f"{share(near, same.sum())}",
    f"are at distances 0 to 4, up to {same.max()} of them tied at one. Items of other",
    "digits are",
    f"farther, most of them, {other.max()}, tied at distance {other.argmax()}.",
)
plt.show()
