"""Rows without labels: what training gains from them.

    python benchmarks/bench_unlabeled.py                      # all sets and splits: hours
    python benchmarks/bench_unlabeled.py --sets digits --seeds 0
    python benchmarks/bench_unlabeled.py --tables             # what is measured, as a table

Some rows of the database have labels, and up to 20 000 others have none. A teacher gives
each of these probabilities of classes, or of labels. Labeled rows get theirs from teachers
that were fitted to other folds. The temperature of all probabilities is the one with the
least log loss on the labeled rows.

With *probabilities* the soft count of similar items of a query is the expected one: an item
adds the probability that it shares a class with the query to the counts of similar items,
and the rest to the others. Pairs of labeled rows have affinities by label, unless they are
*softened*: half of that, and half the probability. Where more rows are trained on there are
fewer epochs, so that the number of steps is the same, and less decay.

*Two stages* are a hasher of the teacher's probabilities. Codes have 32 bits, and queries
rank the whole database by Hamming distance. SKLEARN_TALR_DATA names the folder of the
benchmark sets.

Every cell is a row of a CSV file, ``--csv``. Cells that are there are not measured again.
Seconds are CPU time of one thread, of the fit without its teacher.
"""

import argparse
import math
import time
from collections import defaultdict
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from bench_unseen import append, of_distances, read, with_difference
from comparison._data import load_once
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from sklearn_talr import TALRHasher
from sklearn_talr.affinity import BaseAffinity
from sklearn_talr.hashing import ClassProbabilities
from sklearn_talr.losses import soft_average_precision, soft_counts

# Labeled rows of each set; few of two, on which 5 000 leave hardly anything to gain.
N_LABELED = {
    "cifar10": 5000,
    "digits": 200,
    "fashion_mnist": 1000,
    "coco17": 5000,
    "tmc2007": 5000,
}
N_UNLABELED = 20_000
N_BITS = 32
WEIGHT_DECAY = 0.2  # with unlabeled rows
SURE = 0.9
N_LEVELS = 33  # of the probability that a pair is similar
TEMPERATURES = np.geomspace(0.2, 3, 25)
KEY = ["data", "seed", "contender"]
FIELDS = [*KEY, "n_labeled", "n_trained", "ap", "seconds"]
_KERNEL = CalibratedClassifierCV(SVC(C=3), ensemble=False)
TEACHERS = {
    name: ClassProbabilities(classifier, cv=5, temperature=1)
    for name, classifier in {
        "logistic regression": LogisticRegression(C=3, max_iter=1000),
        "neighbors": KNeighborsClassifier(20, weights="distance"),
        "kernel": _KERNEL,
    }.items()
}


class Contender(NamedTuple):
    """What is trained on: rows, what stands for their labels, and features."""

    rows: str = "all"  # or "labeled", or those whose prediction is "sure"
    targets: str = "probabilities"  # or "labels", or "predictions" of unlabeled rows
    softened: float = 0.0  # weight of probabilities between labeled rows
    teacher: str = "logistic regression"
    two_stages: bool = False


CONTENDERS = {
    "labeled only": Contender("labeled", "labels"),
    "labeled only, softened": Contender("labeled", softened=0.5),
    "labeled only, two stages": Contender("labeled", "labels", two_stages=True),
    "labeled only, two stages, kernel": Contender(
        "labeled", "labels", teacher="kernel", two_stages=True
    ),
    "predicted classes": Contender(targets="predictions"),
    "probabilities": Contender(),
    "probabilities, softened": Contender(softened=0.5),
    "probabilities, sure rows": Contender("sure"),
    "probabilities, neighbors": Contender(teacher="neighbors"),
    "probabilities, kernel": Contender(teacher="kernel"),
    "probabilities, two stages": Contender(two_stages=True),
    "all labels": Contender(targets="labels"),
}


