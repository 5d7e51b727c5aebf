"""What each step takes: CPU seconds to fit, encode, search, count and score.

    python benchmarks/bench_steps.py           # all, some five minutes
    python benchmarks/bench_steps.py search    # one of: hashers search

The rows are those of CIFAR-10 in the comparison, first split: 5 000 of 512 features are
trained on, 59 000 are items, and 1 000 are queries. Everything takes one thread. Each
hasher is fitted once; other figures are medians. The size of a hasher is that of its
pickle. SKLEARN_TALR_DATA names the folder of the sets.
"""

import argparse
import pickle
import time
from functools import partial

import numpy as np
import torch
from _store import record
from benchmark_sets import load_benchmark
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from sklearn_talr import ClassProbabilities, HammingNeighbors, ITQHasher, TALRHasher
from sklearn_talr.codes import PackedCodes
from sklearn_talr.hashing import AdditiveHasher, LSHHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.measures import AP, nDCG
from sklearn_talr.metrics import tie_breaking_range
from sklearn_talr.neighbors import WeightedHammingNeighbors

N_BITS, REPEATS = 32, 5


def talr(n_bits=N_BITS, **params):
    return TALRHasher(n_bits, random_state=0, **params)


def behind(classifier=None):
    """TALR of the probabilities of a kernel classifier, by default of the default one."""
    return make_pipeline(ClassProbabilities(classifier), talr())


LOGISTIC = ClassProbabilities(LogisticRegression(C=3, max_iter=1000), temperature=1)
SINGLE_BITS = {"method": "bits", "metric": "inner_product", "random_state": 0}
HASHERS = {
    "LSH": LSHHasher(N_BITS, random_state=0),
    "ITQ": ITQHasher(N_BITS, random_state=0),
    "TALR": talr(),
    "TALR, 64 bits": talr(64),
    "TALR, early stopping": talr(early_stopping=True),
    "TALR, hidden layer": talr(hidden_layer_sizes=256),
    "TALR-NDCG, hidden layer": talr(loss="nDCG", hidden_layer_sizes=256),
    "logistic, additive bits": make_pipeline(
        LOGISTIC, AdditiveHasher(N_BITS, **SINGLE_BITS)
    ),
    "linear kernel, TALR": behind(KernelRidgeClassifierCV("linear")),
    "1 000 components, TALR": behind(
        KernelRidgeClassifierCV(n_components=1000, random_state=0)
    ),
    "teacher, TALR": behind(),
}


def cpu_seconds(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def median_seconds(function, *arguments):
    return float(np.median([cpu_seconds(function, *arguments) for _ in range(REPEATS)]))


def note(table, line, quantity, value):
    """Print a figure, and keep it if that is asked for."""
    record("bench_steps", table, line, quantity, value)
    print(f"{table:18s}{line:36s}{quantity:16s}{value:12.5g}", flush=True)


def hashers(data):
    """Seconds of a fit and of encoding the database, and bytes of the model."""
    for name, hasher in HASHERS.items():
        fit = cpu_seconds(hasher.fit, data.X_train, data.y_train)
        note("hashers", name, "fit, s", fit)
        encode = median_seconds(hasher.transform, data.X_database)
        note("hashers", name, "encode, s", encode)
        note("hashers", name, "model, bytes", len(pickle.dumps(hasher)))


def search(data):
    """Index, neighbors, tables of counts and measures, of learned and of random codes."""
    rng = np.random.default_rng(0)
    for name, n_bits in (("learned", 32), ("learned", 64), ("random", 64)):
        hasher = talr(n_bits).fit(data.X_train, data.y_train)
        items, queries = (hasher.encode(X) for X in (data.X_database, data.X_query))
        if name == "random":
            items, queries = (
                PackedCodes(rng.integers(256, size=codes.data.shape, dtype=np.uint8), 64)
                for codes in (items, queries)
            )
        weights = hasher.query_weights(data.X_query)
        for step, run in steps(items, queries, weights, data).items():
            note(f"{name}, {n_bits} bits", step, "s", median_seconds(run))


def steps(items, queries, weights, data):
    """Functions by name, all of the 1 000 queries."""
    count = partial(
        hamming_histogram, queries, items, "auto", data.y_query, data.y_database
    )
    index, weighted = HammingNeighbors(10).fit(items), WeightedHammingNeighbors(10)
    return {
        "index": partial(HammingNeighbors(10).fit, items),
        "ten nearest": partial(index.kneighbors, queries),
        "ten nearest, weighted": partial(weighted.fit(items).kneighbors, weights),
        "counts": count,
        "AP": partial(AP.of, count()),
        "NDCG": partial(nDCG.of, count()),
        "range of AP": partial(tie_breaking_range, count()),
    }


PARTS = {part.__name__: part for part in (hashers, search)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parts = parser.parse_args().parts or PARTS
    torch.set_num_threads(1)
    data = load_benchmark("cifar10", 0)
    with threadpool_limits(1):
        for part in parts:
            PARTS[part](data)


if __name__ == "__main__":
    main()
