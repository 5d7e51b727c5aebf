"""Minibatches of many classes: AP and NDCG of new rows among training rows, by batch size.

    python benchmarks/bench_batches.py  # half an hour

* *words*: TMC2007, 1 066 rows of its 40 most frequent sets of labels, which are uneven.
* *clip_art*: pictures of 42 folders by GIST, HOG and colours, by `make_features.py`; 30 %
  are queries.
* *made_CxR*: C classes of R rows, means of classes normal in 16 of 128 columns, with noise
  of deviation .5; the other columns are noise of deviation 1.5.
* *two_CxR*: the same, but each class has two means, which no linear function joins.

A linear function has its defaults. Hidden layers of 256 units are trained for NDCG in
100 epochs of minibatches of 64, 256 and 1 024, and by their defaults. All codes have 32
bits. There are three splits, but one for minibatches of 64 and of 1 024. SKLEARN_TALR_DATA
names the folder of the sets.
"""

from functools import partial
from itertools import product
from time import process_time

import numpy as np
from _store import RESULTS, Store
from benchmark_sets import folder_of_sets
from sklearn.model_selection import train_test_split

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.hashing import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, nDCG

N_BITS, N_QUERIES = 32, 1000
HIDDEN = {"loss": "nDCG", "hidden_layer_sizes": 256}


def words(seed, n_classes=40, n_rows=1066):
    with np.load(folder_of_sets() / "tmc2007.npz") as arrays:
        X, labels = arrays["X"].astype(np.float32), arrays["Y"]
    _, y, sizes = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    y, frequent = y.ravel(), np.argsort(-sizes, kind="stable")[:n_classes]
    order = np.random.default_rng(seed).permutation(np.flatnonzero(np.isin(y, frequent)))
    train, query = order[:n_rows], order[n_rows : n_rows + N_QUERIES]
    return X[train], y[train], X[query], y[query]


def clip_art(seed):
    with np.load(folder_of_sets() / "clipart.npz") as arrays:
        X, y = arrays["X"], arrays["y"]
    split = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return split[0], split[2], split[1], split[3]


def made(seed, n_classes, n_rows, n_means=1):
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((n_classes * n_means, 16))

    def rows(y):
        X = 1.5 * rng.standard_normal((len(y), 128))
        of_rows = y * n_means + rng.integers(n_means, size=len(y))
        X[:, :16] = means[of_rows] + 0.5 * rng.standard_normal((len(y), 16))
        return X.astype(np.float32)

    y = np.repeat(np.arange(n_classes), n_rows)
    y_query = rng.integers(n_classes, size=N_QUERIES)
    return rows(y), y, rows(y_query), y_query


SETS = {
    "words": words,
    "clip_art": clip_art,
    "two_100x200": partial(made, n_classes=100, n_rows=200, n_means=2),
    "made_100x200": partial(made, n_classes=100, n_rows=200),
    "two_100x60": partial(made, n_classes=100, n_rows=60, n_means=2),
    "made_400x12": partial(made, n_classes=400, n_rows=12),
    "made_42x37": partial(made, n_classes=42, n_rows=37),
}
LARGE = "two_100x200", "made_100x200"
METHODS = {
    "hidden": TALRHasher(**HIDDEN),
    "hidden, 256": TALRHasher(batch_size=256, max_iter=100, **HIDDEN),
    "linear": TALRHasher(),
    "hidden, 1024": TALRHasher(batch_size=1024, max_iter=100, **HIDDEN),
    "hidden, 64": TALRHasher(batch_size=64, max_iter=100, **HIDDEN),
}
DECISIVE = "hidden", "hidden, 256", "linear"  # the others have one split, of few rows


def splits_of(name, method):
    """Seeds of the splits that are measured."""
    if method in DECISIVE:
        return range(3)
    return range(0 if name in LARGE else 1)


def measure(name, seed, method):
    """AP and NDCG of queries among the training rows, and CPU seconds of the fit."""
    X, y, query, y_query = SETS[name](seed)
    hasher = METHODS[method].set_params(n_bits=N_BITS, random_state=seed)
    start = process_time()
    hasher.fit(X, y)
    seconds = process_time() - start
    affinity = LabelAffinity().fit(y)
    codes = hasher.transform(query), hasher.transform(X)
    histogram = hamming_histogram(*codes, affinity, y_query, y)
    return {
        "ap": float(np.nanmean(AP.of(histogram))),
        "ndcg": float(np.nanmean(nDCG.of(histogram))),
        "fit_seconds": seconds,
    }


if __name__ == "__main__":
    key, figures = ["data", "seed", "method"], ["ap", "ndcg", "fit_seconds"]
    store = Store(RESULTS / "batches.csv", key, figures)
    TALRHasher(8, max_iter=1).fit(*made(0, 20, 10)[:2])  # compiles
    for method, name in product(METHODS, SETS):
        for seed in splits_of(name, method):
            if not store.has(data=name, seed=seed, method=method):
                row = measure(name, seed, method)
                store.add(data=name, seed=seed, method=method, **row)
