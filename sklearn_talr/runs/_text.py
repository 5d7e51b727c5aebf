"""Evaluations and comparisons of runs as text, CSV and LaTeX."""

from itertools import groupby
from operator import itemgetter
from string import ascii_uppercase
from textwrap import fill

import numpy as np

NAMES_OF_ADJUSTMENTS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "max-t": "max-t"}
_LEAST_P_VALUE = 1e-4  # four decimals show no smaller one
_MOST_LISTED = 5  # separations that depend on ties
MOST_IN_TIERS = 15  # runs; more have so many letters that ranks tell more
_MOST_PAIRS = 15  # of a measure, in text
_WIDTH = 92  # of a sentence, in text
READING = (
    "Systems that share a letter are not separated.",
    "Ranks are those that a system may have by what is separated.",
)
_OF_RUNS = "means", "means_low", "means_high", "worst", "best", "rank_low", "rank_high"
_BEHIND = "behind", "behind_low", "behind_high", "behind_p_value"
_OF_PAIRS = ["difference", "low", "high", "lowest", "highest", "undecided", "effect_size"]
_OF_PAIRS += ["p_value", "adjusted_p_value", "adverse_p_value"]
_OF_PAIRS += ["separated", "depends_on_ties", "ties_decide"]


def aligned(rows, n_left=1):
    """Lines of a table: the first columns to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < n_left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths))
        )
        for row in rows
    )


def shown(column, value):
    """A name, a share or a value of a measure, as a table shows it."""
    if isinstance(value, str):
        return printable(value)
    return f"{value:.0%}" if column == "moved" else f"{value:.4f}"


def p_value_text(p_value):
    """Write a p-value with four decimals, but none as 0, which no test can find."""
    is_less = p_value < _LEAST_P_VALUE
    return f"<{_LEAST_P_VALUE:.4f}" if is_less else f"{p_value:.4f}"


def number_of_queries(queries, rows="queries"):
    """How many queries there are, in words; `rows` is what they are called."""
    return f"{len(queries)} {one_of_rows(rows) if len(queries) == 1 else rows}"


def one_of_rows(rows):
    """The word for one of them."""
    return "query" if rows == "queries" else rows.removesuffix("s")


def neutral(cell):
    """A cell of CSV that no spreadsheet takes for a formula: names may begin anyhow."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{cell}"
    return cell


def printable(name):
    """What a terminal or a page shows and does not obey: files may name things anyhow."""
    return name if name.isprintable() else ascii(name)[1:-1]


def exported(frame, form):
    """A DataFrame as "csv" or "latex", without its index."""
    if form == "latex":
        return frame.style.format(escape="latex").hide().to_latex(hrules=True).rstrip()
    text = frame.map(neutral).to_csv(index=False, lineterminator="\n", na_rep="nan")
    return text.removesuffix("\n")


def tier_letters(comparison, measure):
    """Letters of each run's tiers, A for that of the best run, as a dict by name."""
    letters = dict.fromkeys(comparison.names, "")
    for place, tier in enumerate(comparison.tiers[measure]):
        turn, place = divmod(place, len(ascii_uppercase))
        for name in tier:
            letters[name] += ascii_uppercase[place] + (str(turn + 1) if turn else "")
    return letters


def comparison_records(comparison):
    """Two lists of dicts: of each measure and run, and of each measure and pair."""
    names, runs, pairs = comparison.names, [], []
    first, second = ([names[run] for run in side] for side in zip(*comparison.pairs))
    for number, measure in enumerate(comparison.measures):
        columns = [getattr(comparison, name)[:, number].tolist() for name in _OF_RUNS]
        columns += _behind_first(comparison, number)
        columns += [tier_letters(comparison, measure).values()]
        keys = "run", "mean", "low", "high", *_OF_RUNS[3:], *_BEHIND, "tiers"
        for row in zip(names, *columns):
            runs.append({"measure": measure, **dict(zip(keys, row))})
        columns = [getattr(comparison, name)[:, number].tolist() for name in _OF_PAIRS]
        keys = "first", "second", *_OF_PAIRS
        for row in zip(first, second, *columns):
            pairs.append({"measure": measure, **dict(zip(keys, row))})
    return runs, pairs


def _behind_first(comparison, number):
    """How far runs are behind the best: difference, its interval, adjusted p-value."""
    first, pairs = comparison.best_first[0, number], np.array(comparison.pairs)
    with_first = (pairs == first).any(axis=1)
    is_ahead = (pairs[with_first, 0] == first) == comparison.greater_is_better
    sign = np.where(is_ahead, 1.0, -1.0)
    difference, low, high, p_value = (
        getattr(comparison, name)[with_first, number]
        for name in ("difference", "low", "high", "adjusted_p_value")
    )
    columns = np.zeros((4, len(comparison.names)))
    columns[3] = 1.0  # the best is level with itself
    others = pairs[with_first].sum(axis=1) - first
    ends = np.sort(sign * [low, high], axis=0)
    columns[:, others] = sign * difference, *ends, p_value
    return columns.tolist()


