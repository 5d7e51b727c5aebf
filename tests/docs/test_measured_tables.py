"""Tables of the guide show what the CSV files of the benchmarks hold."""

import re

import pytest
from guide_tables import ROOT, assert_same, find_table, plain, tables
from listed_tables import (
    COMPARED_ELSEWHERE,
    NOT_KEPT,
    NOT_MEASURED,
    SECONDS,
    WITHOUT_FILE,
)
from measured_tables import TABLES
from measurements_page import PAGE, render


@pytest.mark.parametrize("table", TABLES, ids=lambda table: ", ".join(table.find))
def test_cells(table):
    assert_same(table)


def test_every_table_with_numbers_is_listed():
    listed = [*SECONDS, *NOT_KEPT, *WITHOUT_FILE, *COMPARED_ELSEWHERE]
    known = {place(table.load()) for table in [*TABLES, *listed]}
    known |= {place(find_table(*words)) for words in NOT_MEASURED}
    missing = [
        f"{table.page}, line {table.first + 1}"
        for table in tables()
        if has_numbers(table) and place(table) not in known and table.page != PAGE
    ]
    assert not missing, f"Tables that are in no register: {missing}"


def place(table):
    return table.page, table.first


def has_numbers(table):
    """Whether two cells or more begin with a number."""
    cells = [plain(cell) for row in table.rows[1:] for cell in row[1:]]
    return sum(re.match(r"[-+±<>~]?\.?\d", cell) is not None for cell in cells) > 1


def test_page_of_measurements_is_up_to_date():
    path = ROOT / "docs" / PAGE
    assert path.read_text("utf-8") == render(), "Run python tests/docs/write_tables.py."
