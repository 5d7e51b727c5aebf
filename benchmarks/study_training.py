"""What each choice in training is worth: one change of the defaults at a time.

    SKLEARN_TALR_DATA=/path/to/data python benchmarks/study_training.py
    python benchmarks/study_training.py --data cifar10 --seeds 0 --changes default nested

Prints the mean over seeds of the tie-aware metric of held-out queries against the whole
database (AP; NDCG for the distances of ``scenes``) of 32-bit linear codes, its standard
deviation, its difference from the defaults, and the time of a fit.
"""

import argparse
import os
import sys
import time

import numpy as np

from sklearn_talr.datasets import BENCHMARKS, load_benchmark
from sklearn_talr.hashing import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_aware_average_precision, tie_aware_ndcg

CHANGES = {
    "default": {},
    "no bit dropout": {"bit_dropout": 0.0},
    "bit dropout 0.25": {"bit_dropout": 0.25},
    "bit dropout 0.5": {"bit_dropout": 0.5},
    "tanh scale fixed at 1": {"tanh_scale": 1.0},
    "tanh scale fixed at 4": {"tanh_scale": 4.0},
    "tanh scale fixed at 16": {"tanh_scale": 16.0},
    "tanh scale from 1 to 8": {"tanh_scale": (1.0, 8.0)},
    "random start": {"init": "random"},
    "PCA start": {"init": "pca"},
    "weight decay 0.1": {"weight_decay": 0.1},
    "constant learning rate": {"learning_rate": "constant"},
    "batches of 128": {"batch_size": 128},
    "batches of 512": {"batch_size": 512},
    "50 epochs": {"max_iter": 50},
    "200 epochs": {"max_iter": 200},
    "simplified objective": {"simplified": True},
    "nested": {"nested": True},
}


def hasher_for(name, seed, affinity, simplified=False, **params):
    objective = "ndcg" if name == "scenes" else "ap"
    objective += "_simplified" if simplified else ""
    return TALRHasher(objective=objective, affinity=affinity, random_state=seed, **params)


def held_out(hasher, data, metric):
    """Return the mean metric of the queries and the seconds of the fit."""
    start = time.perf_counter()
    hasher.fit(data.X_train, data.y_train)
    seconds = time.perf_counter() - start
    codes = hasher.transform(data.X_query), hasher.transform(data.X_database)
    histogram = hamming_histogram(*codes, data.affinity, data.y_query, data.y_database)
    return np.nanmean(metric(histogram)), seconds


def study(name, seeds, changes):
    metric = tie_aware_ndcg if name == "scenes" else tie_aware_average_precision
    splits = {seed: load_benchmark(name, seed) for seed in seeds}
    reference = None
    for change in changes:
        params = CHANGES[change]
        runs = [
            held_out(hasher_for(name, seed, data.affinity, **params), data, metric)
            for seed, data in splits.items()
        ]
        values, seconds = np.transpose(runs)
        reference = values if reference is None else reference
        print(
            f"{name:9s}{change:24s}{values.mean():8.4f} ±{values.std():.4f}"
            f"{(values - reference).mean():+9.4f}{np.median(seconds):8.1f} s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--changes", nargs="+", choices=CHANGES, default=list(CHANGES))
    arguments = parser.parse_args()
    if not os.environ.get("SKLEARN_TALR_DATA"):
        sys.exit("Set SKLEARN_TALR_DATA to the folder of the benchmark files.")
    for name in arguments.data:
        study(name, arguments.seeds, arguments.changes)


if __name__ == "__main__":
    main()
