"""Whether numbers in README and in the guide are those of the tables they name.

    python docs/check_numbers.py

Tables are the files in ``docs/user_guide/tables``. Two things are compared:

* A table of Markdown below a comment ``<!-- table: FILE -->`` has cells of that file only,
  in rows of the same name and columns of the same head.
* Files that ``benchmarks/write_tables.py`` makes follow from the results.
"""

import csv
import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "docs" / "user_guide" / "tables"
NAMED = re.compile(r"<!-- table: (\S+) -->\n\n((?:\|.*\n)+)")


def read(name):
    """Cells by the first cell of their row and the head of their column."""
    with open(TABLES / name, newline="") as file:
        head, *rows = csv.reader(file)
    return {
        (row[0], column): cell for row in rows for column, cell in zip(head[1:], row[1:])
    }


def wrong_cells(text):
    """Yield what is wrong with the tables of a text that name a file."""
    for name, table in NAMED.findall(text):
        known = read(name)
        lines = [
            [cell.strip() for cell in line.strip("|").split("|")]
            for line in table.splitlines()
        ]
        head, _, *rows = lines
        for first, *cells in rows:
            for column, cell in zip(head[1:], cells):
                true = known.get((first, column))
                if true != cell:
                    yield f"{name}: {first}, {column} is {true}, not {cell}"


def stale_tables():
    """Yield files that do not follow from the results any more."""
    writer = runpy.run_path(str(ROOT / "benchmarks" / "write_tables.py"))
    for name, make in writer["TABLES"].items():
        if (TABLES / f"{name}.csv").read_text() != writer["as_text"](make()):
            yield f"{name}.csv: run benchmarks/write_tables.py"


def unknown_tables():
    """Yield tables that a page names and that do not exist, or that no page shows."""
    pages = [path.read_text() for path in (ROOT / "docs").rglob("*.rst")]
    shown = set(re.findall(r":file: tables/(\S+)", "\n".join(pages)))
    there = {path.name for path in TABLES.glob("*.csv")}
    yield from (f"{name}: no such table" for name in shown - there)
    yield from (f"{name}: no page shows it" for name in there - shown)


def faults():
    yield from wrong_cells((ROOT / "README.md").read_text())
    yield from stale_tables()
    yield from unknown_tables()


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found) or "All numbers are those of their tables.")
    sys.exit(bool(found))
