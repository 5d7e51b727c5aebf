"""Labels in few bits: learned codes for binary and for weighted queries.

    python benchmarks/bench_similarity.py                  # all cells: hours
    python benchmarks/bench_similarity.py --tables         # what is measured, as Markdown

The benchmark sets are read from the folder that SKLEARN_TALR_DATA names, by the protocols
of the comparison: 5 000 rows are trained on, and queries rank the whole database, by the
Hamming distance of bits, by weighted queries, or by decodings, where the query is stored
as bits, too. What ranks by floats on both sides is listed with 0 bits. ``scenes`` has no
labels, and similarity there goes by distance. ``fashion`` is Fashion-MNIST, its pixels as
they are: 1 000 of its 60 000 training images are queries.

Beside AP and NDCG of the whole ranking stand the precision of the first 100, and how many
of them a shortlist of 1 000 items by Hamming distance holds.

Every cell is a row of a CSV file, ``--csv``. Cells that are there are not measured again,
so that a run that was ended goes on. Seconds are CPU time of one thread.
"""

import argparse
import csv
import os
import time
from collections import defaultdict
from functools import lru_cache, partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from comparison._data import _load_fashion_mnist, load_comparison
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import Bunch, gen_batches

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.codes import pack_codes, weighted_scores
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities, TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP, nDCG
from sklearn_talr.metrics import (
    tie_aware_average_precision_score,
    tie_aware_ndcg_score,
)
from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors

CLASSES, LABELS = ("cifar10", "digits", "fashion"), ("coco17", "tmc2007")
SETS = "cifar10", "coco17", "tmc2007", "digits", "scenes", "fashion"
BITS, SEEDS = (12, 32, 64), (0, 1, 2)
QUERIES_PER_BLOCK, TIMED_QUERIES = 50, 200
N_FIRST, N_CANDIDATES = 100, 1_000


class Figure(NamedTuple):
    """A row of the CSV file: what was measured of one contender by one kind of query.

    Seconds to encode are those of a million rows. `found` is the share of the first 100
    that a shortlist holds.
    """

    data: str
    seed: int
    n_bits: int
    contender: str
    queries: str
    ap: float
    ndcg: float
    fit_seconds: float
    encode_seconds: float
    query_ms: float
    item_bytes: int
    precision: float
    found: float | None = None


CLASSIFIER = LogisticRegression(C=3, max_iter=1000)  # where probabilities are hashed


def talr(n_bits):
    """One linear function, trained on the ranking."""
    return TALRHasher(n_bits, random_state=0)


def talr_ndcg(n_bits):
    """The same, for graded similarity."""
    return TALRHasher(n_bits, loss="nDCG", random_state=0)


def talr_hidden(n_bits):
    """One hidden layer, trained on the ranking."""
    return TALRHasher(n_bits, hidden_layer_sizes=(256,), random_state=0)


def additive(n_bits):
    """Probabilities of a classifier, and the bits that add up to them."""
    hasher = AdditiveHasher(n_bits, word_size=1, metric="inner_product", random_state=0)
    return make_pipeline(ClassProbabilities(CLASSIFIER, temperature=1), hasher)


def additive_features(n_bits, metric):
    """Bits that add up to the features."""
    return AdditiveHasher(n_bits, word_size=1, metric=metric, random_state=0)


def talr_probabilities(n_bits):
    """Out-of-fold probabilities, hashed by one linear function trained on the ranking."""
    hasher = TALRHasher(n_bits, weight_decay=0.0, random_state=0)
    return make_pipeline(ClassProbabilities(CLASSIFIER, cv=5, temperature=1), hasher)


def talr_probabilities_ndcg(n_bits):
    """The same, for graded similarity."""
    model = talr_probabilities(n_bits)
    return model.set_params(talrhasher__loss="nDCG")


def products(queries, database):
    return queries @ database.T


def nearness(queries, database):
    return -euclidean_distances(queries, database)


