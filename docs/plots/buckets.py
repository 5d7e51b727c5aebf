"""Eight buckets named 000 to 111 with up to four items each. An arrow leads from the query
to bucket 010. Buckets 000, 011 and 110 are at distance 1.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from sklearn_talr.codes import hamming_distances

FACES = ["#0072B2", "#9CCBE8", "#EEEEEE", "#FFFFFF"]
codes = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
query = [[0, 1, 0]]
n_items = [2, 1, 4, 0, 1, 3, 2, 1]
distances = hamming_distances(query, codes)[0]

figure, ax = plt.subplots(figsize=(6, 3.2))
for place, (code, distance, n) in enumerate(zip(codes, distances, n_items)):
    box = {"facecolor": FACES[distance], "edgecolor": "black", "lw": 1.2}
    ax.add_patch(Rectangle((place + 0.06, 0), 0.88, 2.2, **box))
    text = "".join(map(str, code))
    ax.text(place + 0.5, -0.15, text, ha="center", va="top", weight="bold")
    ax.text(place + 0.5, -0.65, f"{distance}", ha="center", va="top")
    for item in range(n):
        color = "white" if distance == 0 else "black"
        ax.plot(place + 0.5, 0.35 + 0.5 * item, "o", color=color, markersize=9)
    if distance == 0:
        arrow = {"arrowstyle": "->", "lw": 2}
        start = (place + 0.5, 3.1)
        ax.annotate("query", (place + 0.5, 2.25), start, ha="center", arrowprops=arrow)
ax.text(-0.15, -0.15, "bucket", ha="right", va="top")
ax.text(-0.15, -0.65, "distance", ha="right", va="top")
ax.set(xlim=(-1.5, 8.1), ylim=(-1.1, 3.4))
ax.axis("off")
plt.show()
