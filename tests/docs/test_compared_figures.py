"""Figures of BitBudget and mteb are those of the benchmarks' CSV files."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "user_guide" / "where_people_compare.rst").read_text("utf-8")
TITLES = {"scifact": "SciFact", "cran": "Cranfield", "cisi": "CISI"}


def read(name):
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def by_method(rows, method):
    """Rows of each method and set."""
    groups = defaultdict(list)
    for row in rows:
        groups[row[method], row["data"]].append(row)
    return groups


def mean(rows, column):
    return np.mean([float(row[column]) for row in rows])


def written(value):
    """A measure as pages write it, without the zero before the point."""
    return f"{value:.3f}".lstrip("0")


def lines(title):
    """Lines of a csv-table of the page: the first cell, and the others."""
    table = PAGE.split(f".. csv-table:: {title}\n")[1].split("\n\n")[1]
    return [(name, rest.split(", ")) for name, rest in re.findall(r'"(.*)", (.*)', table)]


def test_percent_of_floats():
    groups = by_method(read("bitbudget"), "method")
    shown = lines("BitBudget's protocol, percent of floats")
    assert len(shown) == 18
    for name, cells in shown:
        of_sets = [groups[name, data] for data in TITLES]
        shared = max(mean(rows, "shared_bytes") for rows in of_sets) / 1024
        kept = [f"{mean(rows, 'pct_float'):.1f}" for rows in of_sets]
        assert cells == [f"{mean(of_sets[0], 'bytes'):.0f}", f"{shared:.0f}", *kept]


def test_what_ties_do():
    groups = by_method(read("bitbudget"), "method")
    shown = lines("nDCG@10 of methods that count bits")
    assert len(shown) == 12
    widths = defaultdict(list)
    for name, (title, *cells) in shown:
        (rows,) = (groups[name, data] for data in TITLES if TITLES[data] == title)
        columns = "ndcg", "worst", "expected", "best", "shuffled_low", "shuffled_high"
        *numbers, low, high = (written(mean(rows, column)) for column in columns)
        moved = f"{mean(rows, 'moved'):.0%}"
        assert cells == [*numbers, f"{low} to {high}", moved]
        n_bits = 128 if "128" in name else 384
        widths[n_bits].append(mean(rows, "best") - mean(rows, "worst"))
    for n_bits, before in ((384, "At 384 bits worst and best are"), (128, "at 128 bits")):
        low, high = map(written, np.percentile(widths[n_bits], [0, 100]))
        assert f"{before} {low} to {high}" in " ".join(PAGE.split())


def test_numbers_of_one_order_lie_between_worst_and_best():
    rows = read("bitbudget")
    integers = ("binary", "ITQ, Hamming")
    for row in rows:
        low, reported, high = (float(row[key]) for key in ("worst", "ndcg", "best"))
        assert low - 1e-4 <= reported <= high + 1e-4
        assert low <= float(row["expected"]) <= high
        if not row["method"].startswith(integers) or "rerank" in row["method"]:
            assert high - low <= 0.00101
        else:
            assert high - low > 0.01


@pytest.mark.parametrize(
    ("data", "first", "second", "field", "text"),
    [
        ("scifact", "additive bits, 256", "rabitq", "difference", "-.002"),
        ("cran", "additive bits, 256", "rabitq", "difference", "+.018"),
        ("cisi", "additive bits, 256", "rabitq", "difference", "+.034"),
        ("scifact", "additive bits, 256", "binary", "difference", "+.037"),
        ("cran", "additive bits, 256", "binary", "difference", "+.072"),
        ("cisi", "additive bits, 256", "binary", "difference", "+.057"),
        ("cran", "additive bits, 256", "ITQ, Hamming, 384", "difference", "+.029"),
        ("scifact", "additive bits, 192", "additive bits, 256", "difference", "-.018"),
        ("scifact", "additive bits, 192", "rabitq", "difference", "-.020"),
        ("scifact", "additive bits, 352", "rabitq", "difference", "+.013"),
        ("cran", "additive bits, 352", "rabitq", "difference", "+.017"),
        ("cisi", "additive bits, 352", "rabitq", "difference", "+.030"),
        ("scifact", "additive bits, 352", "pq", "difference", "+.019"),
        ("cran", "additive bits, 352", "pq", "difference", "+.010"),
        ("cisi", "additive bits, 352", "pq", "difference", "+.024"),
        ("scifact", "additive bits, 256", "rabitq", "adjusted_p_value", "+1.000"),
        ("cran", "additive bits, 256", "rabitq", "adjusted_p_value", "+.259"),
        ("cisi", "additive bits, 256", "rabitq", "adjusted_p_value", "+.103"),
        ("cran", "additive bits, 256", "ITQ, Hamming, 384", "adverse_p_value", "+.277"),
    ],
)
def test_pairs(data, first, second, field, text):
    (row,) = [
        row
        for row in read("bitbudget_pairs")
        if [row["data"], row["first"], row["second"]] == [data, first, second]
    ]
    assert f"{float(row[field]):+.3f}".replace("0.", ".", 1) == text
    if field == "difference":
        assert text.lstrip("+") in PAGE or text.lstrip("+-") in PAGE


def test_what_is_separated():
    pairs = {
        (row["data"], row["first"], row["second"]): row for row in read("bitbudget_pairs")
    }

    def separated(data, second, field="adjusted_p_value", first="additive bits, 256"):
        return float(pairs[data, first, second][field]) <= 0.05

    for data in TITLES:
        assert not separated(data, "rabitq")
        assert not separated(data, "pq")
        assert separated(data, "binary", "adverse_p_value")
        assert separated(data, "binary-mean", "adverse_p_value") == (data != "cisi")
        assert not separated(data, "rabitq", first="additive bits, 352")
        assert separated(data, "pq", first="additive bits, 352") == (data == "scifact")
    assert separated("cran", "ITQ, Hamming, 384")
    for data in TITLES:
        better = [
            second
            for of, first, second in pairs
            if of == data
            and first == "additive bits, 192"
            and float(pairs[of, first, second]["difference"]) < 0
        ]
        found = [
            name for name in better if separated(data, name, first="additive bits, 192")
        ]
        assert bool(found) == (data == "scifact")


def test_mteb():
    groups = by_method(read("mteb"), "backend")
    shown = lines("mteb's nDCG@10")
    assert [name for name, _ in shown] == list(dict.fromkeys(name for name, _ in groups))
    for name, (n_bytes, *cells) in shown:
        of_sets = [groups[name, data] for data in TITLES]
        assert n_bytes == f"{np.mean([mean(rows, 'bytes') for rows in of_sets]):.0f}"
        for rows, cell in zip(of_sets, cells, strict=True):
            score, worst, best = (
                written(mean(rows, key)) for key in ("ndcg_at_10", "worst", "best")
            )
            assert cell == (score if worst == best else f"{score} ({worst} to {best})")


def test_both_benchmarks_agree():
    """On the same scores, but for the order of ties."""
    in_mteb = by_method(read("mteb"), "backend")
    in_bitbudget = by_method(read("bitbudget"), "method")
    names = {
        "floats": "float32",
        "additive, 128 bits": "additive bits, 128",
        "additive, 256 bits": "additive bits, 256",
        "ITQ, 128 bits": "ITQ, Hamming, 128",
        "ITQ, 256 bits": "ITQ, Hamming, 256",
    }
    for mine, theirs in names.items():
        for data in TITLES:
            pair = in_mteb[mine, data], in_bitbudget[theirs, data]
            expected = (mean(rows, "expected") for rows in pair)
            assert next(expected) == pytest.approx(next(expected), abs=1e-3)
