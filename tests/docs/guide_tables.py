"""Tables of the guide as cells, and cells as the CSV files of the benchmarks have them.

A table is found by words of its title, its header or its first column: it may move
from page to page. ``Measured`` says which rows of a CSV file each cell shows, and
how. ``differences`` compares; ``python tests/docs/write_tables.py`` writes what is measured
into the pages.
"""

import csv
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "user_guide"
RESULTS = ROOT / "benchmarks" / "results"
COMPARISON = ROOT / "benchmarks" / "comparison" / "results"
DIRECTIVE = re.compile(r"^ *\.\. (list-table|csv-table):: *(.*)$")


class NotMeasuredError(LookupError):
    """A CSV file lacks rows of a table, or there is no file yet."""


class Table(NamedTuple):
    """A table of a page: its title, or none, and its cells by rows, header and all.

    Its lines are from `first` to before `last`, counted from 0.
    """

    page: str
    title: str
    rows: list
    first: int
    last: int

    def words(self):
        """What it is found by."""
        heads = list(map(plain, self.rows[0]))
        firsts = [f"first cell: {heads[0]}", f"first cells: {', '.join(heads[:3])}"]
        return [self.title, *heads, *firsts, *(plain(row[0]) for row in self.rows)]


TERM = re.compile(r":term:`([^`<]+?)(?:\s*<[^`>]*>)?`")


def plain(cell):
    """A cell without marks of bold type and links to the glossary."""
    return " ".join(TERM.sub(r"\1", cell).replace("**", "").split())


@cache
def pages():
    """Lines of every page of the guide, by its name."""
    paths = sorted([*GUIDE.rglob("*.rst"), ROOT / "docs" / "quickstart.rst"])
    return {
        path.relative_to(ROOT / "docs").as_posix(): path.read_text("utf-8").split("\n")
        for path in paths
    }


@cache
def tables():
    """All tables of the guide."""
    return [table for page, lines in pages().items() for table in tables_of(page, lines)]


def tables_of(page, lines):
    found, place = [], 0
    while place < len(lines):
        match = DIRECTIVE.match(lines[place])
        is_simple = re.fullmatch(r" *=+( +=+)+ *", lines[place])
        if match:
            last = end_of_directive(lines, place)
            read = list_rows if match[1] == "list-table" else csv_rows
            rows = read(lines[place + 1 : last])
            found.append(Table(page, match[2], rows, place, last))
        elif is_simple:
            last = place + 1
            while last < len(lines) and lines[last].strip():
                last += 1
            rows = simple_rows(lines[place:last])
            found.append(Table(page, "", rows, place, last))
        else:
            last = place + 1
        place = last
    return [table for table in found if table.rows]


def end_of_directive(lines, place):
    """Where the body of a directive ends: at a line that is indented no more than it."""
    indent = len(lines[place]) - len(lines[place].lstrip())
    last = place + 1
    while last < len(lines) and (
        not lines[last].strip() or len(lines[last]) - len(lines[last].lstrip()) > indent
    ):
        last += 1
    while not lines[last - 1].strip():
        last -= 1
    return last


def list_rows(lines):
    text = "\n".join(lines)
    rows = re.split(r"^ *\* - ?", text, flags=re.MULTILINE)[1:]
    return [
        [" ".join(cell.split()) for cell in re.split(r"\n +- ?|\n +-$", row)]
        for row in rows
    ]


def csv_rows(lines):
    (header,) = [line.split(":header:")[1] for line in lines if ":header:" in line] or [""]
    body = [line.strip() for line in lines if line.strip() and line.strip()[0] != ":"]
    rows = csv.reader([header.strip()] * bool(header) + body, skipinitialspace=True)
    return [[cell.strip().replace("\\ ", "") for cell in row] for row in rows]


def simple_rows(lines):
    """Columns are below the signs of equality; rules are left out."""
    spans = [match.span() for match in re.finditer("=+", lines[0])]
    starts = [start for start, _ in spans]
    ends = [*starts[1:], None]
    body = [line for line in lines if not re.fullmatch(r"[ =-]+", line)]
    return [[line[a:b].strip() for a, b in zip(starts, ends)] for line in body]


