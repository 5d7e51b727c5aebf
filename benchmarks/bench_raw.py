"""Features as people have them, beside the same features prepared.

    python benchmarks/bench_raw.py                     # an hour
    python benchmarks/bench_raw.py --only fashion_gist # minutes

Every set comes in two states, or three:

* *raw*: as it comes. GIST and the rectified layer have no number below 0 and a large mean;
  ``cifar10`` and ``coco17`` are principal components, centered already, of uneven lengths;
  *words* are 0 and 1; *tf-idf* are these words weighted by TfidfTransformer. Columns of
  *digits_units* are multiplied by 10^U, U uniform from -3 to 3, as if each were measured in
  a unit of its own, and *cancer* comes so.
* *unit*: rows of unit length, but not centered. Only neighbors are looked for in it.
* *prepared*: the mean of the training rows is subtracted, and rows get unit length. Columns
  in unlike units are first divided by their standard deviation.

By *labels* hashers are fitted with labels, as far as they take some, and 500 queries rank
rows that were not trained on: AP. By *neighbors* they are fitted without labels, and
asked for the ten rows nearest by the cosine of the features in that state: recall. 2 000
rows are fitted, and 5 000 others are items, or each a third of all. All estimators have
their defaults, and items the same stored bytes. AdditiveHasher is asked by weights, the
others by bits. Quantizers of faiss need more rows: see ``bench_embeddings.py``.
``make_features.py`` makes the files that begin with "fashion"; SKLEARN_TALR_DATA names
their folder.
"""

import argparse
from functools import lru_cache
from itertools import product
from time import process_time
from typing import NamedTuple

import numpy as np
import torch  # noqa: F401  (or the first fit would load it)
from _store import RESULTS, Store
from bench_new_rows import of_scores
from benchmark_sets import folder_of_sets
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.codes import hamming_distances, weighted_scores
from sklearn_talr.commands.codes import highest
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    ITQHasher,
    LSHHasher,
    TALRHasher,
)
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

N_QUERIES, N_ITEMS, N_TRAIN = 500, 5_000, 2_000
# name: file, array of targets
FILES = {
    "scenes": ("scenes_gist512.npz", "y"),
    "fashion_gist": ("fashion_gist512.npz", "y"),
    "fashion_cnn": ("fashion_cnn256.npz", "y"),
    "cifar10": ("cifar10_cnn512.npz", "y"),
    "coco17": ("coco17_cnn512.npz", "Y"),
    "words": ("tmc2007.npz", "Y"),
    "tf-idf": ("tmc2007.npz", "Y"),
}
IN_UNITS = "digits_units", "cancer"  # whose columns are in unlike units
SETS = [*FILES, *IN_UNITS]
KEY = ["task", "data", "state", "n_bytes", "seed", "method"]
STORE = Store(RESULTS / "raw.csv", KEY, ["ap", "recall", "fit_seconds"])
LABELED = ["LSH", "ITQ", "AdditiveHasher", "TALRHasher", "two stages"]
UNLABELED = ["LSH", "ITQ", "TALRHasher", "AdditiveHasher"]


class Parts(NamedTuple):
    """Features and targets of the rows to fit, the queries and the items."""

    X_train: np.ndarray
    X_query: np.ndarray
    X_items: np.ndarray
    y_train: np.ndarray
    y_query: np.ndarray
    y_items: np.ndarray


@lru_cache(maxsize=1)
def read(name):
    """All rows of a set, raw, and their targets; some scenes have none."""
    if name == "cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "digits_units":
        X, y = load_digits(return_X_y=True)
        return X * 10 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1]), y
    file, targets = FILES[name]
    with np.load(folder_of_sets() / file) as arrays:
        X, y = arrays["X"].astype(np.float32), arrays[targets]
    if name == "tf-idf":
        X = TfidfTransformer().fit_transform(X).toarray().astype(np.float32)
    if name == "scenes":
        return X[y >= 0], y[y >= 0]
    return X, y


