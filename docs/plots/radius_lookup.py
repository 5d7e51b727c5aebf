"""Hash lookup within a radius: what is found, what it costs, and who finds nothing."""

import digits
import matplotlib.pyplot as plt

from sklearn_talr.metrics import RadiusDisplay

axes = None
for name, table in digits.histograms().items():
    display = RadiusDisplay.from_histogram(table, radius=6, name=name, ax=axes)
    axes = display.ax_
plt.show()
