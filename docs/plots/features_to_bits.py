"""Points in the plane of two features. Two lines split it into four parts, which are
labeled 00, 01, 10 and 11, the codes of the points within.
"""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(4)
points = rng.normal(size=(60, 2))
normals = np.array([[0.94, 0.34], [0.17, 0.98]])
bits = points @ normals.T > 0

figure, ax = plt.subplots(figsize=(5, 4.2))
for code, marker in zip(((0, 0), (0, 1), (1, 0), (1, 1)), "os^D"):
    inside = (bits == code).all(axis=1)
    ax.plot(*points[inside].T, marker, markersize=6)
    x, y = np.linalg.solve(normals, 1.6 * (2 * np.array(code) - 1))
    box = {"facecolor": "white", "edgecolor": "0.6", "pad": 4}
    ax.text(x, y, f"{code[0]}{code[1]}", ha="center", fontsize=15, bbox=box)
for bit, (a, b) in enumerate(normals):
    ax.axline((0, 0), slope=-a / b, color="black", lw=1.5, ls=["-", "--"][bit])
    tip = np.array([a, b]) * 1.2
    arrow = {"arrowstyle": "->", "color": "black", "lw": 1.5}
    ax.annotate("", tip, (0, 0), arrowprops=arrow)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.9}
    ax.text(*(tip * 1.25), f"bit {bit}", ha="center", va="center", weight="bold", bbox=box)
ax.set(xlim=(-3, 3), ylim=(-2.6, 2.6), xlabel="first feature", ylabel="second feature")
plt.show()
