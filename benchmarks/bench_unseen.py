"""Classes that were not trained on: which codes still rank them.

    python benchmarks/bench_unseen.py                       # all sets and splits: hours
    python benchmarks/bench_unseen.py --sets cifar10 --seeds 0 1
    python benchmarks/bench_unseen.py --tables              # what is measured, as tables

Every split draws 70 % of the classes, trains on at most 3 500 of their rows, and ranks up
to 6 000 items for up to 500 queries, which were not trained on: those of the other classes,
those of the same classes, and both together. With several labels per row the labels are
divided: rows with none of the others are trained on, rows with any of them are ranked, and
only those labels count. SKLEARN_TALR_DATA names the folder of the benchmark sets.

*Short* is ten epochs at a rate of 0.01, *recipe* also a scale of tanh of 1. *Chosen*
contenders choose one of three learning rates for these by cross-validation over classes:
each fold ranks classes that were not trained on. *Tuned* ones choose epochs and decay so,
and TALR has the scale of the recipe. The others have the defaults. Queries are bits
(Hamming distance) or floats (weighted Hamming distance); floats on both sides are listed
with 0 bits. Additive bits are for floats only.

*Scores* are log-probabilities of classes, or log-odds of labels, of the default classifier
of ClassProbabilities, or of a logistic regression, and stand beside the features.

Every cell is a row of a CSV file, ``--csv``. Cells that are there are not measured again.
Seconds are CPU time of one thread, of the choice and of the fit.
"""

import argparse
import csv
import json
import os
import time
from collections import defaultdict
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from benchmark_sets import BENCHMARKS, split_rows
from comparison._data import _arrays
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer
from sklearn.utils import gen_batches

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    ITQHasher,
)
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import DPSHLoss, DTSHLoss, HashNetLoss, MutualInformationLoss
from sklearn_talr.measures import AP
from sklearn_talr.metrics import (
    make_retrieval_scorer,
    tie_aware_average_precision_score,
)

SETS = ("cifar10", "digits", "fashion_mnist", "coco17", "tmc2007")
SEEN, N_TRAIN, N_QUERIES, N_ITEMS = 0.7, 3500, 500, 6000
N_FOLDS = 3
QUERIES_PER_BLOCK = 50
KEY = ["data", "seed", "contender", "n_bits"]
FIELDS = [*KEY, "queries", "protocol", "ap", "seconds", "params"]

# What cross-validation over classes chooses from, by the end of a contender's name
GRIDS = {
    "chosen": {"learning_rate_init": [0.025, 0.01, 0.005]},
    "tuned": {"max_iter": [5, 10, 20], "weight_decay": [0.02, 0.1, 0.6]},
}


def beside(classifier=None, cv=None):
    """Features, and the scores of a classifier beside them; the kernel's by default."""
    return ClassProbabilities(classifier, cv=cv, passthrough=True)


def beside_logistic():
    """The same of a linear classifier, whose scores of the training rows are of folds."""
    return beside(LogisticRegression(C=3, max_iter=1000), cv=5)


def short(cls, rate=0.01, **params):
    """A few epochs at a given rate, with little decay."""
    return partial(cls, max_iter=10, weight_decay=0.02, learning_rate_init=rate, **params)


