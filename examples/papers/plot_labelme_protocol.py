"""
Similarity from distances: the LabelMe protocol
===============================================

This protocol needs no labels (He et al., CVPR 2018, section 5.3). It grades pairs of
samples by their Euclidean distance: the nearest 5 %, 1 %, 0.2 % and 0.1 % of all pairs get
grades 1, 2, 5 and 10. Codes are evaluated with NDCG. The paper uses GIST descriptors of
LabelMe, and this example uses scikit-learn's digits.
:doc:`/user_guide/similarity` explains graded similarity.
"""

# %%
# Data and grades
# ---------------
# Thresholds are quantiles of the distances among training rows. Queries, training rows and
# database are disjoint; in the paper the database contains the training rows.

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_talr.affinity import ThresholdAffinity

X, _ = load_digits(return_X_y=True)
X_rest, X_query = train_test_split(X, test_size=300, random_state=0)
X_train, X_database = train_test_split(X_rest, train_size=700, random_state=0)

affinity = ThresholdAffinity().fit(X_train)
for quantile, grade, threshold in zip(
    affinity.quantiles, affinity.levels, affinity.thresholds_
):
    print(f"nearest {quantile:4.1%} of pairs: grade {grade:2d}, distance < {threshold:.1f}")

# %%
# Train for NDCG
# --------------
# ``fit(X)`` without `y` uses these grades by default. Few pairs have a grade above 0, so
# batches are large. LSH, ITQ and TALR have binary queries, as in the paper.
#
# :class:`~sklearn_talr.hashing.AdditiveHasher` has real-valued queries
# (:ref:`asymmetric_distance`). It stores a factor of 8 bits with each code, so
# its codes are 8 bits shorter, and all items have the same number of bytes.

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import RankingHistogram, hamming_histogram
from sklearn_talr.metrics import tie_breaking_range

N_FACTOR_BITS = 8
n_bytes = [2, 4, 8]


def rank_by_bits(hasher):
    """Count the items of each query by Hamming distance and grade."""
    codes_query, codes_database = hasher.transform(X_query), hasher.transform(X_database)
    return hamming_histogram(codes_query, codes_database, affinity, X_query, X_database)


def rank_by_weights(hasher):
    """Count the items of each query by the score of the real-valued query, and grade."""
    scores = weighted_scores(hasher.query_weights(X_query), hasher.encode(X_database))
    return RankingHistogram.from_scores(affinity(X_query, X_database), scores)


methods = {
    "LSH": LSHHasher(random_state=0),
    "ITQ": ITQHasher(random_state=0),
    "TALR-NDCG": TALRHasher(loss="nDCG", batch_size=500, max_iter=40, random_state=0),
    "AdditiveHasher": AdditiveHasher(random_state=0),
}
results = {}
print(f"\n{'nDCG':26s}{'worst':>8s}{'expected':>10s}{'best':>8s}{'nDCG@10':>9s}")
for size in n_bytes:
    for name, hasher in methods.items():
        if name == "AdditiveHasher":
            hasher.set_params(n_bits=8 * size - N_FACTOR_BITS).fit(X_train)
            rankings = rank_by_weights(hasher)
        else:
            hasher.set_params(n_bits=8 * size).fit(X_train)
            rankings = rank_by_bits(hasher)
        # Queries without a similar item have no NDCG.
        ranges = tie_breaking_range(rankings, "nDCG")
        worst, expected, best = (np.nanmean(values) for values in ranges)
        first_ten = np.nanmean(tie_breaking_range(rankings, "nDCG@10")[1])
        results[name, size] = expected
        print(f"{size} bytes  {name:17s}{worst:8.3f}{expected:10.3f}", end="")
        print(f"{best:8.3f}{first_ten:9.3f}")

# %%
# NDCG by stored bytes
# --------------------

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, marker in zip(methods, "os^v"):
    ax.plot(n_bytes, [results[name, n] for n in n_bytes], marker=marker, label=name)
ax.set_xticks(n_bytes)
ax.set_xlabel("stored bytes per item")
ax.set_ylabel("expected nDCG")
ax.set_title("nDCG of graded neighbors on the digits")
ax.legend()
fig.savefig("labelme_protocol.png", dpi=150)

# %%
# With 4 bytes or more use ``AdditiveHasher`` if the engine supports real-valued queries.
# Use TALR with 2 bytes, and for engines that compare only bits.
