"""
Quick start: learn codes, choose their length, trust the number
===============================================================

Which code length is worth its memory, and how much of a difference between two methods is
only the order in which tied items happen to come? This example answers both on
scikit-learn's handwritten digits, in under a minute on a laptop. :doc:`/quickstart` goes on
from here, and :doc:`/user_guide/ties` explains the intervals.
"""

# %%
# Queries, a database, and rows to train on
# -----------------------------------------
# Two images are similar if they show the same digit. Hashers learn from a third of the
# images. The others are queries, and the database that the queries search. No row has two
# parts: a code knows the rows that it was trained on better than others, and a database of
# such rows would make every number too high.

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, train_size=600, stratify=y, random_state=0
)
X_database, X_query, y_database, y_query = train_test_split(
    X_rest, y_rest, test_size=300, stratify=y_rest, random_state=0
)

# %%
# Choose the code length by cross-validation
# ------------------------------------------
# A hasher is a scikit-learn transformer, so it goes into a Pipeline, and the number of
# bits into a grid. The first step is a teacher: it learns the classes, and hands on how
# probable each is (:doc:`/user_guide/train_with_labels`). Only training rows take part. The
# scorer lets each held-out image rank the others of its fold, and averages over all orders
# of tied items: short codes have many ties, and a score that broke them by row number could
# be lucky.

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_talr import ClassProbabilities, TALRHasher, make_retrieval_scorer

lengths = [8, 16, 32]
search = GridSearchCV(
    make_pipeline(ClassProbabilities(), TALRHasher(max_iter=20, random_state=0)),
    {"talrhasher__n_bits": lengths},
    scoring=make_retrieval_scorer("AP"),
    cv=3,
)
search.fit(X_train, y_train)

print("Cross-validated AP by code length")
for n_bits, mean, std in zip(
    lengths, search.cv_results_["mean_test_score"], search.cv_results_["std_test_score"]
):
    print(f"  {n_bits:2d} bits: {mean:.3f} +- {std:.3f}")
print("Chosen:", search.best_params_)

# %%
# Four methods
# ------------
# Random hyperplanes (LSH) and iterative quantization (ITQ) know no labels. TALR learns
# linear functions of the pixels from them. In two stages a classifier comes first, and TALR
# learns codes of its probabilities.

from sklearn.preprocessing import StandardScaler

from sklearn_talr.hashing import ITQHasher, LSHHasher


def fit(*steps):
    return make_pipeline(*steps).fit(X_train, y_train)


def talr(n_bits):
    return TALRHasher(n_bits, max_iter=20, random_state=0)


unit = StandardScaler()
models = {
    "LSH": [fit(unit, LSHHasher(n, random_state=0)) for n in lengths],
    "ITQ": [fit(unit, ITQHasher(n, random_state=0)) for n in lengths],
    "TALR": [fit(unit, talr(n)) for n in lengths],
    "TALR, two stages": [fit(ClassProbabilities(), talr(n)) for n in lengths],
}

# %%
# Held-out queries against the database
# -------------------------------------
# One table of counts per query (how many items of which affinity at which distance)
# holds everything: the expected AP, and the worst and the best that any order of the tied
# items could give.
#
# In the picture a bar spans what the order of tied items alone could report, and the marker
# is what to expect. Bars of 8-bit codes are wider than the gap between many a pair of
# published methods; no order of the database moves the markers.

from sklearn_talr.metrics import TieBreakingDisplay

display = TieBreakingDisplay.from_estimator(
    models, X_query, y_query, X_database, y_database
)
display.ax_.set_title("What tie-breaking can do to a number")
display.figure_.savefig("quickstart.png", dpi=150)

print(f"\n{'':28s}{'worst':>8s}{'expected':>10s}{'best':>8s}")
for name, n_bits, worst, expected, best in zip(
    display.names, display.n_bits, display.worst, display.expected, display.best
):
    print(f"{name:20s}{n_bits:2d} bits  {worst:8.4f}{expected:10.4f}{best:8.4f}")
print("\nFigure saved as quickstart.png")
