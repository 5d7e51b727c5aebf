"""What hashers cost: CPU seconds to fit and to encode, and the size of what is fitted.

    python benchmarks/bench_encoding.py           # all, some five minutes

The rows are those of CIFAR-10 in the comparison, first split: 5 000 of 512 features are
trained on, and 59 000 are encoded, three times, of which the median counts. Each hasher is
fitted once. Everything takes one thread. The size is that of the pickle.
SKLEARN_TALR_DATA names the folder of the sets.
"""

import pickle
import time

import numpy as np
import torch
from _store import record
from benchmark_sets import load_benchmark
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from sklearn_talr import ClassProbabilities, ITQHasher, TALRHasher
from sklearn_talr.hashing import AdditiveHasher, LSHHasher
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV

N_BITS, REPEATS = 32, 3


def talr(n_bits=N_BITS, **params):
    return TALRHasher(n_bits, random_state=0, **params)


def behind(classifier=None):
    """TALR of the probabilities of a kernel classifier, by default of the default one."""
    return make_pipeline(ClassProbabilities(classifier), talr())


LOGISTIC = ClassProbabilities(LogisticRegression(C=3, max_iter=1000), temperature=1)
SINGLE_BITS = {"word_size": 1, "metric": "inner_product", "random_state": 0}
HASHERS = {
    "LSH": LSHHasher(N_BITS, random_state=0),
    "ITQ": ITQHasher(N_BITS, random_state=0),
    "TALR": talr(),
    "TALR, 64 bits": talr(64),
    "TALR, early descent": talr(early_descent=True),
    "TALR, hidden layer": talr(hidden_layer_sizes=256),
    "TALR-NDCG, hidden layer": talr(measure="nDCG", hidden_layer_sizes=256),
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


def measure(hasher, data):
    """Seconds of a fit and of encoding the database, and bytes of the model."""
    fit = cpu_seconds(hasher.fit, data.X_train, data.y_train)
    encode = [cpu_seconds(hasher.transform, data.X_database) for _ in range(REPEATS)]
    n_bytes = len(pickle.dumps(hasher))
    return {"fit, s": fit, "encode, s": float(np.median(encode)), "model, bytes": n_bytes}


def main():
    torch.set_num_threads(1)
    data = load_benchmark("cifar10", 0)
    print(f"{len(data.X_train)} rows fitted, {len(data.X_database)} encoded")
    with threadpool_limits(1):
        for name, hasher in HASHERS.items():
            figures = measure(hasher, data)
            for quantity, value in figures.items():
                record("bench_encoding", "cifar10", name, quantity, value)
            fit, encode, n_bytes = figures.values()
            print(
                f"{name:26s}{fit:8.2f} s{encode:9.3f} s{n_bytes / 1e6:9.2f} MB", flush=True
            )


if __name__ == "__main__":
    main()
