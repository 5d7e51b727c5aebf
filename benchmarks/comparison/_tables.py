"""Tables of the comparison: a row for each method, means and spreads over splits."""

from typing import NamedTuple

import numpy as np
from _methods import SCORES, function_of


class Column(NamedTuple):
    """A column of a table.

    Parameters
    ----------
    title : str
        Its head.

    rows_of : callable
        ``rows_of(method)``: the results to average.

    read : callable
        ``read(row)``: the number to show, None where there is none.

    best : callable, default=max
        Of the means of several methods, the one to show in bold; None for none.

    digits : int, default=3
        Decimals.
    """

    title: str
    rows_of: object
    read: object
    best: object = max
    digits: int = 3


def reader(name):
    """A reader of a column of the results."""
    return lambda row: row[name]


def tie_interval(row):
    """Best minus worst AP over the orders of ties."""
    return None if row["ap_worst"] is None else row["ap_best"] - row["ap_worst"]


def at_radius(name, radius):
    """A reader of one point of a curve over radii."""

    def read(row):
        curve = row[name]
        return curve[radius] if curve and len(curve) > radius else None

    return read


def at_bits(results, n_bits):
    """Selects the rows of a method at one length."""
    return lambda method: results.select(method, n_bits)


def by_length(results, read, best=max, digits=3):
    """A table of one figure: methods by numbers of bits."""
    columns = [
        Column(
            f"{n} bits", lambda method, n=n: results.select(method, n), read, best, digits
        )
        for n in results.lengths()
    ]
    return table(results.methods(), columns)


def table(methods, columns):
    """Header and rows of text, of methods that have a figure in any of the columns.

    Cells are means ± standard deviations over splits, with the number of splits behind
    where it is less than that of the table; without ± they are one split. The best means
    are bold.
    """
    cells = [_Cells.of(methods, column) for column in columns]
    n_splits = max((n for column in cells for n in column.n_splits), default=0)
    body = [
        [method, function_of(method), *(column.text(i, n_splits) for column in cells)]
        for i, method in enumerate(methods)
    ]
    head = ["method", "hash function", *(column.title for column in columns)]
    return [head, *(row for row in body if any(row[2:]))]


class _Cells(NamedTuple):
    """Figures of one column."""

    methods: list
    means: list
    spreads: list
    n_splits: list
    best: str
    digits: int

    @classmethod
    def of(cls, methods, column):
        values = [
            [v for v in map(column.read, column.rows_of(m)) if v is not None]
            for m in methods
        ]
        means = [f"{np.mean(v):.{column.digits}f}" if v else "" for v in values]
        spreads = [float(np.std(v)) if v else 0.0 for v in values]
        rivals = [
            float(mean) for m, mean in zip(methods, means) if mean and m not in SCORES
        ]
        best = ""
        if column.best and len(rivals) > 1:
            best = f"{column.best(rivals):.{column.digits}f}"
        return cls(methods, means, spreads, [len(v) for v in values], best, column.digits)

    def text(self, i, n_splits_of_table):
        mean, n_splits = self.means[i], self.n_splits[i]
        if not mean:
            return ""
        is_best = mean == self.best and self.methods[i] not in SCORES
        text = f"**{mean}**" if is_best else mean
        if n_splits > 1:
            text += f" ±{self.spreads[i]:.{self.digits}f}"
        return f"{text} ({n_splits})" if 1 < n_splits < n_splits_of_table else text


def as_markdown(rows):
    """A table in Markdown."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def as_rst(rows):
    """A table in reStructuredText."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = "  ".join("=" * width for width in widths)
    # An empty cell would join its row to the one above if it were the first.
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([rule, lines[0], rule, *lines[1:], rule])
