"""Two stages: what the classifier, its kernel, and what is made of its output are worth.

    python benchmarks/bench_teacher.py                      # all parts: an hour
    python benchmarks/bench_teacher.py widths roots --sets digits
    python benchmarks/bench_teacher.py --tables             # what is measured

Every cell is the first split of a set by the protocols of the comparison: 5 000 rows are
trained on, 1 618 of the digits, and queries rank the whole database, and then its rows that
were not trained on. The first 1 000 queries rank, and all in the part ``classifiers``. The
*first* stage turns features into probabilities: *kernel* is the default teacher,
``KernelRidgeClassifierCV``, and widths are shares of the median distance of training rows.
*Not left out* teaches the second stage by probabilities of rows that the teacher has seen.
The *second* stage is TALR, which is asked by Hamming distance, additive bits (single ones,
for inner products), or nothing: floats on both sides, compared by inner products.

Every cell is two rows of a CSV file, ``--csv``, and is not measured again.
SKLEARN_TALR_DATA names the folder of the benchmark sets.
"""

import argparse
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _store import RESULTS, Store
from comparison._data import load_comparison
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import gen_batches

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.measures import AP
from sklearn_talr.metrics import tie_aware_average_precision_score

SETS = "cifar10", "coco17", "tmc2007", "fashion_mnist", "digits"
N_QUERIES, QUERIES_PER_BLOCK = 1000, 50
KEY = ["part", "data", "seed", "first", "temperature", "second", "n_bits"]
FIGURES = ["queries", "items", "ap"]


class Cell(NamedTuple):
    """What is fitted: the two stages, and the temperature between them."""

    first: str
    temperature: float
    second: str
    n_bits: int


def logistic(C=3):
    return LogisticRegression(C=C, max_iter=1000)


def discriminant(several):
    """For several labels one for each."""
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    return OneVsRestClassifier(model) if several else model


def of_components(several):
    model = make_pipeline(Nystroem(gamma=1, n_components=1000, random_state=0), logistic(1))
    return OneVsRestClassifier(model) if several else model


def simple(several, C):
    return OneVsRestClassifier(logistic(C)) if several else logistic(C)


# name: function of whether there are several labels, and the folds of its predictions
CLASSIFIERS = {
    "logistic, C=1": (lambda several: simple(several, 1), None),
    "logistic, C=3": (lambda several: simple(several, 3), None),
    "logistic, C=10": (lambda several: simple(several, 10), None),
    "logistic, C=3, cv=5": (lambda several: simple(several, 3), 5),
    "MLP": (lambda _: MLPClassifier((256,), alpha=0.3, random_state=0), None),
    "Nystroem": (of_components, None),
    "discriminant": (discriminant, None),
}
WIDTHS = [f"kernel, width {width}" for width in (0.35, 0.45, 0.6)]
SOFT = 1.6  # what divides logits of exclusive classes by default
PARTS = {
    "left out": (
        ("cifar10", "coco17", "tmc2007"),
        [
            Cell("features", 1, "TALR", 32),
            Cell("logistic, C=3, cv=5", 1, "TALR", 32),
            *(Cell("kernel", 1, *last) for last in (("TALR", 32), ("additive", 32))),
            Cell("kernel", 1, "floats", 0),
            Cell("kernel, not left out", 1, "TALR", 32),
        ],
    ),
    "widths": (SETS, [Cell(first, 1, "floats", 0) for first in WIDTHS]),
    "roots": (
        SETS,
        [
            Cell(WIDTHS[1], 1, second, n_bits)
            for second, n_bits in product(("TALR", "TALR of roots"), (12, 32))
        ],
    ),
    "kernels": (("tmc2007",), [Cell("kernel, linear", 1, "TALR", 32)]),
    "components": (
        ("cifar10",),
        [Cell(f"kernel, {n} components", 1, "floats", 0) for n in (1000, 2000)],
    ),
    "temperature": (
        ("cifar10",),
        [
            Cell("kernel", *rest)
            for rest in product((1, SOFT), ("TALR", "additive"), (12, 32))
        ]
        + [Cell("kernel", SOFT, "floats", 0)],
    ),
    "classifiers": (
        ("cifar10", "coco17"),
        [Cell(first, 1, "additive", 32) for first in CLASSIFIERS if "cv" not in first]
        + [Cell("discriminant", 1, "floats", 0)],
    ),
}


@lru_cache(maxsize=1)
def load(name):
    return load_comparison(name, 0)


