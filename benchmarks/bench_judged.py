"""Judged texts: how much of the floats' nDCG@10 the codes keep, per stored byte.

    python benchmarks/bench_judged.py  # two minutes

SciFact, Cranfield and CISI with embeddings of MiniLM, 384 numbers of unit length, in the
protocol of BitBudget: codes are fitted to the documents, which are the database, and no
query or judgment is used. A document is relevant if it was judged, with any grade. Queries
are all that have a relevant document. Values are the expected nDCG@10 over all orders of
ties, and its percentage of the nDCG@10 of the floats. `n_bytes` are all stored bytes of a
document, its scale factor included.

Rows of BitBudget's own methods in ``results/judged.csv`` were measured once, and are not
measured again. SKLEARN_TALR_DATA names the folder of the sets.
"""

import argparse
from time import process_time

import numpy as np
import torch  # noqa: F401  (or the first fit would load it)
from _store import RESULTS, Store
from benchmark_sets import folder_of_sets

from sklearn_talr.codes import hamming_distances, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.measures import nDCG

SETS = "scifact", "cran", "cisi"
MEASURE = nDCG @ 10
KEY, FIGURES = ["data", "method"], ["n_bytes", "ndcg", "percent", "fit_seconds"]
STORE = Store(RESULTS / "judged.csv", KEY, FIGURES)


def load(name):
    """Documents, queries with a relevant document, and which documents are relevant."""
    with np.load(folder_of_sets() / f"{name}.npz") as arrays:
        documents = arrays["X"].astype(np.float32)
        queries = arrays["Q"].astype(np.float32)
        query, document, _ = arrays["judged"].T
    relevant = np.zeros((len(queries), len(documents)), bool)
    relevant[query, document] = True
    is_judged = relevant.any(axis=1)
    return documents, queries[is_judged], relevant[is_judged]


def rank_by_weights(hasher, documents, queries):
    codes = hasher.encode(documents)
    return weighted_scores(hasher.query_weights(queries), codes)


def rank_by_bits(hasher, documents, queries):
    return -hamming_distances(hasher.encode(queries), hasher.encode(documents))


def methods():
    """For each name: the hasher, its scores, and the stored bytes of a document."""
    found = {}
    for n_bits in (128, 192, 256, 320, 352):
        hasher = AdditiveHasher(n_bits, method="bits", random_state=0)
        found[f"additive bits, {n_bits}"] = hasher, rank_by_weights, n_bits // 8 + 1
    hasher = AdditiveHasher(256, random_state=0)
    found["AdditiveHasher, 256"] = hasher, rank_by_weights, 256 // 8 + 1
    for n_bits in (128, 384):
        hasher = ITQHasher(n_bits, random_state=0)
        found[f"ITQ, binary queries, {n_bits}"] = hasher, rank_by_bits, n_bits // 8
    found["ITQ, real-valued queries, 384"] = hasher, rank_by_weights, 384 // 8
    return found


def main():
    for name in SETS:
        documents, queries, relevant = load(name)
        of_floats = MEASURE.score(relevant, queries @ documents.T)
        for method, (hasher, rank, n_bytes) in methods().items():
            if STORE.has(data=name, method=method):
                continue
            start = process_time()
            hasher.fit(documents)
            seconds = process_time() - start
            ndcg = float(MEASURE.score(relevant, rank(hasher, documents, queries)))
            STORE.add(
                data=name,
                method=method,
                n_bytes=n_bytes,
                ndcg=ndcg,
                percent=100 * ndcg / of_floats,
                fit_seconds=seconds,
            )
            print(name, method, f"{ndcg:.4f} {100 * ndcg / of_floats:.1f} {seconds:.1f}")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    main()
