"""Evaluations and comparisons of runs as text, CSV and LaTeX."""

from itertools import repeat
from operator import itemgetter
from string import ascii_uppercase
from textwrap import fill

import numpy as np

NAMES_OF_ADJUSTMENTS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "max-t": "max-t"}
_LEAST_P_VALUE = 1e-4  # Four decimals show no smaller one.
# With more systems there are too many letters of tiers to read, so ranks are shown.
MAX_SYSTEMS_IN_TIERS = 15
_N_UNDONE_SHOWN = 5  # significant differences that depend on ties
_N_PAIRS_SHOWN = 15  # pairs of a measure, in text
_WIDTH_OF_SENTENCES = 92
_READING_OF_LETTERS = "Systems that share a letter are not significantly different."
_READING_OF_RANKS = "Ranks count the significantly better and worse systems."
# Columns of records, by the attributes of a comparison that they show
_COLUMNS_OF_RUNS = {
    "mean": "means",
    "low": "means_low",
    "high": "means_high",
    "worst": "worst",
    "best": "best",
    "rank_low": "rank_low",
    "rank_high": "rank_high",
}
_COLUMNS_OF_PAIRS = [
    "difference",
    "low",
    "high",
    "lowest",
    "highest",
    "undecided",
    "effect_size",
    "p_value",
    "adjusted_p_value",
    "worst_case_p_value",
    "significant",
    "depends_on_ties",
    "ties_decide",
]


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
    return f"{value:.0%}" if column == "affected" else f"{value:.4f}"


def p_value_text(p_value):
    """A p-value with four decimals, but never 0, which is not a possible p-value."""
    is_less = p_value < _LEAST_P_VALUE
    return f"<{_LEAST_P_VALUE:.4f}" if is_less else f"{p_value:.4f}"


def number_of_queries(queries, rows="queries"):
    """The number of queries with the word for them, `rows`."""
    return f"{len(queries)} {one_of_rows(rows) if len(queries) == 1 else rows}"


def one_of_rows(rows):
    """The word for one of them."""
    return "query" if rows == "queries" else rows.removesuffix("s")


def neutral(cell):
    """A cell of CSV that no spreadsheet reads as a formula."""
    if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return f"'{cell}"
    return cell


def printable(name):
    """A name without control characters, which a terminal or a page would obey."""
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
        turn, letter = divmod(place, len(ascii_uppercase))
        number = str(turn + 1) if turn else ""
        for name in tier:
            letters[name] += ascii_uppercase[letter] + number
    return letters


def comparison_records(comparison):
    """Two lists of dicts: for each measure and run, and for each measure and pair."""
    runs = []
    pairs = []
    for number, measure in enumerate(comparison.measures):
        runs += _records_of_runs(comparison, number, measure)
        pairs += _records_of_pairs(comparison, number, measure)
    return runs, pairs


def _records_of_runs(comparison, number, measure):
    """A dict for each run, by the measure of this number."""
    columns = {"measure": repeat(measure), "run": comparison.names}
    for column, attribute in _COLUMNS_OF_RUNS.items():
        columns[column] = getattr(comparison, attribute)[:, number].tolist()
    columns |= _behind_first(comparison, number)
    columns["tiers"] = tier_letters(comparison, measure).values()
    return _records(columns)


def _records_of_pairs(comparison, number, measure):
    """A dict for each pair, by the measure of this number."""
    names = comparison.names
    columns = {
        "measure": repeat(measure),
        "first": [names[first] for first, _ in comparison.pairs],
        "second": [names[second] for _, second in comparison.pairs],
    }
    for column in _COLUMNS_OF_PAIRS:
        columns[column] = getattr(comparison, column)[:, number].tolist()
    return _records(columns)


def _records(columns):
    """A dict for each row of columns."""
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _behind_first(comparison, number):
    """Differences of the best run to each run: value, interval, adjusted p-value."""
    n_runs = len(comparison.names)
    first = comparison.best_first[0, number]
    pairs = np.array(comparison.pairs)
    with_first = (pairs == first).any(axis=1)
    is_ahead = (pairs[with_first, 0] == first) == comparison.greater_is_better
    sign = np.where(is_ahead, 1.0, -1.0)
    other_runs = pairs[with_first].sum(axis=1) - first
    # The best is level with itself.
    behind = np.zeros(n_runs)
    behind[other_runs] = sign * comparison.difference[with_first, number]
    ends = np.zeros((2, n_runs))
    low = comparison.low[with_first, number]
    high = comparison.high[with_first, number]
    ends[:, other_runs] = np.sort(sign * [low, high], axis=0)
    p_value = np.ones(n_runs)
    p_value[other_runs] = comparison.adjusted_p_value[with_first, number]
    return {
        "behind": behind.tolist(),
        "behind_low": ends[0].tolist(),
        "behind_high": ends[1].tolist(),
        "behind_p_value": p_value.tolist(),
    }


def shows_ranks(comparison):
    """Whether there are so many systems that ranks replace letters of tiers."""
    return len(comparison.names) > MAX_SYSTEMS_IN_TIERS


def reading(comparison):
    """A sentence that explains letters of tiers, or ranks."""
    return _READING_OF_RANKS if shows_ranks(comparison) else _READING_OF_LETTERS


