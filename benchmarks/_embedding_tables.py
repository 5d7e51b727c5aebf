"""Tables of the benchmark of embeddings, as Markdown: means over seeds."""

from collections import defaultdict

import numpy as np


def print_tables(figures):
    """A table for each budget: columns are the sets by the number of rows fitted to."""
    for budget in sorted({figure.budget for figure in figures}):
        of_budget = [figure for figure in figures if figure.budget == budget]
        columns, rows = table(of_budget)
        print(f"\n| {budget} bytes | {' | '.join(columns)} |")
        print("|---" * (len(columns) + 1) + "|")
        for name, *cells in rows:
            print(f"| {name} | {' | '.join(cells)} |")


def table(figures):
    """Names of columns, and rows of one budget, as text."""
    sets = sorted({(figure.n_train > 5_000, figure.data) for figure in figures})
    names = [f"{data}{' many' * many}" for many, data in sets]
    groups = defaultdict(list)
    for figure in figures:
        groups[figure.contender, figure.search].append(figure)
    rows = [
        [f"{contender}, {search}", *_cells(group, sets)]
        for (contender, search), group in groups.items()
    ]
    return [*names, "bytes", "fit s", "fit s many", "encode s", "seeds"], rows


def _cells(group, sets):
    recalls = [
        _mean("{:.3f}", [f.recall for f in group if (f.n_train > 5_000, f.data) == key])
        for key in sets
    ]
    seconds = [
        _mean("{:.1f}", [f.fit_seconds for f in group if (f.n_train > 5_000) == many])
        for many in (False, True)
    ]
    encode = [f.encode_seconds / f.n_database * 20_000 for f in group]
    n_bytes = {f.n_bytes for f in group}
    return [
        *recalls,
        "-".join(str(n) for n in sorted(n_bytes)),
        *seconds,
        _mean("{:.1f}", encode),
        str(len({f.seed for f in group})),
    ]


def _mean(form, values):
    return form.format(np.mean(values)) if values else ""
