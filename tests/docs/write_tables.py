"""Write into the tables of the guide what the CSV files of the benchmarks hold.

    python tests/docs/write_tables.py            # all that tests compare
    python tests/docs/write_tables.py "seen in"  # tables with these words
    python tests/docs/write_tables.py --check    # only say what differs
    python tests/docs/write_tables.py --waiting  # commands of tables that have no file yet

The last prints commands for a shell: ``... --waiting | sh`` measures for hours.

Bold type stays where it is: mark the best numbers anew by hand, and read the sentences.
"""

import re
import sys

from guide_tables import ROOT, list_rows, pages, plain, tables
from measured_tables import TABLES
from measurements_page import PAGE, render


def write(measured):
    """Write one table; returns whether the page has changed."""
    cells = measured.expected()
    table = measured.table
    rows = [list(row) for row in table.rows]
    for (i, j), text in cells.items():
        rows[i][j] = with_marks(rows[i][j], text)
    if rows == table.rows:
        return False
    path = ROOT / "docs" / table.page
    lines = path.read_text("utf-8").split("\n")
    body = lines[table.first : table.last]
    if "list-table" in body[0]:
        body = list_table(body, rows)
    elif "csv-table" in body[0]:
        body = csv_table(body, rows)
    else:
        body = simple_table(body, rows)
    lines[table.first : table.last] = body
    path.write_text("\n".join(lines), "utf-8")
    pages.cache_clear()
    tables.cache_clear()
    return True


def with_marks(cell, text):
    """The text with the bold type of the cell: of all, or of some of several numbers."""
    if "**" not in cell or cell == text:
        return text
    old, new = cell.split(", "), text.split(", ")
    if len(old) != len(new):
        return f"**{text}**"
    return ", ".join(f"**{b}**" if "**" in a else b for a, b in zip(old, new))


def list_table(lines, rows):
    """The same directive; cells of one line are replaced, and long ones stay."""
    start = next(n for n, line in enumerate(lines) if re.match(r" *\* -( |$)", line))
    assert len(list_rows(lines[start:])) == len(rows)
    out, place = lines[:start], start
    for row in rows:
        for number, cell in enumerate(row):
            mark = "* - " if number == 0 else "  - "
            indent = len(lines[place]) - len(lines[place].lstrip())
            indent -= 2 * (number > 0)
            last = place + 1
            while last < len(lines) and not re.match(r" *(\* )?-( |$)", lines[last]):
                last += 1
            old = " ".join(" ".join(lines[place:last]).split())
            if plain(old.lstrip("*- ")) == plain(cell.lstrip("*- ")):
                out += lines[place:last]
            else:
                out.append((" " * indent + mark + cell).rstrip())
            place = last
    return out


def csv_table(lines, rows):
    """The same directive, with the cells after the first line by line."""
    body = [n for n, line in enumerate(lines) if line.strip() and n and ":" not in line[:8]]
    out, has_header = list(lines), any(":header:" in line for line in lines)
    for n, row in zip(body, rows[has_header:]):
        cells = [f'"{cell}"' if "," in cell else cell for cell in row]
        quoted = lines[n].lstrip().startswith('"')
        if quoted and not cells[0].startswith('"'):
            cells[0] = f'"{cells[0]}"'
        line = "   " + ", ".join(cells)
        if [c.strip(' "') for c in lines[n].split(",")] != [
            c.strip(' "') for c in line.split(",")
        ]:
            out[n] = line
    return out


def simple_table(lines, rows):
    """Columns as wide as their cells."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    rule = "  ".join("=" * width for width in widths)
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in rows
    ]
    n_heads = next(n for n, line in enumerate(lines[1:]) if set(line) <= set("= "))
    return [rule, *text[:n_heads], rule, *text[n_heads:], rule]


def main(words):
    options = {word for word in words if word.startswith("--")}
    words = set(words) - options
    asked = [table for table in TABLES if asks_for(words, table)]
    ready = [table for table in asked if table.is_measured()]
    if "--waiting" in options:
        waiting = [command for t in asked if t not in ready for command in t.script]
        print("\n".join(dict.fromkeys(waiting)))
    elif "--check" in options:
        print("".join(f"{line}\n" for table in ready for line in table.differences()))
    else:
        for table in ready:
            if write(table):
                print(f"{table.table.page}: {', '.join(table.find)}")
        (ROOT / "docs" / PAGE).write_text(render(), "utf-8")


def asks_for(words, table):
    return not words or any(word in " ".join(table.find) for word in words)


if __name__ == "__main__":
    main(sys.argv[1:])
