"""The numbers that pages quote first: AP among items that no hasher was trained on.

    python benchmarks/bench_new_rows.py                  # an hour and a half
    python benchmarks/bench_new_rows.py --sets cifar10   # half an hour
    python benchmarks/bench_new_rows.py --table          # what is measured

The splits are those of the comparison: 5 000 rows are trained on, and queries rank the
database without these rows, and then with them, as papers do. There are 1 000 queries, with
their bits or with their weights. All estimators have their defaults and 32 bits. *Floats*
are the probabilities of the first stage, compared by inner products. Every line is a row of
a CSV file, ``--csv``, and is not measured again. SKLEARN_TALR_DATA names the folder of the
sets.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from bench_teacher import new_rows, of_scores
from comparison._data import load_comparison
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    ITQHasher,
    LSHHasher,
    TALRHasher,
)
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

SETS = "cifar10", "fashion_mnist", "coco17", "tmc2007"
N_BITS, SEEDS, N_QUERIES = 32, (0, 1, 2), 1000
FIGURES = ["new", "all", "new_weighted", "all_weighted"]
HIDDEN = {"measure": "nDCG", "hidden_layer_sizes": 256}
METHODS = {
    "LSH": lambda seed: LSHHasher(N_BITS, random_state=seed),
    "ITQ": lambda seed: ITQHasher(N_BITS, random_state=seed),
    "linear": lambda seed: TALRHasher(N_BITS, random_state=seed),
    "hidden layer": lambda seed: TALRHasher(N_BITS, random_state=seed, **HIDDEN),
    "two stages": lambda seed: make_pipeline(
        ClassProbabilities(), TALRHasher(N_BITS, random_state=seed)
    ),
    "two stages, additive": lambda seed: make_pipeline(
        ClassProbabilities(),
        AdditiveHasher(N_BITS, metric="inner_product", random_state=seed),
    ),
    "floats": lambda seed: ClassProbabilities(),
}


def measure(name, seed, method):
    """Mean AP of binary and of weighted queries, among new rows and among all."""
    data = load_comparison(name, seed)
    fitted = METHODS[method](seed).fit(data.X_train, data.y_train)
    query, y_query = data.X_query[:N_QUERIES], data.y_query[:N_QUERIES]
    queries, items = fitted.transform(query), fitted.transform(data.X_database)
    if method != "floats":
        *teacher, hasher = fitted if isinstance(fitted, Pipeline) else [fitted]
        rows = [teacher[0].transform(X) if teacher else X for X in (query, data.X_database)]
        weights, packed = hasher.query_weights(rows[0]), hasher.encode(rows[1])
    for of_items, keep in (("new", new_rows(data)), ("all", slice(None))):
        targets = data.affinity, y_query, data.y_database[keep]
        if method == "floats":
            ap = of_scores(np.inner, queries, items[keep], *targets)
            yield of_items + "_weighted", ap
            continue
        yield (
            of_items,
            float(np.nanmean(AP.of(hamming_histogram(queries, items[keep], *targets)))),
        )
        ap = of_scores(weighted_scores, weights, packed[keep], *targets)
        yield of_items + "_weighted", ap


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--csv", type=Path, default=RESULTS / "new_rows.csv")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    store = Store(arguments.csv, ["data", "seed", "method"], FIGURES)
    cells = product(arguments.sets, SEEDS, METHODS)
    for name, seed, method in [] if arguments.table else cells:
        if not store.has(data=name, seed=seed, method=method):
            store.add(
                data=name, seed=seed, method=method, **dict(measure(name, seed, method))
            )
    rows = store.rows()
    for name, method in product(SETS, METHODS):
        found = [r for r in rows if (r["data"], r["method"]) == (name, method)]
        if found:
            means = [np.mean([float(row[i] or "nan") for row in found]) for i in FIGURES]
            print(f"{name:14}{method:22}", *(f"{mean:.3f}" for mean in means), len(found))


if __name__ == "__main__":
    main()
