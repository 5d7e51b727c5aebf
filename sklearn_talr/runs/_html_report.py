"""A comparison of runs as one page of HTML that needs nothing else."""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape

import numpy as np

from ._comparison_tables import comparison_records, named_test, tier_letters
from ._report_assets import SCRIPT, STYLE
from ._report_pictures import draw_means, draw_tiers
from ._text_tables import p_value_text, printable

_DECIMALS = 6  # of the values of queries
_MISSING = "&ndash;"  # number
_ZERO = 1e-12  # sums in two orders may differ by so much

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src '{style_hash}'; script-src '{script_hash}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{summary}
<p class="choice" hidden><label for="measure">Measure</label>
<select id="measure" autocomplete="off">{measures}</select></p>
{sections}
{queries}
</main>
<script type="application/json" id="values">{values}</script>
<script>{script}</script>
</body>
</html>
"""

_SECTION = """<section class="measure" aria-label="{measure}">
<h2>{measure}</h2>
{means}
<div class="pictures">
<figure>{tiers}<figcaption>Tiers. A bracket joins runs that the data do not
separate.</figcaption></figure>
<figure>{intervals}<figcaption>Means (dots), their confidence intervals (lines), and what
orders of tied documents can make of them (boxes).</figcaption></figure>
</div>
{pairs}
</section>"""

_QUERIES = """<section aria-label="Query by query">
<h2 id="by-query">Query by query</h2>
<noscript><p>This table needs JavaScript.</p></noscript>
<div class="choices">
<p><label for="first">Run</label>
<select id="first" autocomplete="off">{runs}</select></p>
<p><label for="second">minus</label>
<select id="second" autocomplete="off">{runs}</select></p>
</div>
<p id="tally" role="status"></p>
{table}
</section>"""


def html_report(comparison):
    """Write a comparison of runs as one page of HTML.

    Parameters
    ----------
    comparison : RunComparison

    Returns
    -------
    page : str
        Text without surrogates, so that it can be written as UTF-8. The page's policy lets
        its own style and script run, and nothing else; it asks no other host.
    """
    runs = _options(comparison.names)
    places = range(len(comparison.measures))
    return _PAGE.format(
        title=f"Comparison of {len(comparison.names)} runs",
        summary=_summary(comparison),
        measures=_options(comparison.measures),
        sections="\n".join(_of_measure(comparison, place) for place in places),
        queries=_QUERIES.format(runs=runs, table=_queries_table()),
        values=_values_of_queries(comparison),
        style=STYLE,
        script=SCRIPT,
        style_hash=_hash(STYLE),
        script_hash=_hash(SCRIPT),
    )


def _hash(text):
    """What the page's policy knows a style or a script by."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _as_html(name):
    """A name as text of HTML, also in an attribute."""
    return escape(printable(name))


def _options(names):
    """Choices of a select box, whose values are the places of the names."""
    return "".join(
        f'<option value="{place}">{_as_html(name)}</option>'
        for place, name in enumerate(names)
    )


def _summary(comparison):
    """What was compared, how, and what ties have to do with it."""
    n_queries, n_pairs = len(comparison.queries), len(comparison.pairs)
    method = {"holm": "Holm", "tukey": "Tukey's HSD"}[comparison.adjust]
    adjusted = f", adjusted by {method} for {n_pairs} pairs of each measure,"
    lines = [
        f"<p>{n_queries} quer{'y' if n_queries == 1 else 'ies'}; {named_test(comparison)}. "
        f"Runs are separated if the p-value{adjusted if n_pairs > 1 else ''} is "
        f"{comparison.alpha:g} at most.</p>"
    ]
    n_depend = int(comparison.depends_on_ties.sum())
    n_separated = int(comparison.separated.sum())
    if n_depend:
        lines.append(
            f'<p class="warning"><strong>Ties matter.</strong> {n_depend} of {n_separated} '
            f"separation{'' if n_separated == 1 else 's'} would not hold in every order of "
            "tied documents: see the column “Separated”.</p>"
        )
    else:
        lines.append("<p>No separation depends on the order of tied documents.</p>")
    return "\n".join(lines)


def _of_measure(comparison, place):
    """Tables and pictures of a measure."""
    measure = comparison.measures[place]
    order = np.argsort(-comparison.means[:, place], kind="stable").tolist()
    names = [comparison.names[run] for run in order]
    columns = (
        comparison.means,
        comparison.means_low,
        comparison.means_high,
        comparison.worst,
        comparison.best,
    )
    mean, low, high, worst, best = (column[order, place].tolist() for column in columns)
    intervals, ties = list(zip(low, high)), list(zip(worst, best))
    tiers = [sorted(map(names.index, tier)) for tier in comparison.tiers[measure]]
    return _SECTION.format(
        measure=_as_html(measure),
        means=_means_table(comparison, measure, list(zip(names, mean, intervals, ties))),
        tiers=draw_tiers(names, mean, intervals, tiers),
        intervals=draw_means(names, mean, intervals, ties),
        pairs=_pairs_table(comparison, measure),
    )


