"""One query at a time: codes and weighted queries, beside NumPy's product with all floats.

    python benchmarks/bench_serving.py                       # minutes
    python benchmarks/bench_serving.py --sizes 12000 --rounds 20

Each way to search gets one query a call. p50 and p99 are percentiles of the time of a call,
after a warm-up, in one thread; "cpu" is the median CPU time, for machines that others use.
Ways take turns, a hundred calls each. The last columns are queries answered in a second by
one thread and by four, and how many times as many that are. BLAS and faiss have one thread.

"+ query" says that a call begins with the features of the query, and makes its weights.
"candidates" are the 1 000 items that are nearest by Hamming
distance. "Hamming, faiss" is the index that ``to_faiss`` builds of the same bits. Codes
have 256 bits. Up to 30 000 items are sentences, if the environment variable
SKLEARN_TALR_DATA names the folder of the benchmark sets, and drawn at random else. More are
those of 30 000 again, with an eighth of their bits flipped, and have no floats.
"""

import argparse
import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _store import record
from bench_embeddings import enlarged
from threadpoolctl import threadpool_limits

from sklearn_talr.codes import PackedCodes, pack_codes
from sklearn_talr.export import to_faiss
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

N_NEIGHBORS, N_CANDIDATES, N_BITS = 10, 1_000, 256
N_QUERIES, N_TRAIN, N_ITEMS = 1_000, 4_000, 30_000
CALLS_OF_A_TURN, WARM_UP = 100, 20
SECONDS_OF_A_CROWD = 1.0


class Rows(NamedTuple):
    """Features of unit length, and what the hasher makes of them."""

    query: np.ndarray
    database: np.ndarray
    weights: np.ndarray
    bits: np.ndarray
    codes: object
    hasher: AdditiveHasher


def load():
    """Draw queries and items, and encode these."""
    n = N_QUERIES + N_TRAIN + N_ITEMS
    rng = np.random.default_rng(0)
    if "SKLEARN_TALR_DATA" in os.environ:
        path = Path(os.environ["SKLEARN_TALR_DATA"]) / "text_minilm384.npz"
        with np.load(path) as arrays:
            X = arrays["X"].astype(np.float32)
        X = X[rng.permutation(len(X))[:n]]
    else:
        X = rng.standard_normal((n, 96)) @ rng.standard_normal((96, 384))
        X = X.astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    query, train, database = np.split(X, [N_QUERIES, N_QUERIES + N_TRAIN])
    hasher = AdditiveHasher(N_BITS, word_size=1, random_state=0).fit(train)
    bits = hasher.transform(query)
    weights = hasher.query_weights(query)
    return Rows(query, database, weights, bits, hasher.encode(database), hasher)


def by_codes(neighbors, queries, row):
    """Search codes."""
    return neighbors.kneighbors(queries(row), return_distance=False)


def by_floats(query, database, row):
    """The product with all items, and the best of it."""
    scores = database @ query[row]
    best = np.argpartition(-scores, N_NEIGHBORS)[:N_NEIGHBORS]
    return best[np.argsort(-scores[best])]


def ways(rows, n):
    """Functions of the number of a query, by name; all are compared with the first."""
    codes = rows.codes[:n] if n <= N_ITEMS else enlarged(rows.codes, n)

    def weights(row):
        return rows.weights[row : row + 1]

    def bits(row):
        return rows.bits[row : row + 1]

    def from_features(row):
        return rows.hasher.query_weights(rows.query[row : row + 1])

    found = {}
    if n <= N_ITEMS:
        found["floats, NumPy"] = partial(by_floats, rows.query, rows.database[:n])
    plain = PackedCodes(codes.data, codes.n_bits, codes.bitorder)
    by_weights = WeightedHammingNeighbors(N_NEIGHBORS).fit(codes)
    few = WeightedHammingNeighbors(N_NEIGHBORS, n_candidates=N_CANDIDATES).fit(codes)
    by_bits = HammingNeighbors(N_NEIGHBORS).fit(plain)
    found["weighted"] = partial(by_codes, by_weights, weights)
    found["weighted + query"] = partial(by_codes, by_weights, from_features)
    found["candidates"] = partial(by_codes, few, weights)
    found["Hamming"] = partial(by_codes, by_bits, bits)
    found["query_weights alone"] = from_features
    index = to_faiss(plain)
    found["Hamming, faiss"] = lambda row: index.search(
        pack_codes(bits(row)).data, N_NEIGHBORS
    )
    return found


def timed(search, calls):
    """Wall and CPU seconds of each call, shape (n_calls, 2)."""
    seconds = np.empty((len(calls), 2))
    for place, row in enumerate(calls):
        wall, cpu = time.perf_counter(), time.thread_time()
        search(row)
        seconds[place] = time.perf_counter() - wall, time.thread_time() - cpu
    return seconds


def served(search, n_threads):
    """Queries that so many threads answer in a second."""
    n_done, until = [], time.perf_counter() + SECONDS_OF_A_CROWD

    def serve(first):
        row, n = first, 0
        while time.perf_counter() < until:
            search(row % N_QUERIES)
            row, n = row + n_threads, n + 1
        n_done.append(n)

    threads = [threading.Thread(target=serve, args=(n,)) for n in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(n_done) / SECONDS_OF_A_CROWD


def measure(rows, n, n_rounds):
    """Print a line for each way to search so many items."""
    searches = ways(rows, n)
    seconds = {name: [] for name in searches}
    rng = np.random.default_rng(1)
    for _ in range(n_rounds):
        for name, search in searches.items():
            calls = rng.integers(N_QUERIES, size=WARM_UP + CALLS_OF_A_TURN)
            seconds[name].append(timed(search, calls)[WARM_UP:])
    print(f"\n{n} items, ms a call; ratio of p50 to the first line; queries a second")
    print(f"{'':30s}{'p50':>8s}{'p99':>8s}{'cpu':>8s}{'ratio':>8s}", end="")
    print(f"{'1 thread':>10s}{'4':>8s}{'times':>7s}")
    first = None
    for name, search in searches.items():
        wall, cpu = 1e3 * np.concatenate(seconds[name]).T
        p50, p99 = np.percentile(wall, (50, 99))
        first = first or p50
        figures = {"p50, ms": p50, "p99, ms": p99, "CPU, ms": np.median(cpu)}
        for quantity, value in figures.items():
            record("bench_serving", f"{n} items", name, quantity, value)
        one, four = (np.median([served(search, k) for _ in range(3)]) for k in (1, 4))
        print(f"{name:30s}{p50:8.3f}{p99:8.3f}{np.median(cpu):8.3f}", end="")
        print(f"{p50 / first:8.2f}{one:10.0f}{four:8.0f}{four / one:7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sizes = [1_000, 12_000, 30_000, 100_000, 1_000_000]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    rows = load()
    with threadpool_limits(1):
        for n in arguments.sizes:
            measure(rows, n, arguments.rounds)


if __name__ == "__main__":
    main()
