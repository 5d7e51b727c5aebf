"""What makes held-out codes better: choices in training, bits, rows, hidden layers.

    SKLEARN_TALR_DATA=/path/to/data python benchmarks/study_training.py choices
    python benchmarks/study_training.py choices --data cifar10 --seeds 0 --only nested
    python benchmarks/study_training.py bits rows layers

Prints means over seeds of the tie-aware metric of held-out queries against the whole
database (AP; NDCG for the distances of ``scenes``) of linear codes of 32 bits, trained
with the defaults on 5 000 rows unless said otherwise, their standard deviation, their
difference from the first line, and the time of a fit.
"""

import argparse
import os
import sys
import time

import numpy as np
from benchmark_sets import BENCHMARKS, load_benchmark

from sklearn_talr.hashing import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, nDCG

CHOICES = {
    "default": {},
    "solver adam": {"solver": "adam"},
    "solver adam, weight decay 1": {"solver": "adam", "weight_decay": 1.0},
    "no bit dropout": {"bit_dropout": 0.0},
    "bit dropout 0.25": {"bit_dropout": 0.25},
    "bit dropout 0.5": {"bit_dropout": 0.5},
    "bit dropout 0.75": {"bit_dropout": 0.75},
    "tanh scale 1": {"tanh_scale": 1.0},
    "tanh scale 4": {"tanh_scale": 4.0},
    "tanh scale 16": {"tanh_scale": 16.0},
    "random start": {"init": "random"},
    "PCA start": {"init": "pca"},
    "weight decay 0.2": {"weight_decay": 0.2},
    "weight decay 1.8": {"weight_decay": 1.8},
    "learning rate 0.01": {"learning_rate_init": 0.01},
    "learning rate 0.05": {"learning_rate_init": 0.05},
    "constant learning rate": {"learning_rate": "constant"},
    "batches of 128": {"batch_size": 128},
    "batches of 512": {"batch_size": 512},
    "50 epochs": {"max_iter": 50},
    "200 epochs": {"max_iter": 200},
    "early descent": {"early_descent": True},
    "simplified measure": {"simplified": True},
    "nested": {"nested": True},
}
BITS = {f"{n} bits": {"n_bits": n} for n in (12, 16, 24, 32, 48, 64)}
ROWS = {f"{n} rows": {"n_rows": n} for n in (1000, 2000, 5000, 10_000)}
ROWS["whole database"] = {"n_rows": None}
LAYERS = {"linear": {}, "512 hidden units": {"hidden_layer_sizes": (512,)}}
STUDIES = {"choices": CHOICES, "bits": BITS, "rows": ROWS, "layers": LAYERS}


def hasher_for(name, seed, affinity, simplified=False, **params):
    measure = "nDCG" if name == "scenes" else "AP"
    params |= {"measure": measure, "simplified": simplified}
    return TALRHasher(affinity=affinity, random_state=seed, **params)


def training_rows(data, n_rows, seed):
    """Features and targets of so many rows of the database, or of all."""
    if n_rows == len(data.X_train):
        return data.X_train, data.y_train
    rows = np.random.default_rng(seed).permutation(len(data.X_database))[:n_rows]
    return data.X_database[rows], data.y_database[rows]


def held_out(hasher, rows, data, metric):
    """Return the mean metric of the queries and the seconds of the fit."""
    start = time.perf_counter()
    hasher.fit(*rows)
    seconds = time.perf_counter() - start
    codes = hasher.transform(data.X_query), hasher.transform(data.X_database)
    histogram = hamming_histogram(*codes, data.affinity, data.y_query, data.y_database)
    return np.nanmean(metric(histogram)), seconds


def run(name, seeds, params):
    """Metric and seconds of each seed."""
    params = dict(params)
    n_rows = params.pop("n_rows", 5000)
    metric = nDCG if name == "scenes" else AP
    runs = []
    for seed in seeds:
        data = load_benchmark(name, seed)
        rows = training_rows(data, n_rows, seed)
        hasher = hasher_for(name, seed, data.affinity, **params)
        runs.append(held_out(hasher, rows, data, metric))
    return np.transpose(runs)


def study(name, seeds, changes):
    reference = None
    for change, params in changes.items():
        values, seconds = run(name, seeds, params)
        reference = values if reference is None else reference
        print(
            f"{name:9s}{change:28s}{values.mean():8.4f} ±{values.std():.4f}"
            f"{(values - reference).mean():+9.4f}{np.median(seconds):8.1f} s",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="+", choices=STUDIES)
    parser.add_argument("--data", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", help="lines to print after the first")
    arguments = parser.parse_args()
    if not os.environ.get("SKLEARN_TALR_DATA"):
        sys.exit("Set SKLEARN_TALR_DATA to the folder of the benchmark files.")
    for lines in (STUDIES[name] for name in arguments.studies):
        first = next(iter(lines))
        chosen = [first, *(arguments.only or lines)]
        for name in arguments.data:
            study(name, arguments.seeds, {line: lines[line] for line in chosen})


if __name__ == "__main__":
    main()
