"""Hash lookup within a radius: what is found, what it costs, and who finds nothing."""

import digits
import matplotlib.pyplot as plt
import numpy as np
from method_styles import style_of
from picture_words import describe, measure

from sklearn_talr.metrics import RadiusDisplay

axes, said = None, []
for name, table in digits.histograms().items():
    display = RadiusDisplay.from_histogram(
        table, radius=6, name=name, ax=axes, **style_of(name)
    )
    axes = display.ax_
    empty, precise = display.empty_fraction[0], np.argmax(display.precision)
    said.append(f"by {name} {measure(empty)}, and precision is highest at radius {precise}")
describe(
    "Precision, recall, RAMAP and the fraction of empty lookups against radius 0 to 6. At",
    f"radius 0 the fraction of queries that find nothing is {'; '.join(said)}.",
)
plt.show()
