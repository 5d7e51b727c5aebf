"""Recall of the ten nearest against the number of candidates, ordered in three ways."""

import digits
import matplotlib.pyplot as plt
import numpy as np
from picture_words import describe, measure
from sklearn.neighbors import NearestNeighbors

from sklearn_talr import HammingNeighbors, ITQHasher
from sklearn_talr.neighbors import WeightedHammingNeighbors, rescore

rows = digits.split()
X_query, X_database = rows.X_query, rows.X_database
nearest = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(X_database)
exact = nearest.kneighbors(X_query, return_distance=False)

hasher = ITQHasher(32, random_state=0).fit(rows.X_train)
of_query, of_database = hasher.transform(X_query), hasher.transform(X_database)
counts = [10, 20, 50, 100, 200]
candidates = (
    HammingNeighbors()
    .fit(of_database)
    .kneighbors(of_query, max(counts), return_distance=False)
)


def recall(found):
    return np.mean([np.isin(e, row).mean() for e, row in zip(exact, found)])


def by_hamming(n):
    return candidates[:, :10]


def by_weights(n):
    index = WeightedHammingNeighbors(n_candidates=n).fit(of_database)
    return index.kneighbors(hasher.query_weights(X_query), 10, return_distance=False)


def by_floats(n):
    return rescore(X_query, X_database, candidates[:, :n], n_neighbors=10)[1]


orders = {
    "floats of query and item": (by_floats, "o"),
    "floats of query, code of item": (by_weights, "s"),
    "Hamming distance of codes": (by_hamming, "D"),
}
figure, ax = plt.subplots(figsize=(6, 4))
said = []
for name, (order, marker) in orders.items():
    recalls = [recall(order(n)) for n in counts]
    ax.plot(counts, recalls, marker=marker, label=name)
    said.append(f"by {name} from {measure(recalls[0])} to {measure(recalls[-1])}")
ax.set(xscale="log", ylim=(0, 1.02), ylabel="recall of the ten nearest")
ax.set_xlabel("candidates, by Hamming distance")
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.legend(title="candidates ordered by", loc="lower right")
describe(
    f"Recall of the ten nearest against {counts[0]} to {counts[-1]} candidates. Ordered",
    f"{', '.join(said)}.",
)
plt.show()
