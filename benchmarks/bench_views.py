"""Queries of one kind, items of another: which codes rank across.

    python benchmarks/bench_views.py                     # all sets: hours
    python benchmarks/bench_views.py --sets "cifar10, paired" --seeds 0
    python benchmarks/bench_views.py --tables            # what is measured, as tables

The sets are described in `_view_sets.py`, and what is held against CrossViewHasher in
`_view_rivals.py`. Up to 5 000 items and as many queries are trained on; a thousand other
queries rank up to ten thousand other items. SKLEARN_TALR_DATA names the folder of the
benchmark sets.

Queries are bits (Hamming distance) or weights (weighted Hamming distance); floats on both
sides are listed with 0 bits. Scores are tie-aware AP, for which any grade is relevant, and
nDCG where there are grades.

Those with few judged queries are a curve: how many it takes to be better than codes of
pairs that nobody judged, which are those of *cifar10, paired*.

Every cell is a row of a CSV file, ``--csv``. Cells that are there are not measured again.
Seconds are CPU time of one thread; the teachers of a set are counted once, with the first
that uses them.
"""

import argparse
import time
from collections import defaultdict
from functools import partial
from itertools import chain, product
from pathlib import Path

import numpy as np
from _view_rivals import (
    additive_codes,
    canonical_additive,
    canonical_codes,
    canonical_floats,
    cross_view_codes,
    probabilities,
    ridge_codes,
    taught_codes,
)
from _view_sets import CURVES, GRADED, NUMBERS_OF_JUDGED, SETS, load
from bench_unseen import append, read, with_difference
from sklearn.utils import gen_batches

from sklearn_talr.codes import weighted_scores
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import ContrastiveLoss, DCMHLoss
from sklearn_talr.measures import AP, nDCG

BITS = (12, 32)
QUERIES_PER_BLOCK = 50
REFERENCE = "ridge to mean bits"
KEY = ["data", "seed", "contender", "n_bits"]
FIELDS = [*KEY, "queries", "ap", "ndcg", "seconds"]

CONTENDERS = {
    "CCA, floats": canonical_floats,
    "relevance-CCA, floats": partial(canonical_floats, by_relevance=True),
    "class probabilities, floats": probabilities,
    "CCA + ITQ": canonical_codes,
    "relevance-CCA + ITQ": partial(canonical_codes, by_relevance=True),
    "relevance-CCA + additive bits": partial(canonical_additive, by_relevance=True),
    "ridge to mean bits": ridge_codes,
    "ridge to bits of the pair": partial(ridge_codes, own=True),
    "ridge to mean bits, teacher": partial(ridge_codes, bits_by="teacher and TALR"),
    "ridge to ITQ bits of the pair": partial(ridge_codes, own=True, bits_by="ITQ"),
    "TALR of both probabilities": taught_codes,
    "additive bits of item probabilities": additive_codes,
    "additive bits of both probabilities": partial(additive_codes, both=True),
    "CrossViewHasher": cross_view_codes,
    "CrossViewHasher, weights": partial(cross_view_codes, query="weights"),
    "CrossViewHasher, no teacher": partial(cross_view_codes, teacher=None),
    "CrossViewHasher, DCMH": partial(cross_view_codes, loss=DCMHLoss()),
    "CrossViewHasher, contrastive": partial(cross_view_codes, loss=ContrastiveLoss()),
}
OF_PAIRS = ("CCA", "ridge to bits of the pair", "ridge to ITQ")
OF_CLASSES = ("class", "TALR of", "additive", "ridge to mean bits, teacher")


def applies(contender, views):
    """Whether the set has what a contender needs."""
    if contender.startswith(OF_PAIRS):
        return views.pairs is not None
    return views.has_classes or not contender.startswith(OF_CLASSES)


def cells(asked, bits):
    """Contenders and numbers of bits, in the order in which they are measured."""
    for n_bits, contender in product((0, *bits), asked):
        if contender.endswith("floats") == (n_bits == 0):
            yield contender, n_bits


def measure(name, seed, contender, n_bits):
    """Rows of the CSV file."""
    views = load(name, seed)
    if not applies(contender, views):
        return []
    start = time.process_time()
    ranked = CONTENDERS[contender](views, n_bits, seed)
    seconds = round(time.process_time() - start, 1)
    key = name, seed, contender, n_bits
    return [
        (*key, queries, *map(mean, scores), seconds)
        for queries, scores in scores_of(views, ranked, (AP, nDCG))
    ]


