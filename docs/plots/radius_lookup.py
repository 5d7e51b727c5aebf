"""Precision, recall, RAMAP and the fraction of empty lookups against radius 0 to 6. At
radius 0 the fraction of empty lookups is 0.7 with LSH, 0.5 with ITQ and 0.2 with TALR.
Precision is highest at radius 2, and with TALR at radius 1.
"""

import digits
import matplotlib.pyplot as plt
from method_styles import style_of

from sklearn_talr.metrics import RadiusDisplay

axes = None
for name, table in digits.histograms().items():
    display = RadiusDisplay.from_histogram(
        table, radius=6, name=name, ax=axes, **style_of(name)
    )
    axes = display.ax_
plt.show()