@lru_cache(maxsize=1)
def probabilities(name, first, temperature):
    """Of the training rows for the second stage, of queries, and of the database."""
    data = load(name)
    rest = data.X_query, data.X_database
    if first == "features":
        return data.X_train, *rest
    teacher = teacher_of(data, first, temperature)
    of_training_rows = teacher.fit_transform(data.X_train, data.y_train)
    if first.endswith("not left out"):
        of_training_rows = teacher.transform(data.X_train)
    return of_training_rows, *map(teacher.transform, rest)


def teacher_of(data, first, temperature):
    """The first stage by its name."""
    if first in CLASSIFIERS:
        make, cv = CLASSIFIERS[first]
        estimator = make(data.y_train.ndim > 1)
        return ClassProbabilities(estimator, cv=cv, temperature=temperature)
    option, params = first.removeprefix("kernel").removeprefix(", "), {}
    if option.startswith("width"):
        params["gammas"] = [gamma_of(data.X_train, float(option.split()[1]))]
    elif option.endswith("components"):
        params["n_components"] = int(option.split()[0])
    elif option == "linear":
        params["kernel"] = "linear"
    return ClassProbabilities(KernelRidgeClassifierCV(**params), temperature=temperature)


def gamma_of(X, share):
    """Of a Gaussian kernel as wide as this share of the median distance of rows."""
    some = X[np.random.default_rng(0).choice(len(X), 1000, replace=False)]
    distances = euclidean_distances(some)[np.triu_indices(1000, 1)]
    return float(1 / (2 * (share * np.median(distances)) ** 2))


def measure(part, name, cell):
    """Rows of one cell: how queries were asked, the items, and their AP."""
    data = load(name)
    train, query, database = probabilities(name, cell.first, cell.temperature)
    n_queries = len(query) if part == "classifiers" else N_QUERIES
    query, y_query = query[:n_queries], data.y_query[:n_queries]
    if cell.second == "TALR of roots":
        train, query, database = map(np.sqrt, (train, query, database))
    for items, keep in (("all", slice(None)), ("new", new_rows(data))):
        if items == "new" and not keep.any():
            continue  # all of the digits are trained on
        targets = data.affinity, y_query, data.y_database[keep]
        for queries, ap in scores(cell, data, train, query, database, keep, targets):
            yield {"queries": queries, "items": items, "ap": ap}


def scores(cell, data, train, query, database, keep, targets):
    """How queries were asked, and the mean AP, of the items to keep."""
    if cell.second == "floats":
        yield "floats", of_scores(np.inner, query, database[keep], *targets)
        return
    hasher = hasher_of(cell, data.affinity)
    key = data.X_train.shape, cell, id(train)
    hasher = fitted(key, hasher, train, data.y_train)
    codes = hasher.transform(query), hasher.transform(database[keep])
    ap = float(np.nanmean(AP.of(hamming_histogram(*codes, *targets))))
    yield "Hamming", ap
    if cell.second == "additive":
        asked = hasher.query_weights(query), hasher.encode(database[keep])
        yield "weighted", of_scores(weighted_scores, *asked, *targets)


_FITTED = {}


def fitted(key, hasher, *training_rows):
    """Fit once for both kinds of items."""
    if key not in _FITTED:
        _FITTED.clear()
        _FITTED[key] = hasher.fit(*training_rows)
    return _FITTED[key]


def hasher_of(cell, affinity):
    if cell.second == "additive":
        return AdditiveHasher(
            cell.n_bits, word_size=1, metric="inner_product", random_state=0
        )
    decay = {"weight_decay": 0.0} if cell.first.startswith("logistic") else {}
    return TALRHasher(cell.n_bits, affinity=affinity, random_state=0, **decay)


def of_scores(score, query, items, affinity, y_query, y_items):
    """Mean tie-aware AP of real scores."""
    values = []
    for rows in gen_batches(len(query), QUERIES_PER_BLOCK):
        true = affinity(y_query[rows], y_items)
        found = score(query[rows], items)
        values.append(tie_aware_average_precision_score(true, found, average=False))
    return float(np.nanmean(np.concatenate(values)))


def new_rows(data):
    """Which rows of the database were not trained on."""
    trained = {row.tobytes() for row in data.X_train}
    return np.array([row.tobytes() not in trained for row in data.X_database])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--csv", type=Path, default=RESULTS / "teacher.csv")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    store = Store(arguments.csv, KEY, FIGURES)
    for part in [] if arguments.tables else arguments.parts:
        sets, cells = PARTS[part]
        for name, cell in product([s for s in sets if s in arguments.sets], cells):
            key = {"part": part, "data": name, "seed": 0} | cell._asdict()
            if not store.has(**key):
                for row in list(measure(part, name, cell)):
                    store.add(**key, **row)
    for row in store.rows():
        print("  ".join(list(row.values())[:-1]))


if __name__ == "__main__":
    main()
