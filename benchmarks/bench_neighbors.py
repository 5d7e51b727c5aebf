"""Search by Hamming distance, side by side with faiss, usearch and scikit-learn.

    python benchmarks/bench_neighbors.py            # all tables, about an hour
    python benchmarks/bench_neighbors.py knn        # one of: knn radius distinct memory
                                                    #         latency one

Contenders get the same codes in one process and one thread and take turns; figures are
medians of wall time, in microseconds per query, ratios are against ours. Those that take
long answer fewer queries (marked ~). Peers that are not installed are left out:
``pip install ".[bench]"``.
"""

import argparse
import resource
import time
from functools import partial
from importlib.util import find_spec

import numpy as np
from _codes import KINDS, draw, near
from _store import record
from _timing import medians
from sklearn.neighbors import NearestNeighbors

from sklearn_talr.codes import PackedCodes, unpack_codes
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

N_NEIGHBORS = 10
SIZES = {60_000: 1_000, 1_000_000: 200}  # items: queries


def print_table(title, seconds, n_queries, fewer=None):
    """Microseconds per query and ratios against the first contender."""
    print(f"\n{title}")
    first = next(iter(seconds))
    fewer = fewer or {}
    per_query = {name: s / fewer.get(name, n_queries) for name, s in seconds.items()}
    for name, value in per_query.items():
        record("bench_neighbors", title, name, "us a query", 1e6 * value)
        mark = "~" if name in fewer else " "
        ratio = value / per_query[first]
        print(f"  {name:34s}{1e6 * value:12.2f} us{mark}{ratio:10.2f} x")


def one_thread():
    """Hold faiss to one thread."""
    if find_spec("faiss"):
        import faiss

        faiss.omp_set_num_threads(1)


def fitted(database):
    return HammingNeighbors(N_NEIGHBORS).fit(database)


def knn_contenders(database, queries):
    """Functions that answer all queries, or some where marked by their number."""
    contenders, fewer = {}, {}
    contenders["ours"] = partial(fitted(database).kneighbors, queries)
    rng, index = np.random.default_rng(0), WeightedHammingNeighbors(N_NEIGHBORS)
    for name, size in (("ours, weighted", 1), ("ours, words of eight bits", 32)):
        shape = len(queries), size * database.n_bits
        weights = rng.standard_normal(shape, dtype=np.float32)
        contenders[name] = partial(index.fit(database).kneighbors, weights)
    if find_spec("faiss"):
        import faiss

        index = faiss.IndexBinaryFlat(database.n_bits)
        index.add(database.data)
        contenders["faiss Flat"] = partial(index.search, queries.data, N_NEIGHBORS)
    if find_spec("usearch"):
        from usearch.index import MetricKind, search

        contenders["usearch exact"] = partial(
            search,
            database.data,
            queries.data,
            N_NEIGHBORS,
            MetricKind.Hamming,
            exact=True,
            threads=1,
        )
    if len(database) <= 100_000:
        theirs = NearestNeighbors(
            n_neighbors=N_NEIGHBORS, metric="hamming", algorithm="brute"
        )
        theirs.fit(unpack_codes(database).astype(bool))
        some = unpack_codes(queries[:50]).astype(bool)
        contenders["scikit-learn brute Hamming"] = partial(theirs.kneighbors, some)
        fewer["scikit-learn brute Hamming"] = 50
    return contenders, fewer


def knn(repeats=5):
    """The ten nearest of random codes."""
    for n_items, n_queries in SIZES.items():
        for n_bits in (32, 64):
            database, queries = draw(n_items, n_bits), draw(n_queries, n_bits, seed=1)
            contenders, fewer = knn_contenders(database, queries)
            title = f"k = {N_NEIGHBORS}, {n_items} random codes of {n_bits} bits"
            print_table(title, medians(contenders, repeats), n_queries, fewer)


