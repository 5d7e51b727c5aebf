"""Rates on the pages about comparisons are those of ``benchmarks/results``."""

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "user_guide"
PAGE = GUIDE / "compare_measured.rst"
RESULTS = ROOT / "benchmarks" / "results"
MEANS = "AP", "nDCG@10", "RR"
SETTINGS = [(d, n) for d in ("hard", "middling", "easy") for n in ("20", "50", "200")]
SEPARATED = "randomization", "bootstrap", "t", "wilcoxon", "Holm", "Tukey"


def read(name):
    with open(RESULTS / name, newline="") as file:
        return list(csv.DictReader(file))


def rows_of_table(title):
    """Cells of the list table of this title, without its head."""
    text = PAGE.read_text(encoding="utf-8")
    table = text.split(f".. list-table:: {title}\n")[1].split("\n\n")[1]
    rows = re.split(r"^   \* - ", table, flags=re.MULTILINE)[1:]
    return [re.split(r"\n     - ", row.rstrip()) for row in rows][1:]


def span(values):
    """As the page writes the least and the greatest rate."""
    ends = [f"{value:.3f}".lstrip("0") for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


@pytest.mark.parametrize(
    ("title", "what"),
    [
        ("How often equally good runs are separated at 5 %", SEPARATED),
        (
            "How often intervals of 95 % hold the mean of all queries",
            ("interval of a mean", "interval of a difference"),
        ),
    ],
)
def test_rates(title, what):
    found = read("comparisons.csv")
    table = rows_of_table(title)
    assert [tuple(row[:2]) for row in table] == SETTINGS
    for difficulty, n_queries, *cells in table:
        for name, cell in zip(what, cells, strict=True):
            rates = [
                float(row["rate"])
                for row in found
                if (row["difficulty"], row["n_queries"], row["what"])
                == (difficulty, n_queries, name)
                and row["measure"] in MEANS
            ]
            assert len(rates) == 3
            assert cell == span(rates), (difficulty, n_queries, name)


def test_intervals_of_several_methods():
    found = read("intervals.csv")
    table = rows_of_table("Coverage of intervals of 95 %, 20 queries")
    assert {row[0] for row in table} == {row["interval"] for row in found}
    for name, *cells in table:
        settings = [(of, d) for of in ("mean", "difference") for d, _ in SETTINGS[::3]]
        for (of, difficulty), cell in zip(settings, cells, strict=True):
            rates = [
                float(row["coverage"])
                for row in found
                if (row["interval"], row["of"], row["difficulty"]) == (name, of, difficulty)
                and row["measure"] in MEANS
            ]
            assert cell == span(rates), (name, of, difficulty)


def test_runs_that_vary_unalike():
    rates = {row["method"]: float(row["rate"]) for row in read("unequal_runs.csv")}
    text = " ".join((GUIDE / "compare.rst").read_text(encoding="utf-8").split())
    tukey, holm = (f"{rates[name]:.3f}".lstrip("0") for name in ("Tukey", "Holm"))
    assert (
        f"in {tukey} of 2 000 simulations of 50 queries, Holm's method in {holm}." in text
    )