# contender: (the sets it is for, how to make it, how floats are compared)
LABELED = *CLASSES, *LABELS
FLOATS = {
    "probabilities": (LABELED, ClassProbabilities, products),
    "features": (SETS, FunctionTransformer, cosine_similarity),
    "NCA": (
        CLASSES,
        partial(NeighborhoodComponentsAnalysis, 32, random_state=0),
        nearness,
    ),
    "LDA": (CLASSES, LinearDiscriminantAnalysis, cosine_similarity),
}
HASHERS = {
    "additive bits of probabilities": (LABELED, additive),
    "TALR": (LABELED, talr),
    "TALR, NDCG": ((*LABELS, "scenes"), talr_ndcg),
    "TALR, hidden layer": (LABELED, talr_hidden),
    "TALR of probabilities": (LABELED, talr_probabilities),
    "TALR of probabilities, NDCG": (LABELS, talr_probabilities_ndcg),
    "additive bits, cosine": (("scenes",), partial(additive_features, metric="cosine")),
    "additive bits, euclidean": (
        ("scenes",),
        partial(additive_features, metric="euclidean"),
    ),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = Path(__file__).parent / "results" / "similarity.csv"
    parser.add_argument("--csv", type=Path, default=path)
    parser.add_argument("--contenders", nargs="+", help="some only")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--bits", nargs="+", type=int, default=BITS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--tables", action="store_true")
    args = parser.parse_args()
    if args.tables:
        print_tables(read(args.csv))
        return
    for seed, name in product(args.seeds, args.sets):
        for contender, n_bits in cells_of(name, args.bits):
            if args.contenders and contender not in args.contenders:
                continue
            key = name, str(seed), str(n_bits), contender
            if key not in {tuple(list(row.values())[:4]) for row in read(args.csv)}:
                measured = measure(load(name, seed), contender, n_bits)
                append(args.csv, [Figure(name, seed, n_bits, *row) for row in measured])


def cells_of(name, lengths):
    """What is measured on a set: contenders and their numbers of bits."""
    floats = [(contender, 0) for contender, entry in FLOATS.items() if name in entry[0]]
    hashers = [contender for contender, entry in HASHERS.items() if name in entry[0]]
    return floats + list(product(hashers, lengths))


@lru_cache(maxsize=1)
def load(name, seed):
    """Load and split a set."""
    if name == "scenes":  # hashers take the features for targets if they are given none
        return Bunch(**load_comparison(name, seed) | {"y_train": None})
    if name != "fashion":
        return load_comparison(name, seed)
    X, y = _load_fashion_mnist()
    order = np.random.default_rng(seed).permutation(60_000)
    rows = {"query": order[:1000], "database": order[1000:], "train": order[1000:6000]}
    parts = {f"X_{part}": X[index] / np.float32(255) for part, index in rows.items()}
    parts |= {f"y_{part}": y[index] for part, index in rows.items()}
    return Bunch(**parts, affinity=LabelAffinity().fit(parts["y_train"]))


def measure(data, contender, n_bits):
    """Yield the end of the rows of the CSV file, from the contender on."""
    if contender in FLOATS:
        _, make, score = FLOATS[contender]
        model = make()
    else:
        model = HASHERS[contender][1](n_bits)
    start = time.process_time()
    model.fit(data.X_train, data.y_train)
    fitted = time.process_time()
    database = model.transform(data.X_database)
    encoded = time.process_time()
    per_million = (encoded - fitted) * 1e6 / len(database)
    seconds = round(fitted - start, 2), round(per_million, 2)
    queries = model.transform(data.X_query)
    if contender in FLOATS:
        database, queries = (X.astype(np.float32) for X in (database, queries))
        searches = of_floats(data, queries, database, score)
    else:
        searches = of_codes(data, model, queries, database)
    for kind, figures, *others in searches:
        yield contender, kind, *figures, *seconds, *others


def of_floats(data, queries, database, score):
    """Ranking and cost of floats on both sides."""

    def search(queries):
        scores = score(queries, database)
        return np.argpartition(-scores, N_FIRST, axis=1)[:, :N_FIRST]

    found, milliseconds = timed(search, queries)
    figures = of_scores(data, queries, database, score)
    precision = precision_of(data, found)
    yield "floats", figures, milliseconds, 4 * database.shape[1], precision


