"""Images of the digits 0, 1, 4 and 6 as points; the axes are the activations of two bits,
and each quadrant is a code. Average precision is 0.4 with LSH, 0.7 with ITQ and 1.0 with
TALR. With better codes each digit has a quadrant of its own.
"""

import digits
import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.hashing import ITQHasher, LSHHasher, TALRHasher

DIGITS, MARKERS = (0, 1, 4, 6), "osD^"
rows = digits.split()
train, database = np.isin(rows.y_train, DIGITS), np.isin(rows.y_database, DIGITS)
X, y = rows.X_database[database], rows.y_database[database]
methods = {
    "LSH": LSHHasher(2, random_state=0),
    "ITQ": ITQHasher(2, random_state=0),
    "TALR": TALRHasher(2, max_iter=40, bit_dropout=0, random_state=0),
}
figure, axes = plt.subplots(1, 3, figsize=(5.4, 2.8))
for ax, (name, hasher) in zip(axes, methods.items()):
    model = make_pipeline(StandardScaler(), hasher)
    model.fit(rows.X_train[train], rows.y_train[train])
    activations = model[:-1].transform(X)
    activations = model[-1].decision_function(activations)
    activations /= np.abs(activations).mean(axis=0)
    limit = 3.2
    for digit, marker in zip(DIGITS, MARKERS):
        points = activations[y == digit].clip(-limit, limit)
        ax.plot(*points.T, marker, markersize=4, alpha=0.6, label=str(digit))
    ax.axhline(0, color="black", lw=1.2, ls="-")
    ax.axvline(0, color="black", lw=1.2, ls="-")
    for x in (0, 1):
        for y_bit in (0, 1):
            place = (0.03 + 0.94 * x, 0.03 + 0.94 * y_bit)
            ax.text(
                *place,
                f"{x}{y_bit}",
                transform=ax.transAxes,
                ha="right" if x else "left",
                va="top" if y_bit else "bottom",
                weight="bold",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8},
            )
    ap = model[-1].score(model[:-1].transform(X), y)
    ax.set(title=f"{name}, AP {ap:.2f}", xlim=(-limit, limit), ylim=(-limit, limit))
    ax.set(xticks=[], yticks=[], aspect="equal")
    ax.grid(False)
    ax.spines[["top", "right"]].set_visible(True)
axes[1].set_xlabel("first activation")
axes[0].set_ylabel("second activation")
handles, labels = axes[0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside upper center", ncols=4, title="digit")
plt.show()
