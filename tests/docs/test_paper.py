"""The paper: its header, its references, its table, and the page that is made of it."""

import csv
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "paper"
RESULTS = ROOT / "benchmarks" / "comparison" / "results"
PAGE = runpy.run_path(str(ROOT / "docs" / "paper_page.py"))
SETS = {"CIFAR-10": "cifar10", "COCO": "coco17", "digits": "digits"}
METHODS = {
    "ITQ": "ITQ",
    "MIHash": "MIHash",
    "linear, trained on tie-aware AP": "TALR-AP",
    "hidden layer, trained on tie-aware NDCG": "TALR-NDCG, hidden layer",
    "two stages": "kernel + TALR-AP",
}


@pytest.fixture(scope="module")
def text():
    return (FOLDER / "paper.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def header(text):
    return yaml.safe_load(text.split("---\n")[1])


@pytest.fixture(scope="module")
def body(text):
    return text.split("---\n", 2)[2]


def test_the_header_has_what_the_journal_asks_for(header):
    assert set(header) == {
        "title",
        "tags",
        "authors",
        "affiliations",
        "date",
        "bibliography",
    }
    assert "Python" in header["tags"]
    indices = {place["index"] for place in header["affiliations"]}
    for author in header["authors"]:
        assert author["name"]
        assert author["affiliation"] in indices
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ 20\d\d", header["date"])
    assert (FOLDER / header["bibliography"]).exists()


def test_it_has_two_pages_and_the_sections_that_reviewers_look_for(body):
    assert 750 <= len(body.split()) <= 1_000
    sections = re.findall(r"^# (.*)$", body, re.MULTILINE)
    assert sections[:2] == ["Summary", "Statement of need"]
    assert {"Acknowledgments", "References"} <= set(sections)


def test_every_work_is_cited_and_every_citation_has_a_work(body):
    references = PAGE["read_references"](FOLDER)
    assert set(re.findall(r"@(\w+)", body)) == set(references)
    for fields in references.values():
        assert {"title", "author", "year"} <= set(fields)


def scores(data, method):
    """AP at 4 bytes of each split."""
    with open(RESULTS / f"{data}-defaults.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["method"] == method]
    return [float(row["ap"]) for row in rows if row["n_bits"] == "32"]


def test_the_table_is_what_was_measured(body):
    head, _, *rows = re.findall(r"^\|(.*)\|$", body, re.MULTILINE)
    _, *sets = (cell.strip() for cell in head.split("|"))
    assert sets == list(SETS)
    table = [[cell.strip() for cell in row.split("|")] for row in rows]
    assert [row[0] for row in table] == list(METHODS)
    for name, *cells in table:
        for data, cell in zip(sets, cells, strict=True):
            found = scores(SETS[data], METHODS[name])
            assert len(found) == 3
            assert cell == f"{np.mean(found):.3f}".lstrip("0"), (name, data)


def test_what_the_limitations_say_of_mutual_information_holds():
    assert np.mean(scores("cifar10", "TALR-AP")) <= np.mean(scores("cifar10", "MIHash"))


def test_the_page_numbers_citations_as_they_come():
    markdown = """---
title: 'A title'
date: 1 May 2026
---

# Need

Words `code` and $b + 1$, *set* apart [@late; @early], and again [@early].

| a | b |
|---|---|
| c | .1 |

# References
"""
    work = {"author": "One and Two", "title": "T", "year": "2001"}
    page = PAGE["as_page"](markdown, {"early": work, "late": {**work, "year": "2002"}})
    assert page.startswith("A title\n=======\n")
    assert "Need\n----\n\nWords ``code`` and :math:`b + 1`, *set* apart [1, 2]" in page
    assert "and again [2]." in page
    assert "   * - a\n     - b\n   * - c\n     - .1\n" in page
    assert page.endswith("#. One; Two, *T*, 2002.\n#. One; Two, *T*, 2001.\n")


def test_a_work_that_is_missing_is_an_error():
    with pytest.raises(KeyError, match="nobody"):
        PAGE["as_page"]("---\ntitle: 'T'\ndate: 1\n---\n\n[@nobody]\n", {})