class ExpectedAffinity(BaseAffinity):
    """The probability that two rows share a class or label, in steps; targets are rows.

    Of each row there are probabilities, and of the first ones label indicators; *softened*
    is the weight of probabilities between these. Rows may have *several* labels.
    """

    levels_ = np.arange(N_LEVELS)

    def __init__(self, probabilities, labels, softened, several):
        self.probabilities = probabilities.astype(np.float32)
        self.labels = labels.astype(np.float32)
        self.softened = softened
        self.several = several

    def __call__(self, y_query, y_database):
        similar = self._shared(self.probabilities[y_query], self.probabilities[y_database])
        query, items = (np.flatnonzero(y < len(self.labels)) for y in (y_query, y_database))
        true = self.labels[y_query[query]] @ self.labels[y_database[items]].T > 0
        block = np.ix_(query, items)
        similar[block] = self.softened * similar[block] + (1 - self.softened) * true
        return np.rint((N_LEVELS - 1) * similar).astype(np.uint8)

    def _shared(self, query, database):
        if not self.several:
            return np.minimum(query @ database.T, 1)
        none = np.ones((len(query), len(database)), dtype=np.float32)
        for p, q in zip(query.T, database.T):
            none *= 1 - p[:, None] * q
        return 1 - none


def expected_loss(bits, affinity):
    """1 - AP, where affinities are probabilities of being similar, in steps."""
    index = affinity.to(torch.uint8)
    counts = soft_counts(bits, bits.view_as(bits), index, N_LEVELS, exclude_self=True)
    similar = torch.einsum("qld,l->qd", counts, torch.linspace(0, 1, N_LEVELS))
    value = soft_average_precision(
        torch.stack([counts.sum(1) - similar, similar], 1), [0, 1]
    )
    has_similar = similar.detach().sum(1) > 0.5
    return 1 - (value * has_similar).sum() / has_similar.sum().clamp(min=1)


@lru_cache(maxsize=1)
def load(name, seed):
    """The split, with labeled and unlabeled rows drawn from its database."""
    data = load_once(name, seed, False)
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.permutation(len(data.y_train))[: N_LABELED[name]])
    data.X_labeled, data.y_labeled = data.X_train[kept], data.y_train[kept]
    is_labeled = np.isin(as_bytes(data.X_database), as_bytes(data.X_labeled))
    rest = rng.permutation(np.flatnonzero(~is_labeled))[:N_UNLABELED]
    data.X_unlabeled, data.y_unlabeled = data.X_database[rest], data.y_database[rest]
    return data


def as_bytes(X):
    """Rows as single values, so that equal ones can be found."""
    return np.ascontiguousarray(X).view(f"V{X.itemsize * X.shape[1]}").ravel()


@lru_cache(maxsize=2)
def teach(name, seed, teacher):
    """The teacher, and its probabilities of labeled and of unlabeled rows."""
    data = load(name, seed)
    teacher = clone(TEACHERS[teacher])
    labeled = teacher.fit_transform(data.X_labeled, data.y_labeled)
    return teacher, labeled, teacher.transform(data.X_unlabeled)


def calibrated(parts, indicator, several):
    """Probabilities at the temperature with the least log loss on labeled rows."""

    def log_loss(temperature):
        p = at_temperature(parts[0], temperature, several)
        loss = -np.log(p)[indicator > 0].sum()
        return loss - several * np.log1p(-p)[indicator == 0].sum()

    best = min(TEMPERATURES, key=log_loss)
    return [at_temperature(p, best, several) for p in parts]


def at_temperature(p, temperature, several):
    powers = np.clip(p, 1e-6, 1 - 1e-6) ** (1 / temperature)
    rest = np.clip(1 - p, 1e-6, 1 - 1e-6) ** (1 / temperature)
    total = powers + rest if several else powers.sum(axis=1, keepdims=True)
    return np.clip(powers / total, 1e-12, 1 - 1e-12)


def is_sure(p, several):
    return (np.maximum(p, 1 - p) > SURE).all(axis=1) if several else p.max(axis=1) > SURE


