"""Every method on the same splits, hash functions and tuning budget, in one table.

Run it from its folder:

    SKLEARN_TALR_DATA=/path/to/data python compare_methods.py --data cifar10
    python compare_methods.py --data digits --bits 12 24 32 48 --seeds 0 1 2
    python compare_methods.py --data mine.npz --methods LSH ITQ TALR-AP
    python compare_methods.py --data cifar10 --unseen
    python compare_methods.py --data cifar10 --lookup --bits 48 64

Each method is tuned on the training rows of each seed: four candidates of weight decay by
cross-validation in two folds at 32 bits, scored by tie-aware AP, or NDCG where affinity is
graded. Then it is fitted at each length, and held-out queries rank the whole database.

Rows go to ``OUT/DATA.csv`` when a method is finished; what is there already is not run
again, so an interrupted run goes on, and a finished one only renders. Tables are written
beside, as Markdown and reStructuredText, and a figure of the tie intervals. Seconds are
those of processes that ran side by side, if ``--jobs`` asked for several.

``--unseen`` trains on 70 % of the classes and ranks samples of the others. ``--lookup``
compares DSH with m-DSH, for m = 4, 8 and 12, by the metrics of hash lookup, and draws them.
"""

import argparse
import json
import time
from pathlib import Path

from _data import load_once
from _methods import CLASSIFIERS, LOOKUP_METHODS, METHODS, applies, measure, tune
from _results import Results, as_markdown, as_rst, at_radius, table
from joblib import Parallel, delayed

TABLES = {
    "AP": lambda row: row["ap"],
    "NDCG": lambda row: row["ndcg"],
    "AP, worst order of ties": lambda row: row["ap_worst"],
    "AP, best order of ties": lambda row: row["ap_best"],
    "AP, best minus worst order of ties": lambda row: (
        None if row["ap_worst"] is None else row["ap_best"] - row["ap_worst"]
    ),
    "RAMAP within radius 2": at_radius("ramap", 2),
    "Empty lookups within radius 2": at_radius("empty", 2),
    "Seconds of a fit": lambda row: row["fit_seconds"],
    "Seconds to encode queries and database": lambda row: row["encode_seconds"],
}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="name of a set, or an .npz file")
    parser.add_argument("--bits", nargs="+", type=int, default=[12, 24, 32, 48])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS, *CLASSIFIERS])
    parser.add_argument("--unseen", action="store_true")
    parser.add_argument("--lookup", action="store_true")
    parser.add_argument("--no-tuning", action="store_true", help="defaults everywhere")
    parser.add_argument("--jobs", type=int, default=1, help="processes, a method in each")
    parser.add_argument("--out", type=Path, default=Path("comparison"))
    arguments = parser.parse_args()
    if arguments.lookup and arguments.methods:
        parser.error("--lookup has methods of its own; leave --methods out.")
    return arguments


def stem(arguments):
    """Name of the files of this experiment."""
    name = Path(arguments.data).stem
    name += "-unseen" if arguments.unseen else ""
    name += "-lookup" if arguments.lookup else ""
    return name + ("-defaults" if arguments.no_tuning else "")


def missing(arguments, results):
    """What is still to be run: a seed, a method, its parameters if known, its lengths."""
    methods = LOOKUP_METHODS if arguments.lookup else [*METHODS, *CLASSIFIERS]
    for seed in arguments.seeds:
        for method in arguments.methods or methods:
            lengths = [0] if method in CLASSIFIERS else arguments.bits
            lengths = [n for n in lengths if not results.has(method, n, seed)]
            if lengths:
                yield seed, method, results.params(method, seed), lengths


def run_method(arguments, seed, method, params, lengths):
    """Rows of a method that is tuned, if asked for, and fitted at each length."""
    data = load_once(arguments.data, seed, arguments.unseen)
    if not applies(method, data):
        return []
    rows, seconds = [], 0.0
    if params is None:
        params = {}
        if not arguments.no_tuning:
            params, seconds = tune(method, data, seed)
    for n_bits in lengths:
        row = {"data": stem(arguments), "method": method, "n_bits": n_bits, "seed": seed}
        row |= measure(method, n_bits, seed, data, params, arguments.lookup)
        rows.append(row | {"tune_seconds": seconds, "params": json.dumps(params)})
        seconds = 0.0  # it was tuned once
    return rows


def run(arguments, results):
    """Run what is missing, in several processes if asked; write rows as they come."""
    todo = list(missing(arguments, results))
    in_turn = Parallel(arguments.jobs, return_as="generator_unordered")
    start = time.perf_counter()
    calls = (delayed(run_method)(arguments, *part) for part in todo)
    for done, rows in enumerate(in_turn(calls), start=1):
        for row in rows:
            results.add(row)
            print(
                f"{row['data']} {row['method']} {row['n_bits']} bits seed {row['seed']}: "
                f"AP {row['ap']:.4f} NDCG {row['ndcg']:.4f}"
            )
        minutes = (time.perf_counter() - start) / done * (len(todo) - done) / 60
        bar = "#" * (30 * done // len(todo))
        print(f"[{bar:.<30}] {done}/{len(todo)}, {minutes:.0f} min left", flush=True)


def render(arguments, results):
    """Write the tables and the figure."""
    path = arguments.out / stem(arguments)
    tables = {title: table(results, read) for title, read in TABLES.items()}
    tables = {title: rows for title, rows in tables.items() if len(rows) > 1}
    markdown = "\n\n".join(f"## {t}\n\n{as_markdown(rows)}" for t, rows in tables.items())
    path.with_suffix(".md").write_text(markdown + "\n")
    rst = "\n\n".join(f"{t}\n{'-' * len(t)}\n\n{as_rst(r)}" for t, r in tables.items())
    path.with_suffix(".rst").write_text(rst + "\n")
    print(markdown)
    from _figures import draw_lookup, draw_tie_intervals  # needs matplotlib

    draw = draw_lookup if arguments.lookup else draw_tie_intervals
    draw(results, path.with_suffix(".png"))


def main():
    arguments = parse_arguments()
    results = Results(arguments.out / f"{stem(arguments)}.csv")
    run(arguments, results)
    render(arguments, results)


if __name__ == "__main__":
    main()
