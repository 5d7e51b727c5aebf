"""Average precision against code length, 4 to 32 bits. LSH rises from 0.2 to 0.4, ITQ from
0.4 to 0.6, and TALR from 0.7 to 0.9. The bands from the worst to the best order of ties are
widest at 4 bits.
"""

import digits
import matplotlib.pyplot as plt
import numpy as np
from method_styles import style_of

from sklearn_talr.metrics import tie_breaking_range

lengths = [4, 8, 12, 16, 24, 32]
tables = {n_bits: digits.histograms(n_bits) for n_bits in lengths}
figure, ax = plt.subplots(figsize=(6, 4))
for name in tables[4]:
    ranges = [tie_breaking_range(tables[n_bits][name]) for n_bits in lengths]
    worst, expected, best = np.mean(ranges, axis=2).T
    style = style_of(name)
    ax.plot(lengths, expected, **style)
    ax.fill_between(lengths, worst, best, alpha=0.2, color=style["color"], lw=0)
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
