"""
Ranking SVM: a rare class, found first
======================================

One handwritten digit among ten, drawn badly: a tenth of the images are positive, and pixels
are noisy, so that no linear classifier separates them. What matters is how many of the
images at the top of the list are right. Does training on average precision help?
:doc:`/user_guide/ranking_svm` is the chapter on this classifier.
"""

# %%
# Ten rare classes
# ----------------
# Each of scikit-learn's digits against all others, with noise on the pixels. A third of the
# images trains, the rest is ranked.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

digits, label = load_digits(return_X_y=True)
noise = np.random.default_rng(0).normal(scale=6.0, size=digits.shape)
X_train, X_test, label_train, label_test = train_test_split(
    digits + noise, label, train_size=1 / 3, stratify=label, random_state=0
)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# %%
# Three losses, each with its best regularization
# -----------------------------------------------
# ``zero_one`` is the ordinary linear SVM, solved by the same method. The grid search scores
# by tie-aware average precision, whatever the loss.

from sklearn.model_selection import GridSearchCV

from sklearn_talr import RankingSVC
from sklearn_talr.metrics import tie_aware_average_precision_score, tie_aware_ndcg_score


def average_precision(model, X, y):
    return tie_aware_average_precision_score([y], [model.decision_function(X)])


losses = ["zero_one", "AP", "nDCG"]
grid = {"C": [1e-5, 1e-4, 1e-3]}
models = {}
for loss in losses:
    for digit in range(10):
        search = GridSearchCV(RankingSVC(loss), grid, scoring=average_precision, cv=3)
        models[loss, digit] = search.fit(X_train, label_train == digit).best_estimator_

relevant = (label_test == np.arange(10)[:, None]).astype(int)
results = {}
print(f"{'loss':18s}{'AP':>8s}{'NDCG':>8s}{'steps':>7s}{'largest gap':>13s}")
for loss in losses:
    fitted = [models[loss, digit] for digit in range(10)]
    scores = [svc.decision_function(X_test) for svc in fitted]
    results[loss] = tie_aware_average_precision_score(relevant, scores, average=False)
    print(
        f"{loss:18s}{results[loss].mean():8.3f}"
        f"{tie_aware_ndcg_score(relevant, scores):8.3f}"
        f"{np.mean([svc.n_iter_ for svc in fitted]):7.0f}"
        f"{max(svc.dual_gap_ for svc in fitted):13.1e}"
    )

# %%
# Where they differ
# -----------------
# Above: the held-out average precision of each digit, less that of ``zero_one``. Below: the
# ranking that the loss fears most, at the weights that it was trained to. Negatives that it
# moves before positives are those that the solver pushes down.

import matplotlib.pyplot as plt

from sklearn_talr.svm import loss_augmented_ranks

figure, (above, below) = plt.subplots(2, figsize=(6, 7), layout="constrained")
for loss, shift, hatch in (("AP", -0.2, ""), ("nDCG", 0.2, "//")):
    gain = results[loss] - results["zero_one"]
    label = f"{loss}, mean {gain.mean():+.3f}"
    above.bar(np.arange(10) + shift, gain, width=0.4, hatch=hatch, label=label)
above.axhline(0, color="black", linewidth=1, linestyle="-")
above.set(
    xlabel="digit",
    ylabel="difference in average precision",
    title="Held-out ranking against zero_one",
    xticks=range(10),
)
above.margins(y=0.45)
above.legend(loc="upper center")

is_eight = label_train == 8
scores = models["AP", 8].decision_function(X_train)
positive, negative = scores[is_eight], np.sort(scores[~is_eight])[::-1]
feared, loss = loss_augmented_ranks(positive, negative)
actual = 1 + np.sum(positive >= negative[:, None], axis=1)
places = np.arange(1, len(negative) + 1)
below.step(places, actual, where="mid", label="by score")
below.step(places, feared, where="mid", label=f"most violating, 1 - AP = {loss:.2f}")
below.set(
    xlabel="place of the negative among negatives",
    ylabel="interleaving rank",
    title="Training ranking of the eights",
    xscale="log",
)
below.legend()
figure.savefig("ranking_svm.png", dpi=150)
print("\nFigure saved as ranking_svm.png")
