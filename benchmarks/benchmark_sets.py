"""Feature sets on disk, split into queries, database and training rows.

The files are not part of the project. Their folder is named by the environment variable
``SKLEARN_TALR_DATA``.
"""

import gzip
import os
from numbers import Integral
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from sklearn_talr._core.compat import Interval, StrOptions, validate_params
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity

# name: (file, name of the array of targets in it or None, affinity oracle)
BENCHMARKS = {
    "cifar10": ("cifar10_cnn512.npz", "y", LabelAffinity),
    "coco17": ("coco17_cnn512.npz", "Y", SharedLabelAffinity),
    "scenes": ("scenes_gist512.npz", None, ThresholdAffinity),
    "tmc2007": ("tmc2007.npz", "Y", SharedLabelAffinity),
}

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")  # package dataset-fashion-mnist


@validate_params(
    {
        "name": [StrOptions(set(BENCHMARKS))],
        "seed": [Interval(Integral, 0, None, closed="left")],
        "data_home": [str, os.PathLike, None],
    },
    prefer_skip_nested_validation=True,
)
def load_benchmark(name, seed=0, *, data_home=None):
    """Load a benchmark set and split it by its protocol.

    * ``"cifar10"`` has one label per row. 100 rows of each class are queries, the rest is
      the database, and 500 rows of each class of the database are for training (setting 1
      of the papers). Affinity is 1 for rows of one class.
    * ``"coco17"`` and ``"tmc2007"`` have several labels per row. 2 000 rows are queries,
      the rest is the database, and its first 5 000 rows are for training. Affinity is the
      number of shared labels.
    * ``"scenes"`` has no labels. 2 000 rows are queries, the rest is the database, and its
      first 5 000 rows are for training. Affinity goes by the distance of two rows, with
      quantiles of the distances among training rows as thresholds.

    From all features the mean of the training rows is subtracted, and then every row is
    scaled to unit length.

    Parameters
    ----------
    name : {"cifar10", "coco17", "scenes", "tmc2007"}
        Name of the set.

    seed : int, default=0
        Seed of the random split, at least 0.

    data_home : path-like, default=None
        Folder of the files. None means the folder that the environment variable
        ``SKLEARN_TALR_DATA`` names.

    Returns
    -------
    data : Bunch
        Features ``X_train``, ``X_query`` and ``X_database``, float32 arrays of shape
        (n_rows, n_features); targets ``y_train``, ``y_query`` and ``y_database``, which are
        labels, label indicators or, for ``"scenes"``, the features again; and ``affinity``,
        the oracle, fitted on the training targets.

    Raises
    ------
    ValueError
        If the name is unknown, or no folder is named.

    FileNotFoundError
        If the folder lacks the file.
    """
    file, target_name, oracle = BENCHMARKS[name]
    with np.load(folder_of_sets(data_home) / file) as arrays:
        X = arrays["X"].astype(np.float32)
        y = None if target_name is None else arrays[target_name]
    split = _split_by_class if name == "cifar10" else _split_by_order
    rows = split(np.random.default_rng(seed), y, len(X))
    return split_rows(X, y, rows, oracle())


def split_rows(X, y, rows, oracle):
    """Scale features and split them, with their targets, as `load_benchmark` does.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.

    y : ndarray of shape (n_samples, ...) or None
        Targets. None means that the scaled features are the targets.

    rows : dict of str to index arrays
        Rows of each part, "train" among them.

    oracle : affinity oracle
        Fitted on the targets of the training rows.

    Returns
    -------
    data : Bunch
        ``X_<part>`` and ``y_<part>`` for each part, and ``affinity``.
    """
    X = _unit_rows(X - X[rows["train"]].mean(axis=0))
    y = X if y is None else y
    parts = {f"X_{part}": X[index] for part, index in rows.items()}
    parts |= {f"y_{part}": y[index] for part, index in rows.items()}
    return Bunch(**parts, affinity=oracle.fit(parts["y_train"]))


def read_idx(path, n_header_bytes):
    """The bytes of a packed IDX file, such as those of MNIST, after its header."""
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=n_header_bytes)


def folder_of_sets(data_home=None):
    """Return the folder of the files, which the environment names unless it is given."""
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