DPSH, DTSH, HASHNET, MIHASH = (
    partial(TALRHasher, loss=loss)
    for loss in (DPSHLoss(), DTSHLoss(), HashNetLoss(), MutualInformationLoss())
)
GRADIENT = {
    "TALR": TALRHasher,
    "TALR, recipe": short(TALRHasher, tanh_scale=1.0),
    "TALR, recipe, rate 0.025": short(TALRHasher, 0.025, tanh_scale=1.0),
    "TALR, chosen": short(TALRHasher, tanh_scale=1.0),
    "TALR, short": short(TALRHasher),
    "DPSH": DPSH,
    "DPSH, short": short(DPSH),
    "DPSH, chosen": short(DPSH),
    "DTSH, short": short(DTSH),
    "DTSH, short, rate 0.025": short(DTSH, 0.025),
    "DTSH, chosen": short(DTSH),
    "HashNet": HASHNET,
    "MIHash": MIHASH,
    "TALR, tuned": partial(TALRHasher, tanh_scale=1.0),
    "DPSH, tuned": DPSH,
    "DTSH, tuned": DTSH,
    "MIHash, tuned": MIHASH,
}
FLOATS = {
    "features": lambda: FunctionTransformer(),
    "features and scores": lambda: make_pipeline(beside(), Normalizer()),
    "features and logistic scores": lambda: make_pipeline(beside_logistic(), Normalizer()),
}
ITQ, TALR = (partial(cls, random_state=0) for cls in (ITQHasher, TALRHasher))
ADDITIVE = partial(AdditiveHasher, word_size=1, random_state=0)
TWO_STAGES = {
    "ITQ": ITQ,
    "additive bits": ADDITIVE,
    "ITQ of features and scores": lambda n_bits: make_pipeline(beside(), ITQ(n_bits)),
    "additive bits of features and scores": lambda n_bits: make_pipeline(
        beside(), ADDITIVE(n_bits)
    ),
    "additive words of features and scores": lambda n_bits: make_pipeline(
        beside(), AdditiveHasher(n_bits, random_state=0)
    ),
    "ITQ of features and logistic scores": lambda n_bits: make_pipeline(
        beside_logistic(), ITQ(n_bits)
    ),
    "TALR of probabilities": lambda n_bits: make_pipeline(
        ClassProbabilities(), TALR(n_bits)
    ),
}
# In the order in which they are measured.
CELLS = [
    ("features", 0),
    ("ITQ", 32),
    *product(("TALR, recipe", "DPSH, short", "DTSH, short, rate 0.025"), (32, 128)),
    ("DTSH, short", 32),
    ("TALR, recipe, rate 0.025", 32),
    ("TALR, recipe, rate 0.025", 128),
    ("TALR, chosen", 32),
    ("DPSH, chosen", 32),
    ("features and scores", 0),
    *product(
        ("ITQ of features and scores", "additive bits of features and scores"),
        (32, 64, 128),
    ),
    *product(("TALR of probabilities", "ITQ of features and logistic scores"), (32,)),
    *product(("TALR, recipe", "ITQ"), (64,)),
    *product(("additive bits",), (32, 64)),
    ("additive words of features and scores", 64),
    ("features and logistic scores", 0),
    *product(("TALR, tuned", "DPSH, tuned"), (32, 128)),
    *product(("DTSH, tuned", "MIHash, tuned"), (32,)),
    *product(("TALR", "DPSH", "TALR, short", "DTSH, chosen", "HashNet", "MIHash"), (32,)),
]


@lru_cache(maxsize=1)
def arrays(name):
    """Features and targets as they are on disk: neither centered nor scaled."""
    if name not in BENCHMARKS:
        return _arrays(name)
    file, targets, _ = BENCHMARKS[name]
    with np.load(Path(os.environ["SKLEARN_TALR_DATA"]) / file) as stored:
        return stored["X"].astype(np.float32), stored[targets]


@lru_cache(maxsize=1)
def load(name, seed):
    """Features and targets of the parts, centered by the training rows, of unit length."""
    X, y = arrays(name)
    rng = np.random.default_rng(seed)
    if y.ndim == 1:
        return split_rows(X, y, parts_by_class(rng, y), LabelAffinity())
    labels = rng.permutation(y.shape[1])
    unseen = labels[round(SEEN * len(labels)) :]
    order = rng.permutation(len(y))
    has_unseen, has_any = y[:, unseen].any(axis=1), y.any(axis=1)
    train = order[(has_any & ~has_unseen)[order]][:N_TRAIN]
    rows = {"train": train} | queries_and_items(order[has_unseen[order]], "unseen")
    data = split_rows(X, y, rows, SharedLabelAffinity(binary=True))
    for part in ("unseen_query", "unseen_items"):
        data["y_" + part] = data["y_" + part][:, unseen]
    return data


