"""Milliseconds of one query by the size of an index, for the calculator of the guide.

    python benchmarks/bench_size.py --csv benchmarks/results/size.csv
    python benchmarks/bench_size.py --constants benchmarks/results/size.csv

One query a call, ten neighbors, one thread, NumPy and SciPy without numba; codes and rows
are random, so that all codes differ. "ms" is the median CPU time of a call after a warm-up.

* "Hamming" compares all codes with a binary query, and "weighted" with a weighted one.
* "floats" is scikit-learn's NearestNeighbors with ``algorithm="brute"`` among float32 rows.

``--constants`` prints what ``docs/_static/size_it.js`` holds of the file: for each way, the
milliseconds of a call, of each item and of each unit that it reads, fitted so that the
relative errors are least. A unit is 64 bits of a code for "Hamming", 8 bits for "weighted",
and a number of a row for "floats".
"""

import argparse
import csv
import json
import time
from pathlib import Path

import numpy as np
from _size_constants import constants
from bench_serving import INNER_LOOPS, LOOPS
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from sklearn_talr.codes import PackedCodes
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

N_NEIGHBORS, WARM_UP, CALLS = 10, 5, 60
SIZES = [1_000, 10_000, 100_000, 1_000_000]
BITS, FEATURES = [32, 64, 128, 256, 512], [64, 384, 768]
MOST_FLOATS = 3 * 10**8


def median_ms(search):
    """Median CPU milliseconds of a call."""
    times = []
    for n in range(WARM_UP + CALLS):
        start = time.thread_time()
        search(n)
        times.append(1e3 * (time.thread_time() - start))
    return float(np.median(times[WARM_UP:]))


def of_codes(n_items, n_bits, rng):
    """Rows of the table for codes."""
    data = rng.integers(0, 256, (n_items, n_bits // 8), dtype=np.uint8)
    codes = PackedCodes(data, n_bits)
    weights = rng.normal(size=(WARM_UP + CALLS, n_bits)).astype(np.float32)
    bits = (weights > 0).astype(np.uint8)
    ways = {
        "Hamming": (HammingNeighbors(N_NEIGHBORS, algorithm="brute").fit(codes), bits),
        "weighted": (WeightedHammingNeighbors(N_NEIGHBORS).fit(codes), weights),
    }
    for way, (neighbors, queries) in ways.items():
        ms = median_ms(lambda n, a=neighbors, q=queries: a.kneighbors(q[n : n + 1]))
        yield {"way": way, "n_items": n_items, "width": n_bits, "ms": round(ms, 4)}


def of_floats(n_items, n_features, rng):
    """Row of the table for floats."""
    rows = rng.standard_normal((n_items, n_features), dtype=np.float32)
    queries = rng.standard_normal((WARM_UP + CALLS, n_features), dtype=np.float32)
    neighbors = NearestNeighbors(n_neighbors=N_NEIGHBORS, algorithm="brute").fit(rows)
    ms = median_ms(lambda n: neighbors.kneighbors(queries[n : n + 1]))
    yield {"way": "floats", "n_items": n_items, "width": n_features, "ms": round(ms, 4)}


def measure():
    """Generate the rows of the table."""
    rng = np.random.default_rng(0)
    INNER_LOOPS.numba = LOOPS["SciPy"]
    with threadpool_limits(1):
        for n_items in SIZES:
            for n_bits in BITS:
                yield from of_codes(n_items, n_bits, rng)
            for n_features in FEATURES:
                if n_items * n_features <= MOST_FLOATS:
                    yield from of_floats(n_items, n_features, rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--constants", type=Path)
    arguments = parser.parse_args()
    if arguments.constants:
        print(json.dumps(constants(arguments.constants)))
        return
    rows = []
    for row in measure():
        rows.append(row)
        print(row, flush=True)
    if arguments.csv:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