def find_table(*words):
    """The one table that has all these words as title, head or first cell."""
    found = [table for table in tables() if set(words) <= set(table.words())]
    if len(found) == 1:
        return found[0]
    places = ", ".join(f"{table.page}:{table.first + 1}" for table in found) or "none"
    raise LookupError(f"Tables of the guide with {words}: {places}.")


def measured(name):
    """Rows of a CSV file: of ``benchmarks/results``, or of the comparison."""
    for folder in (RESULTS, COMPARISON):
        if (folder / f"{name}.csv").exists():
            return read_csv(folder / f"{name}.csv")
    raise NotMeasuredError(name)


@cache
def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def pick(rows, **wanted):
    """Rows that have these values; a tuple or list names several."""
    some = {
        name: set(map(str, value)) if isinstance(value, (list, tuple)) else {str(value)}
        for name, value in wanted.items()
    }
    return [row for row in rows if all(row[name] in some[name] for name in some)]


def short(value, digits=3):
    """A measure as the guide writes it: .642, without the zero before the point."""
    text = f"{value:.{digits}f}" if np.isfinite(value) else ""
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


def signed(value, digits=3):
    """A difference: +.004, and .000 without a sign."""
    text = short(value, digits)
    if not float(text):
        return text.lstrip("-")
    return text if text[0] == "-" else "+" + text


def by_seed(rows, column):
    """Values of a column by split."""
    return {row.get("seed", "0"): float(row[column]) for row in rows}


def mean(rows, column):
    """Mean of a column, NaN if there are no rows."""
    values = [float(row[column]) for row in rows]
    return float(np.mean(values)) if values else np.nan


def gains(rows, reference, column):
    """Differences on the splits that both have."""
    ours, theirs = by_seed(rows, column), by_seed(reference, column)
    return np.array([ours[seed] - theirs[seed] for seed in ours if seed in theirs])


@dataclass
class Measured:
    """What the cells of one table show.

    Parameters
    ----------
    find : tuple of str
        Words that no other table has: see `find_table`.

    script : str or tuple of str
        The command that measures it, from the root of the repository, or several.

    files : str or tuple of str
        CSV files, without folder and ending.

    cell : callable
        Of the labels of a row and of a column; returns the text of the cell, or None where
        the cell is not measured (a label, a note).

    n_labels : int, default=1
        Columns at the left that are labels of the row.

    n_heads : int, default=1
        Rows at the top that are labels of the columns.
    """

    find: tuple
    script: tuple
    files: tuple
    cell: callable
    n_labels: int = 1
    n_heads: int = 1
    table: Table = field(init=False, default=None)

    def __post_init__(self):
        self.files = (self.files,) if isinstance(self.files, str) else self.files
        self.script = (self.script,) if isinstance(self.script, str) else self.script

    def load(self):
        self.table = find_table(*self.find)
        return self.table

    def expected(self):
        """Texts of the measured cells by row and column."""
        rows, cells = self.load().rows, {}
        heads = rows[: self.n_heads]
        columns = [plain(" ".join(head[j] for head in heads)) for j in range(len(rows[0]))]
        for i, row in enumerate(rows[self.n_heads :], self.n_heads):
            label = [plain(cell) for cell in row[: self.n_labels]]
            for j in range(self.n_labels, len(row)):
                text = self.cell(*label, columns[j])
                if text is not None:
                    cells[i, j] = text
        return cells

    def is_measured(self):
        """Whether the CSV files have all of it."""
        try:
            return bool(self.expected())
        except NotMeasuredError:
            return False

    def differences(self):
        """Lines that say where the page and the CSV files disagree."""
        found, cells = [], self.expected()
        if not cells:
            return [f"No cell of the table {self.find} was compared."]
        for (i, j), text in cells.items():
            row = self.table.rows[i]
            if plain(row[j]) != text:
                labels = [plain(label) for label in row[: self.n_labels]]
                labels.append(plain(self.table.rows[0][j]))
                found.append(
                    f"{self.table.page}, line {self.table.first + 1}: {' / '.join(labels)} "
                    f"is {plain(row[j])!r}, and {', '.join(self.files)} says {text!r}"
                )
        return found


def assert_same(measured):
    """Fail with a line for each cell that differs."""
    found = measured.differences()
    assert not found, "\n" + "\n".join(found)
