"""Classes that training has not seen: which codes rank them, and what decides.

    python benchmarks/bench_unseen.py  # half an hour

Of the classes of a set some are *trained on*, drawn by the seed, and 2 000 of their rows
are fitted. 500 rows of the *new* classes rank 5 000 other rows of the new classes, or as
many as there are: AP of codes of 32 bits by binary queries, or by weights where the
method says so. *Held out* is the same of the trained classes alone, as anyone can measure
it before new classes come: each half of them ranks after a fit to the other half
(GroupKFold). Features are centered and have unit length. Hashers are:

* *ITQ* and *additive* of the features, or of *features and scores* of a classifier, which
  is ``ClassProbabilities(passthrough=True)``;
* *TALR* with its defaults, or by the *recipe* of the guide;
* *DPSH*, the loss of Li et al. (IJCAI 2016), trained for 20 epochs;
* *floats*, compared by the cosine.

SKLEARN_TALR_DATA names the folder of the sets.
"""

import argparse
from itertools import product
from time import process_time

import numpy as np
import torch  # noqa: F401  (or the first fit would load it)
from _store import RESULTS, Store
from bench_new_rows import of_scores
from bench_raw import read
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import normalize

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities, ITQHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import DPSHLoss
from sklearn_talr.measures import AP

N_BITS, N_TRAIN, N_QUERIES, N_ITEMS = 32, 2_000, 500, 5_000
# Sets, and how many of their classes are trained on; half of these has two at least
SETS = {
    "digits": (7, 4),
    "fashion_gist": (7, 4),
    "fashion_cnn": (7, 4),
    "cifar10": (7, 4),
    "scenes": (4,),  # of 6
}
RECIPE = {
    "max_iter": 10,
    "learning_rate_init": 0.01,
    "weight_decay": 0.02,
    "tanh_scale": 1.0,
}


def with_scores(hasher):
    """The hasher behind a classifier, which hands on features and scores."""
    return make_pipeline(ClassProbabilities(passthrough=True), hasher)


METHODS = {
    "ITQ": ITQHasher(N_BITS),
    "DPSH, 20 epochs": TALRHasher(N_BITS, loss=DPSHLoss(), max_iter=20),
    "TALR, recipe": TALRHasher(N_BITS, **RECIPE),
    "ITQ of features and scores": with_scores(ITQHasher(N_BITS)),
    "TALR": TALRHasher(N_BITS),
    "additive, weighted": AdditiveHasher(N_BITS - 8),
    "additive of features and scores, weighted": with_scores(AdditiveHasher(N_BITS - 8)),
    "features, floats": None,
}
JUDGED_BEFORE = list(METHODS)[:4]  # binary queries, by classes held out, too
STORE = Store(
    RESULTS / "unseen.csv",
    ["data", "n_trained", "seed", "method"],
    ["ap", "ap_held_out", "fit_seconds"],
)


def load(name):
    """All rows that have a class, and the classes."""
    return load_digits(return_X_y=True) if name == "digits" else read(name)


def split(name, n_trained, seed):
    """Features and classes to fit, queries and items of new classes."""
    X, y = load(name)
    rng = np.random.default_rng(seed)
    trained = rng.permutation(np.unique(y))[:n_trained]
    order = rng.permutation(len(y))
    is_trained = np.isin(y[order], trained)
    train, new = order[is_trained][:N_TRAIN], order[~is_trained]
    n_queries = min(N_QUERIES, len(new) // 4)
    rows = [train, new[:n_queries], new[n_queries:][:N_ITEMS]]
    mean = X[train].mean(axis=0)
    return [(normalize(X[part] - mean), y[part]) for part in rows]


def average_precision(hasher, query, items):
    """Mean AP of queries; each part is features and classes."""
    affinity = LabelAffinity().fit(items[1])
    targets = affinity, query[1], items[1]
    if hasher is None:
        return of_scores(np.inner, query[0], items[0], *targets)
    *steps, last = hasher if isinstance(hasher, Pipeline) else [hasher]
    features = [steps[0].transform(X) if steps else X for X, _ in (query, items)]
    if isinstance(last, AdditiveHasher):
        weights, codes = last.query_weights(features[0]), last.encode(features[1])
        return of_scores(weighted_scores, weights, codes, *targets)
    codes = [last.transform(X) for X in features]
    return float(np.nanmean(AP.of(hamming_histogram(*codes, *targets))))


def seeded(hasher, seed):
    """A clone with a seed in each part that has one."""
    hasher = clone(hasher)
    names = [name for name in hasher.get_params() if name.endswith("random_state")]
    return hasher.set_params(**dict.fromkeys(names, seed))


def held_out(hasher, X, y, seed):
    """AP among rows of trained classes that a fit to the other half of them knows not."""
    scores = []
    for train, test in GroupKFold(2).split(X, y, groups=y):
        fitted = seeded(hasher, seed).fit(X[train], y[train])
        n_queries = len(test) // 4
        order = np.random.default_rng(seed).permutation(test)
        parts = np.split(order, [n_queries])
        scores.append(average_precision(fitted, *((X[rows], y[rows]) for rows in parts)))
    return float(np.mean(scores))


def measure(data, n_trained, seed, method):
    """Columns of one row."""
    train, query, items = split(data, n_trained, seed)
    hasher = METHODS[method]
    if hasher is None:
        return {"ap": average_precision(None, query, items)}
    start = process_time()
    fitted = seeded(hasher, seed).fit(*train)
    seconds = process_time() - start
    row = {"ap": average_precision(fitted, query, items), "fit_seconds": seconds}
    if method in JUDGED_BEFORE:
        row["ap_held_out"] = held_out(hasher, *train, seed)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    seeds = parser.parse_args().seeds
    cells = [(name, n_trained) for name, numbers in SETS.items() for n_trained in numbers]
    for seed, method, (name, n_trained) in product(seeds, METHODS, cells):
        key = {"data": name, "n_trained": n_trained, "seed": seed, "method": method}
        if not STORE.has(**key):
            STORE.add(**key, **measure(**key))


if __name__ == "__main__":
    main()
