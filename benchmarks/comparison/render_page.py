"""Tables and figures of the page "Methods to compare with", from the results beside this.

    python render_page.py
    python render_page.py --results my_results --to my_page

Every ``RESULTS/DATA-SETTING.csv`` gives its tables, as reStructuredText that the page
includes, and its figures. What is shown of several sets side by side comes from those with
the setting "defaults".
"""

import argparse
from pathlib import Path

from _figures import draw_by_length, draw_lookup, draw_tie_intervals
from _methods import CLASSIFIERS, LOOKUP_METHODS, METHODS
from _results import Results
from _tables import (
    Column,
    as_rst,
    at_bits,
    at_radius,
    by_length,
    reader,
    table,
    tie_interval,
)
from compare_methods import COSTS, RESULTS

PAGE = Path(__file__).parents[2] / "docs" / "user_guide" / "comparison"
SUMMARY_BITS = 32
SHOWN = {  # sets of the summary, and the metrics that suit their affinity
    "cifar10": ("ap",),
    "digits": ("ap",),
    "fashion_mnist": ("ap",),
    "coco17": ("ap", "ndcg"),
    "tmc2007": ("ap", "ndcg"),
    "scenes": ("ndcg",),
}
TIES = {
    "AP": (reader("ap"), max),
    "best - worst AP": (tie_interval, min),
    "RAMAP@2": (at_radius("ramap", 2), max),
    "empty@2": (at_radius("empty", 2), min),
}
_ORDER = list(METHODS | LOOKUP_METHODS | dict.fromkeys(CLASSIFIERS))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--to", type=Path, default=PAGE)
    return parser.parse_args()


def read_results(folder):
    """Results by the name of their file, methods in the order of the tables."""
    results = {path.stem: Results(path) for path in sorted(folder.glob("*.csv"))}
    for each in results.values():
        each.rows.sort(key=lambda row: _ORDER.index(row["method"]))
    return results


def summary(results, kind):
    """All sets at one length: `kind` is "", of binary queries, or "_float"."""
    columns = [
        Column(f"{name} {metric.upper()}", _at_summary_bits(of_set), reader(metric + kind))
        for name, of_set in _defaults(results)
        for metric in SHOWN[name]
    ]
    return table(_ORDER, columns)


def costs(results):
    """What methods cost on the first set that has results."""
    _, of_set = next(_defaults(results))
    columns = [
        Column(title, _at_summary_bits(of_set), reader(column), None, digits)
        for title, (column, digits) in COSTS.items()
    ]
    return table(_ORDER, columns)


def ties(results):
    """What the order of ties can do, and hash lookup, at the length of the summary."""
    columns = [
        Column(title, _at_summary_bits(results), read, best)
        for title, (read, best) in TIES.items()
    ]
    return table(results.methods(), columns)


def lookup(results):
    """The table of hash lookup, at the first length."""
    rows_of = at_bits(results, results.lengths()[0])
    radii = {f"RAMAP@{radius}": at_radius("ramap", radius) for radius in (0, 2, 4)}
    reads = {"AP": reader("ap"), **radii, "empty@2": at_radius("empty", 2)}
    reads["precision@4"] = at_radius("radius_precision", 4)
    best = {"empty@2": min}
    columns = [Column(t, rows_of, read, best.get(t, max)) for t, read in reads.items()]
    return table(results.methods(), columns)


def _defaults(results):
    for name in SHOWN:
        if f"{name}-defaults" in results:
            yield name, results[f"{name}-defaults"]


def _at_summary_bits(results):
    return at_bits(results, SUMMARY_BITS)


def tables_of(results):
    """Tables of all files, by the name of the file that each is written to."""
    tables = {
        "summary-binary": summary(results, ""),
        "summary-float": summary(results, "_float"),
    }
    if any(_defaults(results)):
        tables["costs"] = costs(results)
    for stem, of_file in results.items():
        name = of_file.rows[0]["data"]
        if "lookup" in stem:
            tables[stem] = lookup(of_file)
            continue
        tables[f"{stem}-ties"] = ties(of_file)
        for metric in SHOWN.get(name, ("ap", "ndcg")):
            for kind, suffix in (("binary", ""), ("float", "_float")):
                read = reader(metric + suffix)
                tables[f"{stem}-{metric}-{kind}"] = by_length(of_file, read)
    return {name: rows for name, rows in tables.items() if len(rows) > 1}


def main():
    arguments = parse_arguments()
    results = read_results(arguments.results)
    arguments.to.mkdir(parents=True, exist_ok=True)
    for name, rows in tables_of(results).items():
        (arguments.to / f"{name}.txt").write_text(as_rst(rows) + "\n")
    for stem, of_file in results.items():
        if "lookup" in stem:
            draw_lookup(of_file, arguments.to / f"{stem}.svg")
            continue
        main_metric = SHOWN.get(of_file.rows[0]["data"], ("ap",))[0]
        draw_by_length(of_file, main_metric, arguments.to / f"{stem}-bits.svg")
        draw_tie_intervals(of_file, arguments.to / f"{stem}-ties.svg")


if __name__ == "__main__":
    main()
