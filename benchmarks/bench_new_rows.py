"""The numbers that pages quote first: AP among items that no hasher was trained on.

    python benchmarks/bench_new_rows.py                  # an hour and a half
    python benchmarks/bench_new_rows.py --sets cifar10   # half an hour

The splits are those of the comparison: 5 000 rows are trained on, and queries rank the
database without these rows, and then with them, as papers do. There are 1 000 queries, with
their bits or with their weights. All estimators have their defaults and 4 bytes, of which
AdditiveHasher spends one on the factor. *Floats* are the probabilities of the first stage,
compared by inner products. Every line is a row of a CSV file, ``--csv``, and is not
measured again. SKLEARN_TALR_DATA names the folder of the sets.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from comparison._data import load_comparison
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import gen_batches

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
from sklearn_talr.metrics import tie_aware_average_precision_score

SETS = "cifar10", "fashion_mnist", "coco17", "tmc2007"
N_BITS, SEEDS, N_QUERIES = 32, (0, 1, 2), 1000
FIGURES = ["new", "all", "new_weighted", "all_weighted"]
HIDDEN = {"loss": "nDCG", "hidden_layer_sizes": 256}
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
        AdditiveHasher(N_BITS - 8, metric="inner_product", random_state=seed),
    ),
    "floats": lambda seed: ClassProbabilities(),
}


def of_scores(score, query, items, affinity, y_query, y_items):
    """Mean tie-aware AP of real scores."""
    values = []
    for rows in gen_batches(len(query), 100):
        true = affinity(y_query[rows], y_items)
        found = score(query[rows], items)
        values.append(tie_aware_average_precision_score(true, found, average=False))
    return float(np.nanmean(np.concatenate(values)))


def new_rows(data):
    """Which rows of the database were not trained on."""
    trained = {row.tobytes() for row in data.X_train}
    return np.array([row.tobytes() not in trained for row in data.X_database])


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
    arguments = parser.parse_args()
    store = Store(arguments.csv, ["data", "seed", "method"], FIGURES)
    for name, seed, method in product(arguments.sets, SEEDS, METHODS):
        key = {"data": name, "seed": seed, "method": method}
        if not store.has(**key):
            store.add(**key, **dict(measure(name, seed, method)))


if __name__ == "__main__":
    main()
