"""Tables of the comparison: a row for each method, means and spreads over splits."""

from typing import NamedTuple

import numpy as np
from _methods import CLASSIFIERS, SCORES, function_of


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

    cost : bool, default=False
        Whether numbers are seconds and the like, which keep the zero before the point.
    """

    title: str
    rows_of: object
    read: object
    best: object = max
    digits: int = 3
    cost: bool = False


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


def at_bytes(results, n_bytes):
    """Selects the rows of a method that take so many bytes.

    Classifiers have no length to choose: those of bits may take fewer, floats any number.
    """

    def rows_of(method):
        if method in SCORES:
            return results.select(method, 0)
        if method in CLASSIFIERS:
            return results.within_bytes(method, n_bytes)
        return results.of_bytes(method, n_bytes)

    return rows_of


def by_length(results, read, best=max, digits=3, cost=False):
    """A table of one figure: methods by numbers of bits."""
    columns = [
        Column(f"{n} bits", at_bits(results, n), read, best, digits, cost)
        for n in results.lengths()
    ]
    return table(results.methods(), columns)


def by_bytes(results, read, best=max):
    """A table of one figure: methods by numbers of bytes, with those of classifiers."""
    coded = [method for method in results.methods() if method not in CLASSIFIERS]
    columns = [
        Column(f"{n} bytes", at_bytes(results, n), read, best) for n in results.sizes(coded)
    ]
    head, *body = table(results.methods(), columns)
    for row in body:
        if row[0] in CLASSIFIERS:
            row[0] += f", {bytes_of([results], row[0])} bytes"
    return [head, *body]


def bytes_of(sets, method, n_bytes=None):
    """Bytes of a method as text: these, or of a classifier what it has in several sets."""
    if method not in CLASSIFIERS:
        return f"{n_bytes}"
    sizes = sorted({n for results in sets for n in results.sizes([method])})
    return " to ".join(f"{n}" for n in dict.fromkeys((*sizes[:1], *sizes[-1:])))


def as_figure(value, digits=3, cost=False):
    """A number as pages write it: measures without the zero before the point."""
    text = f"{value:.{digits}f}"
    return text if cost or not digits else text.replace("0.", ".", 1)


def table(methods, columns, sizes=None):
    """Header and rows of text, of methods that have a figure in any of the columns.

    Cells are means ± standard deviations over splits, with the number of splits behind
    where it is less than that of the table; without ± they are one split. The best of the
    means over most splits are bold. ``sizes(method)``, if it is given, is the text of a
    column of bytes.
    """
    cells = [_Cells.of(methods, column) for column in columns]
    n_splits = max((n for column in cells for n in column.n_splits), default=0)
    head = ["method", "hash function", *(column.title for column in columns)]
    rows = [head]
    for i, method in enumerate(methods):
        figures = [column.text(i, n_splits) for column in cells]
        if any(figures):
            rows.append([method, function_of(method), *figures])
    if sizes is not None:
        rows[0].insert(2, "bytes")
        for row in rows[1:]:
            row.insert(2, sizes(row[0]))
    return rows


class _Cells(NamedTuple):
    """Figures of one column."""

    methods: list
    means: list
    spreads: list
    n_splits: list
    best: str
    digits: int
    cost: bool

    @classmethod
    def of(cls, methods, column):
        values = [
            [v for v in map(column.read, column.rows_of(m)) if v is not None]
            for m in methods
        ]
        means = [f"{np.mean(v):.{column.digits}f}" if v else "" for v in values]
        spreads = [float(np.std(v)) if v else 0.0 for v in values]
        n_splits = [len(v) for v in values]
        rivals = [
            float(mean)
            for method, mean, n in zip(methods, means, n_splits)
            if mean and method not in SCORES and n == max(n_splits)
        ]
        best = ""
        if column.best and len(rivals) > 1:
            best = f"{column.best(rivals):.{column.digits}f}"
        return cls(methods, means, spreads, n_splits, best, column.digits, column.cost)

    def text(self, i, n_splits_of_table):
        mean, n_splits = self.means[i], self.n_splits[i]
        if not mean:
            return ""
        shown = as_figure(float(mean), self.digits, self.cost)
        is_rival = self.methods[i] not in SCORES and n_splits == max(self.n_splits)
        is_best = is_rival and mean == self.best
        text = f"**{shown}**" if is_best else shown
        if n_splits > 1 and self.digits:
            text += f" ±{as_figure(self.spreads[i], self.digits, self.cost)}"
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


def as_list_table(rows, widths):
    """A table in reStructuredText whose cells have several lines, each on its own."""
    lines = [".. list-table::", "   :header-rows: 1", "   :stub-columns: 1"]
    lines += [f"   :widths: {' '.join(map(str, widths))}", ""]
    for row in rows:
        for place, cell in enumerate(row):
            mark = "   * -" if place == 0 else "     -"
            for i, line in enumerate(cell or [""]):
                lead = mark if i == 0 else "      "
                lines.append(f"{lead} | {line}".rstrip() if line else mark)
    return "\n".join(lines)
