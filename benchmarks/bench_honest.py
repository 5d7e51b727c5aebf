"""What makes numbers too high, and by how much: protocols on the digits.

    python benchmarks/bench_honest.py                   # a few minutes
    python benchmarks/bench_honest.py --table           # what is measured

A split has 600 training rows, 897 items and 300 queries, drawn from the digits by class.
``make_pipeline(StandardScaler(), TALRHasher(n_bits, max_iter=20))`` is fitted to the
training rows, and judged in all the ways that are in use. *Chosen by the queries* is the
best of 12 random states for one half of the queries, scored by that half, and by the other.
*In the order of the file* the parts are taken as they come in the file, which begins
elsewhere in each of five splits.

Every split is some rows of a CSV file, ``--csv``, and is not measured again.
"""

import argparse
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import TALRHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP
from sklearn_talr.metrics import tie_breaking_range

N_SPLITS, N_STATES, LENGTHS = 10, 12, (8, 16, 32)
PARTS = 600, 897, 300  # training rows, items, queries
KEY = ["n_bits", "seed", "protocol"]
FIGURES = ["ap", "error"]


def split_by_class(seed):
    """Training rows, items and queries."""
    X, y = load_digits(return_X_y=True)
    rows = np.arange(len(X))
    train, rest = train_test_split(rows, train_size=600, stratify=y, random_state=seed)
    items, queries = train_test_split(
        rest, test_size=300, stratify=y[rest], random_state=seed
    )
    return [(X[part], y[part]) for part in (train, items, queries)]


def split_by_file(seed):
    """The same numbers of rows, as they come, with the file begun elsewhere."""
    X, y = load_digits(return_X_y=True)
    order = np.roll(np.arange(len(X)), -seed * len(X) // 5)
    parts = np.split(order, np.cumsum(PARTS)[:-1])
    return [(X[part], y[part]) for part in parts]


def fit(n_bits, train, random_state=0):
    hasher = TALRHasher(n_bits, max_iter=20, random_state=random_state)
    return make_pipeline(StandardScaler(), hasher).fit(*train)


def ranked(model, query, items, **options):
    """Table of counts of queries against items, each features and labels."""
    codes = model.transform(query[0]), model.transform(items[0])
    return hamming_histogram(*codes, "auto", query[1], items[1], **options)


def protocols(model, train, items, queries):
    """Mean AP by each protocol, and the standard deviation over queries of the first."""
    honest = ranked(model, queries, items)
    worst, expected, best = tie_breaking_range(honest)
    some = items[0][: len(train[0])], items[1][: len(train[0])]
    values = {
        "honest": expected,
        "600 unseen items": AP.of(ranked(model, queries, some)),
        "training rows as items": AP.of(ranked(model, queries, train)),
        "training rows as queries": AP.of(ranked(model, train, items)),
        "training rows rank each other": AP.of(
            ranked(model, train, train, exclude_self=True)
        ),
        "worst order of ties": worst,
        "best order of ties": best,
        "queries rank each other": AP.of(
            ranked(model, queries, queries, exclude_self=True)
        ),
        "queries find themselves": AP.of(ranked(model, queries, queries)),
        "AP@100, retrieved": (AP(denominator="retrieved") @ 100).of(honest),
        "AP@100, relevant": (AP @ 100).of(honest),
    }
    return {name: (np.nanmean(ap), np.nanstd(ap)) for name, ap in values.items()}


def orders(model, train, items, queries):
    """Mean AP of a program that sorts by distance: rows in random order, and by class."""
    codes, query_codes = model.transform(items[0]), model.transform(queries[0])
    for name, order in (
        ("rows in random order", np.arange(len(codes))),  # the split is one
        ("rows sorted by class", np.argsort(items[1], kind="stable")),
    ):
        distances = (query_codes[:, None] != codes[None, order]).sum(axis=2)
        found = order[np.argsort(distances, axis=1, kind="stable")]
        is_right = items[1][found] == queries[1][:, None]
        hits = is_right.cumsum(axis=1) / np.arange(1, len(codes) + 1)
        ap = (hits * is_right).sum(axis=1) / is_right.sum(axis=1)
        yield name, (ap.mean(), ap.std())


def choice_by_queries(n_bits, train, items, queries):
    """AP of the state that one half of the queries finds best; its gain on either half."""
    models = [fit(n_bits, train, state) for state in range(N_STATES)]
    ap = np.array([AP.of(ranked(model, queries, items)) for model in models])
    half = np.arange(ap.shape[1]) % 2 == 0
    on_chosen, on_other = np.nanmean(ap[:, half], axis=1), np.nanmean(ap[:, ~half], axis=1)
    best = on_chosen.argmax()
    return {
        "chosen by the queries": (on_chosen[best], np.nan),
        "gain of the choice, same queries": (on_chosen[best] - on_chosen.mean(), np.nan),
        "gain of the choice, others": (on_other[best] - on_other.mean(), np.nan),
    }


def measure(n_bits, seed):
    """AP and standard deviation over queries by the name of the protocol."""
    parts = split_by_class(seed)
    model = fit(n_bits, parts[0])
    values = protocols(model, *parts)
    if n_bits != 16:
        return values
    values |= dict(orders(model, *parts))
    values |= choice_by_queries(n_bits, *parts)
    if seed < 5:
        train, items, queries = split_by_file(seed)
        ap = AP.of(ranked(fit(n_bits, train), queries, items))
        values["in the order of the file"] = np.nanmean(ap), np.nanstd(ap)
    return values


def print_table(rows):
    """Means over splits, and by how much they exceed the honest ones."""
    for n_bits in dict.fromkeys(row["n_bits"] for row in rows):
        some = [row for row in rows if row["n_bits"] == n_bits]
        for name in dict.fromkeys(row["protocol"] for row in some):
            ap = [float(row["ap"]) for row in some if row["protocol"] == name]
            print(f"{n_bits:>3s} bits  {name:36s}{np.mean(ap):7.4f} ±{np.std(ap):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=Path, default=RESULTS / "honest.csv")
    parser.add_argument("--seeds", nargs="+", type=int, default=range(N_SPLITS))
    parser.add_argument("--bits", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--table", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    store = Store(arguments.csv, KEY, FIGURES)
    for n_bits in [] if arguments.table else arguments.bits:
        for seed in arguments.seeds:
            if not store.has(n_bits=n_bits, seed=seed, protocol="honest"):
                for name, (ap, error) in measure(n_bits, seed).items():
                    figures = {"ap": float(ap), "error": float(error)}
                    store.add(n_bits=n_bits, seed=seed, protocol=name, **figures)
    print_table(store.rows())


if __name__ == "__main__":
    main()
