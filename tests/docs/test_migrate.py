"""Both sides of the page "Migrate from another library" run, and find what it says."""

import doctest
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

PAGE = Path(__file__).parents[2] / "docs" / "user_guide" / "migrate.rst"


@cache
def sections():
    """Text below each title of the page, by title."""
    parts = re.split(r"^(\S.*)\n[=-]{3,}\n", PAGE.read_text(encoding="utf-8"), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


@pytest.fixture(scope="module")
def ours():
    """The names that our lines have made at the end of each section, by title."""
    names, found = {}, {}
    for title, text in sections().items():
        for example in doctest.DocTestParser().get_examples(text):
            exec(compile(example.source, title, "single"), names)
        found[title] = dict(names)
    return found


@pytest.fixture
def ready(ours):
    """The arrays of the page."""
    return ours["Migrate from another library"]


def theirs(title, names):
    """Run the other library's lines of a section, on the same arrays."""
    (block,) = re.findall(r"code-block:: python\n\n((?: {4}.*\n|\n)+)", sections()[title])
    source = re.sub(r"^ {4}", "", block, flags=re.M)
    names = {"np": np, "X": names["X"], "queries": names["queries"]}
    exec(compile(source, title, "exec"), names)
    return names


def recall(found, names):
    """The share of the ten nearest by inner product that are found."""
    nearest = np.argsort(-names["queries"] @ names["X"].T, axis=1)[:, :10]
    return np.mean([np.isin(row, best) for row, best in zip(found, nearest)])


def check_same_to_ties(found, expected, distances):
    """Items are the same, but for those that are tied with the last of their row."""
    for row, other, values in zip(found, expected, distances):
        inner = values < values[-1]
        assert set(row[inner]) == set(other[inner])


def test_inner_products_of_faiss_are_found(ready, ours):
    pytest.importorskip("faiss")
    title = "faiss: IndexFlatIP"
    expected, got = theirs(title, ready), ours[title]
    assert_array_equal(got["found"], expected["found"])
    assert_allclose(got["scores"], expected["scores"], rtol=1e-5)


def test_hamming_distances_of_faiss_are_found(ready, ours):
    faiss = pytest.importorskip("faiss")
    title = "faiss: IndexBinaryFlat"
    expected, got = theirs(title, ready), ours[title]
    assert_array_equal(got["distances"], expected["distances"])
    check_same_to_ties(got["found"], expected["found"], got["distances"])
    index, asked = expected["index"], expected["asked"]
    _, values, _ = index.range_search(asked, 10)
    distances, _ = got["index"].radius_neighbors(ready["queries"] > 0, 10)
    assert values.max() < 10
    assert max(row.max() for row in distances) == 10
    assert sum((row < 10).sum() for row in distances) == len(values)
    few = faiss.IndexBinaryFlat(64)
    few.add(expected["packed"][:3])
    assert few.search(asked, 5)[1][:, 3:].max() == -1
    with pytest.raises(ValueError, match="n_neighbors"):
        got["index"].kneighbors(ready["queries"] > 0, 1_001)
    few.remove_ids(np.array([0]))
    assert few.search(expected["packed"][1:2], 1)[1] == 0  # which was item 1
    kept = got["index"].remove([0])
    assert kept.kneighbors(ready["X"][1:2] > 0, 1)[1] == 1


def test_more_neighbors_are_found_than_by_signs_of_faiss(ready, ours):
    pytest.importorskip("faiss")
    title = "faiss: IndexLSH"
    expected, got = theirs(title, ready), ours[title]
    assert recall(got["found"], ready) > recall(expected["found"], ready) + 0.05


def test_a_product_quantizer_of_faiss_takes_as_many_bytes(ready, ours):
    pytest.importorskip("faiss")
    title = "faiss: IndexPQ"
    expected, got = theirs(title, ready), ours[title]
    assert expected["index"].code_size == 8 * got["index"].codes_.data.shape[1] / 8 == 8
    assert got["found"].shape == expected["found"].shape
    assert_array_equal(got["found"][:, 0], np.arange(5))


def quantization():
    """Stands in for sentence_transformers.quantization: what its functions document."""
    module = ModuleType("sentence_transformers.quantization")

    def quantize_embeddings(embeddings, precision):
        packed = np.packbits(embeddings > 0, axis=-1)
        return packed if precision == "ubinary" else (packed - 128).astype(np.int8)

    def semantic_search_faiss(
        queries, corpus_embeddings, corpus_precision, top_k, rescore, rescore_multiplier
    ):
        faiss = pytest.importorskip("faiss")
        assert corpus_precision == "ubinary"
        assert rescore
        index = faiss.IndexBinaryFlat(8 * corpus_embeddings.shape[1])
        index.add(corpus_embeddings)
        asked = quantize_embeddings(queries, corpus_precision)
        _, candidates = index.search(asked, top_k * rescore_multiplier)
        answers = []
        for query, places in zip(queries, candidates):
            scores = np.unpackbits(corpus_embeddings[places], axis=-1).astype(int) @ query
            best = np.argsort(-scores)[:top_k]
            answers.append([{"corpus_id": places[i], "score": scores[i]} for i in best])
        return answers, 0.0

    module.quantize_embeddings = quantize_embeddings
    module.semantic_search_faiss = semantic_search_faiss
    return module


def test_two_stages_of_sentence_transformers_are_one_weighted_search(
    ready, ours, monkeypatch
):
    try:
        import sentence_transformers.quantization  # noqa: F401
    except ImportError:
        package = ModuleType("sentence_transformers")
        monkeypatch.setitem(sys.modules, "sentence_transformers", package)
        name = "sentence_transformers.quantization"
        monkeypatch.setitem(sys.modules, name, quantization())
    title = "sentence-transformers"
    expected, got = theirs(title, ready), ours[title]
    rows = [[hit["corpus_id"] for hit in hits] for hits in expected["found"]]
    assert_array_equal(expected["packed"], got["packed"])
    for query, row, found, hits in zip(
        ready["queries"], rows, got["found"], expected["found"]
    ):
        # theirs leaves some candidates out that are tied with the last of its forty
        assert np.mean(np.isin(found, row)) >= 0.8
        assert found[0] == row[0]
        # distance = positive sum - score
        bits = np.unpackbits(got["packed"][found], axis=-1)
        scores = bits @ query.astype(float)
        most = query[query > 0].sum(dtype=float)
        assert_allclose(got["distances"][ready_row(ready, query)], most - scores, rtol=1e-4)
        assert_allclose(hits[0]["score"], scores[0], rtol=1e-4)
    signed = (got["packed"] - 128).astype(np.int8)
    assert_array_equal((signed.astype("int16") + 128).astype("uint8"), got["packed"])


def ready_row(ready, query):
    """The number of a query."""
    return int(np.flatnonzero((ready["queries"] == query).all(axis=1))[0])


def test_more_is_found_by_a_hasher_than_by_signs(ready, ours):
    from sklearn_talr import HashedNeighbors
    from sklearn_talr.hashing import AdditiveHasher

    signs = ours["sentence-transformers"]
    X, queries = ready["X"], ready["queries"]
    index = HashedNeighbors(AdditiveHasher(n_bits=64, random_state=0)).fit(X)
    found = index.kneighbors(queries, 10, return_distance=False)
    assert recall(found, ready) > recall(signs["found"], ready)


def test_distances_of_scikit_learn_are_found(ready, ours):
    title = "scikit-learn: NearestNeighbors"
    expected, got = theirs(title, ready), ours[title]
    from sklearn.neighbors import NearestNeighbors

    exact = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(ready["X"])
    distances, found = exact.kneighbors(ready["queries"])
    assert_array_equal(got["found"], found)
    assert_allclose(got["distances"], distances, rtol=1e-3, atol=1e-3)
    codes = ready["X"] > 0
    binary, found = (
        got["HammingNeighbors"]().fit(codes).kneighbors(ready["queries"] > 0, 10)
    )
    assert_allclose(64 * expected["shares"], binary)
    check_same_to_ties(found, expected["found"], binary)


def test_bit_strings_are_the_signs_of_pgvector(ready, ours):
    """Its own function and ours make the same string; see also the tests of engines."""
    names = ours["PostgreSQL with pgvector"]
    assert len(names["asked"]) == 5
    assert names["table"].search.startswith("SELECT id, code <~> %s::bit(64)")
