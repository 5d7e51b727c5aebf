"""The lines of the page "Search in another engine" run, and find what we find."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_talr.neighbors import HammingNeighbors

PAGE = Path(__file__).parents[2] / "docs" / "user_guide" / "engines.rst"
PARTS = re.split(r"^(\S.*)\n[=-]{3,}\n", PAGE.read_text(encoding="utf-8"), flags=re.M)
SECTIONS = dict(zip(PARTS[1::2], PARTS[2::2]))
PACKAGES = {
    "faiss": ["faiss"],
    "usearch": ["usearch"],
    "SQLite with sqlite-vec": ["apsw", "sqlite_vec"],
    "DuckDB": ["duckdb"],
    "LanceDB": ["lancedb"],
    "Qdrant": ["qdrant_client"],
}


@pytest.fixture(scope="module")
def ready():
    names = {}
    for example in doctest.DocTestParser().get_examples(SECTIONS[PARTS[1]]):
        exec(compile(example.source, PARTS[1], "single"), names)
    return names


@pytest.mark.parametrize("title", PACKAGES)
@pytest.mark.filterwarnings("ignore:.*distinct codes:UserWarning")
def test_the_lines_of_the_page_find_what_we_find(title, ready, tmp_path, monkeypatch):
    for package in PACKAGES[title]:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    check_found(title, blocks_of(title), ready)


def test_the_lines_for_pgvector_find_what_we_find(ready, postgres_uri):
    """The first of them start the server, which runs already."""
    title = "PostgreSQL with pgvector"
    check_found(title, blocks_of(title)[1:], ready | {"uri": postgres_uri})


def blocks_of(title):
    """The lines of a section that are Python."""
    text = SECTIONS[title]
    blocks = re.findall(r"code-block:: python\n\n((?: {4}.*\n|\n)+)", text)
    return [re.sub(r"^ {4}", "", block, flags=re.M) for block in blocks]


def check_found(title, blocks, ready):
    """Run lines; they find the same distances, each of an item that has it."""
    names = dict(ready)
    for block in blocks:
        exec(compile(block, title, "exec"), names)
    codes, asked = ready["codes"], ready["asked"]
    expected, _ = HammingNeighbors().fit(codes).kneighbors(asked, 10)
    found = np.array(names["found"], dtype=int)
    assert_array_equal(names["distances"], expected)
    bits = np.unpackbits(codes.data, axis=1), np.unpackbits(asked.data, axis=1)
    for query, row, distances in zip(bits[1], found, expected):
        assert len(set(row)) == 10
        assert_array_equal((bits[0][row] != query).sum(axis=1), distances)
