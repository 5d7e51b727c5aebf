"""A comparison of runs as one page of HTML that needs nothing else."""

import json
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import escape
from io import StringIO

import numpy as np

from ._text import (
    MOST_IN_TIERS,
    READING,
    has_ties,
    method_sentence,
    p_value_text,
    printable,
)

_NOT_SHOWN = ["p_value", "ties_decide"]  # of pairs, beside the adjusted one and the ends
_BY_TIES = "worst", "best", "lowest", "highest", "undecided", "adverse_p_value"
_BY_TIES += ("depends_on_ties",)
_MOST_DRAWN = 40  # systems, by ranks

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: auto;
  padding: 1rem; }
p, caption { max-width: 45rem; overflow-wrap: anywhere; }
.warning { border-left: .3rem solid #d55e00; padding-left: .8rem; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption, tr > :first-child { text-align: left; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid #8888; }
th button { font: inherit; min-height: 2rem; cursor: pointer; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
select { font: inherit; max-width: 20rem; min-height: 2.4rem; }
img { max-width: 100%; background: white; }
[hidden] { display: none; }
input { font: inherit; min-height: 2rem; }
@media print {
  body { max-width: none; font-size: 10pt; }
  .choice, .find, .by-query { display: none; }
  .wide { overflow: visible; }
  tr, img { break-inside: avoid; }
}
"""

_SCRIPT = """
"use strict";
const $ = id => document.getElementById(id);
const data = JSON.parse($("values").textContent);
const collator = new Intl.Collator("en", {numeric: true});
const number = text => parseFloat(text.replace("<", "").replace("inf", "Infinity"));

// Names by number and letter; what has no number comes last either way.
function sort(table) {
  const head = table.querySelector("thead th[aria-sort]");
  if (!head) return;
  const sign = head.getAttribute("aria-sort") === "ascending" ? 1 : -1;
  const column = head.cellIndex;
  const rows = [...table.tBodies[0].rows].map(row => [row.cells[column].textContent, row]);
  rows.sort(([a], [b]) => {
    if (a === "\\u2013" || b === "\\u2013") return (a === "\\u2013") - (b === "\\u2013");
    return sign * ((column && number(a) - number(b)) || collator.compare(a, b));
  });
  table.tBodies[0].append(...rows.map(pair => pair[1]));
}

for (const head of document.querySelectorAll("thead th")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const ends = ["ascending", "descending"];
    const first = head.cellIndex ? 1 : 0;
    const next = ends[head.getAttribute("aria-sort") === ends[first] ? 1 - first : first];
    for (const each of head.parentElement.cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", next);
    sort(head.closest("table"));
  });
}

function show() {
  const [measure, first, second] =
    ["measure", "first", "second"].map(id => Number($(id).value));
  document.querySelectorAll("section.measure").forEach((section, place) => {
    section.hidden = place !== measure;
  });
  const values = (run, column) => data.values[(measure * data.n_runs + run) * 3 + column];
  const table = document.querySelector("table.queries");
  const minus = (a, b) => a === null || b === null ? null : a - b;
  const shown = value => value === null ? "\\u2013" : value.toFixed(4);
  const body = document.createElement("tbody");
  data.queries.forEach((query, place) => {
    const [a, low, high] = [0, 1, 2].map(column => values(first, column)[place]);
    const [b, lowB, highB] = [0, 1, 2].map(column => values(second, column)[place]);
    const least = minus(low, highB), most = minus(high, lowB);
    const cells = [minus(a, b), a, b, least, most].map(shown);
    const row = body.insertRow();
    const head = document.createElement("th");
    head.textContent = query;
    row.append(head);
    for (const text of [...cells, least < -5e-7 && most > 5e-7 ? "yes" : "no"])
      row.insertCell().textContent = text;
  });
  table.tBodies[0].replaceWith(body);
  sort(table);
}

for (const find of document.querySelectorAll(".find")) {
  find.hidden = false;
  find.querySelector("input").addEventListener("input", event => {
    const text = event.target.value.toLowerCase();
    for (const row of find.parentElement.querySelectorAll("table.runs tbody tr"))
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(text);
  });
}

document.querySelector(".choice").hidden = false;
$("second").value = "1";
for (const id of ["measure", "first", "second"]) $(id).addEventListener("change", show);
show();
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src '{style_hash}'; script-src '{script_hash}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{summary}
<p class="choice" hidden><label for="measure">Measure</label>
<select id="measure" autocomplete="off">{measures}</select></p>
{sections}
<section class="by-query" aria-label="Query by query">
<h2>Query by query</h2>
<noscript><p>This table needs JavaScript.</p></noscript>
<p><label for="first">First run</label>
<select id="first" autocomplete="off">{runs}</select>
<label for="second">minus the second</label>
<select id="second" autocomplete="off">{runs}</select></p>
{queries}
</section>
<script type="application/json" id="values">{values}</script>
<script>{script}</script>
</body>
</html>
"""


_FIND = """<p class="find" hidden><label for="find-{number}">Find systems</label>
<input type="search" id="find-{number}" autocomplete="off"></p>"""


def html_report(comparison):
    """Write a comparison of runs as one page of HTML.

    Names are printable and escaped, so that the page is text without surrogates. Its policy
    lets its own style and script run, and nothing else; it asks no other host.
    """
    import pandas as pd

    names, queries = comparison.names, comparison.queries
    tiers = {
        measure: [list(map(printable, tier)) for tier in of_measure]
        for measure, of_measure in comparison.tiers.items()
    }
    comparison = replace(comparison, names=list(map(printable, names)), tiers=tiers)
    runs, pairs = comparison.to_frame(per_run=True), comparison.to_frame()
    pairs = pairs.drop(columns=_NOT_SHOWN)
    for frame, p_values in (
        (pairs, ["adjusted_p_value", "adverse_p_value"]),
        (runs, ["behind_p_value"]),
    ):
        frame[p_values] = frame[p_values].map(p_value_text, na_action="ignore")
    many, sections = len(names) > MOST_IN_TIERS, []
    for number, measure in enumerate(comparison.measures):
        means = runs.loc[measure].sort_values("mean", ascending=False, kind="stable")
        # Letters of many systems fail, and without ties there is nothing to tell of them
        dropped = ["tiers"] if many else []
        dropped += [] if (means["worst"] != means["best"]).any() else _BY_TIES
        drop = {"columns": dropped, "errors": "ignore"}
        caption = "Means with intervals, ranks, and how far each is behind the first."
        name = escape(measure)
        parts = [
            f'<section class="measure" aria-label="{name}"><h2>{name}</h2>',
            f'<img alt="{"Ranks" if many else "Tiers"} of the systems" '
            f'src="{_picture(comparison, measure)}">',
            _FIND.format(number=number) if many else "",
            _table(means.drop(**drop), "system", caption, kind="runs"),
        ]
        if not many:
            of_measure = pairs.loc[measure]
            of_measure.index = [" minus ".join(pair) for pair in of_measure.index]
            caption = "Differences; lowest and highest are those by ties, if any."
            parts.append(_table(of_measure.drop(**drop), "pair", caption))
        sections.append("\n".join([*parts, "</section>"]))
    heads = ["difference", "first run", "second run", "lowest", "highest", "ties decide"]
    values = [[each.expected, each.worst, each.best] for each in comparison.evaluations]
    values = np.transpose(values, (3, 0, 1, 2)).reshape(-1, len(queries))
    values = pd.DataFrame(values).to_json(orient="values", double_precision=6)
    shown = json.dumps(list(map(printable, queries)))
    for sign in "<>&":  # in which HTML sees nothing but text
        shown = shown.replace(sign, f"\\u{ord(sign):04x}")
    return _PAGE.format(
        title=f"Comparison of {len(names)} systems",
        summary=_summary(comparison),
        measures=_options(comparison.measures),
        runs=_options(comparison.names),
        sections="\n".join(sections),
        queries=_table(pd.DataFrame(columns=heads), "query", "Values.", kind="queries"),
        values=f'{{"queries":{shown},"n_runs":{len(names)},"values":{values}}}',
        style=_STYLE,
        script=_SCRIPT,
        style_hash=_hash(_STYLE),
        script_hash=_hash(_SCRIPT),
    )


def _table(frame, head, caption, kind="numbers"):
    """A table in a box that scrolls where the window is narrow."""
    styler = frame.rename_axis(index=None, columns=head).style.set_caption(caption)
    styler = styler.format(escape="html", precision=4, na_rep="\N{EN DASH}")
    html = styler.format_index(escape="html").to_html(exclude_styles=True)
    html = html.replace("<table", f'<table class="{kind}"', 1)
    label = f'role="region" aria-label="{escape(caption)}"'
    return f'<div class="wide" {label} tabindex="0">{html}</div>'


def _picture(comparison, measure):
    """Tiers or ranks as the address of an image, equal for equal comparisons."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ..metrics import RanksDisplay, TiersDisplay

    file, n_tiers = StringIO(), len(comparison.tiers[measure])
    with rc_context({"svg.hashsalt": "tiers", "svg.fonttype": "none"}):
        if len(comparison.names) > MOST_IN_TIERS:
            ax = Figure(figsize=(6.4, 1.2 + 0.22 * _MOST_DRAWN)).subplots()
            options = {"n_first": _MOST_DRAWN, "measure": measure, "ax": ax}
            RanksDisplay.from_comparison(comparison, **options)
        else:
            size = 6.4 + 0.18 * n_tiers, 1.2 + 0.34 * len(comparison.names)
            ax = Figure(figsize=size).subplots()
            TiersDisplay.from_comparison(comparison, measure=measure, ax=ax)
        options = {"metadata": {"Date": None}, "bbox_inches": "tight"}
        ax.figure.savefig(file, format="svg", **options)
    return f"data:image/svg+xml;base64,{b64encode(file.getvalue().encode()).decode()}"


def _hash(text):
    """What the page's policy knows a style or a script by."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _options(names):
    """Choices of a select box, whose values are the places of the names."""
    return "".join(
        f'<option value="{place}">{escape(name)}</option>'
        for place, name in enumerate(names)
    )


def _summary(comparison):
    """What was compared, how, and what ties have to do with it."""
    reading = READING[len(comparison.names) > MOST_IN_TIERS]
    summary = f"<p>{escape(method_sentence(comparison))}</p>\n<p>{reading}</p>"
    if not has_ties(comparison):
        return summary
    n_depend, n_separated = comparison.depends_on_ties.sum(), comparison.separated.sum()
    ties = "<p>No separation depends on the order of tied documents.</p>"
    if n_depend:
        ties = (
            f'<p class="warning"><strong>Ties matter.</strong> {n_depend} of {n_separated} '
            f"separation{'' if n_separated == 1 else 's'} would not hold in every order of "
            "tied documents.</p>"
        )
    return f"{summary}\n{ties}"
