"""Short codes of embeddings for weighted queries, beside the quantizers of faiss.

    python benchmarks/bench_embeddings.py            # recall of all codes: hours
    python benchmarks/bench_embeddings.py tables     # what is measured so far, as Markdown
    python benchmarks/bench_embeddings.py serve      # milliseconds per query: minutes

The benchmark sets are read from the folder that SKLEARN_TALR_DATA names. Their labels are
not used: 1 000 rows are queries, 5 000 others are fitted to, and the rest is the database.
The mean of the 5 000 is subtracted from all rows, and these are scaled to unit length.
Recall is that of the ten nearest rows by cosine among the first ten found.

Every cell of the tables is a row of a CSV file, ``--csv``. Cells that are there are not
measured again, so that a run that was ended goes on. Seconds are CPU time of one thread.

`serve` searches 10^5, 10^6 and 10^7 codes of 256 bits: those of cifar10's database, drawn
again and again with an eighth of their bits flipped.
"""

import argparse
import csv
import os
import time
from collections import defaultdict
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import faiss
import numpy as np
from _quantizers import CONTENDERS, N_CANDIDATES, N_NEIGHBORS, highest
from benchmark_sets import BENCHMARKS

from sklearn_talr.codes import PackedCodes
from sklearn_talr.export import to_faiss
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors, rescore

MOST_FLOATS = 10**6  # rows of which the floats are kept in memory
SETS, N_QUERIES, N_TRAIN = ("coco17", "scenes", "cifar10"), 1_000, 5_000


class Rows(NamedTuple):
    """Rows of a set, and the database rows that are nearest to each query."""

    query: np.ndarray
    train: np.ndarray
    database: np.ndarray
    nearest: np.ndarray


class Figure(NamedTuple):
    """A row of the CSV file: what was measured of one search by one code."""

    data: str
    seed: int
    n_bits: int
    contender: str
    search: str
    recall: float
    fit_seconds: float
    encode_seconds: float
    n_database: int
    n_bytes: int


@lru_cache(maxsize=1)
def load(name, seed):
    """Draw queries, rows to fit and the database, and find the true neighbors."""
    with np.load(Path(os.environ["SKLEARN_TALR_DATA"]) / BENCHMARKS[name][0]) as arrays:
        X = arrays["X"].astype(np.float32)
    order = np.random.default_rng(seed).permutation(len(X))
    X -= X[order[N_QUERIES : N_QUERIES + N_TRAIN]].mean(axis=0)
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    query, train, database = np.split(X[order], [N_QUERIES, N_QUERIES + N_TRAIN])
    return Rows(query, train, database, highest(query @ database.T))


def recall(nearest, found):
    """Fraction of the true neighbors among those found."""
    return float(np.mean([np.isin(row, of_row) for row, of_row in zip(nearest, found)]))


def measure(data, seed, n_bits, contender):
    """Fit, encode and search; yield a figure for each way of searching."""
    rows, make = load(data, seed), CONTENDERS[contender][0]
    model = make(rows.train.shape[1], n_bits, seed)
    times = [time.process_time()]
    for step, X in ((model.fit, rows.train), (model.add, rows.database)):
        step(X)
        times.append(time.process_time())
    seconds = np.round(np.diff(times), 2).tolist()
    for search, found in model.search(rows.query):
        score = round(recall(rows.nearest, found), 4)
        sizes = len(rows.database), model.n_bytes
        yield Figure(data, seed, n_bits, contender, search, score, *seconds, *sizes)


def measure_all(path, n_seeds, contenders, lengths):
    """Append what the file lacks, the first seed of all contenders first."""
    known = {(f.data, f.seed, f.n_bits, f.contender) for f in read(path)}
    for seed in range(n_seeds):
        for contender in contenders:
            _, possible, most_seeds = CONTENDERS[contender]
            if seed >= most_seeds:
                continue
            for data, n_bits in product(SETS, sorted(set(possible) & set(lengths))):
                cell = data, seed, n_bits, contender
                if cell not in known:
                    append(path, list(measure(*cell)))


def append(path, figures):
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(Figure._fields)
        writer.writerows(figures)
    for figure in figures:
        print(*figure, flush=True)


def read(path):
    """Figures of the file; none if there is no file."""
    if not path.exists():
        return []
    kinds = Figure.__annotations__.values()
    with path.open(newline="") as file:
        _, *rows = csv.reader(file)
    return [Figure(*(kind(cell) for kind, cell in zip(kinds, row))) for row in rows]


def print_tables(path):
    """Means over seeds, as Markdown: a table of recall for each length, and one of time."""
    figures = read(path)
    for n_bits in sorted({f.n_bits for f in figures}):
        print(
            f"\n| {n_bits} bits | {' | '.join(SETS)} | bytes | fit s | encode s | seeds |"
        )
        print("|---" * (len(SETS) + 5) + "|")
        groups = defaultdict(list)
        for figure in sorted(figures, key=lambda f: [*CONTENDERS].index(f.contender)):
            if figure.n_bits == n_bits:
                groups[figure.contender, figure.search].append(figure)
        for (contender, search), group in groups.items():
            print_row(f"{contender}, {search}", group)


