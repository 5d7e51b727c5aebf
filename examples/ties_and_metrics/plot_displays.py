"""
Figures of a retrieval experiment: ties, precision curve, hash lookup
=====================================================================

Three displays compare random hyperplanes (LSH), iterative quantization (ITQ) and learned
codes (TALR) on scikit-learn's digits. They show average precision with its range over
orders of ties, precision along the ranking, and precision within a Hamming radius.
:doc:`/user_guide/ties` and :doc:`/user_guide/hash_lookup` explain the measures.
"""

# %%
# Hashers with three code lengths
# -------------------------------
# A quarter of the images are queries, 500 images are training rows, and the other images
# are the database.

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_talr.hashing import ITQHasher, LSHHasher, TALRHasher

X, y = load_digits(return_X_y=True)
X_rest, X_query, y_rest, y_query = train_test_split(
    X, y, test_size=0.25, stratify=y, random_state=0
)
X_train, X_database, y_train, y_database = train_test_split(
    X_rest, y_rest, train_size=500, stratify=y_rest, random_state=0
)
sets = X_query, y_query, X_database, y_database

lengths = [8, 16, 32]
hashers = {
    "LSH": [LSHHasher(n_bits, random_state=0) for n_bits in lengths],
    "ITQ": [ITQHasher(n_bits, random_state=0) for n_bits in lengths],
    "TALR": [TALRHasher(n_bits, max_iter=20, random_state=0) for n_bits in lengths],
}
for method_hashers in hashers.values():
    for hasher in method_hashers:
        hasher.fit(X_train, y_train)

# %%
# Average precision and ties
# --------------------------
# The bars span the worst to the best order of tied items, and the markers are the expected
# values. A dict of lists draws all methods and lengths in one figure.

from sklearn_talr.metrics import TieBreakingDisplay

display = TieBreakingDisplay.from_estimator(hashers, *sets)
display.ax_.set_title("Average precision, and its range over orders of ties")
display.figure_.savefig("tie_breaking.png", dpi=150)

print(f"{'AP':16s}{'worst':>8s}{'expected':>10s}{'best':>8s}")
for name, n_bits, worst, expected, best in zip(
    display.names, display.n_bits, display.worst, display.expected, display.best
):
    print(f"{name:6s}{n_bits:2d} bits{worst:11.3f}{expected:10.3f}{best:8.3f}")

# %%
# Precision along the ranking
# ---------------------------
# Each display gets the Axes of the previous display, so all curves are in one figure. Bands
# extend from the worst to the best order of ties.

# sphinx_gallery_thumbnail_number = 2

from sklearn_talr.metrics import RetrievalCurveDisplay

axes = None
for name, (_, hasher, _) in hashers.items():
    display = RetrievalCurveDisplay.from_estimator(hasher, *sets, name=name, ax=axes)
    axes = display.ax_
    places = display.k.searchsorted([1, 10, 100])
    print(f"{name:6s}16 bits", end="")
    for k, value in zip(display.k[places], display.precision.expected[places]):
        print(f"  P@{k}: {value:.3f}", end="")
    print()
display.figure_.suptitle("Precision along the ranking, 16 bits")
display.figure_.savefig("retrieval_curve.png", dpi=150)

# %%
# Hash lookup
# -----------
# A bucket holds all items of one code. With 16 bits, there are 1, 17 and 137 buckets within
# radius 0, 1 and 2. If a query finds no item within the radius, its precision counts as 0,
# so precision can rise with the radius. Radius-aware mean average precision (RAMAP) divides
# the precision within each radius by the number of buckets, and averages over the radii.

from sklearn_talr.metrics import RadiusDisplay

axes = None
for name, (_, hasher, _) in hashers.items():
    display = RadiusDisplay.from_estimator(hasher, *sets, radius=8, name=name, ax=axes)
    axes = display.ax_
    print(f"{name:6s}16 bits", end="")
    for radius, value in enumerate(display.radius_aware_map[:3]):
        print(f"  RAMAP@{radius}: {value:.3f}", end="")
    print()
display.figure_.suptitle("Hash lookup within a radius, 16 bits")
display.figure_.savefig("radius.png", dpi=150)
print("Figures saved as tie_breaking.png, retrieval_curve.png and radius.png")
