"""
Quick start: choose a code length by cross-validation
=====================================================

This example chooses the number of bits for codes of your features, tests the chosen length
with held-out queries, and searches an index. It takes half a minute on a laptop. It runs on
scikit-learn's handwritten digits, or on your own files::

    python plot_quickstart.py features.npy labels.npy

:doc:`/user_guide/grid_search` explains each step.
"""

# %%
# Features and labels
# -------------------
# Features are an array of shape (n_samples, n_features). Labels are an array of shape
# (n_samples,). Two images are similar if they have the same label.

import sys

import numpy as np
from sklearn.datasets import load_digits

if len(sys.argv) == 3:
    X, y = np.load(sys.argv[1]), np.load(sys.argv[2])
else:
    X, y = load_digits(return_X_y=True)

# %%
# Training rows, database and queries
# -----------------------------------
# A third of the rows are training rows, a sixth are queries, and the other rows are the
# database. Codes fit their training rows better than other rows, so a database with
# training rows would overstate average precision (AP).

from sklearn.model_selection import train_test_split

X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, train_size=1 / 3, stratify=y, random_state=0
)
X_database, X_query, y_database, y_query = train_test_split(
    X_rest, y_rest, test_size=1 / 4, stratify=y_rest, random_state=0
)
print(f"{len(X_train)} training rows, {len(X_database)} items, {len(X_query)} queries")

# %%
# Cross-validate the number of bits
# ---------------------------------
# The hasher encodes the class probabilities of a classifier
# (:doc:`/user_guide/train_with_labels`). In each fold every held-out row ranks the other
# held-out rows. Short codes have many ties, so AP is the mean over all orders of tied
# items (:doc:`/user_guide/ties`).

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_talr import ClassProbabilities, TALRHasher, make_retrieval_scorer

lengths = [4, 8, 16, 32]
search = GridSearchCV(
    make_pipeline(ClassProbabilities(), TALRHasher(max_iter=20, random_state=0)),
    {"talrhasher__n_bits": lengths},
    scoring=make_retrieval_scorer("AP"),
    cv=3,
)
search.fit(X_train, y_train)

print("\nCross-validated AP")
for n_bits, mean, std in zip(
    lengths, search.cv_results_["mean_test_score"], search.cv_results_["std_test_score"]
):
    print(f"  {n_bits:2d} bits: {mean:.3f} +- {std:.3f}")
best_length = search.best_params_["talrhasher__n_bits"]
print(f"Best length: {best_length} bits")

# %%
# Test the chosen length
# ----------------------
# The queries rank the database. Worst and best are the lowest and highest AP over all
# orders of tied items. Expected is the mean, which is the value to report.

from sklearn_talr.metrics import TieBreakingDisplay, retrieval_report_from_estimator

report = retrieval_report_from_estimator(
    search.best_estimator_, X_query, y_query, X_database, y_database, measures="AP"
)
print(f"\nAP of {len(X_query)} queries at {best_length} bits")
print(report.round(4).to_string())

# %%
# Compare with codes learned without labels
# -----------------------------------------
# Iterative quantization (ITQ) does not use labels.

from sklearn.preprocessing import StandardScaler

from sklearn_talr import ITQHasher

models = {
    "ITQ": [
        make_pipeline(StandardScaler(), ITQHasher(n_bits, random_state=0))
        for n_bits in lengths
    ],
    "classifier, then TALR": [
        make_pipeline(ClassProbabilities(), TALRHasher(n_bits, max_iter=20, random_state=0))
        for n_bits in lengths
    ],
}
for pipelines in models.values():
    for pipeline in pipelines:
        pipeline.fit(X_train, y_train)
display = TieBreakingDisplay.from_estimator(
    models, X_query, y_query, X_database, y_database
)
display.ax_.set_title("AP by code length: expected, and range over orders of ties")
display.figure_.savefig("quickstart.png", dpi=150)
print("\nFigure saved as quickstart.png")

# %%
# Search
# ------
# An index holds the fitted Pipeline and the codes of the database. ``FrozenEstimator``
# keeps the index from fitting the Pipeline again.

from sklearn.frozen import FrozenEstimator

from sklearn_talr import HashedNeighbors

index = HashedNeighbors(FrozenEstimator(search.best_estimator_)).fit(X_database)
distances, neighbors = index.kneighbors(X_query, n_neighbors=10)
share = np.mean(y_database[neighbors] == y_query[:, None])
print(f"\n{index.n_bytes_per_item_:.0f} bytes per item")
print(f"{share:.0%} of the 10 nearest items have the label of their query")