def fitted(name, seed, contender):
    """A function of features that gives codes, the number of rows, and seconds."""
    data, several = load(name, seed), load(name, seed).y_labeled.ndim == 2
    classes = np.unique(data.y_labeled)
    indicator = data.y_labeled if several else data.y_labeled[:, None] == classes
    teacher, *parts = teach(name, seed, contender.teacher)
    X = parts if contender.two_stages else [data.X_labeled, data.X_unlabeled]
    labeled, unlabeled = calibrated(parts, indicator, several)
    used = np.full(len(unlabeled), contender.rows != "labeled")
    if contender.rows == "sure":
        used = is_sure(unlabeled, several)
    X = np.concatenate([X[0], X[1][used]])
    make = {"random_state": seed, **settings(len(labeled), len(X), contender.two_stages)}
    start = time.process_time()
    if contender.targets == "probabilities":
        p = np.concatenate([labeled, unlabeled[used]])
        affinity = ExpectedAffinity(p, indicator, contender.softened, several)
        hasher = TALRHasher(N_BITS, loss=expected_loss, affinity=affinity, **make)
        hasher.fit(X, np.arange(len(X)))
    else:
        y = data.y_unlabeled
        if contender.targets == "predictions":
            y = unlabeled > 0.5 if several else classes[unlabeled.argmax(axis=1)]
        y = np.concatenate([data.y_labeled, y[used].astype(data.y_labeled.dtype)])
        hasher = TALRHasher(N_BITS, **make).fit(X, y)
    seconds = time.process_time() - start
    if not contender.two_stages:
        return hasher.transform, len(X), seconds
    return lambda X: hasher.transform(teacher.transform(X)), len(X), seconds


def settings(n_labeled, n_trained, two_stages):
    """As many steps as labeled rows have with the defaults; less decay with more rows."""
    params = {"max_iter": round(100 * n_steps(n_labeled) / n_steps(n_trained))}
    if two_stages:
        params["weight_decay"] = 0.0
    elif n_trained > n_labeled:
        params["weight_decay"] = WEIGHT_DECAY
    return params


def n_steps(n_samples):
    """Steps of an epoch, by the automatic size of a batch."""
    return math.ceil(n_samples / min(max(n_samples // 20, 32), 256))


def measure(name, seed, contender):
    """Row of the CSV file of one contender on one split."""
    encode, n_trained, seconds = fitted(name, seed, CONTENDERS[contender])
    data = load(name, seed)
    codes = encode(data.X_query), encode(data.X_database)
    ap = of_distances(data.affinity, *codes, data.y_query, data.y_database)
    return name, seed, contender, len(data.y_labeled), n_trained, ap, round(seconds, 1)


def print_table(rows):
    """Means over splits, and paired differences to labeled rows only."""
    values = defaultdict(dict)
    for row in rows:
        values[row["contender"], row["data"]][row["seed"]] = float(row["ap"])
    names = list(dict.fromkeys(row["data"] for row in rows))
    print("| 32 bits, AP | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for contender in (c for c in CONTENDERS if any((c, name) in values for name in names)):
        cells = []
        for name in names:
            of_seed = values.get((contender, name))
            reference = values.get(("labeled only", name), {})
            reference = {} if contender == "labeled only" else reference
            cells.append(with_difference(of_seed, reference) if of_seed else "")
        print(f"| {contender} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = Path(__file__).parent / "results" / "unlabeled.csv"
    parser.add_argument("--csv", type=Path, default=path)
    parser.add_argument("--sets", nargs="+", default=N_LABELED)
    parser.add_argument("--seeds", nargs="+", type=int, default=range(3))
    parser.add_argument("--contenders", nargs="+", default=CONTENDERS)
    parser.add_argument("--tables", action="store_true")
    args = parser.parse_args()
    sets = () if args.tables else args.sets
    for cell in product(sets, args.seeds, args.contenders):
        if list(map(str, cell)) not in [
            [row[key] for key in KEY] for row in read(args.csv)
        ]:
            append(args.csv, [measure(*cell)], FIELDS)
    print_table(read(args.csv))


if __name__ == "__main__":
    main()
