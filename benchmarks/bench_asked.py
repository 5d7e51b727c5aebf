"""How codes are asked: by bits, by weights of two kinds, and with candidates rescored.

    python benchmarks/bench_asked.py                 # some minutes
    python benchmarks/bench_asked.py --tables        # what is measured

*labels* and *distances* take the first split of the benchmark sets, all queries and all
items, and three ways to ask: by Hamming distance, by the activations of the query, and by
``tanh(2 a / m)`` of its activations a with mean magnitude m. Scores are AP, or without
labels the share of the ten nearest by cosine that are among the first ten found. *recall*
takes 1 000 queries of COCO, fits to 5 000 rows, and searches the other 9 925. It takes
up to 1 000 candidates and puts them in order by their floats; of 10 nothing is put in
order.

Every cell is some rows of a CSV file, ``--csv``, and is not measured again.
SKLEARN_TALR_DATA names the folder of the benchmark sets.
"""

import argparse
from functools import lru_cache
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from bench_embeddings import recall, unit_rows
from benchmark_sets import BENCHMARKS, folder_of_sets, load_benchmark

from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP
from sklearn_talr.metrics import tie_aware_average_precision_score
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

N_NEAREST, QUERIES_PER_BLOCK = 10, 50
N_CANDIDATES = (10, 30, 100, 300, 1000)
KEY = ["part", "data", "contender", "n_bits"]
FIGURES = ["asked", "n_candidates", "score"]
CELLS = [
    *(("labels", "cifar10", "TALR", n_bits) for n_bits in (12, 32)),
    *(("labels", "coco17", "TALR", n_bits) for n_bits in (12, 32)),
    ("labels", "tmc2007", "TALR", 32),
    *(("distances", name, "TALR without labels", 64) for name in ("coco17", "scenes")),
    ("distances", "cifar10", "ITQ", 256),
    ("recall", "coco17", "signs", 512),
    *(
        ("recall", "coco17", contender, n_bits)
        for contender in ("LSH", "ITQ", "additive")
        for n_bits in (64, 128, 256)
    ),
]


def measure(part, name, contender, n_bits):
    """Rows of a cell: how codes were asked, how many candidates, and the score."""
    if part == "recall":
        return of_candidates(contender, n_bits)
    data = load_benchmark(name)
    if part == "labels":
        hasher = TALRHasher(n_bits, affinity=data.affinity, random_state=0)
        hasher.fit(data.X_train, data.y_train)
        return of_labels(hasher, data)
    make = ITQHasher if contender == "ITQ" else TALRHasher
    return of_distances(make(n_bits, random_state=0).fit(data.X_train), data)


def ways_to_ask(hasher, X):
    """Weights of the queries by two names."""
    activations = hasher.decision_function(X).astype(np.float32)
    typical = np.abs(activations).mean(axis=1, keepdims=True)
    yield "activations", activations
    yield "saturated", np.tanh(2 * activations / typical)


def of_labels(hasher, data):
    """AP of the whole ranking."""
    targets = data.affinity, data.y_query, data.y_database
    database = hasher.transform(data.X_database)
    table = hamming_histogram(hasher.transform(data.X_query), database, *targets)
    yield "Hamming", "", float(np.nanmean(AP.of(table)))
    signs = 2 * database.astype(np.float32) - 1
    for asked, weights in ways_to_ask(hasher, data.X_query):
        values = []
        for start in range(0, len(weights), QUERIES_PER_BLOCK):
            rows = slice(start, start + QUERIES_PER_BLOCK)
            true = data.affinity(data.y_query[rows], data.y_database)
            scores = weights[rows] @ signs.T
            values.append(tie_aware_average_precision_score(true, scores, average=False))
        yield asked, "", float(np.nanmean(np.concatenate(values)))


def of_distances(hasher, data):
    """Recall of the ten nearest by cosine."""
    nearest = nearest_rows(data.X_query, data.X_database)
    database = hasher.transform(data.X_database)
    index = HammingNeighbors(N_NEAREST).fit(database)
    found = index.kneighbors(hasher.transform(data.X_query), return_distance=False)
    yield "Hamming", "", recall(nearest, found)
    index = WeightedHammingNeighbors(N_NEAREST).fit(pack_codes(database))
    for asked, weights in ways_to_ask(hasher, data.X_query):
        found = index.kneighbors(weights, return_distance=False)
        yield asked, "", recall(nearest, found)


def nearest_rows(queries, items):
    """The ten items of largest inner product with each query."""
    blocks = np.array_split(queries, -(-len(queries) // QUERIES_PER_BLOCK))
    return np.concatenate([np.argsort(-q @ items.T)[:, :N_NEAREST] for q in blocks])


@lru_cache(maxsize=1)
def rows_of_coco():
    """Queries, rows to fit, and the others, of unit length."""
    with np.load(folder_of_sets() / BENCHMARKS["coco17"][0]) as arrays:
        X = arrays["X"].astype(np.float32)
    X = X[np.random.default_rng(0).permutation(len(X))]
    X = unit_rows(X - X[1000:6000].mean(axis=0))
    return np.split(X, [1000, 6000])


def of_candidates(contender, n_bits):
    """Recall after so many candidates were put in order by their floats."""
    queries, train, items = rows_of_coco()
    nearest = nearest_rows(queries, items)
    for asked, found in candidates(contender, n_bits, queries, train, items):
        for n_candidates in N_CANDIDATES:
            some = found[:, :n_candidates]
            scores = np.einsum("qd,qcd->qc", queries, items[some])
            best = np.argsort(-scores, axis=1)[:, :N_NEAREST]
            best = np.take_along_axis(some, best, axis=1)
            yield asked, n_candidates, recall(nearest, best)


def candidates(contender, n_bits, queries, train, items):
    """The first items by each way to ask."""
    most = max(N_CANDIDATES)
    if contender == "signs":
        bits = HammingNeighbors(most).fit(pack_codes(items > 0))
        yield "Hamming", bits.kneighbors(queries > 0, return_distance=False)
        return
    make = {"LSH": LSHHasher, "ITQ": ITQHasher}.get(contender)
    if make is None:
        hasher = AdditiveHasher(n_bits, word_size=1, random_state=0).fit(train)
    else:
        hasher = make(n_bits, random_state=0).fit(train)
    bits = HammingNeighbors(most).fit(hasher.transform(items))
    yield "Hamming", bits.kneighbors(hasher.transform(queries), return_distance=False)
    if contender != "LSH":
        codes = WeightedHammingNeighbors(most).fit(hasher.encode(items))
        weights = hasher.query_weights(queries)
        yield "weighted", codes.kneighbors(weights, return_distance=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["labels", "distances", "recall"])
    parser.add_argument("--csv", type=Path, default=RESULTS / "asked.csv")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    store = Store(arguments.csv, KEY, FIGURES)
    for cell in [] if arguments.tables else CELLS:
        key = dict(zip(KEY, cell))
        if cell[0] in arguments.parts and not store.has(**key):
            for row in list(measure(*cell)):
                store.add(**key, **dict(zip(FIGURES, row)))
    for row in store.rows():
        print("  ".join(list(row.values())[:-1]))


if __name__ == "__main__":
    main()