def radius_contenders(database, queries, radius):
    """Everything within a radius, by tables where faiss has them."""
    contenders = {"ours": partial(fitted(database).radius_neighbors, queries, radius)}
    if find_spec("faiss"):
        import faiss

        width = int(np.log2(len(database)))
        n_tables = max(1, database.n_bits // width)
        indexes = {
            "faiss Flat": faiss.IndexBinaryFlat(database.n_bits),
            "faiss Hash": faiss.IndexBinaryHash(database.n_bits, width),
            "faiss MultiHash": faiss.IndexBinaryMultiHash(database.n_bits, n_tables, width),
        }
        indexes["faiss Hash"].nflip = radius
        indexes["faiss MultiHash"].nflip = radius // n_tables
        for name, index in indexes.items():
            index.add(database.data)
            contenders[name] = partial(index.range_search, queries.data, radius + 1)
    return contenders


def radius(repeats=5):
    """Everything within radius 2 and 4 of queries three bits from an item."""
    for n_items, n_queries in SIZES.items():
        for n_bits in (32, 64):
            database = draw(n_items, n_bits)
            queries = near(database, n_queries, n_flips=3)
            for r in (2, 4):
                seconds = medians(radius_contenders(database, queries, r), repeats)
                title = f"radius {r}, {n_items} random codes of {n_bits} bits"
                print_table(title, seconds, n_queries)


def distinct(repeats=5):
    """The same number of items on fewer and fewer codes."""
    n_items, n_queries = 1_000_000, 200
    contenders, titles = {}, []
    for n_distinct in (None, 100_000, 10_000, 1_000, 100):
        database = draw(n_items, 64, n_distinct=n_distinct)
        name = f"at most {n_distinct or n_items} distinct codes"
        ask = fitted(database).kneighbors
        contenders[name] = partial(ask, draw(n_queries, 64, seed=1))
        titles.append(name)
    title = f"k = {N_NEIGHBORS}, {n_items} items of 64 bits"
    print_table(title, medians(contenders, repeats), n_queries)


def memory(repeats=1):
    """Ten million codes of 64 bits: time and peak memory of the process."""
    n_items, n_queries = 10_000_000, 20
    before = _peak_mib()
    database, queries = draw(n_items, 64), draw(n_queries, 64, seed=1)
    start = time.perf_counter()
    neighbors = fitted(database)
    print(f"\n{n_items} codes of 64 bits: fitted in {time.perf_counter() - start:.1f} s")
    for name, ask in {
        "k = 10": partial(neighbors.kneighbors, queries),
        "radius 2": partial(neighbors.radius_neighbors, queries, 2),
    }.items():
        seconds = medians({name: ask}, repeats)
        print(f"  {name:18s}{1e3 * seconds[name] / n_queries:8.2f} ms per query")
    print(f"  peak memory {_peak_mib():.0f} MiB, {before:.0f} MiB before")


def _peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def latency(repeats=5):
    """One query at a time, ten neighbors of a million codes: CPU time of each call.

    p50 and p99 are percentiles of the last nine tenths of the calls.
    """
    n_bits, n_calls = 64, 1_000 * repeats
    for kind, draw_codes in KINDS.items():
        database, queries = (draw_codes(n, n_bits, n) for n in (1_000_000, n_calls))
        neighbors = fitted(database)
        ms = [1e3 * _cpu(neighbors, queries[i : i + 1]) for i in range(n_calls)]
        p50, p99 = np.percentile(ms[n_calls // 10 :], (50, 99))
        for name, value in (("p50, ms", p50), ("p99, ms", p99)):
            record("bench_neighbors", f"latency, {kind}", "ours", name, value)
        print(f"{kind:>9}  p50 {p50:6.2f} ms  p99 {p99:6.2f} ms  slowest {max(ms):7.1f} ms")


def one(repeats=5):
    """One query at a time, codes of 256 bits: medians of CPU time, after a warm-up."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((50, 256), dtype=np.float32)
    for n_items in (12_000, 100_000, 1_000_000):
        database = draw(n_items, 256)
        signs = PackedCodes(np.packbits(weights > 0, axis=1, bitorder="little"), 256)
        by_weights = WeightedHammingNeighbors(N_NEIGHBORS).fit(database)
        contenders = {
            "HammingNeighbors": (fitted(database).kneighbors, signs),
            "WeightedHammingNeighbors": (by_weights.kneighbors, weights),
        }
        if find_spec("faiss"):
            from sklearn_talr.export import to_faiss

            by_bits, weighted = to_faiss(database), to_faiss(database, weighted=True)
            contenders["faiss Flat"] = lambda q, at=by_bits: at.search(q, 10), signs.data
            contenders["faiss, weighted (8-bit tables)"] = (
                lambda q, at=weighted: at.search(q, 10),
                weights,
            )
        X = rng.standard_normal((min(n_items, 100_000), 384), dtype=np.float32)
        query = X[:50] + 1
        floats = "all by float32, NumPy"
        if n_items == len(X):
            contenders[floats] = lambda q, X=X: np.argpartition(-(X @ q[0]), 9)[:10], query
        print(f"\n{n_items} codes")
        for name, (ask, queries) in contenders.items():
            seconds = []
            for i in range(50 * repeats):
                start = time.process_time()
                ask(queries[i % 50 : i % 50 + 1])
                seconds.append(time.process_time() - start)
            ms = 1e3 * float(np.median(seconds[10:]))
            record("bench_neighbors", f"one query, {n_items} codes", name, "ms", ms)
            print(f"  {name:34s}{ms:8.3f} ms")


def _cpu(neighbors, query):
    start = time.process_time()
    neighbors.kneighbors(query)
    return time.process_time() - start


TABLES = {
    function.__name__: function
    for function in (knn, radius, distinct, memory, latency, one)
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", nargs="?", choices=TABLES)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    one_thread()
    for name, table in TABLES.items():
        if arguments.table in (None, name):
            table(arguments.repeats)
