"""
Neighbors by distance: the LabelMe protocol
===========================================

Without labels, similar means near. This protocol (He et al., CVPR 2018, section 5.3)
grades pairs of samples by their Euclidean distance: the nearest 5 %, 1 %, 0.2 % and 0.1 %
of all pairs get affinity 1, 2, 5 and 10, and codes are judged by NDCG, which cares most
about finding the nearest first. The paper uses GIST descriptors of LabelMe; here the same
protocol runs on scikit-learn's digits, which need no download.
:doc:`/user_guide/affinity` explains affinities.
"""

# %%
# Data and affinity
# -----------------
# Thresholds are quantiles of the distances among training rows. No labels are used. In the
# paper the training rows are part of the database; here 300 queries, 700 training rows and
# the database are apart.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_talr.affinity import ThresholdAffinity

X, _ = load_digits(return_X_y=True)
X_rest, X_query = train_test_split(X, test_size=300, random_state=0)
X_train, X_database = train_test_split(X_rest, train_size=700, random_state=0)

affinity = ThresholdAffinity().fit(X_train)
for quantile, level, threshold in zip(
    affinity.quantiles, affinity.levels, affinity.thresholds_
):
    print(f"nearest {quantile:4.1%} of pairs: affinity {level:2d}, below {threshold:.1f}")

# %%
# Train for NDCG
# --------------
# ``fit(X)`` without `y` takes the features as targets and this affinity as the default. One
# pair in a thousand carries most of the gain, so batches are large.

from sklearn_talr.hashing import ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_breaking_range

lengths = [16, 32, 64]


def mean_ndcg(hasher, measure="nDCG"):
    """Worst, expected and best mean NDCG of the queries that have a neighbor."""
    codes_query, codes_database = hasher.transform(X_query), hasher.transform(X_database)
    histogram = hamming_histogram(
        codes_query, codes_database, affinity, X_query, X_database
    )
    return [np.nanmean(values) for values in tie_breaking_range(histogram, measure)]


methods = {
    "LSH": LSHHasher(random_state=0),
    "ITQ": ITQHasher(random_state=0),
    "TALR-NDCG": TALRHasher(loss="nDCG", batch_size=500, max_iter=40, random_state=0),
}
results = {}
print(f"\n{'NDCG':27s}{'worst':>8s}{'expected':>10s}{'best':>8s}{'@10':>8s}")
for n_bits in lengths:
    for name, hasher in methods.items():
        hasher.set_params(n_bits=n_bits).fit(X_train)
        worst, expected, best = mean_ndcg(hasher)
        top = mean_ndcg(hasher, "nDCG@10")[1]
        results[name, n_bits] = expected
        print(
            f"{n_bits:2d} bits  {name:18s}{worst:9.3f}{expected:10.3f}{best:8.3f}{top:8.3f}"
        )

# %%
# NDCG against code length
# ------------------------

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, marker in zip(methods, "os^"):
    ax.plot(lengths, [results[name, n] for n in lengths], marker=marker, label=name)
ax.set_xticks(lengths)
ax.set_xlabel("bits")
ax.set_ylabel("tie-aware NDCG")
ax.set_title("Nearest neighbors of digits, found by short codes")
ax.legend()
fig.savefig("labelme_protocol.png", dpi=150)
