"""How far one machine goes: encoding, counting and searching up to 10^8 codes of 64 bits.

    python benchmarks/bench_scale.py --folder DIR             # all, then the tables
    python benchmarks/bench_scale.py --folder DIR --tables    # the tables alone

Codes are random, so all differ: learned codes repeat, and take less. They are drawn once
into files of DIR (3 GB in all) and memory-mapped. Features are those of one file of a
million rows, which is read again and again, so that the disk is not what is measured.

Figures are CPU seconds of one thread, since others may use the machine, on so many queries
that each takes seconds; and the most memory that the process has of its own, its index
included, beyond what it had with all imported. Pages of mapped files are the system's to
keep or to drop. Over the blocks of dask work processes of one thread each; of these, the
CPU seconds of the busiest one count.

What belongs together runs in a process of its own, and is written to a CSV file, ``--csv``,
when it is done. What is there is not measured again.
"""

import argparse
import csv
import math
import os
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from _codes import draw, near
from _meter import Meter
from _store import RESULTS
from sklearn.utils import gen_batches

from sklearn_talr import HammingNeighbors, ITQHasher
from sklearn_talr.codes import PackedCodes
from sklearn_talr.histogram import hamming_histogram

SIZES = 10**6, 10**7, 10**8
N_BITS, N_FEATURES, N_CLASSES = 64, 128, 10
N_NEIGHBORS, RADIUS = 10, 2
ROWS_OF_FEATURES = 10**6
ROWS_PER_BLOCK = 10**6  # of dask, and of what is written to files
ITEMS_OF_DASK, QUERIES_OF_DASK = 10**7, 256
QUERIES = {10**6: 512, 10**7: 128, 10**8: 32}
CELL = ("group", "operation", "contender", "items", "queries")
FIGURES = ("cpu_s", "wall_s", "total_cpu_s", "peak_mib", "kept_mib")


# Files


