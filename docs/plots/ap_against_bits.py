"""Average precision against code length, with what ties could make of it as a band."""

import digits
import matplotlib.pyplot as plt
import numpy as np

from sklearn_talr.metrics import tie_breaking_range

lengths = [4, 8, 12, 16, 24, 32]
tables = {n_bits: digits.histograms(n_bits) for n_bits in lengths}
figure, ax = plt.subplots(figsize=(6, 4))
for name, marker in zip(tables[4], "osD"):
    ranges = [tie_breaking_range(tables[n_bits][name]) for n_bits in lengths]
    worst, expected, best = np.mean(ranges, axis=2).T
    (line,) = ax.plot(lengths, expected, marker=marker)
    ax.fill_between(lengths, worst, best, alpha=0.2, color=line.get_color(), lw=0)
    ax.text(32.7, expected[-1], name, va="center", weight="bold")
ax.set(
    xlabel="bits",
    ylabel="average precision",
    xticks=lengths,
    xlim=(3.5, 37),
    ylim=(0, 1),
    title="Line: mean over all orders of ties. Band: worst to best.",
)
plt.show()
