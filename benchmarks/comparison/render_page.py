"""Tables and figures of the pages on the comparison, from the results beside this.

    python render_page.py
    python render_page.py --results my_results --to my_page

The tables are reStructuredText that the pages include. What is shown of several sets side
by side comes from ``RESULTS/SET-defaults.csv``, or ``-tuned``. Each set has figures and
tables of all lengths by the defaults, and of hash lookup.
"""

import argparse
from pathlib import Path

from _figures import draw_by_length, draw_lookup, draw_tie_intervals
from _methods import CLASSIFIERS, LOOKUP_METHODS, METHODS, TAUGHT_RIVALS, is_taught
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
TITLES = {
    "cifar10": "CIFAR-10",
    "digits": "Digits",
    "fashion_mnist": "Fashion-MNIST",
    "coco17": "COCO",
    "tmc2007": "TMC2007",
    "scenes": "Scenes",
}
METRICS = {  # that suit the affinity; of other sets AP
    "coco17": ("ap", "ndcg"),
    "tmc2007": ("ap", "ndcg"),
    "scenes": ("ndcg",),
}
KINDS = {"binary": "", "weighted": "_float"}  # of queries: the ends of their columns
_ALL = list(METHODS | LOOKUP_METHODS | dict.fromkeys(CLASSIFIERS))
_ORDER = sorted(_ALL, key=is_taught, reverse=True)  # what the teacher has a part in first
_TAUGHT = [method for method in _ORDER if is_taught(method)]
_COMPARED = [method for method in _ORDER if method not in TAUGHT_RIVALS]
_FIGURE = """.. figure:: {folder}/{stem}-bits.svg
   :alt: {metric} of each method against bits, for binary and for weighted queries.

   {title}: {metric} by number of bits.

.. figure:: {folder}/{stem}-ties.svg
   :alt: For each method and length a bar from the worst to the best AP over orders of ties.

   {title}: AP over the orders of ties.
"""
_LOOKUP_FIGURE = """.. figure:: {folder}/{stem}.svg
   :alt: AP, RAMAP, empty lookups, precision and time by Hamming radius, for four margins.

   {title}: hash lookup by radius.
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--to", type=Path, default=PAGE)
    return parser.parse_args()


def read_results(folder):
    """Results by the name of their file, sets and methods in the order of the page."""
    results = {path.stem: Results(path) for path in sorted(folder.glob("*.csv"))}
    for each in results.values():
        each.rows.sort(key=lambda row: _ORDER.index(row["method"]))
    sets = list(TITLES)
    place = {
        stem: sets.index(_set(r)) if _set(r) in sets else 9 for stem, r in results.items()
    }
    return {stem: results[stem] for stem in sorted(results, key=place.get)}


def texts_of(results, folder="comparison"):
    """What the page includes, by the name of the file that each is written to."""
    ranked = {stem: r for stem, r in results.items() if _is_ranked(stem)}
    lookup = {stem: r for stem, r in results.items() if _is_lookup(stem)}
    sections = [_section(r) for r in ranked.values()]
    sections += [_lookup_section(folder, stem, r) for stem, r in lookup.items()]
    figures = (_figure(folder, s, r) for s, r in ranked.items() if _has_lengths(r))
    return {
        "summary-binary": as_rst(_summary(results, "")),
        "summary-weighted": as_rst(_summary(results, "_float")),
        "summary-tuned": as_rst(_summary(results, "", "tuned")),
        "behind-teacher": as_rst(_behind_teacher(results)),
        "costs": as_rst(_costs(results)),
        "figures": "\n".join(figures),
        "tables": "\n\n".join(sections),
        "counts": _counts(results),
    }


def _summary(results, end, setting="defaults"):
    """All sets at one length, by one kind of queries."""
    columns = [
        Column(f"{TITLES[_set(r)]} {metric.upper()}", _at_summary(r), reader(metric + end))
        for r in _side_by_side(results, setting)
        for metric in _metrics(r)
    ]
    return table(_COMPARED, columns)


def _behind_teacher(results):
    """What learns from the same probabilities, on the splits where all losses did."""
    columns = [
        Column(f"{TITLES[_set(r)]}, {kind}", _at_summary(shared), reader("ap" + end))
        for r in _side_by_side(results)
        for shared in [r.on_splits_of(TAUGHT_RIVALS)]
        if shared.rows
        for kind, end in KINDS.items()
    ]
    return table(_TAUGHT, columns)


def _costs(results):
    """What methods cost on the first set."""
    first = next(_side_by_side(results), None)
    columns = (
        []
        if first is None
        else [
            Column(title, _at_summary(first), reader(column), None, digits)
            for title, (column, digits) in COSTS.items()
        ]
    )
    return table(_COMPARED, columns)


def _section(results):
    """All tables of a set by the defaults, under a heading."""
    tables = {
        f"{metric.upper()} by {kind} queries:": by_length(results, reader(metric + end))
        for metric in _metrics(results)
        for kind, end in KINDS.items()
    }
    tables[f"Ties and hash lookup at {SUMMARY_BITS} bits:"] = _ties(results)
    shown = (f"{t}\n\n{as_rst(rows)}" for t, rows in tables.items() if len(rows) > 1)
    return "\n\n".join([_heading(_title(results)), *shown])


def _lookup_section(folder, stem, results):
    """The table and the figure of hash lookup, under a heading."""
    title, n_bits = _title(results), results.lengths()[0]
    figure = _LOOKUP_FIGURE.format(folder=folder, stem=stem, title=title)
    head = _heading(f"{title}: hash lookup, {n_bits} bits")
    return "\n\n".join([head, as_rst(_lookup(results)), figure.rstrip()])


def _heading(text):
    return f"{text}\n{'-' * len(text)}"


def _ties(results):
    """What the order of ties can do, and hash lookup."""
    reads = {
        "worst AP": (reader("ap_worst"), max),
        "best AP": (reader("ap_best"), max),
        "best - worst": (tie_interval, min),
        "RAMAP@2": (at_radius("ramap", 2), max),
        "empty@2": (at_radius("empty", 2), min),
    }
    columns = [Column(t, _at_summary(results), *read) for t, read in reads.items()]
    return table(results.methods(), columns)


def _lookup(results):
    """Hash lookup, at the first length."""
    rows_of = at_bits(results, results.lengths()[0])
    reads = {f"RAMAP@{r}": (at_radius("ramap", r), max) for r in (0, 2, 4)}
    reads = {"AP": (reader("ap"), max), **reads, "empty@2": (at_radius("empty", 2), min)}
    reads["precision@4"] = at_radius("radius_precision", 4), max
    columns = [Column(title, rows_of, *read) for title, read in reads.items()]
    return table(results.methods(), columns)


def _figure(folder, stem, results):
    metric, title = _metrics(results)[0].upper(), _title(results)
    return _FIGURE.format(folder=folder, stem=stem, metric=metric, title=title)


def _counts(results):
    rows = [row for of_file in results.values() for row in of_file.rows]
    minutes = sum(row["fit_seconds"] for row in rows) / 60
    versions = "; ".join(sorted({row["versions"] for row in rows}))
    return f"These are {len(rows)} fits, which took {minutes:.0f} minutes, with {versions}."


def _side_by_side(results, setting="defaults"):
    for name in TITLES:
        if f"{name}-{setting}" in results:
            yield results[f"{name}-{setting}"]


def _at_summary(results):
    return at_bits(results, SUMMARY_BITS)


def _is_ranked(stem):
    return stem.endswith("-defaults") and not _is_lookup(stem)


def _has_lengths(results):
    """Whether most methods have more than one, so that figures of them tell something."""
    lengths = (results.only([method]).lengths() for method in results.methods())
    several = [len(of_method) > 1 for of_method in lengths if of_method]
    return 2 * sum(several) > len(several)


def _is_lookup(stem):
    return "lookup" in stem


def _set(results):
    return results.rows[0]["data"]


def _title(results):
    return TITLES.get(_set(results), _set(results))


def _metrics(results):
    return METRICS.get(_set(results), ("ap",))


def main():
    arguments = parse_arguments()
    results, to = read_results(arguments.results), arguments.to
    to.mkdir(parents=True, exist_ok=True)
    for name, text in texts_of(results, to.name).items():
        (to / f"{name}.txt").write_text(text + "\n")
    for stem, of_file in results.items():
        if _is_lookup(stem):
            draw_lookup(of_file, to / f"{stem}.svg")
        elif _is_ranked(stem) and _has_lengths(of_file):
            shown = of_file.only(_COMPARED)
            draw_by_length(shown, _metrics(shown)[0], to / f"{stem}-bits.svg")
            draw_tie_intervals(shown, to / f"{stem}-ties.svg")


if __name__ == "__main__":
    main()
