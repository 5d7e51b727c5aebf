"""Milliseconds of one query by the size of an index, for the calculator of the guide.

    python benchmarks/bench_size.py
    python benchmarks/bench_size.py --constants

One query a call, ten neighbors, one thread; codes and rows are random, so
that all codes differ. "ms" is the median CPU time of a call after a warm-up.

* "Hamming" compares all codes with a binary query, and "weighted" with a weighted one.
* "floats" is scikit-learn's NearestNeighbors with ``algorithm="brute"`` among float32 rows.

Every cell is a row of a CSV file, ``--csv``. Cells that are there are not measured again.

``--constants`` prints what ``docs/_static/size_it.js`` holds of the file: for each way, the
milliseconds of a call, of each item and of each unit that it reads, fitted so that the
relative errors are least. A unit is 64 bits of a code for "Hamming", 8 bits for "weighted",
and a number of a row for "floats".
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from _size_constants import constants
from _store import RESULTS, Store
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
    """Milliseconds of the searches of codes, by way."""
    data = rng.integers(0, 256, (n_items, n_bits // 8), dtype=np.uint8)
    codes = PackedCodes(data, n_bits)
    weights = rng.normal(size=(WARM_UP + CALLS, n_bits)).astype(np.float32)
    bits = (weights > 0).astype(np.uint8)
    ways = {
        "Hamming": (HammingNeighbors(N_NEIGHBORS).fit(codes), bits),
        "weighted": (WeightedHammingNeighbors(N_NEIGHBORS).fit(codes), weights),
    }
    for way, (neighbors, queries) in ways.items():
        yield way, median_ms(lambda n, a=neighbors, q=queries: a.kneighbors(q[n : n + 1]))


def of_floats(n_items, n_features, rng):
    """Milliseconds of the search of floats, with its name."""
    rows = rng.standard_normal((n_items, n_features), dtype=np.float32)
    queries = rng.standard_normal((WARM_UP + CALLS, n_features), dtype=np.float32)
    neighbors = NearestNeighbors(n_neighbors=N_NEIGHBORS, algorithm="brute").fit(rows)
    yield "floats", median_ms(lambda n: neighbors.kneighbors(queries[n : n + 1]))


def cells():
    """Number of items, width, and what measures them: the last way tells whether it did."""
    for n_items in SIZES:
        for n_bits in BITS:
            yield n_items, n_bits, of_codes, "weighted"
        for n_features in FEATURES:
            if n_items * n_features <= MOST_FLOATS:
                yield n_items, n_features, of_floats, "floats"


def measure(store):
    """Measure what is not there yet."""
    with threadpool_limits(1):
        for n_items, width, function, last in cells():
            key = {"n_items": n_items, "width": width}
            if not store.has(way=last, **key):
                for way, ms in function(n_items, width, np.random.default_rng(0)):
                    store.add(way=way, **key, ms=ms)
                    print(way, *key.values(), f"{ms:.4f} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", type=Path, default=RESULTS / "size.csv")
    parser.add_argument("--constants", action="store_true", help="print, measure nothing")
    arguments = parser.parse_args()
    if arguments.constants:
        print(json.dumps(constants(arguments.csv)))
    else:
        measure(Store(arguments.csv, ["way", "n_items", "width"], ["ms"]))


if __name__ == "__main__":
    main()
