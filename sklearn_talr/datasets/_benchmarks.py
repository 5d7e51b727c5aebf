"""Feature sets on disk, split into queries, database and training rows.

The files are not part of the package. Their folder is named by the environment variable
``SKLEARN_TALR_DATA``.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ..affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity

__all__ = ["BENCHMARKS", "load_benchmark"]

# name: (file, array of targets or None, affinity oracle)
BENCHMARKS = {
    "cifar10": ("cifar10_cnn512.npz", "y", LabelAffinity),
    "coco17": ("coco17_cnn512.npz", "Y", SharedLabelAffinity),
    "scenes": ("scenes_gist512.npz", None, ThresholdAffinity),
    "tmc2007": ("tmc2007.npz", "Y", SharedLabelAffinity),
}


def load_benchmark(name, seed=0, *, data_home=None):
    """Load a benchmark set and split it by its protocol.

    * ``"cifar10"``: single labels. 100 queries of each class, the rest is the database,
      500 rows of each class of the database for training (setting 1 of the papers).
    * ``"coco17"``, ``"tmc2007"``: multi-label; affinity is the number of shared labels.
      2 000 queries, the rest is the database, its first 5 000 rows for training.
    * ``"scenes"``: no labels; affinity by quantiles of distances among training rows. The
      same three slices.

    Features are centred on the training mean and rows scaled to unit length.

    Parameters
    ----------
    name : {"cifar10", "coco17", "scenes", "tmc2007"}
        The set.

    seed : int, default=0
        Draws the split.

    data_home : path-like, default=None
        Folder of the files. None means the environment variable ``SKLEARN_TALR_DATA``.

    Returns
    -------
    data : Bunch
        ``X_train, y_train, X_query, y_query, X_database, y_database``: features, float32,
        and targets (for ``"scenes"`` the features again); ``affinity``: the oracle, fitted
        on the training targets.

    Raises
    ------
    ValueError
        If the name is unknown or no folder is named.

    FileNotFoundError
        If the folder lacks the file.
    """
    if name not in BENCHMARKS:
        raise ValueError(f"name must be one of {sorted(BENCHMARKS)}, got {name!r}.")
    file, target_name, oracle = BENCHMARKS[name]
    with np.load(_data_home(data_home) / file) as arrays:
        X = arrays["X"].astype(np.float32)
        y = None if target_name is None else arrays[target_name]
    split = _split_by_class if name == "cifar10" else _split_by_order
    rows = split(np.random.default_rng(seed), y, len(X))
    return split_rows(X, y, rows, oracle())


def split_rows(X, y, rows, oracle):
    """Features and targets of each part as `load_benchmark` returns them.

    `rows` are index arrays by the name of the part, "train" among them; `y` None stands
    for the features.
    """
    X = _unit_rows(X - X[rows["train"]].mean(axis=0))
    y = X if y is None else y
    parts = {f"X_{part}": X[index] for part, index in rows.items()}
    parts |= {f"y_{part}": y[index] for part, index in rows.items()}
    return Bunch(**parts, affinity=oracle.fit(parts["y_train"]))


def _data_home(data_home):
    folder = data_home or os.environ.get("SKLEARN_TALR_DATA")
    if not folder:
        raise ValueError(
            "data_home is not given. Name the folder of the benchmark files there or in "
            "the environment variable SKLEARN_TALR_DATA."
        )
    return Path(folder)


def _split_by_class(rng, y, n_samples):
    classes = np.unique(y)
    query = _draw_per_class(rng, y, np.arange(n_samples), classes, 100)
    database = np.setdiff1d(np.arange(n_samples), query)
    train = _draw_per_class(rng, y, database, classes, 500)
    return {"query": query, "database": database, "train": train}


def _draw_per_class(rng, y, rows, classes, size):
    return np.concatenate(
        [rng.choice(rows[y[rows] == label], size, replace=False) for label in classes]
    )


def _split_by_order(rng, y, n_samples):
    order = rng.permutation(n_samples)
    return {"query": order[:2000], "database": order[2000:], "train": order[2000:7000]}


def _unit_rows(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(X.dtype).tiny)
