"""A comparison of runs as one page of HTML that needs nothing else.

report.html is the template of the page, report.css its style and report.js its script.
"""

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from io import StringIO

import numpy as np

from ._text import MOST_IN_TIERS, READING, has_ties, one_of_rows, p_value_text, printable

_NOT_SHOWN = ["p_value", "ties_decide"]  # of pairs, beside the adjusted one and the ends
_BY_TIES = ["worst", "best", "lowest", "highest", "undecided", "adverse_p_value"]
_BY_TIES += ["depends_on_ties"]
_MOST_DRAWN = 40  # systems, by ranks


def html_report(comparison):
    """Write a comparison of runs as one page of HTML.

    Names are printable and escaped, so that the page is text without surrogates. Its policy
    lets its own style and script run, and nothing else; it asks no other host.
    """
    import pandas as pd
    from jinja2 import Environment

    tiers = {
        measure: [list(map(printable, tier)) for tier in of_measure]
        for measure, of_measure in comparison.tiers.items()
    }
    names, queries = comparison.names, comparison.queries
    names, queries = (list(map(printable, each)) for each in (names, queries))
    comparison = replace(comparison, names=names, queries=queries, tiers=tiers)
    runs, pairs = comparison.to_frame(per_run=True), comparison.to_frame()
    pairs = pairs.drop(columns=_NOT_SHOWN)
    for frame in (runs, pairs):
        columns = frame.columns[frame.columns.str.endswith("p_value")]
        frame[columns] = frame[columns].map(p_value_text, na_action="ignore")
    many, sections = len(names) > MOST_IN_TIERS, []
    for measure in comparison.measures:
        by_mean = {"by": "mean", "ascending": not comparison.greater_is_better}
        means = runs.loc[measure].sort_values(**by_mean, kind="stable")
        # Letters of many systems fail, and without ties there is nothing to tell of them
        dropped = ["tiers"] if many else []
        dropped += [] if (means["worst"] != means["best"]).any() else _BY_TIES
        drop = {"columns": dropped, "errors": "ignore"}
        caption = "Means with intervals, ranks, and how far each is behind the first."
        tables = {caption: _table(means.drop(**drop), "system", "runs", caption)}
        if not many:
            of_measure = pairs.loc[measure]
            of_measure.index = [" minus ".join(pair) for pair in of_measure.index]
            caption = "Differences; lowest and highest are those by ties, if any."
            tables[caption] = _table(of_measure.drop(**drop), "pair", "pairs", caption)
        sections.append((measure, _picture(comparison, measure), tables))
    values = [[each.expected, each.worst, each.best] for each in comparison.evaluations]
    values = np.transpose(values, (3, 0, 1, 2)).reshape(-1, len(queries))
    page, style, script = (
        files(__package__).joinpath(f"report.{kind}").read_text("utf-8")
        for kind in ("html", "css", "js")
    )
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(page).render(
        comparison=comparison,
        many=many,
        reading=READING[many],
        has_ties=has_ties(comparison),
        row=one_of_rows(comparison.evaluations[0].rows),
        sections=sections,
        values=pd.DataFrame(values).to_json(orient="values", double_precision=6),
        style=style,
        script=script,
        # What the page's policy knows a style or a script by
        digest=lambda text: f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}",
    )


def _table(frame, head, kind, caption):
    """A table of the class `kind`; texts are escaped."""
    styler = frame.rename_axis(index=None, columns=head).style.set_caption(caption)
    styler = styler.format(escape="html", precision=4, na_rep="\N{EN DASH}")
    html = styler.format_index(escape="html").to_html(exclude_styles=True)
    return html.replace("<table", f'<table class="{kind}"', 1)


def _picture(comparison, measure):
    """Tiers or ranks as an image in base 64, equal for equal comparisons."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from ..metrics import RanksDisplay, TiersDisplay

    many, file = len(comparison.names) > MOST_IN_TIERS, StringIO()
    width = 6.4 + 0.18 * len(comparison.tiers[measure])
    size = (6.4, 10) if many else (width, 1.2 + 0.34 * len(comparison.names))
    with rc_context({"svg.hashsalt": "tiers", "svg.fonttype": "none"}):
        ax = Figure(figsize=size).subplots()
        options = {"measure": measure, "ax": ax}
        if many:
            RanksDisplay.from_comparison(comparison, n_first=_MOST_DRAWN, **options)
        else:
            TiersDisplay.from_comparison(comparison, **options)
        ax.figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return b64encode(file.getvalue().encode()).decode()
