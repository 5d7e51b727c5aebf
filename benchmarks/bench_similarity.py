"""Labels in few bits: learned codes for binary and for real-valued queries.

    python benchmarks/bench_similarity.py                  # all cells: hours
    python benchmarks/bench_similarity.py --tables         # what is measured, as Markdown

The benchmark sets are read from the folder that SKLEARN_TALR_DATA names, by the protocols
of the comparison: 5 000 rows are trained on, and queries rank the whole database, by the
Hamming distance of bits or by real-valued queries. What ranks by floats on both sides is
listed with 0 bits.

Every cell is a row of a CSV file, ``--csv``. Cells that are there are not measured again,
so that a run that was ended goes on. Seconds are CPU time of one thread.
"""

import argparse
import csv
import os
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np
from comparison._data import load_once
from sklearn.pipeline import make_pipeline
from sklearn.utils import gen_batches

from sklearn_talr.codes import weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import (
    tie_aware_average_precision,
    tie_aware_average_precision_score,
    tie_aware_ndcg,
    tie_aware_ndcg_score,
)

SETS, BITS, SEEDS = ("cifar10", "coco17", "tmc2007", "digits"), (12, 32, 64), (0, 1, 2)
FIELDS = [
    "data",
    "seed",
    "n_bits",
    "contender",
    "queries",
    "ap",
    "ndcg",
    "fit_seconds",
    "encode_seconds",
]
QUERIES_PER_BLOCK = 50


def talr(n_bits):
    """One linear function, trained on the ranking."""
    return TALRHasher(n_bits, random_state=0)


def talr_hidden(n_bits):
    """One hidden layer, trained on the ranking."""
    return TALRHasher(n_bits, hidden_layer_sizes=(256,), random_state=0)


def additive(n_bits):
    """Probabilities of a classifier, and the bits that add up to them."""
    hasher = AdditiveHasher(n_bits, metric="inner_product", random_state=0)
    return make_pipeline(ClassProbabilities(), hasher)


def talr_probabilities(n_bits):
    """Out-of-fold probabilities, hashed by one linear function trained on the ranking."""
    hasher = TALRHasher(n_bits, weight_decay=0.0, random_state=0)
    return make_pipeline(ClassProbabilities(cv=5), hasher)


CONTENDERS = {
    "additive bits of probabilities": additive,
    "TALR": talr,
    "TALR, hidden layer": talr_hidden,
    "TALR of probabilities": talr_probabilities,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", type=Path, default=Path("similarity.csv"))
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--bits", nargs="+", type=int, default=BITS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--tables", action="store_true")
    args = parser.parse_args()
    if args.tables:
        print_tables(read(args.csv))
        return
    for seed, name in product(args.seeds, args.sets):
        cells = [("probabilities", 0), *list(product(CONTENDERS, args.bits))]
        for contender, n_bits in cells:
            key = name, str(seed), str(n_bits), contender
            if key not in {tuple(list(row.values())[:4]) for row in read(args.csv)}:
                append(args.csv, measure(load_once(name, seed, False), *key))


def measure(data, name, seed, n_bits, contender):
    """Rows of the CSV file of one fitted contender."""
    if contender == "probabilities":
        return [of_floats(data, name, seed)]
    model = CONTENDERS[contender](int(n_bits))
    start = time.process_time()
    model.fit(data.X_train, data.y_train)
    fitted = time.process_time()
    database = model.transform(data.X_database)
    encoded = time.process_time()
    seconds = round(fitted - start, 2), round(encoded - fitted, 2)
    queries = model.transform(data.X_query)
    figures = {
        "binary": of_distances(data, queries, database),
        "real-valued": of_scores(data, queries, database, weighted_scores),
    }
    return [
        (name, seed, n_bits, contender, kind, *values, *seconds)
        for kind, values in figures.items()
    ]


def of_floats(data, name, seed):
    """What inner products of the probabilities reach, without bits."""
    start = time.process_time()
    model = ClassProbabilities().fit(data.X_train, data.y_train)
    fitted = time.process_time()
    database = model.transform(data.X_database)
    encoded = time.process_time()
    queries = model.transform(data.X_query)
    figures = of_scores(data, queries, database, lambda q, d: q @ d.T)
    seconds = round(fitted - start, 2), round(encoded - fitted, 2)
    return name, seed, 0, "probabilities", "real-valued", *figures, *seconds


def of_distances(data, queries, database):
    """Mean tie-aware AP and NDCG of Hamming distances."""
    targets = data.affinity, data.y_query, data.y_database
    histogram = hamming_histogram(queries, database, *targets)
    metrics = tie_aware_average_precision, tie_aware_ndcg
    return [round(float(np.nanmean(metric(histogram))), 4) for metric in metrics]


def of_scores(data, queries, database, score):
    """The same of real scores."""
    metrics = tie_aware_average_precision_score, tie_aware_ndcg_score
    values = defaultdict(list)
    for rows in gen_batches(len(queries), QUERIES_PER_BLOCK):
        scores = score(queries[rows], database)
        true = data.affinity(data.y_query[rows], data.y_database)
        for metric in metrics:
            values[metric].append(metric(true, scores, average=False))
    means = (np.nanmean(np.concatenate(values[metric])) for metric in metrics)
    return [round(float(mean), 4) for mean in means]


def read(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def append(path, rows):
    is_new = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([FIELDS] * is_new + rows)
        file.flush()
        os.fsync(file.fileno())


def print_tables(rows):
    """A table for each set: means over the splits measured, AP / NDCG."""
    cells = defaultdict(list)
    for row in rows:
        line = row["data"], row["contender"], row["queries"]
        cells[line, int(row["n_bits"])].append((float(row["ap"]), float(row["ndcg"])))
    for name in sorted({line[0] for line, _ in cells}):
        lines = dict.fromkeys(line for line, _ in cells if line[0] == name)
        lengths = sorted({n_bits for line, n_bits in cells if line[0] == name})
        print(f"\n| {name} | queries | " + " | ".join(map(str, lengths)) + " | splits |")
        print("|---" * (len(lengths) + 3) + "|")
        for line in lines:
            figures, counts = [], set()
            for n_bits in lengths:
                values = cells.get((line, n_bits))
                counts |= {len(values)} if values else set()
                mean = np.mean(values, axis=0) if values else None
                figures.append("" if mean is None else f"{mean[0]:.3f} / {mean[1]:.3f}")
            shown = ", ".join(map(str, sorted(counts)))
            print(f"| {line[1]} | {line[2]} | " + " | ".join(figures) + f" | {shown} |")


if __name__ == "__main__":
    main()
