"""Evaluations and comparisons of runs as text, CSV and LaTeX."""

from string import ascii_uppercase

import numpy as np

_LEAST_P_VALUE = 1e-4  # four decimals show no smaller one
_MOST_LISTED = 5  # separations that depend on ties
_MOST_PAIRS = 15  # of a measure, in text
_OF_RUNS = "means", "means_low", "means_high", "worst", "best"
_OF_PAIRS = (
    "difference",
    "low",
    "high",
    "lowest",
    "highest",
    "undecided",
    "effect_size",
    "p_value",
    "adjusted_p_value",
    "adverse_p_value",
    "separated",
    "depends_on_ties",
    "ties_decide",
)


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


def p_value_text(p_value):
    """Write a p-value with four decimals, but none as 0, which no test can find."""
    if p_value < _LEAST_P_VALUE:
        return f"<{_LEAST_P_VALUE:.4f}"
    return f"{p_value:.4f}"


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
    for number, measure in enumerate(comparison.measures):
        letters = tier_letters(comparison, measure)
        columns = [getattr(comparison, name)[:, number].tolist() for name in _OF_RUNS]
        keys = "mean", "low", "high", "worst", "best"
        for name, *row in zip(names, *columns):
            one = {"measure": measure, "run": name, **dict(zip(keys, row))}
            runs.append(one | {"tiers": letters[name]})
        columns = [getattr(comparison, name)[:, number].tolist() for name in _OF_PAIRS]
        for (first, second), *row in zip(comparison.pairs, *columns):
            one = {"measure": measure, "first": names[first], "second": names[second]}
            pairs.append(one | dict(zip(_OF_PAIRS, row)))
    return runs, pairs


def comparison_text(comparison):
    """Tables for people: of a pair, or of the tiers of several runs."""
    runs, pairs = comparison_records(comparison)
    n_queries, level = len(comparison.queries), f"{100 * (1 - comparison.alpha):g}%"
    queries = f"{n_queries} quer{'y' if n_queries == 1 else 'ies'}"
    if len(pairs) == len(comparison.measures):
        first, second = map(printable, comparison.names)
        tables = [f"{first} minus {second}, {queries}\n{_table_of_pair(pairs, level)}"]
    else:
        tables = [
            f"{measure}, {queries}\n"
            + "\n\n".join(
                table([row for row in rows if row["measure"] == measure], level)
                for table, rows in ((_table_of_runs, runs), (_table_of_pairs, pairs))
            )
            for measure in comparison.measures
        ]
    return "\n\n".join([*tables, _test_text(comparison)])


def _table_of_pair(pairs, level):
    head = ["", "difference", f"{level} interval", "lowest", "highest"]
    rows = [[*head, "undecided", "p-value"]]
    for row in pairs:
        interval = f"{row['low']:+.4f} to {row['high']:+.4f}"
        numbers = [f"{row[key]:+.4f}" for key in ("difference", "lowest", "highest")]
        numbers.insert(1, interval)
        shares = f"{row['undecided']:.0%}", p_value_text(row["p_value"])
        mark = "*" if row["depends_on_ties"] else ""
        rows.append([row["measure"] + mark, *numbers, *shares])
    return aligned(rows)


def _table_of_runs(runs, level):
    rows = [["", "mean", f"{level} interval", "worst", "best", "tiers"]]
    for row in sorted(runs, key=lambda row: -row["mean"]):
        interval = f"{row['low']:.4f} to {row['high']:.4f}"
        numbers = [f"{row[key]:.4f}" for key in ("mean", "worst", "best")]
        rows.append(
            [printable(row["run"]), numbers[0], interval, *numbers[1:], row["tiers"]]
        )
    return aligned(rows)


def _table_of_pairs(pairs, level):
    """Differences and adjusted p-values of the pairs, the surest first."""
    rows = [["", "difference", f"{level} interval", "adjusted p"]]
    surest = sorted(pairs, key=lambda row: (row["adjusted_p_value"], row["p_value"]))
    for row in surest[:_MOST_PAIRS]:
        name = f"{printable(row['first'])} minus {printable(row['second'])}"
        interval = f"{row['low']:+.4f} to {row['high']:+.4f}"
        mark = "*" if row["depends_on_ties"] else ""
        p_value = p_value_text(row["adjusted_p_value"])
        rows.append([name + mark, f"{row['difference']:+.4f}", interval, p_value])
    n_more = len(pairs) - _MOST_PAIRS
    more = f"\nand {n_more} more pairs: see --format csv, or to_frame" if n_more > 0 else ""
    return aligned(rows) + more


def _test_text(comparison):
    """What was tested, in a sentence, and what ties have to do with it."""
    lines = [f"{named_test(comparison)}, alpha = {comparison.alpha:g}"]
    n_pairs = len(comparison.pairs)
    if n_pairs > 1:
        method = {"holm": "Holm", "tukey": "Tukey's HSD by random orders"}[
            comparison.adjust
        ]
        lines[0] += f", {method} over {n_pairs} pairs of each measure"
        lines.append("Runs that share a letter are not separated.")
    return "\n".join(lines + _lines_of_ties(comparison))


def _lines_of_ties(comparison):
    """Which separations some order of ties would undo, at most as many as a list shows."""
    names, lines = list(map(printable, comparison.names)), []
    for pair, measure in np.argwhere(comparison.depends_on_ties).tolist():
        better, other = comparison.pairs[pair]
        if comparison.difference[pair, measure] < 0:
            better, other = other, better
        lines.append(
            f"* {names[better]} over {names[other]} by {comparison.measures[measure]}"
        )
    if not lines:
        return []
    n_more = len(lines) - _MOST_LISTED
    more = [f"* and {n_more} more"] if n_more > 0 else []
    return [
        "Separated, but not in every order of tied documents:",
        *lines[:_MOST_LISTED],
        *more,
    ]


def named_test(comparison):
    """The test in words, with the number of patterns or samples it counts."""
    if comparison.test in ("t", "wilcoxon"):
        return {"t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test"}[
            comparison.test
        ]
    if comparison.test == "bootstrap":
        return f"bootstrap test of {comparison.n_resamples.max()} samples of queries"
    exact = comparison.n_resamples[comparison.is_exact]
    if comparison.is_exact.all():
        return f"exact randomization test of all patterns of signs ({exact.max()} at most)"
    n_patterns = comparison.n_resamples[~comparison.is_exact].max()
    return f"randomization test of {n_patterns} random patterns of signs"