def load(name, state, seed):
    """Draw the parts of a set, in a state."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(X))
    n_queries = min(N_QUERIES, len(X) // 6)
    n_items = min(N_ITEMS, len(X) // 3)
    query, items, train = np.split(order, [n_queries, n_queries + n_items])
    rows = train[:N_TRAIN], query, items
    return Parts(*in_state(name, state, *(X[part] for part in rows)), *(y[p] for p in rows))


def in_state(name, state, *parts):
    """Training rows, queries and items, prepared or not."""
    if state == "raw":
        return parts
    if state == "unit":
        return tuple(normalize(part) for part in parts)
    scaler = StandardScaler(with_std=name in IN_UNITS).fit(parts[0])
    return tuple(normalize(scaler.transform(part)) for part in parts)


def hasher_of(method, n_bytes, seed, labeled):
    """The hasher of a method, which keeps so many bytes of an item."""
    n_bits = 8 * n_bytes
    if method == "AdditiveHasher":  # whose factor takes one
        return AdditiveHasher(n_bits - 8, metric="cosine", random_state=seed)
    if method == "LSH":
        return LSHHasher(n_bits, random_state=seed)
    if method == "ITQ":
        return ITQHasher(n_bits, random_state=seed)
    hasher = TALRHasher(n_bits, loss="AP" if labeled else "nDCG", random_state=seed)
    return make_pipeline(ClassProbabilities(), hasher) if method == "two stages" else hasher


def average_precision(hasher, parts):
    """Mean AP among items, by weights of an AdditiveHasher and by bits of others."""
    one_label = parts.y_train.ndim == 1
    affinity = LabelAffinity() if one_label else SharedLabelAffinity()
    affinity.fit(np.concatenate([parts.y_train, parts.y_items]))
    targets = affinity, parts.y_query, parts.y_items
    if isinstance(hasher, AdditiveHasher):
        weights = hasher.query_weights(parts.X_query)
        return of_scores(finite_scores, weights, hasher.encode(parts.X_items), *targets)
    codes = hasher.transform(parts.X_query), hasher.transform(parts.X_items)
    return float(np.nanmean(AP.of(hamming_histogram(*codes, *targets))))


def finite_scores(weights, codes):
    """Weighted scores; rows of no words, which score -inf, come last all the same."""
    return np.nan_to_num(weighted_scores(weights, codes), neginf=-1e30)


def recall_of_ten(hasher, parts, seed):
    """Share of the ten nearest by cosine among the first ten found; ties at random."""
    unit = normalize(parts.X_query), normalize(parts.X_items)
    true = highest(unit[0] @ unit[1].T)
    if isinstance(hasher, AdditiveHasher):
        weights = hasher.query_weights(parts.X_query)
        scores = weighted_scores(weights, hasher.encode(parts.X_items))
    else:
        codes = hasher.transform(parts.X_query), hasher.transform(parts.X_items)
        order = np.random.default_rng(seed).random(len(parts.X_items))
        scores = order - hamming_distances(*codes)
    return share_found(true, scores)


def share_found(true, scores):
    """Mean share of true items among the first."""
    return float(np.mean([np.isin(*rows).mean() for rows in zip(true, highest(scores))]))


def measure(task, data, state, n_bytes, seed, method):
    """Columns of one row."""
    labeled = task == "labels"
    parts = load(data, state, seed)
    hasher = hasher_of(method, n_bytes, seed, labeled)
    start = process_time()
    hasher.fit(parts.X_train, parts.y_train if labeled else None)
    seconds = {"fit_seconds": process_time() - start}
    if labeled:
        return seconds | {"ap": average_precision(hasher, parts)}
    return seconds | {"recall": recall_of_ten(hasher, parts, seed)}


def plan():
    """Tasks, sets, states, bytes, seeds and methods; what is quoted first comes first."""
    two = "raw", "prepared"
    three = "raw", "unit", "prepared"
    quick = [name for name in UNLABELED if name != "TALRHasher"]
    for seed in (0, 1, 2):
        yield from product(["labels"], SETS, two, [4], [seed], LABELED)
        yield from product(["neighbors"], FILES, three, [4], [seed], UNLABELED)
        yield from product(["neighbors"], FILES, three, [8], [seed], quick)
        yield from product(["labels"], SETS, two, [8], [seed], LABELED[:-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    for cell in plan():
        key = dict(zip(KEY, cell))
        wanted = key["data"] in arguments.only and key["seed"] in arguments.seeds
        if wanted and not STORE.has(**key):
            STORE.add(**key, **measure(**key))


if __name__ == "__main__":
    main()
