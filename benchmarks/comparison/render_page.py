"""Tables and figures of the pages on the comparison, from the results beside this.

    python render_page.py
    python render_page.py --results my_results --to my_page

The tables are reStructuredText that the pages include. What is shown of several sets side
by side comes from ``RESULTS/SET-defaults.csv``, or ``-tuned``. Each set has a chart, a
figure of ties and tables of all sizes by the defaults; hash lookup has a figure and a
table.
"""

import argparse
from pathlib import Path

import numpy as np
from _figures import draw_by_bytes, draw_legend, draw_lookup, draw_tie_intervals
from _methods import (
    CLASSIFIERS,
    GRID,
    LOOKUP_METHODS,
    METHODS,
    TAUGHT_RIVALS,
    is_taught,
)
from _published import CIFAR10, LABELME, LABELME_LENGTHS, LENGTHS, beside_ours
from _quotes import QUOTES, Compared, requote
from _results import Results
from _standings import NAMED, describe, standings_table
from _tables import (
    Column,
    as_figure,
    as_list_table,
    as_rst,
    at_bits,
    at_bytes,
    at_radius,
    by_bytes,
    bytes_of,
    reader,
    table,
    tie_interval,
)
from compare_methods import COSTS, RESULTS

PAGE = Path(__file__).parents[2] / "docs" / "user_guide" / "comparison"
SUMMARY_BITS = 32
BUDGETS = 4, 8  # bytes per item
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
_HIDDEN = {  # what may be the default, of the features and behind the teacher
    "TALR-AP": "AP, linear",
    "TALR-NDCG": "NDCG, linear",
    "TALR-AP, hidden layer": "AP, hidden layer",
    "TALR-NDCG, hidden layer": "NDCG, hidden layer",
}
_HIDDEN_TAUGHT = {  # where measured
    f"kernel + {method}": f"teacher, then {what}" for method, what in _HIDDEN.items()
}
_DENSE = ".. rst-class:: dense"
_PUBLISHED = {
    "cifar10": (CIFAR10, LENGTHS, "ap"),
    "scenes": (LABELME, LABELME_LENGTHS, "ndcg"),
}
_CHART = """.. |chart of {stem}| image:: {folder}/{stem}-bytes.svg
   :width: 375px
   :alt: {alt}
"""
_LEGEND = """.. |legend of the charts| image:: {folder}/legend.svg
   :width: 375px
   :alt: In color: {names}. All others are gray. A dashed line is floats of the teacher.
"""
_TIES_FIGURE = """.. figure:: {folder}/{stem}-ties.svg
   :alt: {alt}

   {title}: AP over the orders of ties. A bar goes from the worst order to the best, and its
   dot is the mean over all orders.
"""
_LOOKUP_FIGURE = """.. figure:: {folder}/{stem}.svg
   :alt: {alt}

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
    """What the pages include, by the name of the file that each is written to."""
    ranked = {stem: r for stem, r in results.items() if _is_ranked(stem)}
    lookup = {stem: r for stem, r in results.items() if _is_lookup(stem)}
    texts = {
        "charts": _charts(folder, ranked),
        "standings": _standings(ranked),
        "summary-tuned": as_rst(_tuned(results)),
        "behind-teacher": as_rst(_behind_teacher(results)),
        "costs": as_rst(_costs(results)),
        "hidden-layer": as_rst(_hidden_layer(results)),
        "counts": _counts(results),
        "chosen-decays": _chosen_decays(results),
    }
    for name, (published, lengths, metric) in _PUBLISHED.items():
        if f"{name}-defaults" in results:
            of_set = results[f"{name}-defaults"]
            rows = beside_ours(published, lengths, of_set, metric)
            texts[f"published-{name}"] = as_rst(rows)
    for n_bytes in BUDGETS:
        for kind, end in KINDS.items():
            texts[f"{kind}-{n_bytes}-bytes"] = as_rst(_summary(results, end, n_bytes))
    texts |= {f"set-{_set(r)}": _section(folder, s, r) for s, r in ranked.items()}
    texts |= {f"{stem}": _lookup_section(folder, stem, r) for stem, r in lookup.items()}
    return texts


def _charts(folder, ranked):
    """Images of all sets in one paragraph, which a page breaks where it must."""
    names = "; ".join(NAMED)
    texts, marks = [_LEGEND.format(folder=folder, names=names)], ["|legend of the charts|"]
    for stem, results in ranked.items():
        texts.append(_CHART.format(folder=folder, stem=stem, alt=_words_of_chart(results)))
        marks.append(f"|chart of {stem}|")
    return "\n".join([*texts, " ".join(marks)])


def _words_of_chart(results):
    return describe(_title(results), _metrics(results)[0], results, BUDGETS, KINDS)


def _standings(ranked):
    """The best for a number of bytes, and all that is level with it."""
    sets = [(_title(results), results) for results in ranked.values()]
    metrics = [_metrics(results)[0] for results in ranked.values()]
    rows = standings_table(sets, metrics, BUDGETS, KINDS)
    return as_list_table(rows, [10] + [15] * len(sets))


def _summary(results, end, n_bytes):
    """All sets at one size, by one kind of queries."""
    sets = list(_side_by_side(results))
    columns = [
        Column(f"{_title(r)} {metric.upper()}", at_bytes(r, n_bytes), reader(metric + end))
        for r in sets
        for metric in _metrics(r)
    ]
    return table(_COMPARED, columns, lambda method: bytes_of(sets, method, n_bytes))


def _tuned(results):
    """All sets at one length, by binary queries, and what tuning changes of the means."""
    columns = []
    for tuned in _side_by_side(results, "tuned"):
        (metric, *_), name = _metrics(tuned), _set(tuned)
        plain = results.get(f"{name}-defaults")
        for what, each in (("tuned", tuned), ("defaults", plain)):
            if each is not None:
                title = f"{_title(tuned)} {metric.upper()}, {what}"
                same = each.only(tuned.methods()).on_splits(tuned.splits())
                rows = at_bits(same, SUMMARY_BITS)
                columns.append(Column(title, rows, reader(metric)))
    return table(_COMPARED, columns)


def _chosen_decays(results):
    """How often each candidate was chosen, and by how many the last."""
    rows = [row for r in _side_by_side(results, "tuned") for row in r.rows]
    chosen = [row["params"]["weight_decay"] for row in rows if row["n_bits"]]
    counts = ", ".join(f"{chosen.count(c)} chose {c:g}" for c in GRID["weight_decay"])
    return f"Of {len(chosen)} fits {counts}."


def _behind_teacher(results):
    """What learns from the same probabilities, on the splits where all losses did."""
    sets = [r.on_splits_of(TAUGHT_RIVALS) for r in _side_by_side(results)]
    sets = [shared for shared in sets if shared.rows]
    columns = [
        Column(f"{_title(r)}, {kind}", at_bytes(r, BUDGETS[0]), reader("ap" + end))
        for r in sets
        for kind, end in KINDS.items()
    ]
    return table(_TAUGHT, columns, lambda method: bytes_of(sets, method, BUDGETS[0]))


def _costs(results):
    """What methods cost on the first set."""
    first = next(_side_by_side(results), None)
    columns = (
        []
        if first is None
        else [
            Column(title, _at_summary(first), reader(column), None, digits, cost=True)
            for title, (column, digits) in COSTS.items()
        ]
    )
    return table(_COMPARED, columns)


def _hidden_layer(results):
    """Linear functions and hidden layers, by each loss and length, and what they cost."""
    figures = [
        (f"{metric.upper()}, {n} bits", n, metric, max)
        for metric in ("ap", "ndcg")
        for n in (12, 32, 64)
    ]
    columns = [*figures]
    columns.append(("fit, s", SUMMARY_BITS, "fit_seconds", None))
    columns.append(
        ("encode a million, s", SUMMARY_BITS, "encode_seconds_per_million", None)
    )
    head, rows = None, []
    for of_set in _side_by_side(results):
        for methods in (_HIDDEN, _HIDDEN_TAUGHT):
            shown = [
                Column(
                    t, at_bits(of_set, n), reader(name), best, 3 if best else 1, not best
                )
                for t, n, name, best in columns
            ]
            head, *body = table(list(methods), shown)
            rows += [[_title(of_set), methods[row[0]], *row[2:]] for row in body]
    return [["set", "loss and function", *head[2:]], *rows] if rows else [["set"]]


def _section(folder, stem, results):
    """All of a set by the defaults: its chart, tables and figure of ties."""
    title, alt = _title(results), _words_of_chart(results)
    parts = [f".. image:: {folder}/{stem}-bytes.svg\n   :width: 440px\n   :alt: {alt}"]
    tables = {
        f"{metric.upper()} by {kind} queries": by_bytes(results, reader(metric + end))
        for metric in _metrics(results)
        for kind, end in KINDS.items()
    }
    n_bits = _length_of_ties(results)
    tables[f"Ties and hash lookup at {n_bits} bits"] = _ties(results, n_bits)
    for what, rows in tables.items():
        if len(rows) > 1:
            parts += [_heading(what), f"{_DENSE}\n\n{as_rst(rows)}"]
    if _has_lengths(results):
        alt = _words_of_ties(results)
        figure = _TIES_FIGURE.format(folder=folder, stem=stem, title=title, alt=alt)
        parts += [_heading("The interval of ties"), figure.rstrip()]
    return "\n\n".join(parts)


def _words_of_ties(results):
    """The methods whose AP the order of ties moves least and most, in words."""
    n_bits = _length_of_ties(results)
    means = {}
    for method in results.methods():
        rows = [row for row in results.select(method, n_bits) if row["ap_worst"]]
        if rows and method not in CLASSIFIERS:
            means[method] = np.mean([tie_interval(row) for row in rows])
    ends = (min(means, key=means.get), max(means, key=means.get))
    low, high = (f"{as_figure(means[method])} ({method})" for method in ends)
    return f"At {n_bits} bits the order of ties can move AP by {low} to {high}."


def _length_of_ties(results):
    lengths = results.lengths()
    return SUMMARY_BITS if SUMMARY_BITS in lengths else lengths[-1]


def _lookup_section(folder, stem, results):
    """The table and the figure of hash lookup."""
    rows = {m: results.select(m, results.lengths()[0])[0] for m in results.methods()}
    figures = ", ".join(
        f"{m}: AP {as_figure(row['ap'])}, within radius 2 RAMAP "
        f"{as_figure(row['ramap'][2])} and empty lookups {as_figure(row['empty'][2])}"
        for m, row in rows.items()
    )
    figure = _LOOKUP_FIGURE.format(
        folder=folder, stem=stem, title=_title(results), alt=f"{figures}."
    )
    return "\n\n".join([as_rst(_lookup(results)), figure.rstrip()])


def _heading(text):
    return f"{text}\n{'-' * len(text)}"


def _ties(results, n_bits):
    """What the order of ties can do, and hash lookup."""
    reads = {
        "worst AP": (reader("ap_worst"), max),
        "best AP": (reader("ap_best"), max),
        "best - worst": (tie_interval, min),
        "RAMAP@2": (at_radius("ramap", 2), max),
        "empty@2": (at_radius("empty", 2), min),
    }
    columns = [Column(t, at_bits(results, n_bits), *read) for t, read in reads.items()]
    return table(results.methods(), columns)


def _lookup(results):
    """Hash lookup, at the first length."""
    rows_of = at_bits(results, results.lengths()[0])
    reads = {f"RAMAP@{r}": (at_radius("ramap", r), max) for r in (0, 2, 4)}
    reads = {"AP": (reader("ap"), max), **reads, "empty@2": (at_radius("empty", 2), min)}
    reads["precision@4"] = at_radius("radius_precision", 4), max
    columns = [Column(title, rows_of, *read) for title, read in reads.items()]
    return table(results.methods(), columns)


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


def rewrite_quotes(results):
    """Write the figures into the prose of the guide."""
    for name, quotes in QUOTES.items():
        page = PAGE.parent / name
        text = page.read_text(encoding="utf-8")
        page.write_text(requote(text, quotes, Compared(results)), encoding="utf-8")


def main():
    arguments = parse_arguments()
    results, to = read_results(arguments.results), arguments.to
    to.mkdir(parents=True, exist_ok=True)
    for name, text in texts_of(results, to.name).items():
        (to / f"{name}.txt").write_text(text + "\n")
    draw_legend(to / "legend.svg")
    for stem, of_file in results.items():
        if _is_lookup(stem):
            draw_lookup(of_file, to / f"{stem}.svg")
        elif _is_ranked(stem):
            metric, title = _metrics(of_file)[0], _title(of_file)
            draw_by_bytes(of_file, metric, to / f"{stem}-bytes.svg", title)
            if _has_lengths(of_file):
                draw_tie_intervals(of_file.only(_COMPARED), to / f"{stem}-ties.svg")
    if to == PAGE:
        rewrite_quotes(results)


if __name__ == "__main__":
    main()
