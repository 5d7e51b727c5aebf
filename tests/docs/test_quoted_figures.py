"""Figures of the comparison are the same wherever a page quotes them.

Each is the mean over three splits of rows in ``benchmarks/comparison/results``.
"""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "user_guide"
RESULTS = ROOT / "benchmarks" / "comparison" / "results"
LENGTHS = 12, 32, 64
CIFAR10, COCO, TMC2007, DIGITS = "cifar10", "coco17", "tmc2007", "digits"
ADDITIVE, SCORES = "logistic + additive", "logistic scores"


def mean(data, method, n_bits, column="ap"):
    """A figure as pages write it, without the zero before the point."""
    with open(RESULTS / f"{data}-defaults.csv", newline="") as file:
        found = [
            float(row[column])
            for row in csv.DictReader(file)
            if (row["method"], int(row["n_bits"])) == (method, n_bits)
        ]
    assert len(found) == 3
    return f"{np.mean(found):.3f}".lstrip("0")


def means(data, method, column="ap", lengths=LENGTHS):
    return [mean(data, method, n_bits, column) for n_bits in lengths]


def figures(text):
    return re.findall(r"(?<![\d])0?(\.\d{3})(?!\d)", text)


def table_rows(page, *first_cells):
    """The other cells of the rows of list tables that begin with these cells."""
    text = (GUIDE / page).read_text(encoding="utf-8")
    begin = "   * - " + "\n     - ".join(first_cells) + "\n"
    rest = [part.split("\n   * - ")[0] for part in text.split(begin)[1:]]
    return [re.findall(r"     - ?(.*)", cells.split("\n\n")[0]) for cells in rest]


def test_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (paragraph,) = re.findall(r"\*\*Queries need not be rounded.*?\n\n", text, re.S)
    additive = means(CIFAR10, ADDITIVE, "ap_float")[:2]
    assert figures(paragraph) == [*additive, mean(CIFAR10, "TALR-AP", 32)]
    for word in ("three splits", "5 000 training rows", "1 000 queries", "59 000 rows"):
        assert word in paragraph.replace("\n", " ")


@pytest.mark.parametrize(
    ("row", "method", "n_bits", "column"),
    [
        ("predicted class, one bit for each class", "logistic one-hot", 0, "ap"),
        ("TALR, linear, 32 bits, Hamming distance", "TALR-AP", 32, "ap"),
        ("probabilities as floats on both sides, inner products", SCORES, 0, "ap_float"),
    ],
)
def test_choose_a_method(row, method, n_bits, column):
    expected = [mean(data, method, n_bits, column) for data in (DIGITS, CIFAR10, TMC2007)]
    assert table_rows("choose.rst", row) == [expected]


@pytest.mark.parametrize("column", ["ap", "ap_float"])
@pytest.mark.parametrize(
    ("row", "method"),
    [
        ("TALR", "TALR-AP"),
        ("TALR, hidden layer", "TALR-AP, hidden layer"),
        ("TALR of probabilities", "logistic + TALR-AP"),
        ("additive bits of probabilities", ADDITIVE),
    ],
)
def test_codes_for_weighted_queries(row, method, column):
    queries = "binary" if column == "ap" else "weighted"
    cells = table_rows("weighted_queries.rst", row, queries)[0]  # the first table is of AP
    cifar10, coco, tmc2007, digits = map(figures, cells)
    assert cifar10 == means(CIFAR10, method, column)
    assert digits == means(DIGITS, method, column)
    assert coco[1] == mean(COCO, method, 32, column)
    assert tmc2007[1] == mean(TMC2007, method, 32, column)


@pytest.mark.parametrize("method", ["DPSH", "DTSH", "MIHash", "TALR-AP"])
def test_published_numbers_beside_ours(method):
    cells = table_rows("data.rst", method)[0]  # the first table is of CIFAR-10
    assert cells[4:] == means(CIFAR10, method, lengths=(12, 24, 32, 48))


@pytest.mark.parametrize("function", ["linear", "hidden layer"])
@pytest.mark.parametrize(("name", "data"), [("CIFAR-10", CIFAR10), ("digits", DIGITS)])
def test_hidden_layer_by_default(function, name, data):
    text = (GUIDE / "comparison.rst").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^{name} +{function} +(\S*\d.*)$", text, re.M)
    method = "TALR-AP" if function == "linear" else "TALR-AP, hidden layer"
    assert figures(line) == means(data, method)
