"""Figures of the comparison are the same wherever a page quotes them.

Each is of rows in ``benchmarks/comparison/results``: of the first split where the teacher
is among them, and elsewhere the mean over three.
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
SETS = CIFAR10, COCO, TMC2007, DIGITS
TALR, ADDITIVE, SCORES = "kernel + TALR-AP", "kernel + additive", "kernel scores"


def rows(data, method, n_bits):
    with open(RESULTS / f"{data}-defaults.csv", newline="") as file:
        for row in csv.DictReader(file):
            if (row["method"], int(row["n_bits"])) == (method, n_bits):
                yield row


def first(data, method, n_bits, column="ap"):
    """A figure of the first split, as pages write it."""
    (found,) = [row for row in rows(data, method, n_bits) if row["seed"] == "0"]
    return f"{float(found[column]):.3f}".lstrip("0")


def mean(data, method, n_bits, column="ap"):
    """A figure as pages write it, without the zero before the point."""
    found = [float(row[column]) for row in rows(data, method, n_bits)]
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
    (paragraph,) = re.findall(r"\*\*Short codes rank well.*?\n\n", text, re.S)
    by_bits = [first(CIFAR10, TALR, n_bits) for n_bits in (12, 32)]
    weighted = [first(CIFAR10, ADDITIVE, n_bits, "ap_float") for n_bits in (12, 32)]
    assert figures(paragraph) == [*by_bits, *weighted, first(CIFAR10, "TALR-AP", 32)]
    for word in ("first split", "5 000 training rows", "1 000 queries", "59 000 rows"):
        assert word in paragraph.replace("\n", " ")


@pytest.mark.parametrize(
    ("row", "method", "n_bits", "column"),
    [
        ("predicted class, one bit for each class", "kernel one-hot", 0, "ap"),
        ("TALR of the features, 32 bits, Hamming distance", "TALR-AP", 32, "ap"),
        ("teacher and TALR, 32 bits, Hamming distance", TALR, 32, "ap"),
        (
            "teacher and additive bits, 32 bits, weighted queries",
            ADDITIVE,
            32,
            "ap_float",
        ),
        ("probabilities as floats on both sides, inner products", SCORES, 0, "ap_float"),
    ],
)
def test_choose_a_method(row, method, n_bits, column):
    expected = [first(data, method, n_bits, column) for data in (DIGITS, CIFAR10, TMC2007)]
    assert table_rows("choose.rst", row) == [expected]


@pytest.mark.parametrize("column", ["ap", "ap_float"])
@pytest.mark.parametrize(
    ("row", "method"),
    [
        ("TALR", "TALR-AP"),
        ("TALR, hidden layer", "TALR-AP, hidden layer"),
        ("logistic, then TALR", "logistic + TALR-AP"),
        ("logistic, then additive bits", "logistic + additive"),
        ("teacher, then TALR", TALR),
        ("teacher, then additive bits", ADDITIVE),
    ],
)
def test_codes_for_weighted_queries(row, method, column):
    queries = "binary" if column == "ap" else "weighted"
    of_ap, of_ndcg = table_rows("weighted_queries.rst", row, queries)[:2]
    for data, cell in zip(SETS, of_ap):
        assert figures(cell) == [first(data, method, n, column) for n in (12, 32)]
    column = column.replace("ap", "ndcg")
    for data, cell in zip((COCO, TMC2007), of_ndcg):
        assert figures(cell) == [first(data, method, n, column) for n in (12, 32)]


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
