"""A million rows of a hundred classes: AP, CPU seconds and memory of fits.

    python benchmarks/bench_many_rows.py           # a quarter of an hour
    python benchmarks/bench_many_rows.py --quick   # 20 000 rows, two minutes, prints only

A class has one normal center, or three, in 128 dimensions, and its rows stand about these
with noise of deviation 2, or 1.6. AP is that of 500 rows among 40 000 others, by codes of
32 bits; none of them is trained on. Each fit has a process of its own: memory is what the
peak resident memory rises by during the fit, after a small fit has loaded all code. Linux
only. Results are kept in ``results/many_rows.csv``, and what is there is not measured
again.
"""

import argparse
import json
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from _store import RESULTS, Store
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_talr import ClassProbabilities, TALRHasher
from sklearn_talr.metrics import retrieval_report

N_ROWS, N_QUICK, N_FEATURES = 1_000_000, 20_000, 128
N_QUERIES, N_ITEMS, ROWS_PER_BLOCK = 500, 40_000, 50_000
N_BITS, N_DRAWN = 32, 20_000


class Rows(NamedTuple):
    """Rows to train on, queries and items."""

    X: np.ndarray
    y: np.ndarray
    n_train: int

    @property
    def train(self):
        return self.X[: self.n_train], self.y[: self.n_train]

    @property
    def queries(self):
        rows = slice(self.n_train, self.n_train + N_QUERIES)
        return self.X[rows], self.y[rows]

    @property
    def items(self):
        return self.X[self.n_train + N_QUERIES :], self.y[self.n_train + N_QUERIES :]


class Classes(NamedTuple):
    """How classes lie in space."""

    n_classes: int
    n_centers: int
    noise: float

    def draw(self, n_train):
        rng = np.random.default_rng(0)
        shape = self.n_classes, self.n_centers, N_FEATURES
        centers = rng.standard_normal(shape, dtype=np.float32)
        n_rows = n_train + N_QUERIES + N_ITEMS
        y = rng.integers(0, self.n_classes, n_rows)
        X = np.empty((n_rows, N_FEATURES), dtype=np.float32)
        for start in range(0, n_rows, ROWS_PER_BLOCK):
            labels = y[start : start + ROWS_PER_BLOCK]
            parts = rng.integers(0, self.n_centers, len(labels))
            noise = rng.standard_normal((len(labels), N_FEATURES), dtype=np.float32)
            X[start : start + ROWS_PER_BLOCK] = centers[labels, parts] + self.noise * noise
        return Rows(X, y, n_train)


SETS = {
    "100 classes": Classes(100, 1, 2.0),
    "100 classes of three parts": Classes(100, 3, 1.6),
}


def talr():
    return TALRHasher(N_BITS, random_state=0)


def two_stages():
    return make_pipeline(ClassProbabilities(), talr())


# name: (hasher, number of rows that it is fitted to, or None for all)
METHODS = {
    "two stages": (two_stages, None),
    "TALR": (talr, None),
    "two stages, of 20 000 rows": (two_stages, N_DRAWN),
}


def resident(kind):
    """Resident memory in MB: that of now, "VmRSS", or the highest so far, "VmHWM"."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(kind))


def measure(name, method, n_train):
    """AP, CPU seconds and megabytes of one fit, in this process."""
    rows = SETS[name].draw(n_train)
    make_hasher, n_drawn = METHODS[method]
    X_query, y_query = rows.queries
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of a fit that loads code
        make_hasher().fit(X_query, y_query)
    X, y = rows.train
    Path("/proc/self/clear_refs").write_text("5")  # the highest so far is that of now
    before = resident("VmRSS")
    start = process_time()
    hasher = make_hasher().fit(X[:n_drawn], y[:n_drawn])
    seconds = process_time() - start
    megabytes = max(0.0, resident("VmHWM") - before)
    X_items, y_items = rows.items
    codes = hasher.transform(X_query), hasher.transform(X_items)
    report = retrieval_report(*codes, "auto", y_query, y_items, measures=["AP"])
    return {
        "ap": float(report["expected"]["AP"]),
        "fit_seconds": seconds,
        "fit_megabytes": megabytes,
    }


def measure_apart(name, method, n_train):
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", name, method, str(n_train)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=3, metavar=("SET", "METHOD", "ROWS"))
    parsed = parser.parse_args()
    if parsed.one:
        name, method, n_train = parsed.one
        print(json.dumps(measure(name, method, int(n_train))))
        return
    key = ["data", "n_rows", "method"]
    store = Store(RESULTS / "many_rows.csv", key, ["ap", "fit_seconds", "fit_megabytes"])
    n_train = N_QUICK if parsed.quick else N_ROWS
    for method, name in product(METHODS, SETS):
        key = {"data": name, "n_rows": n_train, "method": method}
        if not parsed.quick and store.has(**key):
            continue
        figures = measure_apart(name, method, n_train)
        print(name, method, figures, flush=True)
        if not parsed.quick:
            store.add(**key, **figures)


if __name__ == "__main__":
    main()
