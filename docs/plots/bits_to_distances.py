"""The code of a query, and four codes below it at the Hamming distances 0, 1, 1 and 3. Bits
that differ from the bits of the query are framed.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from sklearn_talr.codes import hamming_distances

BLUE, RED = "#0072B2", "#D55E00"
query = np.array([[1, 0, 1, 1, 0, 0, 1, 0]])
items = np.array(
    [
        [1, 0, 1, 1, 0, 0, 1, 0],
        [1, 0, 1, 0, 0, 0, 1, 0],
        [1, 0, 1, 1, 0, 1, 1, 0],
        [0, 0, 1, 1, 1, 0, 0, 0],
    ]
)
distances = hamming_distances(query, items)[0]
figure, ax = plt.subplots(figsize=(6, 3.6))
for row, code in enumerate(np.vstack([query, items])):
    for place, bit in enumerate(code):
        differs = bit != query[0, place]
        face, edge = ("#FBE3D6", RED) if differs else ("white", "0.6")
        box = {"facecolor": face, "edgecolor": edge, "lw": 2.5 if differs else 1}
        ax.add_patch(Rectangle((place + 0.05, -row + 0.1), 0.9, 0.75, **box))
        weight = "bold" if differs else "normal"
        ax.text(place + 0.5, -row + 0.47, bit, ha="center", va="center", weight=weight)
    name = "query" if row == 0 else f"item {row}"
    ax.text(-0.2, -row + 0.47, name, ha="right", va="center")
    if row:
        ax.text(8.3, -row + 0.47, distances[row - 1], va="center", weight="bold")
ax.text(8.3, 0.47, "distance", va="center")
ax.axhline(0, color="0.4", lw=1, ls="-")
ax.set(xlim=(-1.6, 10.3), ylim=(-4.1, 1.1))
ax.axis("off")
plt.show()
