"""Short codes of embeddings for weighted queries, beside those of rivals.

    python benchmarks/bench_embeddings.py            # recall of all codes: hours
    python benchmarks/bench_embeddings.py tables     # what is measured so far, as Markdown
    python benchmarks/bench_embeddings.py rst        # the same for the page
    python benchmarks/bench_embeddings.py judged     # nDCG of judged texts
    python benchmarks/bench_embeddings.py serve      # milliseconds per query: minutes

The benchmark sets are read from the folder that SKLEARN_TALR_DATA names. Their labels are
not used. For each seed 1 000 rows are queries, some thousand others can be fitted to, and
at most 20 000 of the rest are the database. Codes are fitted to the first 5 000 of the rows
to fit, or to all: 10 000 of coco17, 14 000 of scenes, which have fewer rows, and 20 000 of
cifar10 and text. So queries and database of a seed are the same for both, and no row of
the database is fitted to. The mean of the 5 000 is subtracted from all rows, and these are
scaled to unit length. Recall is that of the ten nearest rows by cosine among the first ten
found.

*Budget* is how many bytes an item may take, and all that is stored of it counts: codes,
factors, norms. Where a method needs fewer bytes, as when a row has fewer coordinates than
there are bits, `n_bytes` says how many.

Every search of a cell is a row of a CSV file, ``--csv``. Cells that are there are not
measured again, so that a run that was ended goes on. Seconds are CPU time of one thread.
faiss's slow quantizers are measured as far as a cell takes ten minutes at most:
LocalSearchQuantizer with 8 bytes, ResidualQuantizer with up to 32, OPQ+PQ with up to 32,
and with up to 16 for the larger number of rows.

`serve` searches 10^5, 10^6 and 10^7 codes of 256 bits: those of cifar10's database, drawn
again and again with an eighth of their bits flipped.
"""

import argparse
import time
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import _embedding_tables
import _judged_tables
import _judged_texts
import faiss
import numpy as np
from _embedding_figures import Cell, Figure, append, read
from _quantizers import CONTENDERS, N_CANDIDATES
from _searches import N_NEIGHBORS, highest
from _store import record
from benchmark_sets import BENCHMARKS, folder_of_sets

from sklearn_talr.codes import PackedCodes
from sklearn_talr.export import to_faiss
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors, rescore

MOST_FLOATS = 10**6  # rows of which the floats are kept in memory
RESULTS = Path(__file__).parent / "results" / "embeddings.csv"
N_QUERIES, N_FEW, MOST_DATABASE = 1_000, 5_000, 20_000


class Set(NamedTuple):
    """File of a set, and the larger number of its rows that are fitted to."""

    file: str
    n_many: int


SETS = {
    "coco17": Set(BENCHMARKS["coco17"][0], 10_000),
    "scenes": Set(BENCHMARKS["scenes"][0], 14_000),
    "cifar10": Set(BENCHMARKS["cifar10"][0], 20_000),
    "text": Set("text_minilm384.npz", 20_000),
}

QUICK = [name for name, contender in CONTENDERS.items() if not contender.is_slow]
# Contenders, seeds and budgets that come first, one part after the other
PLAN = [
    (QUICK, [0], (8, 16, 32)),
    (["faiss ResidualQuantizer"], [0], (8, 16, 32)),
    (QUICK[:1], [1, 2], (8, 16, 32)),
    (["faiss OPQ+PQ"], [0], (8, 16)),
    (QUICK, [1, 2], (8, 16, 32)),
    (QUICK, [0, 1, 2], (64,)),
]


class Rows(NamedTuple):
    """Rows of a set, and the database rows that are nearest to each query."""

    query: np.ndarray
    train: np.ndarray
    database: np.ndarray
    nearest: np.ndarray


