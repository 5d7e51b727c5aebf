"""Above, four hashers by precision at 10, from 0.9 for AdditiveHasher and ITQ with 32 bits
to 0.4 for LSH with 8 bits. Brackets join hashers that are not significantly different.
Below, a bar for each of 60 queries: the difference between ITQ with 32 bits and ITQ with 8
bits.
"""

import warnings

import digits
import matplotlib.pyplot as plt

from sklearn_talr.hashing import AdditiveHasher, ITQHasher, LSHHasher
from sklearn_talr.metrics import RunDifferencesDisplay, TiersDisplay
from sklearn_talr.neighbors import HashedNeighbors
from sklearn_talr.runs import Qrels, Run, compare_runs, evaluate_run

rows = digits.split()
queries = [f"q{number}" for number in range(60)]
documents = [f"d{number}" for number in range(len(rows.X_database))]
qrels = Qrels(
    {
        query: {d: 1 for d, label in zip(documents, rows.y_database) if label == y}
        for query, y in zip(queries, rows.y_query)
    }
)
hashers = {
    "LSH, 8 bits": LSHHasher(8, random_state=0),
    "ITQ, 8 bits": ITQHasher(8, random_state=0),
    "ITQ, 32 bits": ITQHasher(32, random_state=0),
    "additive, 32 bits": AdditiveHasher(32, random_state=0),
}
evaluations = []
for name, hasher in hashers.items():
    index = HashedNeighbors(hasher).fit(rows.X_database)
    found = index.kneighbors(rows.X_query[:60], n_neighbors=len(documents))
    run = Run.from_neighbors(*found, queries, documents, name)
    evaluations.append(evaluate_run(qrels, run, ["AP", "P@10"]))
with warnings.catch_warnings():  # of ties, which the picture shows
    warnings.simplefilter("ignore", UserWarning)
    comparison = compare_runs(*evaluations)

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 6.2), layout="constrained", height_ratios=[1, 1.3]
)
TiersDisplay.from_comparison(comparison, measure="P@10", ax=top)
RunDifferencesDisplay.from_comparison(
    comparison, pair=("ITQ, 32 bits", "ITQ, 8 bits"), measure="P@10", ax=bottom
)
