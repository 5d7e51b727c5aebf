"""Search by Hamming distance, side by side with faiss, usearch and scikit-learn.

    python benchmarks/bench_neighbors.py            # all tables, about ten minutes
    python benchmarks/bench_neighbors.py knn        # one of: knn radius distinct crossover
                                                    #         memory lookup_time

Contenders get the same codes in one process and one thread and take turns; figures are
medians of wall time, in microseconds per query, ratios are against ours. Those that take
long answer fewer queries (marked ~). Peers that are not installed are left out:
``pip install ".[bench]"``. `lookup_time` draws Figure 7 of Jiang, Li and Li: the time of
hash lookup against the radius.
"""

import argparse
import resource
import time
from functools import partial
from importlib.util import find_spec

import numpy as np
from _timing import medians
from sklearn.neighbors import NearestNeighbors

from sklearn_talr.codes import PackedCodes, unpack_codes
from sklearn_talr.metrics import lookup_cost
from sklearn_talr.neighbors import HammingNeighbors
from sklearn_talr.neighbors import _cost as cost

N_NEIGHBORS = 10
SIZES = {60_000: 1_000, 1_000_000: 200}  # items: queries


def draw(n, n_bits, seed=0, n_distinct=None):
    """Random codes, some of them many times over if only so many are to differ."""
    rng = np.random.default_rng(seed)
    octets = rng.integers(0, 256, (n_distinct or n, n_bits // 8), dtype=np.uint8)
    if n_distinct:
        octets = octets[(n_distinct * rng.random(n) ** 2).astype(int)]
    return PackedCodes(octets, n_bits)


def near(database, n, n_flips, seed=1):
    """Queries a few bits away from items, so that a small radius finds some."""
    rng = np.random.default_rng(seed)
    bits = unpack_codes(database[rng.integers(len(database), size=n)])
    for row in bits:
        row[rng.choice(database.n_bits, n_flips, replace=False)] ^= 1
    return PackedCodes(np.packbits(bits, axis=1, bitorder="little"), database.n_bits)


def print_table(title, seconds, n_queries, fewer=None):
    """Microseconds per query and ratios against the first contender."""
    print(f"\n{title}")
    first = next(iter(seconds))
    fewer = fewer or {}
    per_query = {name: s / fewer.get(name, n_queries) for name, s in seconds.items()}
    for name, value in per_query.items():
        mark = "~" if name in fewer else " "
        ratio = value / per_query[first]
        print(f"  {name:34s}{1e6 * value:12.2f} us{mark}{ratio:10.2f} x")


def one_thread():
    """Hold faiss to one thread."""
    if find_spec("faiss"):
        import faiss

        faiss.omp_set_num_threads(1)


def fitted(database, algorithm="brute", backend="numpy"):
    return HammingNeighbors(N_NEIGHBORS, algorithm=algorithm, backend=backend).fit(database)


def knn_contenders(database, queries):
    """Functions that answer all queries, or some where marked by their number."""
    contenders, fewer = {}, {}
    contenders["ours, NumPy"] = partial(fitted(database).kneighbors, queries)
    if find_spec("faiss"):
        import faiss

        index = faiss.IndexBinaryFlat(database.n_bits)
        index.add(database.data)
        contenders["faiss Flat"] = partial(index.search, queries.data, N_NEIGHBORS)
        ours = fitted(database, backend="faiss")
        contenders["ours, faiss"] = partial(ours.kneighbors, queries)
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
    """Everything within a radius, by tables where a library has them."""
    contenders = {
        f"ours, {algorithm}": partial(
            fitted(database, algorithm).radius_neighbors, queries, radius
        )
        for algorithm in ("auto", "lookup", "multi_index", "brute")
    }
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
    """The same number of items on fewer and fewer codes: time follows the codes."""
    n_items, n_queries = 1_000_000, 200
    contenders, titles = {}, []
    for n_distinct in (None, 100_000, 10_000, 1_000, 100):
        database = draw(n_items, 64, n_distinct=n_distinct)
        neighbors = fitted(database)
        name = f"{neighbors.n_distinct_codes_} distinct codes"
        contenders[name] = partial(neighbors.kneighbors, draw(n_queries, 64, seed=1))
        titles.append(name)
    title = f"k = {N_NEIGHBORS}, {n_items} items of 64 bits"
    print_table(title, medians(contenders, repeats), n_queries)


def crossover(repeats=3):
    """Unit costs of `sklearn_talr.neighbors._cost`, in comparisons of one word."""
    n_items, n_queries = 200_000, 256
    database = draw(n_items, 64)
    queries = draw(n_queries, 64, seed=1)
    words = fitted(database)._fitted.query_words(queries)[0]
    keep, cost.COMPARE_WORD = cost.COMPARE_WORD, 1e12  # have buckets looked up
    contenders = {"scan": partial(_searcher(database, "brute").within, words, 2)}
    tables = _searcher(database, "lookup")
    for r in (1, 2, 3):
        contenders[f"lookup within {r}"] = partial(tables.within, words, r)
    seconds = medians(contenders, repeats)
    cost.COMPARE_WORD = keep
    unit = seconds["scan"] / n_queries / n_items
    print(f"\ncomparing one word takes {1e9 * unit:.2f} ns; lookup in this unit:")
    for r in (1, 2, 3):
        buckets = lookup_cost(64, r)[r]
        per_bucket = seconds[f"lookup within {r}"] / n_queries / buckets / unit
        print(f"  {buckets:8.0f} buckets: {per_bucket:6.1f} for each, candidates included")


def _searcher(database, algorithm):
    return fitted(database)._fitted.index.searcher(algorithm, "numpy")


def memory(repeats=1):
    """Ten million codes of 64 bits: time and peak memory of the process."""
    n_items, n_queries = 10_000_000, 20
    before = _peak_mib()
    database, queries = draw(n_items, 64), draw(n_queries, 64, seed=1)
    start = time.perf_counter()
    neighbors = fitted(database, "auto")
    print(f"\n{n_items} codes of 64 bits: fitted in {time.perf_counter() - start:.1f} s")
    for name, ask in {
        "k = 10": partial(neighbors.kneighbors, queries),
        "radius 2": partial(neighbors.radius_neighbors, queries, 2),
        "radius 2, lookup": partial(neighbors.lookup, queries, radius=2),
    }.items():
        seconds = medians({name: ask}, repeats)
        print(f"  {name:18s}{1e3 * seconds[name] / n_queries:8.2f} ms per query")
    print(f"  peak memory {_peak_mib():.0f} MiB, {before:.0f} MiB before")


def _peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def lookup_time(repeats=5, path="lookup_time.png"):
    """Figure 7: time of hash lookup against the radius, for 48 and 64 bits."""
    import matplotlib.pyplot as plt

    n_items, n_queries, radii = 60_000, 256, range(5)
    figure, axes = plt.subplots(1, 2, figsize=(8, 3), sharey=True, layout="constrained")
    for n_bits, ax in zip((48, 64), axes):
        database = draw(n_items, n_bits, n_distinct=20_000)
        words = fitted(database)._fitted.query_words(near(database, n_queries, 2))[0]
        for name in ("lookup", "multi_index", "brute"):
            milliseconds = _lookup_milliseconds(database, words, name, radii, repeats)
            print(f"  {n_bits} bits, {name:12s}", np.round(milliseconds, 4), "ms")
            ax.semilogy(radii, milliseconds, marker="o", markersize=4, label=name)
        ax.set(title=f"{n_bits} bits", xlabel="Hamming radius", xticks=radii)
    axes[0].set_ylabel("ms per query")
    axes[0].legend()
    figure.savefig(path, dpi=150)
    print(f"Figure saved as {path}")


def _lookup_milliseconds(database, words, algorithm, radii, repeats):
    """Time of probing itself: nothing is compared instead."""
    keep, cost.COMPARE_WORD = cost.COMPARE_WORD, 1e12
    searcher, n_bits = _searcher(database, algorithm), database.n_bits
    countless = {
        r: algorithm == "lookup" and lookup_cost(n_bits, r)[r] > 1e5 for r in radii
    }
    some = {r: words[: 8 if countless[r] else None] for r in radii}
    seconds = medians({r: partial(searcher.within, some[r], r) for r in radii}, repeats)
    cost.COMPARE_WORD = keep
    return [1e3 * seconds[r] / len(some[r]) for r in radii]


TABLES = {
    function.__name__: function
    for function in (knn, radius, distinct, crossover, memory, lookup_time)
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