def print_row(name, group):
    recalls = []
    for data in SETS:
        values = [f.recall for f in group if f.data == data]
        recalls.append(f"{np.mean(values):.3f}" if values else "")
    per_database = [f.encode_seconds / f.n_database * 60_000 for f in group]
    cells = [
        *recalls,
        str(group[0].n_bytes),
        f"{np.mean([f.fit_seconds for f in group]):.1f}",
        f"{np.mean(per_database):.1f}",
        str(len({f.seed for f in group})),
    ]
    print(f"| {name} | {' | '.join(cells)} |")


def enlarged(codes, n, seed=0):
    """So many codes: known ones, with an eighth of their bits flipped."""
    rng = np.random.default_rng(seed)
    source = rng.integers(len(codes), size=n)
    data = codes.data[source]
    for start in range(0, n, 100_000):
        part = data[start : start + 100_000]
        thirds = rng.integers(0, 256, (3, *part.shape), dtype=np.uint8)
        part ^= np.bitwise_and.reduce(thirds)
    terms = None if codes.terms is None else codes.terms[source]
    return PackedCodes(data, codes.n_bits, terms=terms)


def searches(neighbors, database, weights, rows):
    """Functions of queries that find the ten nearest, by name; queries are row numbers."""
    ways = {
        "Hamming": HammingNeighbors(N_NEIGHBORS),
        "weighted": WeightedHammingNeighbors(N_NEIGHBORS),
        "1 000 by Hamming, then weighted": WeightedHammingNeighbors(
            N_NEIGHBORS, n_candidates=N_CANDIDATES
        ),
    }
    for name, ours in ways.items():
        ours._fitted = neighbors._fitted  # the same codes, not copied
        queries = weights > 0 if name == "Hamming" else weights
        yield name, lambda some, ask=ours.kneighbors, queries=queries: ask(queries[some])
    bits = PackedCodes(database.data, database.n_bits)
    by_bits, by_weights = to_faiss(bits), to_faiss(bits, weighted=True)
    octets = np.packbits(weights > 0, axis=1, bitorder="little")
    yield "faiss BFlat", lambda some: by_bits.search(octets[some], N_NEIGHBORS)
    yield "faiss weighted", lambda some: by_weights.search(weights[some], N_NEIGHBORS)
    if len(database) <= MOST_FLOATS:
        yield from searches_of_floats(ours, len(database), weights, rows)


def searches_of_floats(shortlist, n, weights, rows):
    """The same with floats: as a second stage, and comparing with all."""
    X = np.resize(rows.database, (n, rows.database.shape[1]))
    index = faiss.IndexFlatIP(X.shape[1])
    index.add(X)

    def second_stage(some):
        found = shortlist.kneighbors(weights[some], 100, return_distance=False)
        rescore(rows.query[some], X, found, metric="inner_product", n_neighbors=N_NEIGHBORS)

    yield "1 000 by Hamming, 100 weighted, then floats", second_stage
    yield "all by floats", lambda some: index.search(rows.query[some], N_NEIGHBORS)


def serve(sizes, n_bits=256):
    """Milliseconds per query, CPU time of one thread: medians, after a warm-up."""
    rows = load("cifar10", 0)
    hasher = AdditiveHasher(n_bits, random_state=0).fit(rows.train)
    codes, weights = hasher.encode(rows.database), hasher.query_weights(rows.query)
    for n in sizes:
        database = enlarged(codes, n)
        start = time.process_time()
        neighbors = WeightedHammingNeighbors(N_NEIGHBORS).fit(database)
        seconds = time.process_time() - start
        print(f"\n{n} codes of {n_bits} bits: fitted in {seconds:.1f} s, ", end="")
        print_file(neighbors, weights)
        batch = np.arange(200)
        print("| search | ms per query, many at once | one at a time |\n|---|---|---|")
        for name, search in searches(neighbors, database, weights, rows):
            many = cpu_median(partial(search, batch)) / len(batch)
            one = np.mean([cpu_median(partial(search, batch[i : i + 1])) for i in range(5)])
            print(f"| {name} | {1e3 * many:.3f} | {1e3 * one:.3f} |", flush=True)


def print_file(neighbors, weights):
    """Size of the saved index, and time from opening it to the first answer."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "index.npz"
        neighbors.save(path)
        start = time.process_time()
        mapped = WeightedHammingNeighbors.load(path, mmap=True)
        mapped.kneighbors(weights[:1])
        seconds = time.process_time() - start
        n_bytes = path.stat().st_size / neighbors.n_items_
        print(f"saved in {n_bytes:.1f} bytes each, mapped and asked in {seconds:.2f} s\n")


def cpu_median(run, repeats=3):
    """Median CPU seconds after a warm-up: others use the machine, too."""
    run()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    modes = ["recall", "tables", "serve"]
    parser.add_argument("mode", nargs="?", choices=modes, default="recall")
    parser.add_argument("--csv", type=Path, default=Path("embeddings.csv"))
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, and so on")
    parser.add_argument("--contenders", nargs="+", default=CONTENDERS, choices=CONTENDERS)
    parser.add_argument("--bits", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    args = parser.parse_args()
    faiss.omp_set_num_threads(1)
    if args.mode == "serve":
        return serve(args.sizes)
    if args.mode == "recall":
        measure_all(args.csv, args.seeds, args.contenders, args.bits)
    return print_tables(args.csv)


if __name__ == "__main__":
    main()
