"""What makes held-out codes better: choices in training, bits, rows, hidden layers.

    SKLEARN_TALR_DATA=/path/to/data python benchmarks/study_training.py choices
    python benchmarks/study_training.py choices --data cifar10 --seeds 0 --only nested
    python benchmarks/study_training.py bits rows layers
    python benchmarks/study_training.py depth --data digits

``depth`` is for the digits alone, by the splits of the comparison.

Prints means over seeds of the tie-aware metric of held-out queries against the whole
database (AP; NDCG for the distances of ``scenes``) of linear codes of 32 bits, trained
with the defaults on 5 000 rows unless said otherwise, their standard deviation, their
difference from the first line, and the CPU time of a fit.

Every fit is a row of a CSV file, ``--csv``, and is not measured again. ``--tables`` prints
what is measured.
"""

import argparse
import os
import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from benchmark_sets import BENCHMARKS
from comparison._data import load_comparison

from sklearn_talr.hashing import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import AveragePrecisionLoss, NDCGLoss
from sklearn_talr.measures import AP, nDCG

CHOICES = {
    "default": {},
    "Adam, weight decay 1": {"solver": "adam", "weight_decay": 1.0},
    "no bit dropout": {"bit_dropout": 0.0},
    "bit dropout 0.25": {"bit_dropout": 0.25},
    "bit dropout 0.75": {"bit_dropout": 0.75},
    "tanh scale 1": {"tanh_scale": 1.0},
    "tanh scale 4": {"tanh_scale": 4.0},
    "tanh scale 16": {"tanh_scale": 16.0},
    "tanh scale from 1 to 8": {"tanh_scale": (1.0, 8.0)},
    "random start": {"init": "random"},
    "weight decay 0.2": {"weight_decay": 0.2},
    "weight decay 1.8": {"weight_decay": 1.8},
    "constant learning rate": {"learning_rate": "constant"},
    "batches of 128": {"batch_size": 128},
    "batches of 512": {"batch_size": 512},
    "50 epochs": {"max_iter": 50},
    "200 epochs": {"max_iter": 200},
    "simplified measure": {"simplified": True},
    "nested, all 32 bits": {"nested": True},
}
BITS = {f"{n} bits": {"n_bits": n} for n in (12, 16, 24, 48, 64)}
ROWS = {f"{n} rows": {"n_rows": n} for n in (1000, 2000, 10_000)}
ROWS["whole database"] = {"n_rows": None}
LAYERS = {"512 hidden units": {"hidden_layer_sizes": (512,)}}
DESCENT = {"early descent": {"early_descent": True}}
HIDDEN = {"hidden_layer_sizes": (256,)}
HIDDEN_DESCENT = {
    "256 hidden units": HIDDEN,
    "early descent, 256 hidden units": HIDDEN | {"early_descent": True},
}
DEPTHS = {
    "layers of 256": {"hidden_layer_sizes": (256,)},
    "layers of 512, 256": {"hidden_layer_sizes": (512, 256)},
    "layers of 512, 512, 256": {"hidden_layer_sizes": (512, 512, 256)},
}
STUDIES = {"choices": CHOICES, "bits": BITS, "rows": ROWS, "layers": LAYERS}
STUDIES |= {"descent": DESCENT, "hidden_descent": HIDDEN_DESCENT}
STUDIES["depth"] = DEPTHS
SETS = [*BENCHMARKS, "digits"]
KEY = ["data", "seed", "change"]
FIGURES = ["score", "n_epochs", "seconds"]


def hasher_for(name, seed, affinity, simplified=False, **params):
    loss = NDCGLoss if name == "scenes" else AveragePrecisionLoss
    params |= {"loss": loss(simplified=simplified)}
    return TALRHasher(affinity=affinity, random_state=seed, **params)


def training_rows(data, n_rows, seed):
    """Features and targets of so many rows of the database, or of all."""
    if n_rows == len(data.X_train):
        return data.X_train, data.y_train
    rows = np.random.default_rng(seed).permutation(len(data.X_database))[:n_rows]
    return data.X_database[rows], data.y_database[rows]


def measure(name, seed, params):
    """Mean measure of the queries, epochs, and CPU seconds of the fit."""
    params = dict(params)
    data = load(name, seed)
    n_rows = params.pop("n_rows", len(data.X_train))
    rows = training_rows(data, n_rows, seed)
    hasher = hasher_for(name, seed, data.affinity, **params)
    start = time.process_time()
    hasher.fit(*rows)
    seconds = time.process_time() - start
    codes = hasher.transform(data.X_query), hasher.transform(data.X_database)
    histogram = hamming_histogram(*codes, data.affinity, data.y_query, data.y_database)
    measure = nDCG if name == "scenes" else AP
    score = float(np.nanmean(measure.of(histogram)))
    return {"score": score, "n_epochs": hasher.n_iter_, "seconds": seconds}


@lru_cache(maxsize=1)
def load(name, seed):
    return load_comparison(name, seed)


def measure_all(store, studies, sets, seeds, only):
    for name in sets:
        for seed in seeds:
            changes = CHOICES | {
                k: v for study in studies for k, v in STUDIES[study].items()
            }
            wanted = ["default", *(c for study in studies for c in STUDIES[study])]
            for change in dict.fromkeys(wanted):
                key = {"data": name, "seed": seed, "change": change}
                is_wanted = not only or change in ("default", *only)
                if is_wanted and not store.has(**key):
                    store.add(**key, **measure(name, seed, changes[change]))


def print_table(rows, name):
    """Means over seeds, and the difference to the defaults on the same splits."""
    scores, seconds = {}, {}
    for row in (row for row in rows if row["data"] == name):
        scores.setdefault(row["change"], {})[row["seed"]] = float(row["score"])
        seconds.setdefault(row["change"], []).append(float(row["seconds"]))
    for change, of_seed in scores.items():
        values = np.array(list(of_seed.values()))
        gains = [of_seed[seed] - scores["default"][seed] for seed in of_seed]
        print(
            f"{name:9s}{change:32s}{values.mean():8.4f} ±{values.std():.4f}"
            f"{np.mean(gains):+9.4f}{np.median(seconds[change]):8.1f} s"
            f"{len(values):4d} splits"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", choices=[[], *STUDIES], default=[])
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(BENCHMARKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", help="some changes only")
    parser.add_argument("--csv", type=Path, default=RESULTS / "training.csv")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    store = Store(arguments.csv, KEY, FIGURES)
    if not arguments.tables:
        if not os.environ.get("SKLEARN_TALR_DATA"):
            sys.exit("Set SKLEARN_TALR_DATA to the folder of the benchmark files.")
        chosen = arguments.data, arguments.seeds, arguments.only
        measure_all(store, arguments.studies, *chosen)
    for name in arguments.data:
        print_table(store.rows(), name)


if __name__ == "__main__":
    main()
