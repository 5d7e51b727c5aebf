"""The page that says where every table of the guide comes from, written from registers."""

from pathlib import PurePosixPath

from guide_tables import NotMeasuredError, measured, plain
from listed_tables import COMPARED_ELSEWHERE, NOT_KEPT, SECONDS, WITHOUT_FILE
from measured_tables import TABLES

PAGE = "user_guide/measurements.rst"
TEXT = """\
Where every table comes from
============================

Most tables of this guide are measured, and most of these come from a CSV file in the folder
``benchmarks/results`` or ``benchmarks/comparison/results`` of the source. This page lists
the tables with the command that measures each one. Terms are in the
:doc:`glossary </glossary>`.

* Put ``python benchmarks/`` before a command of this page. It needs the package with its
  extra ``bench``, and mostly the feature sets: ``SKLEARN_TALR_DATA`` names their folder
  (:doc:`data`).
* A command adds rows to its file. What the file has is not measured again, so that a
  command that was ended goes on. Name another file by ``--csv`` to measure all anew.
* Where a file has a column ``machine``, it holds the versions and the processor of each
  row. ``benchmarks/results/README.md`` says what all columns mean.
* Numbers of your machine may differ in the third decimal: training amplifies rounding
  (:doc:`training`).

Tests compare each cell of the first table below with its CSV file, and the numbers of many
sentences too. So these pages cannot say what the files do not. After something was measured
anew, ``python tests/docs/write_tables.py`` writes the tables and this page.

The tables of :doc:`comparison`, :doc:`comparison_details` and :doc:`comparison_tables` that
are not listed here are written by ``benchmarks/comparison/render_page.py`` from
``benchmarks/comparison/results``.
"""
GROUPS = [
    (
        "Compared with their files",
        "The first column names the page, the second what the table begins with.",
    ),
    (
        "Waiting for their files",
        "A command measures these tables into a file. But the cells were measured before "
        "there was one, and nothing compares them until all rows are measured anew.",
    ),
    (
        "Seconds and memory",
        "Times depend on the machine, and on what else it does. These tables name theirs, "
        "and nothing compares them. Without a command, calls were timed by hand. Most "
        "scripts keep what they print if the environment variable "
        "``SKLEARN_TALR_SECONDS`` names a CSV file.",
    ),
    (
        "Measured once",
        "Most of these are ideas that did not help. The code that tried them is not kept, "
        "so these numbers are a report, and not something to repeat.",
    ),
]


def render():
    """The whole page."""
    ready, waiting = [], []
    for table in TABLES:
        (ready if table.is_measured() else waiting).append(table)
    groups = (
        [*ready, *COMPARED_ELSEWHERE],
        [*waiting, *WITHOUT_FILE],
        SECONDS,
        NOT_KEPT,
    )
    parts = [TEXT]
    for (title, text), listed in zip(GROUPS, groups):
        if listed:
            parts.append(f"{title}\n{'-' * len(title)}\n\n{filled(text)}\n\n{rows(listed)}")
    return "\n".join(parts)


def rows(listed):
    """A list table: page, table, command and files."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 20 28 32 20", ""]
    cells = [("page", "table", "command", "files")]
    cells += sorted(dict.fromkeys(map(cells_of, listed)))
    for row in cells:
        lines += [
            f"   {'  -' if n else '* -'} {cell}".rstrip() for n, cell in enumerate(row)
        ]
    return "\n".join(lines) + "\n"


def cells_of(listed):
    table = listed.load()
    page = f":doc:`{PurePosixPath(table.page).stem}`"
    if table.page.count("/") == 0:
        page = f":doc:`/{PurePosixPath(table.page).stem}`"
    files = ", ".join(f"{name}.csv" for name in listed.files)
    commands = [command.replace("python benchmarks/", "") for command in listed.script]
    return page, begins_with(table), ", ".join(f"``{one}``" for one in commands), files


def begins_with(table):
    """The title, or else the first words of the head and the label of a row."""
    if table.title:
        return table.title
    head = [plain(cell) for cell in table.rows[0] if plain(cell) not in ("", "..")]
    return f"{head[0]} | {head[1]}" if len(head) > 1 else head[0]


def filled(text, width=92):
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) + 1 > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def files_of_tables():
    """CSV files that tables show, without folder and ending."""
    found = set()
    for table in [*TABLES, *COMPARED_ELSEWHERE]:
        for name in table.files:
            try:
                measured(name)
            except NotMeasuredError:
                continue
            found.add(name)
    return found