def _means_table(comparison, measure, runs):
    """Means of the runs, best first."""
    letters = tier_letters(comparison, measure)
    heads = [("Run", "text"), "Mean", _interval_head(comparison), "By ties"]
    rows = [
        [
            _as_html(name),
            _with_key(mean),
            _interval(interval),
            _interval(ties),
            (letters[name], None),
        ]
        for name, mean, interval, ties in runs
    ]
    caption = (
        "Means over the queries, best first. “By ties” is what orders of tied documents "
        "can make of the mean. Runs that share a letter are not separated."
    )
    heads = _heads([*heads, ("Tiers", "text")], sorted_by="Mean")
    return _table(caption, heads, rows, label=f"{measure}: means")


def _pairs_table(comparison, measure):
    """Differences of all pairs of runs."""
    _, records = comparison_records(comparison)
    rows = [
        [
            f"{_as_html(row['first'])} <span>minus</span> {_as_html(row['second'])}",
            _with_key(row["difference"], "+"),
            _interval((row["low"], row["high"]), "+"),
            _p_value(row["adjusted_p_value"]),
            _separation(row),
            _with_key(row["effect_size"], "+"),
            _interval((row["lowest"], row["highest"]), "+"),
            (f"{row['undecided']:.0%}", row["undecided"]),
        ]
        for row in records
        if row["measure"] == measure
    ]
    caption = (
        "Pairs of runs. “By ties” is what orders of tied documents can make of the "
        "difference of the means. “Undecided” is the share of queries in which they "
        "decide which run is better. A separation depends on ties if some order of them "
        "undoes it; the p-value beside is that of the worst order."
    )
    heads = _heads(_pair_heads(comparison))
    return _table(caption, heads, rows, label=f"{measure}: pairs", kind="pairs")


def _pair_heads(comparison):
    return [
        ("Pair", "text"),
        "Difference",
        _interval_head(comparison),
        "Adjusted p" if len(comparison.pairs) > 1 else "p-value",
        "Separated",
        "Effect size",
        "By ties",
        "Undecided",
    ]


def _queries_table():
    """The table that the script fills with the values of the queries."""
    caption = (
        "Values of the queries. The lowest and the highest difference are those that "
        "orders of tied documents can make. Ties decide if the lowest is below 0 and the "
        "highest above."
    )
    heads = [("Query", "text"), "Difference", "First run", "Second run", "Lowest"]
    heads = _heads([*heads, "Highest", "Ties decide"], sorted_by="Difference")
    return _table(caption, heads, [], label="Values of queries", kind="queries")


def _interval_head(comparison):
    return f"{100 * (1 - comparison.alpha):g}% interval"


def _with_key(value, sign=""):
    """A number as text, and the number by which it is sorted."""
    return _text(value, sign), value


def _text(value, sign=""):
    if np.isnan(value):
        return _MISSING
    return f"{value:{sign}.4f}".replace("inf", "∞")


def _interval(limits, sign=""):
    low, high = limits
    return f"{_text(low, sign)} to {_text(high, sign)}", low


def _p_value(value):
    return (_MISSING if np.isnan(value) else escape(p_value_text(value))), value


def _separation(row):
    """Whether a pair is separated, and whether that depends on the order of ties."""
    if not row["separated"]:
        return "no", 0.0
    if not row["depends_on_ties"]:
        return "<strong>yes</strong>", 1.0
    p_value = _p_value(row["adverse_p_value"])[0]
    return f"<strong>yes</strong>, depends<br>on ties: p = {p_value}", 0.5


def _heads(heads, sorted_by=None):
    """Heads of columns: pairs of a text and "text", or texts of columns of numbers."""
    cells = []
    for head in heads:
        head, kind = (head, "number") if isinstance(head, str) else head
        order = ' aria-sort="descending"' if head == sorted_by else ""
        cells.append(f'<th scope="col" data-kind="{kind}"{order}>{head}</th>')
    return "".join(cells)


def _table(caption, heads, rows, *, label, kind="means"):
    """A table in a box that scrolls where the window is narrow.

    A row is a name, and pairs of a text and the number by which it is sorted, if any.
    """
    body = "\n".join(
        f'<tr><th scope="row">{name}</th>' + "".join(map(_cell, cells)) + "</tr>"
        for name, *cells in rows
    )
    return f"""<div class="wide" role="region" aria-label="{_as_html(label)}" tabindex="0">
<table class="{kind}"><caption><span>{caption}</span></caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{body}
</tbody></table></div>"""


def _cell(pair):
    text, value = pair
    if value is None:
        return f"<td>{text}</td>"
    value = repr(float(value)).replace("inf", "Infinity").replace("nan", "NaN")
    return f'<td data-value="{value}">{text}</td>'


def _values_of_queries(comparison):
    """Values of all queries as JSON, in which HTML sees nothing but text.

    ``values[measure][run]`` has the expected values of the queries, the worst and the best;
    None for the latter two if ties move none.
    """
    values = [
        [_of_run(evaluation, place) for evaluation in comparison.evaluations]
        for place in range(len(comparison.measures))
    ]
    queries = list(map(printable, comparison.queries))
    text = json.dumps({"queries": queries, "values": values}, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _of_run(evaluation, place):
    expected, worst, best = (
        getattr(evaluation, column)[:, place] for column in ("expected", "worst", "best")
    )
    if not (best - worst > _ZERO).any():
        return [_rounded(expected), None, None]
    return list(map(_rounded, (expected, worst, best)))


def _rounded(values):
    """Values with a few decimals; None stands for NaN, which JSON does not have."""
    rounded = np.round(values, _DECIMALS).tolist()
    return [value if np.isfinite(value) else None for value in rounded]
