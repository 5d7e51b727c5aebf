"""Search by Hamming distance, side by side with faiss, usearch and scikit-learn.

    python benchmarks/bench_neighbors.py            # all tables, about an hour
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
from copy import copy
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import product

import numpy as np
from _codes import KINDS, draw, near
from _store import RESULTS, Store, record
from _timing import medians
from sklearn.neighbors import NearestNeighbors

from sklearn_talr.codes import unpack_codes
from sklearn_talr.codes._packed import as_words
from sklearn_talr.metrics import lookup_cost
from sklearn_talr.neighbors import HammingNeighbors
from sklearn_talr.neighbors import _cost as cost

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


def fitted(database, algorithm="brute"):
    return HammingNeighbors(N_NEIGHBORS, algorithm=algorithm).fit(database)


def knn_contenders(database, queries):
    """Functions that answer all queries, or some where marked by their number."""
    contenders, fewer = {}, {}
    contenders["ours"] = partial(fitted(database).kneighbors, queries)
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
        index = fitted(draw(n_items, n_bits))._fitted.index
        words = as_words(draw(n_queries, n_bits, seed=1).data)
        scanner = index.searcher(0)
        scan = _least_seconds(partial(scanner.at_least, words, N_NEIGHBORS), repeats)
        unit = scan / n_queries / n_items
        start = time.process_time()
        searcher = index.searcher(cost.n_tables_for(index.store))
        making = (time.process_time() - start) / n_items / len(searcher.tables) / unit
        print(f"{n_items:8d} x {n_bits}: a word takes {1e9 * unit:.2f} ns, ", end="")
        print(f"a code in a table {making:.0f} times that")
        searcher.scanner.cost = lambda: 1e18  # have buckets looked up
        for r in range(4 * len(searcher.tables)):
            found = searcher.within(words, r)
            n_steps = sum(
                last + 1 for last in cost.radii_of_tables(r, len(searcher.tables))
            )
            steps.append((found.n_buckets.sum(), found.n_candidates.sum(), n_steps))
            look_up = partial(searcher.within, words, r)
            seconds.append(_least_seconds(look_up, repeats) / unit)
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
        words = as_words(near(database, n_queries, 2).data)
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
    index, n_bits = fitted(database)._fitted.index, database.n_bits
    tables = {"brute": 0, "lookup": 1, "multi_index": cost.n_tables_for(index.store)}
    searcher = index.searcher(tables[algorithm])
    if tables[algorithm]:
        searcher.scanner.cost = lambda: 1e18
    countless = {
        r: algorithm == "lookup" and lookup_cost(n_bits, r)[r] > 1e5 for r in radii
    }
    some = {r: words[: 8 if countless[r] else None] for r in radii}
    seconds = medians({r: partial(searcher.within, some[r], r) for r in radii}, repeats)
    return [1e3 * seconds[r] / len(some[r]) for r in radii]


NAMES = ("brute", "lookup", "multi_index", "auto")
CELL = ("items", "bits", "codes")
FIGURES = (*NAMES, "auto_over_best", "worst_call")


def steady(repeats=3, sizes=(100_000, 1_000_000)):
    """Total of ten calls of 1 000 queries: "auto" against the best fixed algorithm.

    Seconds of CPU time, since others may use the machine. In each of `repeats` rounds,
    which begin without tables and experience, the algorithms take turns call by call, the
    fixed ones in four of the ten calls. The fastest round counts, call by call, for all of
    them alike. Totals of the fixed ones are the first call and nine times the median of the
    others. "worst_call" is the slowest of "auto" after the first, against the median of
    brute force.

    Each cell is a row of ``results/steady.csv``. Cells that are there are not run again.
    """
    store = Store(RESULTS / "steady.csv", CELL, FIGURES)
    for n_items, n_bits, kind in product(sizes, (32, 48, 64, 128), KINDS):
        cell = {"items": n_items, "bits": n_bits, "codes": kind}
        if not store.has(**cell):
            database = KINDS[kind](n_items, n_bits, 1)
            draw_queries = partial(KINDS[kind], 1_000, n_bits)
            figures = _steady_figures(database, draw_queries, repeats)
            store.add(**cell, **dict(zip(FIGURES, map(float, figures))))
    for row in store.rows():
        print(*(f"{name} {row[name]}" for name in (*CELL, *FIGURES)), sep=", ")


def _steady_figures(database, draw_queries, repeats):
    fresh, rounds = fitted(database), []
    for _ in range(repeats):
        contenders = {name: _anew(fresh, name) for name in NAMES}
        rounds.append(_ten_calls(contenders, draw_queries))
    seconds = {name: np.fmin.reduce([r[name] for r in rounds]) for name in NAMES}
    typical = {name: np.nanmedian(s[1:]) for name, s in seconds.items()}
    totals = [seconds[name][0] + 9 * typical[name] for name in NAMES[:-1]]
    auto, worst = seconds["auto"].sum(), seconds["auto"][1:].max() / typical["brute"]
    return [*totals, auto, auto / np.nanmin(totals), worst]


def _anew(neighbors, algorithm):
    """The same codes, not copied, with no tables and no experience."""
    other = copy(neighbors).set_params(algorithm=algorithm)
    other._fitted = replace(other._fitted, index=copy(other._fitted.index))
    return other


def _ten_calls(contenders, draw_queries):
    """CPU seconds of each call by each algorithm; NaN where it is not asked.

    What takes longer than comparing even with its tables made is asked twice only.
    """
    seconds = {name: np.full(10, np.nan) for name in NAMES}
    for call in range(10):
        queries = draw_queries(2 + call)
        for name, times in seconds.items():
            is_slow = times[3] > seconds["brute"][3]
            if name == "auto" or call in ((0, 3) if is_slow else (0, 3, 6, 9)):
                start = time.process_time()
                contenders[name].kneighbors(queries)
                times[call] = time.process_time() - start
    return seconds


def latency(repeats=5):
    """One query at a time, ten neighbors of a million codes: CPU time of each call.

    "auto" makes its tables in one of them. p50 and p99 are percentiles of the last nine
    tenths of the calls.
    """
    n_bits, n_calls = 64, 1_000 * repeats
    for kind, draw_codes in KINDS.items():
        database, queries = (draw_codes(n, n_bits, n) for n in (1_000_000, n_calls))
        for algorithm in ("brute", "auto"):
            neighbors = fitted(database, algorithm)
            ms = [1e3 * _cpu(neighbors, queries[i : i + 1]) for i in range(n_calls)]
            p50, p99 = np.percentile(ms[n_calls // 10 :], (50, 99))
            for name, value in (("p50, ms", p50), ("p99, ms", p99)):
                record("bench_neighbors", f"latency, {kind}", algorithm, name, value)
            print(
                f"{kind:>9} {algorithm:>6}  p50 {p50:6.2f} ms  "
                f"p99 {p99:6.2f} ms  slowest {max(ms):7.1f} ms"
            )


def _cpu(neighbors, query):
    start = time.process_time()
    neighbors.kneighbors(query)
    return time.process_time() - start


TABLES = {
    function.__name__: function
    for function in (knn, radius, distinct, crossover, memory, lookup_time, steady, latency)
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("table", nargs="?", choices=TABLES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--items", type=int, nargs="+", help="sizes of `steady`")
    arguments = parser.parse_args()
    one_thread()
    if arguments.items:
        TABLES["steady"] = partial(steady, sizes=arguments.items)
    for name, table in TABLES.items():
        if arguments.table in (None, name):
            table(arguments.repeats)