def scores_of(views, ranked, measures):
    """Yield the ways to ask that a contender has, and measures of each query by each."""
    targets = [np.arange(len(side.X)) for side in (views.test_queries, views.test_items)]
    if ranked.bits is not None:
        pair = ranked.bits, ranked.items
        histogram = hamming_histogram(*pair, views.grades, *targets)
        yield "bits", [measure.of(histogram) for measure in measures]
    for queries, score in (("weights", weighted_scores), ("floats", np.inner)):
        asked, values = getattr(ranked, queries), []
        if asked is not None:
            for rows in gen_batches(len(asked), QUERIES_PER_BLOCK):
                table = views.grades.table[rows], score(asked[rows], ranked.items)
                values.append([m.score(*table, average=False) for m in measures])
            yield queries, np.concatenate(values, axis=1)


def mean(values):
    return round(float(np.nanmean(values)), 4)


def print_tables(rows):
    """A table for each set and measure, and those of few judged queries."""
    names = dict.fromkeys(row["data"] for row in rows)
    for name in (name for name in names if "judged" not in name):
        mine = [row for row in rows if row["data"] == name]
        for measure in ("ap", "ndcg") if name in GRADED else ("ap",):
            print_table(name, measure, mine)
    for form, sets in CURVES.items():
        print_curve(form, sets, [row for row in rows if row["data"] in sets])


def print_table(name, measure, rows):
    """Means over seeds, and differences to the ridge route."""
    values = defaultdict(dict)
    for row in rows:
        column = row["n_bits"], row["queries"]
        values[row["contender"], column][row["seed"]] = float(row[measure])
    columns = [("0", "floats"), *product(("12", "32"), ("bits", "weights"))]
    print(f"\n{name}, {measure}: means (difference to {REFERENCE} ± standard error)")
    print("| contender | " + " | ".join(map(", ".join, columns)) + " | seeds |")
    print("|---" * (len(columns) + 2) + "|")
    for contender in (name for name in CONTENDERS if name in {key[0] for key in values}):
        found = [values.get((contender, column), {}) for column in columns]
        known = [values.get((REFERENCE, column), {}) for column in columns]
        cells = [
            with_difference(mine, {} if contender == REFERENCE else reference)
            if mine
            else ""
            for mine, reference in zip(found, known)
        ]
        n_seeds = "/".join(str(len(mine)) for mine in found if mine)
        print(f"| {contender} | {' | '.join(cells)} | {n_seeds} |")


def print_curve(form, sets, rows):
    """AP by the number of judged queries, means over seeds."""
    values = defaultdict(list)
    for row in rows:
        line = row["contender"], row["n_bits"], row["queries"]
        values[line, row["data"]].append(float(row["ap"]))
    print(f"\ncifar10, queries {form}, ap: means over seeds (number of seeds)")
    print(
        "| contender | bits | queries | " + " | ".join(map(str, NUMBERS_OF_JUDGED)) + " |"
    )
    print("|---" * (len(sets) + 3) + "|")
    for line in sorted({line for line, _ in values}):
        found = [values.get((line, name)) for name in sets]
        cells = [f"{np.mean(mine):.3f} ({len(mine)})" if mine else "" for mine in found]
        print(f"| {' | '.join(line)} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    path = Path(__file__).parent / "results" / "views.csv"
    parser.add_argument("--csv", type=Path, default=path)
    parser.add_argument("--sets", nargs="+", default=(*SETS, *chain(*CURVES.values())))
    parser.add_argument("--seeds", nargs="+", type=int, default=range(3))
    parser.add_argument("--contenders", nargs="+", default=list(CONTENDERS))
    parser.add_argument("--bits", nargs="+", type=int, default=BITS)
    parser.add_argument("--tables", action="store_true")
    args = parser.parse_args()
    asked = () if args.tables else product(args.seeds, args.sets)
    for (seed, name), cell in product(asked, list(cells(args.contenders, args.bits))):
        key = [name, str(seed), cell[0], str(cell[1])]
        if key not in [[row[field] for field in KEY] for row in read(args.csv)]:
            append(args.csv, measure(name, seed, *cell), FIELDS)
    print_tables(read(args.csv))


if __name__ == "__main__":
    main()
