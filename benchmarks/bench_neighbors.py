"""Search by Hamming distance, side by side with faiss, usearch and scikit-learn.

    python benchmarks/bench_neighbors.py            # all tables, about ten minutes
    python benchmarks/bench_neighbors.py knn        # one of: knn radius distinct crossover
                                                    #         memory lookup_time steady
                                                    #         latency

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
from itertools import product

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
    """Unit costs of `sklearn_talr.neighbors._cost`, fitted to searches of random codes."""
    steps, seconds, n_queries = [], [], 128
    for n_items, n_bits in product((100_000, 1_000_000), (32, 48, 64)):
        fit = fitted(draw(n_items, n_bits))._fitted
        words = fit.query_words(draw(n_queries, n_bits, seed=1))[0]
        scanner = fit.index.searcher("brute", "numpy")
        scan = _least_seconds(partial(scanner.at_least, words, N_NEIGHBORS), repeats)
        unit = scan / n_queries / n_items
        start = time.process_time()
        searcher = fit.index.searcher("multi_index", "numpy")
        making = (time.process_time() - start) / n_items / len(searcher.tables) / unit
        print(f"{n_items:8d} x {n_bits}: a word takes {1e9 * unit:.2f} ns, ", end="")
        print(f"a code in a table {making:.0f} times that")
        keep, cost.COMPARE_WORD = cost.COMPARE_WORD, 1e12  # have buckets looked up
        for r in range(4 * len(searcher.tables)):
            found = searcher.within(words, r)
            n_steps = sum(
                last + 1 for last in cost.radii_of_tables(r, len(searcher.tables))
            )
            steps.append((found.n_buckets.sum(), found.n_candidates.sum(), n_steps))
            look_up = partial(searcher.within, words, r)
            seconds.append(_least_seconds(look_up, repeats) / unit)
        cost.COMPARE_WORD = keep
    steps, seconds = np.array(steps, float), np.array(seconds)
    fitted_costs = np.linalg.lstsq(steps / seconds[:, None], np.ones(len(seconds)))[0]
    for name, value in zip(("bucket", "candidate", "step"), fitted_costs):
        print(f"a {name} takes {value:.0f} times that")


def _least_seconds(run, repeats):
    """CPU time of the fastest run: whatever else happens only takes more."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


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


def clustered(n, n_bits, n_clusters, flip, seed, sample_seed):
    """Codes around random centers; each bit flips with its own probability."""
    rng = np.random.default_rng(seed)
    centers = rng.integers(0, 256, (n_clusters, n_bits // 8), dtype=np.uint8)
    probability = (flip(rng, n_bits) * 2**16).astype(np.uint16)
    rng, parts = np.random.default_rng(sample_seed), []
    for start in range(0, n, 100_000):
        size = min(100_000, n - start)
        flips = rng.integers(0, 2**16, (size, n_bits), dtype=np.uint16) < probability
        parts.append(
            centers[rng.integers(n_clusters, size=size)] ^ np.packbits(flips, axis=1)
        )
    return PackedCodes(np.concatenate(parts), n_bits)


# Random codes; codes of 1 000 clusters, most of them different; codes as a hasher learns
# them for 100 classes, certain in most bits, so that many are equal.
KINDS = {
    "random": lambda n, n_bits, seed: draw(n, n_bits, seed),
    "clustered": lambda n, n_bits, seed: clustered(
        n, n_bits, 1_000, lambda rng, size: np.full(size, 0.1), 7, seed
    ),
    "learned": lambda n, n_bits, seed: clustered(
        n, n_bits, 100, lambda rng, size: 0.5 * rng.beta(0.3, 3, size), 7, seed
    ),
}


def steady(repeats=10, sizes=(100_000, 1_000_000, 5_000_000), bits=(32, 48, 64, 128)):
    """Total of ten calls of 1 000 queries: "auto" against the best fixed algorithm.

    CPU time, since others may use the machine. The algorithms take turns call by call, the
    fixed ones in `repeats` of the ten calls: their totals are those of the first call and
    of nine times the median of the others. "worst call" is the slowest of "auto" after the
    first, against the median of brute force. "by" is what "auto" has ended with.
    """
    print(f"{'items':>9} {'bits':>4} {'codes':>9} {'backend':>7}", end="")
    print("   brute  lookup   multi    auto   auto/best  worst call  by")
    for n_items, n_bits in product(sizes, bits):
        for kind, draw_codes in KINDS.items():
            database = draw_codes(n_items, n_bits, 1)
            for backend in ("numpy", "faiss") if find_spec("faiss") else ("numpy",):
                print(f"{n_items:9d} {n_bits:4d} {kind:>9} {backend:>7}", end="")
                _steady_row(database, partial(draw_codes, 1_000, n_bits), backend, repeats)


def _steady_row(database, draw_queries, backend, repeats):
    names = ("brute", "lookup", "multi_index", "auto")
    contenders = {name: fitted(database, name, backend) for name in names}
    seconds = {name: [] for name in names}
    turns = np.linspace(0, 9, min(repeats, 10)).round()
    for call in range(10):
        queries = draw_queries(2 + call)
        for name in names:
            if name == "auto" or (call in turns and not _is_hopeless(seconds, name)):
                start = time.process_time()
                contenders[name].kneighbors(queries)
                seconds[name].append(time.process_time() - start)
    typical = {name: np.median(values[1:] or values) for name, values in seconds.items()}
    totals = {name: values[0] + 9 * typical[name] for name, values in seconds.items()}
    totals["auto"] = sum(seconds["auto"])
    best = min(totals[name] for name in names[:-1])
    worst = max(seconds["auto"][1:]) / typical["brute"]
    records = contenders["auto"]._fitted.index.experience
    way = records.record("at_least", N_NEIGHBORS, is_few=False).cheapest()
    print("".join(f"{totals[name]:8.2f}" for name in names), end="")
    print(f"{totals['auto'] / best:12.2f}{worst:12.2f}  {way}", flush=True)


def _is_hopeless(seconds, name):
    """Whether an algorithm has taken so long that once is enough."""
    return bool(seconds[name]) and seconds[name][0] > 10 * seconds["brute"][0]


def latency(repeats=5):
    """One query at a time, ten neighbors of a million codes: percentiles of 5 000 calls."""
    n_bits, n_calls = 64, 1_000 * repeats
    for kind, draw_codes in KINDS.items():
        database, queries = (draw_codes(n, n_bits, n) for n in (1_000_000, n_calls))
        for backend in ("numpy", "faiss") if find_spec("faiss") else ("numpy",):
            for algorithm in ("brute", "auto"):
                neighbors = fitted(database, algorithm, backend)
                ms = [1e3 * _wall(neighbors, queries[i : i + 1]) for i in range(n_calls)]
                p50, p99, last = np.percentile(ms, (50, 99, 100))
                print(
                    f"{kind:>9} {backend:>6} {algorithm:>6}  p50 {p50:6.2f} ms  "
                    f"p99 {p99:6.2f} ms  slowest {last:7.1f} ms"
                )


def _wall(neighbors, query):
    start = time.perf_counter()
    neighbors.kneighbors(query)
    return time.perf_counter() - start


TABLES = {
    function.__name__: function
    for function in (knn, radius, distinct, crossover, memory, lookup_time, steady, latency)
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
