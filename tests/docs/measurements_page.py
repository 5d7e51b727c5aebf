"""The page that says where every table of the guide comes from, written from registers."""

import re
from itertools import pairwise
from pathlib import PurePosixPath

from guide_tables import NotMeasuredError, measured, pages, plain
from listed_tables import COMPARED_ELSEWHERE, NOT_KEPT, SECONDS, WITHOUT_FILE
from measured_tables import TABLES

PAGE = "user_guide/measurements.rst"
TEXT = """\
Where every table comes from
============================

Most tables of this guide are measured, and most of these come from a CSV file in the folder
``benchmarks/results`` or ``benchmarks/comparison/results`` of the source. This page lists
the tables with the command that measures each one. What a table shows, and its terms, are
explained on its page and in the :doc:`glossary </glossary>`.

* Put ``python benchmarks/`` before a command of this page. It needs the package with its
  extra ``bench``, and mostly the feature sets: ``SKLEARN_TALR_DATA`` names their folder
  (:doc:`data`).
* A command adds rows to its file. Rows that the file has are not measured again. So a
  command that was interrupted goes on where it stopped when it is called again. To measure
  all anew, move the file away, or name another one by ``--csv`` where a script has that.
* Commands whose file is ``seconds.csv`` keep what they measure only if the environment
  variable ``SKLEARN_TALR_SECONDS`` names this file. Times are worth keeping from a quiet
  machine only.
* Where a file has a column ``machine``, it holds the versions and the processor of each
  row. ``benchmarks/results/README.md`` says what all columns mean.
* Numbers of your machine may differ in the third decimal: training amplifies rounding
  (:doc:`training`).

Tests compare each cell of the first table below with its CSV file, and the numbers of many
sentences too. After something was measured anew, ``python tests/docs/write_tables.py``
writes the tables and this page.

The tables of :doc:`comparison`, :doc:`comparison_details` and :doc:`comparison_tables` that
are not listed here are written by ``benchmarks/comparison/render_page.py`` from
``benchmarks/comparison/results``.
"""
GROUPS = [
    (
        "Compared with their files",
        "The first column names the page. The second has the section, and then the title "
        "of the table, or the first two cells of its head.",
    ),
    (
        "Waiting for their files",
        "The commands write these tables to files. But the cells were measured before the "
        "commands did so. Until all rows are measured anew, no test compares them.",
    ),
    (
        "Seconds and memory",
        "Times depend on the machine, and on what else it does. The pages name the "
        "machine, and no test compares these tables. Where no command is given, calls were "
        "timed by hand.",
    ),
    (
        "Measured once",
        "Most of these are ideas that did not help. The code that tried them is not kept, "
        "so these numbers cannot be measured again.",
    ),
]


def render():
    """The whole page."""
    ready, waiting = [], []
    for table in TABLES:
        (ready if table.is_measured() else waiting).append(table)
    compared, without = [*ready, *COMPARED_ELSEWHERE], [*waiting, *WITHOUT_FILE]
    shown = {place(table) for table in (*compared, *without)}
    seconds = [table for table in SECONDS if place(table) not in shown]
    groups = compared, without, seconds, NOT_KEPT
    parts = [TEXT]
    for (title, text), listed in zip(GROUPS, groups):
        if listed:
            parts.append(f"{title}\n{'-' * len(title)}\n\n{filled(text)}\n\n{rows(listed)}")
    return "\n".join(parts)


def place(listed):
    table = listed.load()
    return table.page, table.first


def rows(listed):
    """A list table: page, table, command and files."""
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: 20 28 32 20", ""]
    cells = [("page", "section: table", "command", "files")]
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
    """The section, and the title or else the first cells of the head."""
    head = [plain(cell) for cell in table.rows[0] if plain(cell) not in ("", "..")]
    words = table.title or " | ".join(head[:2])
    section = section_of(table)
    return words if section in ("", words) else f"{section}: {words}"


def section_of(table):
    """The heading above a table, without the title of the page."""
    lines = pages()[table.page][: table.first]
    titles = [
        line
        for line, rule in pairwise(lines)
        if line and re.fullmatch(r"([=~^-])\1{3,}", rule) and len(rule) == len(line)
    ]
    return titles[-1].rstrip("?") if len(titles) > 1 else ""


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
