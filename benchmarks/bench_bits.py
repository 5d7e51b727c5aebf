"""Does the recall that a sample promises hold in the whole database?

    python benchmarks/bench_bits.py                       # all rows: about an hour
    python benchmarks/bench_bits.py --sets text --hashers ITQ
    python benchmarks/bench_bits.py --tables              # what is measured, as a table

`n_bits_for` fits hashers to 8 000 rows, measures recall of the ten nearest of 1 000 queries
among 8 000 others, and carries it on to 32 000. Then 32 000 are searched by the same
queries: by an index that was fitted to all of them, and by one whose hasher was fitted to
8 000 rows only. Cosine decides who is near. *Rescored* puts 100 that the codes find in
order by their floats. SKLEARN_TALR_DATA names the folder of the benchmark sets. Every cell
is a row of a CSV file, ``--csv``. Cells that are there are not measured again.
"""

import argparse
import csv
import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from sklearn_talr import ITQHasher
from sklearn_talr.hashing import AdditiveHasher
from sklearn_talr.neighbors import HashedNeighbors, n_bits_for
from sklearn_talr.neighbors._bits_for import recall_of, true_neighbors

CSV = Path(__file__).parent / "results" / "bits.csv"
SETS = {"text": "text_minilm384", "cifar10": "cifar10_cnn512"}
HASHERS = {
    "ITQ": HashedNeighbors(ITQHasher(random_state=0)),
    "ITQ, rescored": HashedNeighbors(ITQHasher(random_state=0), n_rescored=100),
    "additive": HashedNeighbors(AdditiveHasher(max_iter=6, random_state=0)),
}
BITS = 64, 128, 256
N_QUERIES, N_TRAIN, N_ITEMS, N_NEIGHBORS = 1_000, 8_000, 32_000, 10
KEY = "data", "hasher", "n_bits"
MEASURED = "measured", "recall", "low", "high", "held_out_error"
FIELDS = *KEY, *MEASURED, "actual", "actual_hasher_of_sample"


def load(name):
    """Queries and items."""
    folder = Path(os.environ["SKLEARN_TALR_DATA"])
    X = np.load(folder / f"{SETS[name]}.npz")["X"].astype(np.float32)
    X = X[np.random.default_rng(0).permutation(len(X))][: N_QUERIES + N_ITEMS]
    if name == "cifar10":
        X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X[:N_QUERIES], X[N_QUERIES:]


def with_bits(index, n_bits):
    index = clone(index)
    index.hasher.set_params(n_bits=n_bits)
    return index


def measure(index, n_bits, queries, items):
    """What the sample promises, and what all items have."""
    sample = items[: 2 * N_TRAIN]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No length up to")
        params = {"n_bits": [n_bits], "n_items": N_ITEMS, "random_state": 0}
        found = n_bits_for(index, sample, 1.0, X_query=queries, **params)
    row = {name: found.results[name][0] for name in MEASURED}
    asked = queries, N_NEIGHBORS
    true = true_neighbors(items, *asked, "cosine")
    whole = with_bits(index, n_bits)
    row["actual"] = recall_of(clone(whole).fit(items), *asked, true).mean()
    frozen = FrozenEstimator(clone(whole.hasher).fit(items[:N_TRAIN]))
    whole.set_params(hasher=frozen)
    row["actual_hasher_of_sample"] = recall_of(whole.fit(items), *asked, true).mean()
    return {name: f"{value:.4f}" for name, value in row.items()}


def read(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def measure_all(sets, hashers, path):
    """Measure what is not there yet."""
    done = {tuple(row[name] for name in KEY) for row in read(path)}
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not done:
            writer.writeheader()
        for hasher in hashers:
            for name in sets:
                queries, items = load(name)
                for n_bits in BITS:
                    key = name, hasher, str(n_bits)
                    if key not in done:
                        row = measure(HASHERS[hasher], n_bits, queries, items)
                        writer.writerow(dict(zip(KEY, key)) | row)
                        file.flush()


def print_table(path):
    """Print rows as the guide has them."""
    for row in read(path):
        cells = {name: f"{float(row[name]):.3f}".lstrip("0") for name in FIELDS[3:]}
        cells["bounds"] = f"{cells['low']} to {cells['high']}"
        shown = "measured", "recall", "bounds", "actual_hasher_of_sample", "actual"
        quoted = row["data"], f'"{row["hasher"]}"', row["n_bits"]
        print("   " + ", ".join((*quoted, *(cells[name] for name in shown))))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--hashers", nargs="+", choices=HASHERS, default=list(HASHERS))
    parser.add_argument("--csv", type=Path, default=CSV)
    parser.add_argument("--tables", action="store_true", help="print only")
    args = parser.parse_args()
    if not args.tables:
        measure_all(args.sets, args.hashers, args.csv)
    print_table(args.csv)


if __name__ == "__main__":
    main()
