"""Bars of the difference in average precision for each digit, from about -0.01 to 0.04,
with mean 0.01. Below, the first ten images of one digit with the losses zero_one and AP.
Wrong images have a dashed frame.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler

from sklearn_talr import RankingSVC
from sklearn_talr.metrics import tie_aware_average_precision_score

GREEN, RED = "#009E73", "#D55E00"
images, y = load_digits(return_X_y=True)
noisy = images + np.random.default_rng(0).normal(scale=6.0, size=images.shape)
split = train_test_split(noisy, images, y, train_size=1 / 3, stratify=y, random_state=0)
X_train, X_test, _, images_test, y_train, y_test = split
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)


def average_precision(model, X, y):
    return tie_aware_average_precision_score([y], [model.decision_function(X)])


def scores_of(loss):
    """Test scores of each digit against the rest, C chosen by cross-validation."""
    grid = {"C": [1e-5, 1e-4, 1e-3]}
    search = GridSearchCV(RankingSVC(loss), grid, scoring=average_precision, cv=3)
    fits = (search.fit(X_train, y_train == digit) for digit in range(10))
    return np.array([fit.decision_function(X_test) for fit in fits])


def bars(ax, gain):
    labels = [f"{value:+.3f}" for value in gain]
    drawn = ax.bar(range(10), gain)
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    ax.bar_label(drawn, labels, fontsize=9, padding=3, bbox=behind)
    ax.axhline(0, color="black", lw=1, ls="-")
    ax.axhline(gain.mean(), color=RED, ls="--", label=f"mean {gain.mean():+.3f}")
    ax.set(xlabel="digit", ylabel="difference in AP", xticks=range(10))
    ax.set_title("AP of loss AP minus that of zero_one")
    ax.margins(y=0.15)
    ax.legend()


def first_ten(panel, title, found, digit):
    panel.suptitle(title)
    for ax, item in zip(panel.subplots(1, 10), found):
        right = y_test[item] == digit
        ax.imshow(images_test[item].reshape(8, 8), cmap="gray_r")
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel("" if right else "$\\times$", color=RED, labelpad=0)
        color, style = (GREEN, "-") if right else (RED, (0, (1.4, 0.8)))
        for spine in ax.spines.values():
            spine.set(visible=True, color=color, linestyle=style, linewidth=2.5)
            spine.set_capstyle("projecting" if right else "butt")  # keeps gaps open


relevant = (y_test == np.arange(10)[:, None]).astype(int)
scores = {loss: scores_of(loss) for loss in ("zero_one", "AP")}
before, after = (
    tie_aware_average_precision_score(relevant, values, average=False)
    for values in scores.values()
)
found = {loss: np.argsort(-values)[:, :10] for loss, values in scores.items()}
right = {
    loss: np.take_along_axis(relevant, items, axis=1).sum(axis=1)
    for loss, items in found.items()
}
digit = np.argmax(right["AP"] - right["zero_one"])

figure = plt.figure(figsize=(6, 6))
upper, *lower = figure.subfigures(3, 1, height_ratios=[2.2, 0.7, 0.7])
bars(upper.subplots(), after - before)
for panel, (loss, items) in zip(lower, found.items()):
    title = f"{loss}: {right[loss][digit]} of the first 10 are {digit}s"
    first_ten(panel, title, items[digit], digit)
plt.show()
