"""Recall of short codes of embeddings, beside quantizers, at exactly equal stored bytes.

    python benchmarks/bench_embeddings.py                    # all cells: hours, goes on
    python benchmarks/bench_embeddings.py --only text --seeds 0

The sets are read from the folder that SKLEARN_TALR_DATA names; their labels are not used.
For each seed 1 000 rows are queries, at most 10 000 others the items, and at most 20 000 of
the rest are fitted to. Under "cosine" the mean of the rows to fit is subtracted and rows
have unit length. Under "inner product" and "euclidean" rows are as they are, but those of
text, which have unit length, are multiplied by exp(.7 N), N normal; "recommender" is made
up: 64 columns of uneven scale, 50 clusters, uneven lengths.

*Bytes* are all that is stored of an item, factors and lengths included, for all methods.
Decodings of faiss's quantizers are scored as they are and, under the cosine, also at unit
length; the better of the two counts. Recall is the share of the ten nearest by floats that
are among the first ten found. Seconds are CPU time of one thread.
"""

import argparse
import time
from itertools import product
from pathlib import Path

import faiss
import numpy as np
from _store import RESULTS, Store
from benchmark_sets import BENCHMARKS, folder_of_sets

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ITQHasher

N_QUERIES, MOST_ITEMS, MOST_TRAIN, N_NEIGHBORS = 1_000, 10_000, 20_000, 10
FILES = {name: BENCHMARKS[name][0] for name in ("cifar10", "coco17", "scenes")}
FILES["text"] = "text_minilm384.npz"
STORE = Store(
    RESULTS / "embeddings.csv",
    ["data", "metric", "n_bytes", "seed", "method"],
    ["recall", "fit_seconds", "encode_seconds", "n_train"],
)


