"""Many classes of few rows, and columns of any scale: AP of new rows among training rows.

    python benchmarks/bench_many_classes.py  # half an hour

* Made-up sets have so many classes of so many rows. Means of classes are normal in 16 of
  128 columns, with noise of deviation .5; the other columns are noise of deviation 1.5.
* In *coco_sets* photographs are similar if they have exactly the same labels: sets of
  labels with 4 rows or more, of which at most 20 are drawn, half of them queries.
* In *cranfield* and *cisi* documents are similar if a query judges both relevant.
* *digits_noise* has one more column, of noise a thousand times as large as the others.

Elsewhere 30 % are queries. Losses of other papers have the same batches. *Floats* are
features, by Euclidean distance. SKLEARN_TALR_DATA names the folder of the sets.
"""

from functools import partial
from itertools import product
from time import process_time

import numpy as np
import torch  # noqa: F401  (or the first fit would load it)
from _store import RESULTS, Store
from bench_new_rows import of_scores
from benchmark_sets import folder_of_sets
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity
from sklearn_talr.hashing import ClassProbabilities, ITQHasher, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import ContrastiveLoss, DPSHLoss, HashNetLoss
from sklearn_talr.measures import AP

MADE = (200, 50), (1000, 10), (2000, 5), (5000, 4), (10_000, 2)  # classes, rows of each


def made(seed, n_classes, n_rows, n_queries=1000):
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((n_classes, 16))

    def rows(y):
        X = 1.5 * rng.standard_normal((len(y), 128))
        X[:, :16] = means[y] + 0.5 * rng.standard_normal((len(y), 16))
        return X.astype(np.float32)

    y = np.repeat(np.arange(n_classes), n_rows)
    y_query = rng.integers(n_classes, size=n_queries)
    return rows(y), y, rows(y_query), y_query


def coco_sets(seed):
    with np.load(folder_of_sets() / "coco17_cnn512.npz") as arrays:
        X, labels = normalize(arrays["X"].astype(np.float32)), arrays["Y"]
    _, y, sizes = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    rng, parts = np.random.default_rng(seed), []
    for one in np.flatnonzero(sizes >= 4):
        rows = rng.permutation(np.flatnonzero(y.ravel() == one))[:20]
        parts.append(np.split(rows, [(len(rows) + 1) // 2]))
    train, query = map(np.concatenate, zip(*parts))
    return X[train], y.ravel()[train], X[query], y.ravel()[query]


def judged(seed, name):
    with np.load(folder_of_sets() / f"{name}.npz") as arrays:
        X, judgments = arrays["X"].astype(np.float32), arrays["judged"]
        y = np.zeros((len(X), len(arrays["Q"])), dtype=np.uint8)
    query, document, grade = judgments.T
    y[document[grade > 0], query[grade > 0]] = 1
    X, y = X[y.any(axis=1)], y[y.any(axis=1)]
    order, n = np.random.default_rng(seed).permutation(len(X)), 7 * len(X) // 10
    return X[order[:n]], y[order[:n]], X[order[n:]], y[order[n:]]


def small(seed, load, noise=False):
    X, y = load(return_X_y=True)
    if noise:
        column = np.random.default_rng(seed).standard_normal(len(X))
        X = np.column_stack([X, 1000 * X.std() * column])
    split = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return split[0], split[2], split[1], split[3]


# name: (number of bits, function of the seed)
SETS = {f"made_{c}x{r}": (32, partial(made, n_classes=c, n_rows=r)) for c, r in MADE}
SETS |= {
    "coco_sets": (64, coco_sets),
    "cranfield": (64, partial(judged, name="cran")),
    "cisi": (64, partial(judged, name="cisi")),
    "digits": (32, partial(small, load=load_digits)),
    "digits_noise": (32, partial(small, load=load_digits, noise=True)),
    "wine": (32, partial(small, load=load_wine)),
    "cancer": (32, partial(small, load=load_breast_cancer)),
}
METHODS = {  # slow ones last
    "floats": None,
    "ITQ": ITQHasher,
    "TALR": TALRHasher,
    "DPSH": partial(TALRHasher, loss=DPSHLoss()),
    "HashNet": partial(TALRHasher, loss=HashNetLoss()),
    "contrastive": partial(TALRHasher, loss=ContrastiveLoss()),
    "two stages": lambda n, **of: make_pipeline(ClassProbabilities(), TALRHasher(n, **of)),
}


def measure(name, seed, method):
    """Mean AP of queries among the training rows, and CPU seconds of the fit."""
    n_bits, load = SETS[name]
    X, y, query, y_query = load(seed)
    affinity = (LabelAffinity() if y.ndim == 1 else SharedLabelAffinity()).fit(y)
    if method == "floats":
        yield "ap", of_scores(lambda *rows: -cdist(*rows), query, X, affinity, y_query, y)
        return
    start = process_time()
    fitted = METHODS[method](n_bits, random_state=seed).fit(X, y)
    yield "fit_seconds", process_time() - start
    codes = fitted.transform(query), fitted.transform(X)
    yield "ap", float(np.nanmean(AP.of(hamming_histogram(*codes, affinity, y_query, y))))


if __name__ == "__main__":
    path, key = RESULTS / "many_classes.csv", ["data", "seed", "method"]
    store = Store(path, key, ["ap", "fit_seconds"])
    for method, name, seed in product(METHODS, SETS, (0, 1)):
        key = {"data": name, "seed": seed, "method": method}
        takes_too_long = method == "two stages" and name in ("made_5000x4", "made_10000x2")
        if not (takes_too_long or store.has(**key)):
            store.add(**key, **dict(measure(name, seed, method)))