def comparison_text(comparison):
    """Tables for people: of a pair, or of the tiers of several runs."""
    runs, pairs = comparison_records(comparison)
    for row in runs:
        row["run"] = printable(row["run"])
    for row in pairs:
        row["pair"] = f"{printable(row['first'])} minus {printable(row['second'])}"
        row["mark"] = "*" if row["depends_on_ties"] else ""
        row["p"] = p_value_text(row["p_value"])
        row["adjusted_p"] = p_value_text(row["adjusted_p_value"])
    tables = []
    lines = [fill(comparison.method_sentence(), _WIDTH_OF_SENTENCES)]
    if len(comparison.pairs) == 1:
        tables.append(_table_of_one_pair(comparison, pairs))
    else:
        lines.append(reading(comparison))
        for measure in comparison.measures:
            runs_by_measure = [row for row in runs if row["measure"] == measure]
            runs_by_measure.sort(
                key=itemgetter("mean"), reverse=comparison.greater_is_better
            )
            tables.append(_table_of_runs(comparison, measure, runs_by_measure))
            pairs_by_measure = [row for row in pairs if row["measure"] == measure]
            tables.append(_table_of_pairs(comparison, pairs_by_measure))
            if shows_ranks(comparison):
                last = runs_by_measure[0]["rank_high"]
                lines.append(
                    f"The first system by {measure} may have any rank from 1 to {last}."
                )
    lines += _lines_of_undone(comparison)
    return "\n\n".join([*tables, "\n".join(lines)])


def _head_of_interval(comparison):
    return f"{100 * (1 - comparison.alpha):g}% interval"


def _queries_in_words(comparison):
    return number_of_queries(comparison.queries, comparison.evaluations[0].rows)


def _table_of_one_pair(comparison, pairs):
    """The difference of two runs, with a row for each measure."""
    columns = {
        "": "{measure}{mark}",
        "difference": "{difference:+.4f}",
        _head_of_interval(comparison): "{low:+.4f} to {high:+.4f}",
        "lowest": "{lowest:+.4f}",
        "highest": "{highest:+.4f}",
        "undecided": "{undecided:.0%}",
        "p-value": "{p}",
    }
    caption = f"{pairs[0]['pair']}, {_queries_in_words(comparison)}"
    return f"{caption}\n{_table(pairs, columns)}"


def _table_of_runs(comparison, measure, runs):
    """Means of the runs by one measure, in the order of the records."""
    columns = {"": "{run}", "mean": "{mean:.4f}"}
    interval = _head_of_interval(comparison)
    # Intervals of means mislead if queries vary more than systems do, so many runs have
    # differences to the first.
    if shows_ranks(comparison):
        columns["behind the first"] = "{behind:.4f}"
        columns[interval] = "{behind_low:.4f} to {behind_high:.4f}"
    else:
        columns[interval] = "{low:.4f} to {high:.4f}"
    if any(row["worst"] != row["best"] for row in runs):
        columns["worst"] = "{worst:.4f}"
        columns["best"] = "{best:.4f}"
    if shows_ranks(comparison):
        columns["ranks"] = "{rank_low} to {rank_high}"
    else:
        columns["tiers"] = "{tiers}"
    return f"{measure}, {_queries_in_words(comparison)}\n{_table(runs, columns)}"


def _table_of_pairs(comparison, pairs):
    """Differences of pairs by one measure, the surest first."""
    columns = {
        "": "{pair}{mark}",
        "difference": "{difference:+.4f}",
        _head_of_interval(comparison): "{low:+.4f} to {high:+.4f}",
        "adjusted p": "{adjusted_p}",
    }
    pairs = sorted(pairs, key=itemgetter("adjusted_p_value", "p_value"))
    table = _table(pairs[:_N_PAIRS_SHOWN], columns)
    n_more = len(pairs) - _N_PAIRS_SHOWN
    if n_more > 0:
        table += f"\nand {n_more} more pairs: see --format csv, or to_frame"
    return table


def _lines_of_undone(comparison):
    """Significant differences that are not significant in some order of ties."""
    undone = undone_by_ties(comparison)
    if not undone:
        return []
    lines = ["Significantly better, but not in every order of tied documents:"]
    for better, worse, measure in undone[:_N_UNDONE_SHOWN]:
        lines.append(f"* {printable(better)} over {printable(worse)} by {measure}")
    if len(undone) > _N_UNDONE_SHOWN:
        lines.append(f"* and {len(undone) - _N_UNDONE_SHOWN} more")
    return lines


def _table(rows, columns):
    """Lines of a table of dicts; `columns` has the format of the cells below each head."""
    cells = [[form.format(**row) for form in columns.values()] for row in rows]
    return aligned([list(columns), *cells])


def undone_by_ties(comparison):
    """Better run, worse run and measure of each difference that depends on ties."""
    undone = []
    for pair, measure in np.argwhere(comparison.depends_on_ties).tolist():
        better, worse = (comparison.names[run] for run in comparison.pairs[pair])
        if (comparison.difference[pair, measure] < 0) == comparison.greater_is_better:
            better, worse = worse, better
        undone.append((better, worse, comparison.measures[measure]))
    return undone


def has_ties(comparison):
    """Whether any value of a query depends on the order of tied documents."""
    return any(
        (evaluation.worst != evaluation.best).any() for evaluation in comparison.evaluations
    )
