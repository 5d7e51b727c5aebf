"""
Neighbors by distance: the LabelMe protocol
===========================================

Without labels, similar means near. This protocol (He et al., CVPR 2018, section 5.3)
grades pairs of samples by their Euclidean distance: the nearest 5 %, 1 %, 0.2 % and 0.1 %
of all pairs get affinity 1, 2, 5 and 10, and codes are judged by NDCG, which cares most
about finding the nearest first. The paper uses GIST descriptors of LabelMe; here the same
protocol runs on scikit-learn's digits, which need no download.
:doc:`/user_guide/similarity` explains affinities.
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
# pair in a thousand carries most of the gain, so batches are large. LSH, ITQ and TALR are
# asked by bits, as in the paper.
#
# :class:`~sklearn_talr.hashing.AdditiveHasher` learns no ranking: its codes give a row back
# as well as they can. Its queries keep their real numbers (:doc:`/user_guide/embeddings`).
# It stores a factor of 8 bits beside the code, so it gets 8 bits less, and all items have
# the same bytes.

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import RankingHistogram, hamming_histogram
from sklearn_talr.metrics import tie_breaking_range

N_FACTOR_BITS = 8
n_bytes = [2, 4, 8]


def rank_by_bits(hasher):
    """Counts of items by Hamming distance and affinity, for each query."""
    codes_query, codes_database = hasher.transform(X_query), hasher.transform(X_database)
    return hamming_histogram(codes_query, codes_database, affinity, X_query, X_database)


def rank_by_weights(hasher):
    """The same by scores of weighted queries."""
    scores = weighted_scores(hasher.query_weights(X_query), hasher.encode(X_database))
    return RankingHistogram.from_scores(affinity(X_query, X_database), scores)


methods = {
    "LSH": LSHHasher(random_state=0),
    "ITQ": ITQHasher(random_state=0),
    "TALR-NDCG": TALRHasher(loss="nDCG", batch_size=500, max_iter=40, random_state=0),
    "AdditiveHasher": AdditiveHasher(random_state=0),
}
results = {}
print(f"\n{'NDCG':27s}{'worst':>8s}{'expected':>10s}{'best':>8s}{'@10':>8s}")
for size in n_bytes:
    for name, hasher in methods.items():
        if name == "AdditiveHasher":
            hasher.set_params(n_bits=8 * size - N_FACTOR_BITS).fit(X_train)
            rankings = rank_by_weights(hasher)
        else:
            hasher.set_params(n_bits=8 * size).fit(X_train)
            rankings = rank_by_bits(hasher)
        # Queries without a neighbor have no NDCG.
        whole = tie_breaking_range(rankings, "nDCG")
        worst, expected, best = (np.nanmean(values) for values in whole)
        top = np.nanmean(tie_breaking_range(rankings, "nDCG@10")[1])
        results[name, size] = expected
        print(f"{size} bytes  {name:18s}{worst:9.3f}{expected:10.3f}{best:8.3f}{top:8.3f}")

# %%
# NDCG against code length
# ------------------------

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, marker in zip(methods, "os^v"):
    ax.plot(n_bytes, [results[name, n] for n in n_bytes], marker=marker, label=name)
ax.set_xticks(n_bytes)
ax.set_xlabel("stored bytes of an item")
ax.set_ylabel("tie-aware NDCG")
ax.set_title("Nearest neighbors of digits, found by short codes")
ax.legend()
fig.savefig("labelme_protocol.png", dpi=150)

# %%
# From 4 bytes on take ``AdditiveHasher`` where the engine can add up weights. TALR is for
# engines that compare bits alone, and for two bytes.