def comparison_text(comparison):
    """Tables for people: of a pair, or of the tiers of several runs."""
    runs, pairs = comparison_records(comparison)
    n_pairs, many = len(comparison.pairs), len(comparison.names) > MOST_IN_TIERS
    queries = number_of_queries(comparison.queries, comparison.evaluations[0].rows)
    interval = f"{100 * (1 - comparison.alpha):g}% interval"
    for row in runs:
        row["run"] = printable(row["run"])
    for row in pairs:
        row["pair"] = " minus ".join(map(printable, (row["first"], row["second"])))
        row["mark"] = "*" if row["depends_on_ties"] else ""
        row["p"] = p_value_text(row["p_value"])
        row["adjusted_p"] = p_value_text(row["adjusted_p_value"])
    difference = {"difference": "{difference:+.4f}", interval: "{low:+.4f} to {high:+.4f}"}
    parts, reading = [], [READING[many]] if n_pairs > 1 else []
    if n_pairs == 1:
        columns = {"": "{measure}{mark}", **difference}
        columns |= {"lowest": "{lowest:+.4f}", "highest": "{highest:+.4f}"}
        columns |= {"undecided": "{undecided:.0%}", "p-value": "{p}"}
        parts.append(f"{pairs[0]['pair']}, {queries}\n{_table(pairs, columns)}")
    of_measures = groupby(runs if n_pairs > 1 else [], key=itemgetter("measure"))
    for measure, of_measure in of_measures:
        # Means of the runs, the best first. Their intervals mislead where queries vary
        # more than systems, so of many runs differences to the first are shown
        of_measure = list(of_measure)
        of_measure.sort(key=itemgetter("mean"), reverse=comparison.greater_is_better)
        columns = {"": "{run}", "mean": "{mean:.4f}"}
        if many:
            columns["behind the first"] = "{behind:.4f}"
            columns[interval] = "{behind_low:.4f} to {behind_high:.4f}"
        else:
            columns[interval] = "{low:.4f} to {high:.4f}"
        if any(row["worst"] != row["best"] for row in of_measure):
            columns |= {"worst": "{worst:.4f}", "best": "{best:.4f}"}
        columns |= {"ranks": "{rank_low} to {rank_high}"} if many else {"tiers": "{tiers}"}
        parts.append(f"{measure}, {queries}\n{_table(of_measure, columns)}")

        if many:
            last = of_measure[0]["rank_high"]
            reading.append(f"The first by {measure} may have any of the ranks 1 to {last}.")

        # Differences of the pairs, the surest first
        of_measure = [row for row in pairs if row["measure"] == measure]
        of_measure.sort(key=itemgetter("adjusted_p_value", "p_value"))
        columns = {"": "{pair}{mark}", **difference, "adjusted p": "{adjusted_p}"}
        n_more = n_pairs - _MOST_PAIRS
        more = f"\nand {n_more} more pairs: see --format csv, or to_frame"
        table = _table(of_measure[:_MOST_PAIRS], columns)
        parts.append(table + more if n_more > 0 else table)

    # What was tested, and which separations some order of ties would undo
    undone = undone_by_ties(comparison)
    lines = ["Separated, but not in every order of tied documents:"] if undone else []
    for better, other, measure in undone[:_MOST_LISTED]:
        lines.append(f"* {printable(better)} over {printable(other)} by {measure}")
    if len(undone) > _MOST_LISTED:
        lines.append(f"* and {len(undone) - _MOST_LISTED} more")
    sentence = fill(comparison.method_sentence(), _WIDTH)
    return "\n\n".join([*parts, "\n".join([sentence, *reading, *lines])])


def _table(rows, columns):
    """Lines of a table of dicts; `columns` has the format of the cells below each head."""
    cells = [[form.format(**row) for form in columns.values()] for row in rows]
    return aligned([list(columns), *cells])


def undone_by_ties(comparison):
    """The better run, the other and the measure of separations that depend on ties."""
    found = []
    for pair, measure in np.argwhere(comparison.depends_on_ties).tolist():
        better, other = (comparison.names[run] for run in comparison.pairs[pair])
        if (comparison.difference[pair, measure] < 0) == comparison.greater_is_better:
            better, other = other, better
        found.append((better, other, comparison.measures[measure]))
    return found


def has_ties(comparison):
    """Whether the order of tied documents moves a value of any query."""
    return any((each.worst != each.best).any() for each in comparison.evaluations)
