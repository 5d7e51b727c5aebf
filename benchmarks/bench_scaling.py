"""How much does the scale of features matter to codes learned with labels?

    python benchmarks/bench_scaling.py                       # all cells: about half an hour
    python benchmarks/bench_scaling.py --sets digits --seeds 0
    python benchmarks/bench_scaling.py --tables              # what is measured, as a table

Methods learn from the same 5 000 rows (all but the queries and 500 items of the digits),
whose features are as they are, standardized, or centered and scaled to unit length. At 32
bits, which are 4 bytes, queries rank 10 000 items that nobody was trained on: AP, expected
over orders of ties. Fashion-MNIST comes from Debian's package dataset-fashion-mnist or
from OpenML; SKLEARN_TALR_DATA names the folder of CIFAR-10's features. Every cell is a row
of a CSV file, ``--csv``. Cells that are there are not measured again.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from comparison._data import _load_fashion_mnist
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from sklearn_talr import ClassProbabilities, HashedNeighbors, TALRHasher
from sklearn_talr.hashing import AdditiveHasher

CSV = RESULTS / "scaling.csv"
N_BITS, N_QUERIES, N_TRAIN, N_ITEMS = 32, 1_000, 5_000, 10_000
SCALINGS = {
    "as they are": FunctionTransformer(),
    "standardized": StandardScaler(),
    "unit length": make_pipeline(StandardScaler(with_std=False), Normalizer()),
}
LOGISTIC = ClassProbabilities(LogisticRegression(C=3, max_iter=1000))
ADDITIVE = AdditiveHasher(N_BITS, metric="inner_product", random_state=0)
METHODS = {
    "linear": TALRHasher(N_BITS, random_state=0),
    "hidden layer": TALRHasher(N_BITS, loss="nDCG", hidden_layer_sizes=256, random_state=0),
    "teacher, TALR": make_pipeline(
        ClassProbabilities(), TALRHasher(N_BITS, random_state=0)
    ),
    "teacher, additive": make_pipeline(ClassProbabilities(), ADDITIVE),
    "logistic, additive": make_pipeline(LOGISTIC, ADDITIVE),
}
KEY = "data", "scaling", "method", "seed"


def load_cifar10():
    """Features of CIFAR-10 and classes."""
    path = Path(os.environ["SKLEARN_TALR_DATA"]) / "cifar10_cnn512.npz"
    with np.load(path) as arrays:
        return arrays["X"], arrays["y"]


SETS = {
    "digits": lambda: load_digits(return_X_y=True),
    "fashion_mnist": _load_fashion_mnist,
    "cifar10": load_cifar10,
}


def split(name, seed):
    """Queries, training rows, and items that nobody is trained on, with their classes."""
    X, y = SETS[name]()
    order = np.random.default_rng(seed).permutation(len(X))
    sizes = (200, len(X) - 700) if name == "digits" else (N_QUERIES, N_TRAIN)
    rows = np.split(order, np.cumsum(sizes))
    rows[-1] = rows[-1][:N_ITEMS]
    return [(X[part].astype(np.float32), y[part]) for part in rows]


def measure(method, scaling, parts):
    """AP of the queries, as the codes of the method are made to be asked."""
    scaler = clone(SCALINGS[scaling])
    queries, train, items = parts
    hasher = make_pipeline(scaler, *_steps(clone(METHODS[method])))
    index = HashedNeighbors(FrozenEstimator(hasher.fit(*train))).fit(*items)
    return index.score(*queries)


def _steps(estimator):
    return (
        [step for _, step in estimator.steps]
        if hasattr(estimator, "steps")
        else [estimator]
    )


def measure_all(sets, seeds, store):
    """Measure what is not there yet."""
    for seed in seeds:
        for name in sets:
            parts = split(name, seed)
            for scaling in SCALINGS:
                for method in METHODS:
                    key = dict(zip(KEY, (name, scaling, method, seed)))
                    if not store.has(**key):
                        store.add(**key, ap=float(measure(method, scaling, parts)))


def print_table(rows):
    """Print means over splits: a line for each method and set, a cell for each scaling."""
    cells = {}
    for row in rows:
        key = row["data"], row["method"], row["scaling"]
        cells.setdefault(key, []).append(float(row["ap"]))
    for name in SETS:
        for method in METHODS:
            means = [np.mean(cells.get((name, method, each), np.nan)) for each in SCALINGS]
            print(name, method, *(f"{mean:.3f}".lstrip("0") for mean in means), sep=", ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--csv", type=Path, default=CSV)
    parser.add_argument("--tables", action="store_true", help="print only")
    args = parser.parse_args()
    store = Store(args.csv, KEY, ["ap"])
    if not args.tables:
        measure_all(args.sets, args.seeds, store)
    print_table(store.rows())


if __name__ == "__main__":
    main()