def of_codes(data, model, queries, database):
    """Ranking and cost of codes, by each kind of query."""
    n_bytes = pack_codes(database).nbytes // len(database)
    indexes = {
        "binary": HammingNeighbors(N_FIRST),
        "weighted": WeightedHammingNeighbors(N_FIRST),
        "shortlist": WeightedHammingNeighbors(N_FIRST, n_candidates=N_CANDIDATES),
    }
    before = model[:-1].transform if isinstance(model, Pipeline) else np.asarray
    hasher = model[-1] if isinstance(model, Pipeline) else model
    packed = hasher.encode(before(data.X_database))
    weights = hasher.query_weights(before(data.X_query))
    answers = {}
    for kind, index in indexes.items():
        codes, asked = (database, queries) if kind == "binary" else (packed, weights)
        search = partial(index.fit(codes).kneighbors, return_distance=False)
        answers[kind] = timed(search, asked)
    figures = {
        "binary": of_distances(data, queries, database),
        "weighted": of_scores(data, weights, packed, weighted_scores),
        "shortlist": (None, None),
    }
    exact = answers["weighted"][0]
    for kind, (first, milliseconds) in answers.items():
        costs = milliseconds, n_bytes, precision_of(data, first)
        yield kind, figures[kind], *costs, share_of(exact, first)
    if isinstance(hasher, AdditiveHasher):
        weights = hasher.query_weights(hasher.inverse_transform(queries))
        figures = of_scores(data, weights, packed, weighted_scores)
        yield "decoded", figures, None, n_bytes, None


def timed(search, queries):
    """What a search finds, and its milliseconds for a query among some in one call."""
    search(queries[:1])
    start = time.process_time()
    search(queries[:TIMED_QUERIES])
    seconds = time.process_time() - start
    n_asked = min(len(queries), TIMED_QUERIES)
    blocks = gen_batches(len(queries), QUERIES_PER_BLOCK)
    found = np.concatenate([search(queries[rows]) for rows in blocks])
    return found, round(1e3 * seconds / n_asked, 3)


def precision_of(data, found):
    """Share of similar items among those found."""
    shares = [
        np.mean(data.affinity(data.y_query[row : row + 1], data.y_database[items]) > 0)
        for row, items in enumerate(found)
    ]
    return round(float(np.mean(shares)), 4)


def share_of(exact, found):
    """Share of the first items that are among those found."""
    shared = [len(np.intersect1d(*items)) for items in zip(exact, found)]
    return round(float(np.mean(shared)) / exact.shape[1], 4)


def of_distances(data, queries, database):
    """Mean tie-aware AP and NDCG of Hamming distances."""
    targets = data.affinity, data.y_query, data.y_database
    histogram = hamming_histogram(queries, database, *targets)
    metrics = AP, nDCG
    return [round(float(np.nanmean(metric.of(histogram))), 4) for metric in metrics]


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


def append(path, figures):
    is_new = not path.exists()
    with open(path, "a", newline="") as file:
        csv.writer(file).writerows([Figure._fields] * is_new + figures)
        file.flush()
        os.fsync(file.fileno())


def print_tables(rows):
    """Tables of each set, means over the splits measured: ranking, then cost."""
    cells = defaultdict(list)
    for row in rows:
        cells[row["data"], row["contender"], row["queries"], int(row["n_bits"])].append(row)
    for name in dict.fromkeys(row["data"] for row in rows):
        of_set = {key[1:]: found for key, found in cells.items() if key[0] == name}
        print_ranking(name, of_set)
        print_costs(name, of_set)


def print_ranking(name, cells):
    """AP / NDCG of a set, one column for each number of bits."""
    lengths = sorted({n_bits for *_, n_bits in cells})
    print_row(name, "queries", *lengths, "splits")
    print_row(*["---"] * (len(lengths) + 3))
    for contender, queries in dict.fromkeys(key[:2] for key in cells):
        of_line = [cells.get((contender, queries, n_bits), []) for n_bits in lengths]
        if not any(row["ap"] for found in of_line for row in found):
            continue
        figures = [
            f"{mean(found, 'ap'):.3f} / {mean(found, 'ndcg'):.3f}" if found else ""
            for found in of_line
        ]
        counts = sorted({len(found) for found in of_line if found})
        print_row(contender, queries, *figures, ", ".join(map(str, counts)))
    print()


def print_costs(name, cells):
    """What else was measured of a set."""
    columns = [field for field in Figure._fields if field not in Figure._fields[:7]]
    print_row(name, "queries", "bits", *columns)
    print_row(*["---"] * (len(columns) + 3))
    for (contender, queries, n_bits), found in cells.items():
        means = [mean(found, column) for column in columns]
        figures = ["" if np.isnan(value) else f"{value:.4g}" for value in means]
        print_row(contender, queries, n_bits, *figures)
    print()


def print_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |")


def mean(rows, column):
    """Mean of what was measured, NaN if nothing was."""
    values = [float(row[column]) for row in rows if row[column]]
    return np.mean(values) if values else np.nan


if __name__ == "__main__":
    main()