def parts_by_class(rng, y):
    """Rows of each part: training, queries and items of seen and of unseen classes."""
    classes = rng.permutation(np.unique(y))
    is_seen = np.isin(y, classes[: round(SEEN * len(classes))])
    order = rng.permutation(len(y))
    seen, unseen = order[is_seen[order]], order[~is_seen[order]]
    n_train = min(N_TRAIN, 3 * len(seen) // 4)
    rows = {"train": seen[:n_train]} | queries_and_items(seen[n_train:], "seen")
    return rows | queries_and_items(unseen, "unseen")


def queries_and_items(rows, name):
    n_query = min(N_QUERIES, len(rows) // 5)
    items = rows[n_query : n_query + N_ITEMS]
    return {f"{name}_query": rows[:n_query], f"{name}_items": items}


def class_folds(y, seed):
    """Rows to train on and rows of other classes, for each fold."""
    rng = np.random.default_rng(seed)
    indicator = y if y.ndim == 2 else y[:, None] == np.unique(y)
    for labels in np.array_split(rng.permutation(indicator.shape[1]), N_FOLDS):
        is_test = indicator[:, labels].any(axis=1)
        yield np.flatnonzero(~is_test), np.flatnonzero(is_test)


def protocols(data):
    """Name, parts of queries, and parts of items, of every way to rank."""
    unseen = [("unseen in unseen", "unseen_query", ["unseen_items"])]
    if "X_seen_query" not in data:
        return unseen
    both = ["seen_items", "unseen_items"]
    return [
        *unseen,
        ("unseen in both", "unseen_query", both),
        ("seen in seen", "seen_query", ["seen_items"]),
        ("seen in both", "seen_query", both),
    ]


def fitted(data, contender, n_bits, seed):
    """A fitted contender, and the parameters that were chosen."""
    X, y = data.X_train, data.y_train
    if contender in FLOATS:
        return FLOATS[contender]().fit(X, y), {}
    if contender in TWO_STAGES:
        return TWO_STAGES[contender](n_bits).fit(X, y), {}
    model = GRADIENT[contender](n_bits=n_bits, affinity=data.affinity, random_state=seed)
    grid = GRIDS.get(contender.rpartition(", ")[2])
    if grid is None:
        return model.fit(X, y), {}
    scoring, folds = make_retrieval_scorer(), list(class_folds(y, seed))
    search = GridSearchCV(model, grid, scoring=scoring, cv=folds).fit(X, y)
    return search.best_estimator_, search.best_params_


def measure(data, name, seed, contender, n_bits):
    """Rows of the CSV file of one contender on one split."""
    start = time.process_time()
    model, params = fitted(data, contender, n_bits, seed)
    seconds = round(time.process_time() - start, 2)
    parts = [key[2:] for key in data if key.startswith("X_") and key != "X_train"]
    steps = {part: last_step(model, data["X_" + part]) for part in parts}
    floats = {part: as_floats(*step) for part, step in steps.items()}
    codes = {part: step[0].encode(step[1]) for part, step in steps.items() if n_bits}
    key = name, seed, contender, n_bits
    by_distance = n_bits and not contender.startswith("additive")
    rows = []
    for protocol, query, items in protocols(data):
        targets = data["y_" + query], np.concatenate([data["y_" + part] for part in items])
        if by_distance:
            database = np.concatenate([codes[part] for part in items])
            ap = of_distances(data.affinity, codes[query], database, *targets)
            rows.append((*key, "bits", protocol, ap, seconds, json.dumps(params)))
        if not by_distance or protocol == "unseen in unseen":
            database = [(codes if n_bits else floats)[part] for part in items]
            score = weighted_scores if n_bits else np.inner
            ap = of_scores(data.affinity, score, floats[query], database, *targets)
            rows.append((*key, "floats", protocol, ap, seconds, json.dumps(params)))
    return rows


def as_floats(last, X):
    """Query weights of a hasher, or else the features that a transformer returns."""
    return last.query_weights(X) if hasattr(last, "query_weights") else last.transform(X)


def last_step(model, X):
    """The last step of a pipeline, and what it is given."""
    if not hasattr(model, "steps"):
        return model, X
    return model[-1], model[:-1].transform(X)


def of_distances(affinity, queries, items, *targets):
    """Mean tie-aware AP of Hamming distances."""
    histogram = hamming_histogram(queries, items, affinity, *targets)
    return round(float(np.nanmean(AP.of(histogram))), 4)


def of_scores(affinity, score, queries, parts, y_query, y_items):
    """The same of real scores of the items, which are in several parts."""
    values = []
    for rows in gen_batches(len(queries), QUERIES_PER_BLOCK):
        true = affinity(y_query[rows], y_items)
        scores = np.concatenate([score(queries[rows], items) for items in parts], axis=1)
        values.append(tie_aware_average_precision_score(true, scores, average=False))
    return round(float(np.nanmean(np.concatenate(values))), 4)


def read(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def append(path, rows, fields=FIELDS):
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", newline="") as file:
        csv.writer(file).writerows([fields] * is_new + rows)
        file.flush()
        os.fsync(file.fileno())


def print_tables(rows):
    """A table per set: means over splits, and differences to the recipe."""
    for name in dict.fromkeys(row["data"] for row in rows):
        values = defaultdict(dict)
        for row in (row for row in rows if row["data"] == name):
            column = row["protocol"], row["queries"]
            line = row["contender"], int(row["n_bits"])
            values[line, column][row["seed"]] = float(row["ap"])
        columns = list(dict.fromkeys(column for _, column in values))
        print(f"\n{name}, mean over splits (difference to the recipe ± standard error)")
        print("| contender | bits | " + " | ".join(map(", ".join, columns)) + " | splits |")
        print("|---" * (len(columns) + 3) + "|")
        for line in dict.fromkeys(line for line, _ in values):
            cells = [shown(values, line, column) for column in columns]
            n_splits = len(values[line, columns[0]])
            print(f"| {line[0]} | {line[1]} | " + " | ".join(cells) + f" | {n_splits} |")


def shown(values, line, column):
    """Mean, and the paired difference to the recipe in as many bits."""
    of_seed = values.get((line, column))
    if not of_seed:
        return ""
    is_reference = line[0] == "TALR, recipe"
    reference = values.get((("TALR, recipe", line[1]), column), {})
    return with_difference(of_seed, {} if is_reference else reference)


def with_difference(of_seed, reference):
    """Mean over splits, and the difference on the splits that both have."""
    text = f"{np.mean(list(of_seed.values())):.3f}"
    pairs = [of_seed[seed] - reference[seed] for seed in of_seed if seed in reference]
    if len(pairs) < 2:
        return text
    error = np.std(pairs, ddof=1) / np.sqrt(len(pairs))
    return text + f" ({np.mean(pairs):+.3f} ±{error:.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = Path(__file__).parent / "results" / "unseen.csv"
    parser.add_argument("--csv", type=Path, default=path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=range(10))
    parser.add_argument("--contenders", nargs="+", help="some only")
    parser.add_argument("--bits", nargs="+", type=int, default=[0, 32, 64, 128])
    parser.add_argument("--tables", action="store_true")
    args = parser.parse_args()
    asked = args.contenders or [contender for contender, _ in CELLS]
    cells = [cell for cell in CELLS if cell[0] in asked and cell[1] in args.bits]
    for name, seed, cell in product(() if args.tables else args.sets, args.seeds, cells):
        key = [name, str(seed), cell[0], str(cell[1])]
        if key not in [[row[field] for field in KEY] for row in read(args.csv)]:
            append(args.csv, measure(load(name, seed), name, seed, *cell))
    print_tables(read(args.csv))


if __name__ == "__main__":
    main()