def load(name, metric, seed):
    """Queries, rows to fit and items."""
    rng = np.random.default_rng(seed)
    if name == "recommender":
        centers = rng.standard_normal((50, 64))
        X = centers[rng.integers(50, size=31_000)] + rng.standard_normal((31_000, 64))
        X = X * np.exp(-np.arange(64) / 16) * np.exp(0.5 * rng.standard_normal((31_000, 1)))
    else:
        with np.load(folder_of_sets() / FILES[name]) as arrays:
            X = arrays["X"].astype(np.float32)
        X = X[rng.permutation(len(X))]
        if name == "text" and metric != "cosine":
            X = X * np.exp(0.7 * rng.standard_normal((len(X), 1)))
    X = X.astype(np.float32)
    query, items, train = np.split(X, [N_QUERIES, N_QUERIES + min(MOST_ITEMS, len(X) // 3)])
    train = train[:MOST_TRAIN]
    if metric == "cosine":
        mean = train.mean(axis=0)
        query, items, train = (unit(part - mean) for part in (query, items, train))
    return query, train, items


def unit(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def highest(scores):
    """Columns of the highest scores of each row."""
    return np.argpartition(-scores, N_NEIGHBORS - 1, axis=1)[:, :N_NEIGHBORS]


def scores_of(query, items, metric):
    """Inner products, or minus half of squared distances but for a term of the query."""
    scores = query @ items.T
    return scores - (items**2).sum(axis=1) / 2 if metric == "euclidean" else scores


class Ours:
    """A hasher, asked by weights; its factors and lengths take of the bytes."""

    def __init__(self, hasher):
        self.hasher = hasher

    def fit(self, X):
        self.hasher.fit(X)

    def encode(self, X):
        self.codes = self.hasher.encode(X)
        return self.codes.nbytes / len(X)

    def scores(self, query, metric):
        yield weighted_scores(self.hasher.query_weights(query), self.codes)


class Quantizer:
    """A quantizer of faiss, of centered rows."""

    def __init__(self, quantizer):
        self.quantizer = quantizer

    def fit(self, X):
        self.mean = X.mean(axis=0)
        self.quantizer.train(X - self.mean)

    def encode(self, X):
        make = getattr(self.quantizer, "compute_codes", None) or self.quantizer.sa_encode
        self.codes = make(X - self.mean)
        return self.codes.shape[1]

    def scores(self, query, metric):
        decode = getattr(self.quantizer, "decode", None) or self.quantizer.sa_decode
        decoded = decode(self.codes) + self.mean
        yield scores_of(query, decoded, metric)
        if metric == "cosine":
            yield scores_of(query, unit(decoded), metric)


def additive(n_features, n_bytes, metric, seed, **params):
    """`metric="cosine"` keeps a factor of a byte, the others a length beside it."""
    n_bits = 8 * (n_bytes - (1 if metric == "cosine" else 2))
    return Ours(AdditiveHasher(n_bits, metric=metric, random_state=seed, **params))


def single_bits(n_features, n_bytes, metric, seed):
    return additive(n_features, n_bytes, metric, seed, word_size=1)


def itq(n_features, n_bytes, metric, seed):
    return Ours(ITQHasher(8 * n_bytes, random_state=seed))


def residual(n_features, n_bytes, metric, seed):
    return Quantizer(faiss.ResidualQuantizer(n_features, n_bytes, 8))


def local_search(n_features, n_bytes, metric, seed):
    return Quantizer(faiss.LocalSearchQuantizer(n_features, n_bytes, 8))


def opq(n_features, n_bytes, metric, seed):
    return Quantizer(faiss.index_factory(n_features, f"OPQ{n_bytes},PQ{n_bytes}"))


METHODS = {
    "AdditiveHasher": additive,
    "faiss ResidualQuantizer": residual,
    "faiss OPQ+PQ": opq,
    "AdditiveHasher, single bits": single_bits,
    "ITQHasher": itq,
    "faiss LocalSearchQuantizer": local_search,
}
FAST = [name for name in METHODS if name != "faiss LocalSearchQuantizer"]
# Sets, metrics, bytes, seeds and methods; what decides most comes first
PLAN = [
    (FILES, ["cosine"], [16, 8], [0], FAST),
    ([*FILES, "recommender"], ["inner_product", "euclidean"], [16], [0], FAST[:3]),
    (FILES, ["cosine"], [16], [1], FAST[:2]),
    (FILES, ["cosine"], [32], [0], FAST[:2]),
    (FILES, ["cosine"], [8], [1], FAST[:2]),
    (FILES, ["cosine"], [16, 8], [2], FAST[:2]),
    (["text", "coco17"], ["cosine"], [8], [0], ["faiss LocalSearchQuantizer"]),
    ([*FILES, "recommender"], ["inner_product", "euclidean"], [32], [0], FAST[:3]),
]


def measure(name, metric, n_bytes, seed, method):
    query, train, items = load(name, metric, seed)
    true = highest(scores_of(query, items, metric))
    model = METHODS[method](query.shape[1], n_bytes, metric, seed)
    seconds = [time.process_time()]
    model.fit(train)
    seconds.append(time.process_time())
    stored = model.encode(items)
    seconds.append(time.process_time())
    assert stored <= n_bytes, f"{method} stores {stored} bytes of {n_bytes}"
    found = [highest(scores) for scores in model.scores(query, metric)]
    recall = max(np.mean([np.isin(*rows) for rows in zip(true, each)]) for each in found)
    fit_seconds, encode_seconds = np.diff(seconds).tolist()
    return {
        "recall": float(recall),
        "fit_seconds": fit_seconds,
        "encode_seconds": encode_seconds,
        "n_train": len(train),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", type=Path, default=STORE.path)
    parser.add_argument("--only", nargs="+", default=[*FILES, "recommender"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    STORE.path = args.csv
    faiss.omp_set_num_threads(1)
    for part in PLAN:
        for cell in product(*part):
            key = dict(zip(STORE.key, cell))
            if (
                key["data"] in args.only
                and key["seed"] in args.seeds
                and not STORE.has(**key)
            ):
                STORE.add(**key, **measure(*cell))


if __name__ == "__main__":
    main()