@lru_cache(maxsize=len(SETS))
def load(name, seed):
    """Draw queries, rows to fit and the database, and find the true neighbors."""
    n_many = SETS[name].n_many
    with np.load(folder_of_sets() / SETS[name].file) as arrays:
        X = arrays["X"].astype(np.float32)
    X = X[np.random.default_rng(seed).permutation(len(X))]
    X = X[: N_QUERIES + n_many + MOST_DATABASE]
    X = unit_rows(X - X[N_QUERIES : N_QUERIES + N_FEW].mean(axis=0))
    query, train, database = np.split(X, [N_QUERIES, N_QUERIES + n_many])
    return Rows(query, train, database, highest(query @ database.T, N_NEIGHBORS))


def unit_rows(X):
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def recall(nearest, found):
    """Fraction of the true neighbors among those found."""
    return float(np.mean([np.isin(row, of_row) for row, of_row in zip(nearest, found)]))


def measure(cell):
    """Fit, encode and search; yield a figure for each way of searching."""
    rows = load(cell.data, cell.seed)
    train = rows.train[: cell.n_train]
    make = CONTENDERS[cell.contender].make
    model = make(train.shape[1], cell.budget, cell.seed)
    times = [time.process_time()]
    for step, X in ((model.fit, train), (model.add, rows.database)):
        step(X)
        times.append(time.process_time())
    seconds = np.round(np.diff(times), 2).tolist()
    for search, found in model.search(rows.query, N_NEIGHBORS):
        score = round(recall(rows.nearest, found), 4)
        sizes = len(rows.database), model.n_bytes
        yield Figure(*cell, search, score, *seconds, *sizes)


def cells(n_seeds, contenders, budgets):
    """What is to be measured, the first parts of `PLAN` first."""
    found = []
    for names, seeds, some in [*PLAN, (contenders, range(n_seeds), budgets)]:
        for seed, name, budget in product(seeds, names, some):
            contender = CONTENDERS[name]
            asked = seed < n_seeds and name in contenders and budget in budgets
            if asked and seed < contender.n_seeds and budget in contender.budgets:
                for is_many in (False, True)[: 1 + (budget in contender.many)]:
                    for data, (_, n_many) in SETS.items():
                        n_train = n_many if is_many else N_FEW
                        found.append(Cell(data, seed, n_train, budget, name))
    return list(dict.fromkeys(found))


def measure_all(path, n_seeds, contenders, budgets):
    """Append what the file lacks."""
    known = {figure.cell for figure in read(path)}
    for cell in cells(n_seeds, contenders, budgets):
        if cell not in known:
            append(path, list(measure(cell)))


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
    hasher = AdditiveHasher(n_bits, word_size=1, random_state=0).fit(rows.train)
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
            for quantity, seconds in (("many, ms", many), ("one, ms", one)):
                record("bench_embeddings", f"{n} codes", name, quantity, 1e3 * seconds)


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
    modes = ["recall", "tables", "rst", "judged", "serve"]
    parser.add_argument("mode", nargs="?", choices=modes, default="recall")
    parser.add_argument("--csv", type=Path, default=RESULTS)
    parser.add_argument("--judged-csv", type=Path, default=RESULTS.with_name("judged.csv"))
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, and so on")
    parser.add_argument("--contenders", nargs="+", default=CONTENDERS, choices=CONTENDERS)
    parser.add_argument("--bytes", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    args = parser.parse_args()
    faiss.omp_set_num_threads(1)
    if args.mode == "serve":
        return serve(args.sizes)
    if args.mode == "recall":
        measure_all(args.csv, args.seeds, args.contenders, args.bytes)
    if args.mode == "judged":
        _judged_texts.measure_all(args.judged_csv, args.seeds, args.contenders)
    for tables, figures in (
        (_embedding_tables, read(args.csv)),
        (_judged_tables, read(args.judged_csv, _judged_texts.JudgedFigure)),
    ):
        (tables.print_rst if args.mode == "rst" else tables.print_markdown)(figures)


if __name__ == "__main__":
    main()
