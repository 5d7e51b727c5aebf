"""
Ranking SVM: rank the items of a rare class first
=================================================

A tenth of these handwritten digits are positive, and the pixels are so noisy that no linear
classifier separates the classes. This example compares a linear SVM with ranking SVMs that
are trained for average precision and NDCG. :doc:`/user_guide/ranking_svm` explains the
classifier.
"""

# %%
# Ten rare classes
# ----------------
# Each digit in turn is the positive class, and all other digits are negatives. A third of
# the images are training rows, and the other images are ranked.

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
# Train with three losses
# -----------------------
# ``zero_one`` is the linear SVM. The grid search selects ``C`` by average precision for all
# three losses.

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
print(f"{'loss':10s}{'AP':>8s}{'nDCG':>8s}{'iterations':>12s}{'largest dual gap':>18s}")
for loss in losses:
    classifiers = [models[loss, digit] for digit in range(10)]
    scores = [classifier.decision_function(X_test) for classifier in classifiers]
    results[loss] = tie_aware_average_precision_score(relevant, scores, average=False)
    print(
        f"{loss:10s}{results[loss].mean():8.3f}"
        f"{tie_aware_ndcg_score(relevant, scores):8.3f}"
        f"{np.mean([classifier.n_iter_ for classifier in classifiers]):12.0f}"
        f"{max(classifier.dual_gap_ for classifier in classifiers):18.1e}"
    )

# %%
# Difference by digit, and the most violating ranking
# ---------------------------------------------------
# The upper panel shows the held-out average precision of each digit minus the average
# precision with ``zero_one``. The lower panel shows the most violating ranking of the
# trained weights. The solver lowers the scores of the negatives that this ranking places
# before positives.

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
    title="Held-out average precision minus that of zero_one",
    xticks=range(10),
)
above.margins(y=0.45)
above.legend(loc="upper center")

is_eight = label_train == 8
scores = models["AP", 8].decision_function(X_train)
positive, negative = scores[is_eight], np.sort(scores[~is_eight])[::-1]
violating_ranks, violating_loss = loss_augmented_ranks(positive, negative)
score_ranks = 1 + np.sum(positive >= negative[:, None], axis=1)
places = np.arange(1, len(negative) + 1)
below.step(places, score_ranks, where="mid", label="ranking by score")
below.step(
    places,
    violating_ranks,
    where="mid",
    label=f"most violating ranking, 1 - AP = {violating_loss:.2f}",
)
below.set(
    xlabel="rank of the negative among negatives",
    ylabel="interleaving rank",
    title="Training ranking for the digit 8",
    xscale="log",
)
below.legend()
figure.savefig("ranking_svm.png", dpi=150)
print("\nFigure saved as ranking_svm.png")
