"""
Three pictures of a retrieval experiment
========================================

A comparison of hash functions raises three questions. Is the difference larger than what
the order of tied items could make of it? How does precision fall along the ranking? And if
codes are looked up in a hash table instead of ranked, how far must one look? One display
answers each. Here they compare random hyperplanes (LSH), iterative quantization (ITQ) and
learned codes (TALR) on scikit-learn's digits. :doc:`/user_guide/ties` and
:doc:`/user_guide/hash_lookup` explain what is drawn.
"""

# %%
# Hashers of several lengths
# --------------------------
# A quarter of the images are queries, 500 train, and the rest is the database: no image is
# in two of the three. Each method is fitted at three code lengths.

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
for of_one_method in hashers.values():
    for hasher in of_one_method:
        hasher.fit(X_train, y_train)

# %%
# What tie-breaking can do
# ------------------------
# The bars span the worst to the best order of tied items, the markers are the expected
# values. A dict of lists puts all methods and lengths into one picture.

from sklearn_talr.metrics import TieBreakingDisplay

display = TieBreakingDisplay.from_estimator(hashers, *sets)
display.ax_.set_title("Average precision, and what ties make of it")
display.figure_.savefig("tie_breaking.png", dpi=150)

print(f"{'AP':16s}{'worst':>8s}{'expected':>10s}{'best':>8s}")
for name, n_bits, worst, expected, best in zip(
    display.names, display.n_bits, display.worst, display.expected, display.best
):
    print(f"{name:6s}{n_bits:2d} bits{worst:11.3f}{expected:10.3f}{best:8.3f}")

# %%
# Precision along the ranking
# ---------------------------
# Curves of several methods are drawn on the same Axes: each display gets the Axes of the
# previous display. Bands extend from the worst to the best order of ties. With 16 bits the
# bands are still as wide as many published improvements.

# sphinx_gallery_thumbnail_number = 2

from sklearn_talr.metrics import RetrievalCurveDisplay

axes = None
for name, (_, hasher, _) in hashers.items():
    display = RetrievalCurveDisplay.from_estimator(hasher, *sets, name=name, ax=axes)
    axes = display.ax_
    shown = display.k.searchsorted([1, 10, 100])
    values = zip(display.k[shown], display.precision.expected[shown])
    print(f"{name:6s}16 bits", *(f" precision@{k}: {value:.3f}" for k, value in values))
display.figure_.suptitle("Precision along the ranking, 16 bits")
display.figure_.savefig("retrieval_curve.png", dpi=150)

# %%
# Hash lookup
# -----------
# A bucket holds all items of one code. Within radius 0 lies one bucket, within radius 1
# there are 17, within radius 2 already 137. Where a query finds no item within the radius,
# its precision counts as 0, which is why precision may rise at first. Radius-aware mean
# average precision (RAMAP) divides the precision within each radius by the number of
# buckets, and averages over the radii.

from sklearn_talr.metrics import RadiusDisplay

axes = None
for name, (_, hasher, _) in hashers.items():
    display = RadiusDisplay.from_estimator(hasher, *sets, radius=8, name=name, ax=axes)
    axes = display.ax_
    values = enumerate(display.radius_aware_map[:3])
    print(
        f"{name:6s}16 bits", *(f" RAMAP@{radius}: {value:.3f}" for radius, value in values)
    )
display.figure_.suptitle("Hash lookup within a radius, 16 bits")
display.figure_.savefig("radius.png", dpi=150)
print("Figures saved as tie_breaking.png, retrieval_curve.png and radius.png")
