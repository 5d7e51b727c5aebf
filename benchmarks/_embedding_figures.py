"""CSV files of the benchmark of embeddings: a row for each search by each code."""

import csv
from typing import NamedTuple


class Cell(NamedTuple):
    """What is fitted and encoded once."""

    data: str
    seed: int
    n_train: int
    budget: int  # bytes
    contender: str


class Figure(NamedTuple):
    """What was measured of one search of a cell; seconds are those of the whole cell."""

    data: str
    seed: int
    n_train: int
    budget: int
    contender: str
    search: str
    recall: float
    fit_seconds: float
    encode_seconds: float
    n_database: int
    n_bytes: int

    @property
    def cell(self):
        return Cell(*self[: len(Cell._fields)])


def append(path, figures):
    """Write rows at the end of the file, which begins with the names of the columns."""
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(figures[0]._fields)
        writer.writerows(figures)
    for figure in figures:
        print(*figure, flush=True)


def read(path, kind=Figure):
    """Figures of the file, of a kind; none if there is no file."""
    if not path.exists():
        return []
    kinds = kind.__annotations__.values()
    with path.open(newline="") as file:
        _, *rows = csv.reader(file)
    return [kind(*(of(cell) for of, cell in zip(kinds, row))) for row in rows]
