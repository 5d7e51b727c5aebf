"""A comparison of runs as one page of HTML that needs nothing else.

report.html is the template of the page, report.css its style and report.js its script.
"""

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from importlib.resources import files
from io import StringIO

import numpy as np

from ._text import (
    has_ties,
    one_of_rows,
    p_value_text,
    printable,
    reading,
    shows_ranks,
)

# The table of pairs shows the adjusted p-value, lowest and highest instead.
_COLUMNS_NOT_SHOWN = ["p_value", "ties_decide"]
# Without ties these columns have no information.
_COLUMNS_OF_TIES = [
    "worst",
    "best",
    "lowest",
    "highest",
    "undecided",
    "worst_case_p_value",
    "depends_on_ties",
]
# Pictures of ranks have the first systems alone.
_N_SYSTEMS_DRAWN = 40
_CAPTION_OF_RUNS = "Means with intervals, ranks, and differences to the first system."
_CAPTION_OF_PAIRS = "Differences, with lowest and highest over orders of ties, if any."


def html_report(comparison):
    """Write a comparison of runs as one page of HTML.

    Names are printable and escaped, so that the page is text without surrogates. Its
    content security policy allows only its own style and script, and no other host.
    """
    import pandas as pd
    from jinja2 import Environment

    comparison = _with_printable_names(comparison)
    runs = _with_p_values_as_text(comparison.to_frame(per_run=True))
    pairs = _with_p_values_as_text(comparison.to_frame())
    pairs = pairs.drop(columns=_COLUMNS_NOT_SHOWN)
    sections = [
        (
            measure,
            _picture(comparison, measure),
            _tables(comparison, runs.loc[measure], pairs.loc[measure]),
        )
        for measure in comparison.measures
    ]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    values = pd.DataFrame(_values_of_queries(comparison))
    return environment.from_string(_read_asset("report.html")).render(
        comparison=comparison,
        many=shows_ranks(comparison),
        reading=reading(comparison),
        has_ties=has_ties(comparison),
        row=one_of_rows(comparison.evaluations[0].rows),
        sections=sections,
        values=values.to_json(orient="values", double_precision=6),
        style=_read_asset("report.css"),
        script=_read_asset("report.js"),
        digest=_digest,
    )


def _read_asset(name):
    """Text of a file beside this one."""
    return files(__package__).joinpath(name).read_text("utf-8")


def _digest(text):
    """The digest of a style or a script, for the page's content security policy."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _with_printable_names(comparison):
    """The comparison with names of runs and queries that a page may show."""
    tiers = {}
    for measure, tiers_by_measure in comparison.tiers.items():
        tiers[measure] = [list(map(printable, tier)) for tier in tiers_by_measure]
    return replace(
        comparison,
        names=list(map(printable, comparison.names)),
        queries=list(map(printable, comparison.queries)),
        tiers=tiers,
    )


def _with_p_values_as_text(frame):
    """The frame with p-values of four decimals as text."""
    columns = frame.columns[frame.columns.str.endswith("p_value")]
    frame[columns] = frame[columns].map(p_value_text, na_action="ignore")
    return frame


def _tables(comparison, runs, pairs):
    """Tables of one measure by their captions: of runs, and of pairs if they are few."""
    runs = runs.sort_values(
        by="mean", ascending=not comparison.greater_is_better, kind="stable"
    )
    # Many systems have too many letters, and columns about ties need ties.
    left_out = []
    if shows_ranks(comparison):
        left_out.append("tiers")
    if not (runs["worst"] != runs["best"]).any():
        left_out += _COLUMNS_OF_TIES
    runs = runs.drop(columns=left_out, errors="ignore")
    tables = {_CAPTION_OF_RUNS: _table(runs, "system", "runs", _CAPTION_OF_RUNS)}
    if not shows_ranks(comparison):
        pairs = pairs.drop(columns=left_out, errors="ignore")
        pairs.index = [" minus ".join(pair) for pair in pairs.index]
        tables[_CAPTION_OF_PAIRS] = _table(pairs, "pair", "pairs", _CAPTION_OF_PAIRS)
    return tables


def _values_of_queries(comparison):
    """Expected, worst and best values, a row for each measure, run and kind of value."""
    values = [
        [evaluation.expected, evaluation.worst, evaluation.best]
        for evaluation in comparison.evaluations
    ]
    by_measure = np.transpose(values, (3, 0, 1, 2))
    return by_measure.reshape(-1, len(comparison.queries))


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

    if shows_ranks(comparison):
        size = (6.4, 10)
    else:
        n_tiers = len(comparison.tiers[measure])
        size = (6.4 + 0.18 * n_tiers, 1.2 + 0.34 * len(comparison.names))
    file = StringIO()
    with rc_context({"svg.hashsalt": "tiers", "svg.fonttype": "none"}):
        ax = Figure(figsize=size).subplots()
        if shows_ranks(comparison):
            RanksDisplay.from_comparison(
                comparison, n_first=_N_SYSTEMS_DRAWN, measure=measure, ax=ax
            )
        else:
            TiersDisplay.from_comparison(comparison, measure=measure, ax=ax)
        ax.figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return b64encode(file.getvalue().encode()).decode()
