"""Average precision against code length, with what ties could make of it as a band."""

import digits
import matplotlib.pyplot as plt
import numpy as np
from method_styles import style_of
from picture_words import describe, measure

from sklearn_talr.metrics import tie_breaking_range

lengths = [4, 8, 12, 16, 24, 32]
tables = {n_bits: digits.histograms(n_bits) for n_bits in lengths}
figure, ax = plt.subplots(figsize=(6, 4))
said, widths = [], []
for name in tables[4]:
    ranges = [tie_breaking_range(tables[n_bits][name]) for n_bits in lengths]
    worst, expected, best = np.mean(ranges, axis=2).T
    style = style_of(name)
    ax.plot(lengths, expected, **style)
    ax.fill_between(lengths, worst, best, alpha=0.2, color=style["color"], lw=0)
    said.append(f"{name} rises from {measure(expected[0])} to {measure(expected[-1])}")
    widths.append(best - worst)
    ax.text(32.7, expected[-1], name, va="center", weight="bold")
ax.set(
    xlabel="bits",
    ylabel="average precision",
    xticks=lengths,
    xlim=(3.5, 37),
    ylim=(0, 1),
    title="Line: mean over all orders of ties. Band: worst to best.",
)
widest = lengths[np.argmax(np.mean(widths, axis=0))]
describe(
    f"Average precision against {lengths[0]} to {lengths[-1]} bits. {', '.join(said)}.",
    f"Bands from the worst to the best order of ties are widest at {widest} bits.",
)
plt.show()
