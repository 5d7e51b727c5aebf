"""Feature sets of the comparison, split into queries, database and training rows."""

import sys
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml, load_digits

from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity

sys.path.append(str(Path(__file__).parents[1]))  # scripts of this folder do not see it

from benchmark_sets import (
    BENCHMARKS,
    FASHION_MNIST,
    load_benchmark,
    read_idx,
    split_rows,
)

SEEN_CLASSES = 0.7  # of all, where queries and database are of the others


def load_comparison(name, seed, unseen=False):
    """Load and split a set, as `load_benchmark` does.

    Parameters
    ----------
    name : str
        A benchmark set, "digits", "fashion_mnist", or the path of an ``.npz`` file with
        arrays ``X`` and ``y``, labels or label indicators. A tenth of those rows, but at
        most 2 000, are queries; at most 5 000 of the others are trained on.

    seed : int
        Draws the split.

    unseen : bool, default=False
        Train on some classes only, and rank others: needs one label per sample.
    """
    if name in BENCHMARKS and not unseen:
        return load_benchmark(name, seed)
    X, y = _arrays(name)
    if unseen:
        if np.ndim(y) != 1:
            raise SystemExit(f"--unseen needs one label per sample, which {name} lacks.")
        return split_rows(X, y, _unseen_rows(y, seed), LabelAffinity())
    order = np.random.default_rng(seed).permutation(len(X))
    oracle = LabelAffinity() if y.ndim == 1 else SharedLabelAffinity()
    return split_rows(X, y, _parts(order), oracle)


@lru_cache(maxsize=1)
def load_once(name, seed, unseen):
    """The same, kept until another set or split is asked for."""
    return load_comparison(name, seed, unseen)


def _arrays(name):
    loaders = {
        "digits": partial(load_digits, return_X_y=True),
        "fashion_mnist": _load_fashion_mnist,
    }
    if name in loaders:
        X, y = loaders[name]()
        return X.astype(np.float32), y
    if name in BENCHMARKS:
        data = load_benchmark(name, 0)
        X = np.concatenate([data.X_query, data.X_database])
        return X, np.concatenate([data.y_query, data.y_database])
    with np.load(Path(name)) as arrays:
        return arrays["X"].astype(np.float32), arrays["y"]


def _load_fashion_mnist():
    """From the files of Debian's package if it is installed, or else from OpenML."""
    if not FASHION_MNIST.exists():
        return fetch_openml("Fashion-MNIST", version=1, return_X_y=True, as_frame=False)
    parts = ("train", "t10k")
    images = [FASHION_MNIST / f"{part}-images-idx3-ubyte.gz" for part in parts]
    labels = [FASHION_MNIST / f"{part}-labels-idx1-ubyte.gz" for part in parts]
    X = np.concatenate([read_idx(path, 16) for path in images]).reshape(-1, 784)
    return X, np.concatenate([read_idx(path, 8) for path in labels])


def _parts(order):
    n_query = min(2000, len(order) // 10)
    database = order[n_query:]
    return {"query": order[:n_query], "database": database, "train": database[:5000]}


def _unseen_rows(y, seed):
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    seen = np.isin(y, classes[: round(SEEN_CLASSES * len(classes))])
    order = rng.permutation(len(y))
    parts = _parts(order[~seen[order]])
    return parts | {"train": order[seen[order]][:5000]}
