"""The lines of the page "Search in another engine" run, and find what we find."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator

from sklearn_talr.export import to_faiss
from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.neighbors import HammingNeighbors, HashedNeighbors

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


@pytest.mark.parametrize(
    ("package", "titles", "n_candidates"),
    [
        ("duckdb", ["Asymmetric distance in SQL"], 200),
        # whose 200 are those of the highest inner products, not of the nearest bits
        ("qdrant_client", ["Qdrant", "Asymmetric distance in Qdrant"], None),
    ],
)
def test_the_lines_of_weighted_queries_find_what_we_find(
    package, titles, n_candidates, ready
):
    pytest.importorskip(package)
    names = dict(ready)
    for title in titles:
        for block in blocks_of(title):
            exec(block, names)
    if package == "qdrant_client":  # a server casts queries to the type of vectors
        vectors = names["client"].get_collection("weighted").config.params.vectors
        assert vectors.datatype == names["models"].Datatype.FLOAT32
    index = HashedNeighbors(FrozenEstimator(names["hasher"]), query="weights")
    index.set_params(n_candidates=n_candidates).fit(names["X"])
    _, expected = index.kneighbors(names["X"][:3] + 0.1, 10)
    assert_array_equal(names["found"], expected)


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
    codes, query_codes = ready["codes"], ready["query_codes"]
    expected, _ = HammingNeighbors().fit(codes).kneighbors(query_codes, 10)
    found = np.array(names["found"], dtype=int)
    assert_array_equal(names["distances"], expected)
    bits = np.unpackbits(codes.data, axis=1), np.unpackbits(query_codes.data, axis=1)
    for query, row, distances in zip(bits[1], found, expected):
        assert len(set(row)) == 10
        assert_array_equal((bits[0][row] != query).sum(axis=1), distances)


def test_each_row_of_the_page_on_embeddings_finds_neighbors(learned):
    """With the hashers, and the parameters, that its table names."""
    page = PAGE.with_name("embeddings.rst").read_text(encoding="utf-8")
    title = "Which hasher and which index"
    table = re.search(rf"list-table:: {title}\n(.*?)\n\S", page, flags=re.S)[1]
    rows = [re.sub(r"\s+", " ", row) for row in re.split(r"\n   \* - ", table)[2:]]
    rng = np.random.default_rng(learned.seed)
    X = rng.normal(size=(9, 32))[np.arange(1_200) % 9] + rng.normal(size=(1_200, 32)) / 9
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    names = {"n_bits": 64, "to_faiss": to_faiss, "HashedNeighbors": HashedNeighbors}
    names |= {"AdditiveHasher": AdditiveHasher, "ITQHasher": ITQHasher}
    n_run = 0
    for row in rows:
        lines = re.findall(r"``([^`]+)``", row)
        if not lines:
            assert ":doc:`train_with_labels`" in row
            continue
        if lines[-1].startswith("to_faiss"):
            pytest.importorskip("faiss")
            hasher = ITQHasher(n_bits=64, random_state=0).fit(X)
            index = eval(lines[-1], names | {"codes": hasher.encode(X)})
            found = index.search(hasher.query_weights(X[:50]), 10)[1]
        else:
            line = lines[-1]
            if "(" not in line:  # a parameter of the index of the first row
                line = f"HashedNeighbors(AdditiveHasher(n_bits), {line})"
            elif not line.startswith("HashedNeighbors"):
                line = f"HashedNeighbors({line})"
            index = eval(line, names).set_params(hasher__random_state=0).fit(X)
            found = index.kneighbors(X[:50], 10, return_distance=False)
        assert (found % 9 == np.arange(50)[:, None] % 9).mean() > 0.9, row
        n_run += 1
    assert n_run == 5