def prepare(folder, n_items):
    """Draw what is missing in the folder: features, codes and labels, block by block."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)

    def normal(n):
        return rng.standard_normal((n, N_FEATURES), dtype=np.float32)

    def octets(n):
        return rng.integers(0, 256, (n, N_BITS // 8), dtype=np.uint8)

    def labels(n):
        return rng.integers(0, N_CLASSES, n, dtype=np.uint8)

    write(folder / "features.npy", ROWS_OF_FEATURES, normal)
    write(folder / "codes.npy", n_items, octets)
    write(folder / "labels.npy", n_items, labels)


def write(path, n_rows, draw_rows):
    """Make a .npy file of so many rows at least, whole or not at all."""
    if path.exists() and len(np.load(path, mmap_mode="r")) >= n_rows:
        return
    unfinished, first = path.with_suffix(".part"), draw_rows(1)
    array = new_file(unfinished, (n_rows, *first.shape[1:]), first.dtype)
    for rows in gen_batches(n_rows, ROWS_PER_BLOCK):
        array[rows] = draw_rows(rows.stop - rows.start)
    array.flush()
    unfinished.replace(path)


def new_file(path, shape, dtype):
    return np.lib.format.open_memmap(path, "w+", dtype, shape)


def mapped(folder, name, n_rows):
    return np.load(folder / f"{name}.npy", mmap_mode="r")[:n_rows]


def codes_of(folder, n_items):
    return PackedCodes(mapped(folder, "codes", n_items), N_BITS)


# One machine: each group yields (operation, contender, queries, figures)


def encode(folder, n_items):
    meter, features = Meter(), mapped(folder, "features", ROWS_OF_FEATURES)
    hasher = ITQHasher(N_BITS, random_state=0).fit(features[:5_000])
    codes = new_file(folder / "encoded.npy", (n_items, N_BITS // 8), np.uint8)

    def run():
        for rows in gen_batches(n_items, ROWS_OF_FEATURES):
            codes[rows] = hasher.encode(features[: rows.stop - rows.start]).data

    yield "encode", "ours", 0, meter.figures(run)


def count(folder, n_items):
    compile_kernel()
    meter, n_queries = Meter(), QUERIES[n_items]
    codes, y = codes_of(folder, n_items), mapped(folder, "labels", n_items)
    queries, y_query = draw(n_queries, N_BITS, seed=1), np.arange(n_queries) % N_CLASSES
    run = partial(hamming_histogram, queries, codes, "auto", y_query, y)
    yield "count", "ours", n_queries, meter.figures(run)


def compile_kernel():
    """Have the loop compiled, or loaded from the disk."""
    hamming_histogram(draw(2, N_BITS), draw(2, N_BITS), "auto", [0, 1], [0, 1])


def search(folder, n_items):
    meter, neighbors, codes = Meter(), HammingNeighbors(), codes_of(folder, n_items)
    yield "index", "ours", 0, meter.figures(partial(neighbors.fit, codes))
    questions = questions_about(codes, n_items)
    asks = (
        ("kneighbors", neighbors.kneighbors, N_NEIGHBORS),
        ("radius", neighbors.radius_neighbors, RADIUS),
    )
    for name, ask, argument in asks:
        ask(questions[name][:1], argument)
        run = partial(ask, questions[name], argument)
        yield name, "ours", len(questions[name]), meter.figures(run)


def search_by_faiss(folder, n_items):
    import faiss

    faiss.omp_set_num_threads(1)
    meter, flat = Meter(), faiss.IndexBinaryFlat(N_BITS)
    codes = codes_of(folder, n_items)

    def index():
        for rows in gen_batches(n_items, ROWS_PER_BLOCK):
            flat.add(np.ascontiguousarray(codes.data[rows]))

    yield "index", "faiss Flat", 0, meter.figures(index)
    questions = questions_about(codes, n_items)
    asks = (
        ("kneighbors", flat.search, N_NEIGHBORS),
        ("radius", flat.range_search, RADIUS + 1),
    )
    for name, ask, argument in asks:
        ask(questions[name].data[:1], argument)
        run = partial(ask, questions[name].data, argument)
        yield name, "faiss Flat", len(questions[name]), meter.figures(run)


def questions_about(codes, n_items):
    """Random queries for their nearest, and some near an item for all within a radius."""
    n_queries = QUERIES[n_items]
    return {
        "kneighbors": draw(n_queries, N_BITS, seed=1),
        "radius": near(codes, n_queries, n_flips=RADIUS),
    }


# Over blocks: each group is one operation on one number of workers


def blocks_of(path, n_rows):
    """A dask array of rows of a .npy file, over and over if it has too few."""
    import dask
    import dask.array as da

    array = np.load(path, mmap_mode="r")
    blocks = []
    for rows in gen_batches(n_rows, ROWS_PER_BLOCK):
        start, size = rows.start % len(array), rows.stop - rows.start
        block = dask.delayed(read_rows)(str(path), start, start + size)
        blocks.append(da.from_delayed(block, (size, *array.shape[1:]), array.dtype))
    return da.concatenate(blocks)


def read_rows(path, start, stop):
    return np.load(path, mmap_mode="r")[start:stop]


def over_blocks(n_workers, folder, n_items):
    """CPU seconds of the busiest process, wall seconds, CPU seconds of all processes."""
    with cluster_of(n_workers) as client:
        for operation, n_queries, run in by_dask(folder, n_items):
            before, wall = seconds_of_all(client), time.perf_counter()
            run()
            wall = time.perf_counter() - wall
            cpu = [now - then for now, then in zip(seconds_of_all(client), before)]
            figures = max(cpu), wall, sum(cpu), math.nan, math.nan
            yield operation, f"dask, {n_workers}", n_queries, figures


def by_dask(folder, n_items):
    import dask
    from distributed import wait

    from sklearn_talr.dask import encode, hamming_histogram, index, kneighbors

    hasher = ITQHasher(N_BITS, random_state=0).fit(mapped(folder, "features", 5_000))
    features = blocks_of(folder / "features.npy", n_items)
    yield "encode", 0, lambda: wait(dask.persist(*encode(hasher, features)))
    octets = blocks_of(folder / "codes.npy", n_items).to_delayed().ravel()
    codes = [dask.delayed(PackedCodes)(block, N_BITS) for block in octets]
    y = blocks_of(folder / "labels.npy", n_items)
    n_queries = QUERIES_OF_DASK
    queries, y_query = draw(n_queries, N_BITS, seed=1), np.arange(n_queries) % N_CLASSES
    yield (
        "count",
        n_queries,
        partial(hamming_histogram, queries, codes, "auto", y_query, y),
    )
    database = []

    def index_all():
        database.extend(index(HammingNeighbors(), codes))
        wait(database)

    yield "index", 0, index_all
    yield "kneighbors", n_queries, partial(kneighbors, queries, database, N_NEIGHBORS)


@contextmanager
def cluster_of(n_workers):
    from distributed import Client, LocalCluster

    settings = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": 0}
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(**settings, **quiet) as cluster, Client(cluster) as client:
        client.wait_for_workers(n_workers)
        client.run(prepare_worker)
        yield client


def prepare_worker():
    """Import and compile what is not to be measured."""
    import sklearn_talr.dask  # noqa: F401

    compile_kernel()


def seconds_of_all(client):
    return [time.process_time(), *client.run(time.process_time).values()]


# Groups, and the CSV file

HERE = {name.__name__: name for name in (encode, count, search, search_by_faiss)}


def groups(sizes):
    """Names of groups, and what measures them."""
    for n_items, name in product(sizes, HERE):
        yield name, n_items, HERE[name]
    if ITEMS_OF_DASK in sizes:
        for n_workers in (1, 2):
            yield f"dask, {n_workers}", ITEMS_OF_DASK, partial(over_blocks, n_workers)


def measure_all(path, folder, sizes):
    prepare(folder, max(sizes))
    for name, n_items, measure in groups(sizes):
        if (name, n_items) not in {(row["group"], row["items"]) for row in read(path)}:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                found = pool.submit(rows_of, measure, folder, n_items).result()
            rows = [
                (name, operation, contender, n_items, n_queries, *figures)
                for operation, contender, n_queries, figures in found
            ]
            append(path, rows)
            print(*rows, sep="\n", flush=True)


def rows_of(measure, folder, n_items):
    return list(measure(folder, n_items))


def read(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    counts, figures = dict.fromkeys(CELL[3:], int), dict.fromkeys(FIGURES, float)
    kinds = dict.fromkeys(CELL[:3], str) | counts | figures
    return [{name: kinds[name](value) for name, value in row.items()} for row in rows]


def append(path, rows):
    is_new = not path.exists()
    with open(path, "a", newline="") as file:
        csv.writer(file).writerows([CELL + FIGURES] * is_new + rows)
        file.flush()
        os.fsync(file.fileno())


# Tables


def print_tables(rows):
    print(f"\n{'one thread':24s}{'items':>10s}{'seconds':>9s}{'a second':>10s}", end="")
    print(f"{'MiB at most':>13s}{'MiB kept':>10s}")
    for row in rows:
        if not math.isnan(row["peak_mib"]):
            title = f"{row['operation']}, {row['contender']}"
            each = row["items"] * max(1, row["queries"]) / row["cpu_s"]
            print(f"{title:24s}{row['items']:10.0e}{row['cpu_s']:9.2f}{each:10.2g}", end="")
            print(f"{row['peak_mib']:13.0f}{row['kept_mib']:10.0f}")
    print(f"\ndask, {ITEMS_OF_DASK:.0e} items: busiest of 1 and of 2 workers, more work")
    one, two = ([row for row in rows if row["group"] == f"dask, {n}"] for n in (1, 2))
    for a, b in zip(one, two):
        more = b["total_cpu_s"] / a["total_cpu_s"] - 1
        print(f"{a['operation']:12s}{a['cpu_s']:8.2f} s{b['cpu_s']:8.2f} s", end="")
        print(f"{a['cpu_s'] / b['cpu_s']:8.2f} x{more:8.0%}")


def print_projection(rows, memory=16 * 2**30):
    """What 10^9 and 10^10 items would take, on workers of one core and 16 GiB each."""
    measured = max(row["items"] for row in rows if row["group"] == "search")
    here = [row for row in rows if not row["group"].startswith("dask")]
    here = [row for row in here if row["items"] == measured]
    of = {(row["operation"], row["contender"]): row for row in here}
    print(f"\nfrom {measured:.0e} items:", end=" ")
    indexed = of["index", "ours"]
    peak, kept = (indexed[m] * 2**20 / measured for m in ("peak_mib", "kept_mib"))
    print(f"bytes an item: {N_BITS // 8} in files, {kept:.0f} indexed, ", end="")
    print(f"{peak:.0f} while it is indexed")
    for n_items in (10**9, 10**10):
        n_workers = math.ceil(n_items * peak / memory)
        share = n_items / n_workers
        print(f"\n{n_items:.0e} items on {n_workers} workers: ", end="")
        print(f"{n_items * kept / 1e9:.0f} GB indexed")
        for (operation, contender), row in of.items():
            seconds = row["cpu_s"] / max(1, row["queries"]) * share / measured
            each = "in all" if not row["queries"] else "a query"
            print(f"  {operation + ', ' + contender:24s}{seconds:9.3g} s {each}")
        answer = n_workers * (N_BITS // 8 + N_NEIGHBORS * 16) / 1e3
        table = n_workers * (N_BITS // 8 + 2 * (N_BITS + 1) * 8) / 1e3
        print(f"  network: {answer:.2g} kB a query of {N_NEIGHBORS} neighbors", end="")
        print(f", {table:.2g} kB a query that is counted")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the files are")
    parser.add_argument("--csv", type=Path, default=RESULTS / "scale.csv")
    parser.add_argument("--items", type=int, nargs="+", default=SIZES)
    parser.add_argument("--tables", action="store_true")
    arguments = parser.parse_args()
    if not arguments.tables:
        measure_all(arguments.csv, arguments.folder, arguments.items)
    measured = read(arguments.csv)
    print_tables(measured)
    print_projection(measured)
