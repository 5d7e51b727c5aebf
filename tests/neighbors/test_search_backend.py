"""The search backend for mteb: its answers, its refusals, and mteb itself where it is."""

import inspect
from collections.abc import Callable
from typing import Protocol

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sklearn_talr.hashing import AdditiveHasher, ITQHasher
from sklearn_talr.neighbors import HashedNeighbors, HashedSearchBackend

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 12)).astype(np.float32)
QUERIES = RNG.normal(size=(7, 12)).astype(np.float32)
IDS = [f"d{i}" for i in range(60)]
QUERY_IDS = {i: f"q{i}" for i in range(7)}
BITS = HashedNeighbors(ITQHasher(8, random_state=0))
WEIGHTS = HashedNeighbors(AdditiveHasher(16, method="bits", random_state=0))
RESCORED = HashedNeighbors(
    ITQHasher(8, random_state=0), n_rescored=20, rescore_metric="inner_product"
)
NEAR = HashedNeighbors(ITQHasher(8, random_state=0), n_rescored=20)


class AsInMTEB(Protocol):
    """mteb's protocol, from its version 2.26."""

    def add_documents(self, embeddings: object, idxs: list[str]) -> None: ...

    def search(
        self,
        embeddings: object,
        top_k: int,
        similarity_fn: Callable,
        top_ranked: dict[str, list[str]] | None = None,
        query_idx_to_id: dict[int, str] | None = None,
    ) -> tuple[list[list[float]], list[list[int]]]: ...

    def clear(self) -> None: ...


def similarity(*embeddings):
    raise AssertionError("floats are not compared")


def filled(neighbors=BITS):
    backend = HashedSearchBackend(neighbors)
    backend.add_documents(X, IDS)
    return backend


def test_it_has_the_methods_of_the_protocol():
    methods = {name for name in vars(AsInMTEB) if not name.startswith("_")}
    assert methods == {"add_documents", "search", "clear"}
    for name in methods:
        theirs = inspect.signature(getattr(AsInMTEB, name)).parameters
        ours = inspect.signature(getattr(HashedSearchBackend, name)).parameters
        assert list(ours) == list(theirs)
        for key, parameter in theirs.items():
            assert ours[key].kind == parameter.kind
            if parameter.default is not parameter.empty:
                assert ours[key].default == parameter.default


@pytest.mark.parametrize("neighbors", [BITS, WEIGHTS, RESCORED, NEAR])
def test_answers_are_those_of_the_index(neighbors):
    distances, indices = neighbors.fit(X).kneighbors(QUERIES, 9)
    scores, places = filled(neighbors).search(QUERIES, 9, similarity)
    assert places == indices.tolist()
    sign = 1 if neighbors is RESCORED else -1
    np.testing.assert_array_equal(scores, sign * distances)
    for row in scores:
        assert row == sorted(row, reverse=True)
        assert all(type(score) is float for score in row)


@pytest.mark.parametrize("neighbors", [BITS, WEIGHTS, RESCORED])
def test_lists_are_put_in_order(neighbors):
    """As all documents are, of which the others are left out."""
    backend = filled(neighbors)
    lists = {f"q{i}": [f"d{j}" for j in RNG.permutation(60)[: 3 * i]] for i in range(6)}
    scores, places = backend.search(QUERIES, 9, similarity, lists, QUERY_IDS)
    all_scores, order = backend.search(QUERIES, 60, similarity)
    assert scores[0] == places[0] == scores[6] == places[6] == []
    for i in range(1, 6):
        names = lists[f"q{i}"]
        assert len(places[i]) == min(9, len(names))
        found = [names[place] for place in places[i]]
        expected = [j for j in order[i] if f"d{j}" in names][:9]
        assert found == [f"d{j}" for j in expected]
        score_of = dict(zip(order[i], all_scores[i]))
        np.testing.assert_allclose(scores[i], [score_of[j] for j in expected], atol=1e-6)


def test_a_list_with_a_document_twice():
    scores, places = filled().search(
        QUERIES[:1], 9, None, {"q0": ["d3", "d5", "d3"]}, QUERY_IDS
    )
    assert sorted(places[0]) == [0, 1]
    assert len(scores[0]) == 2


def test_documents_in_two_parts_continue():
    backend = HashedSearchBackend(BITS)
    backend.add_documents(X[:40], IDS[:40])
    backend.add_documents(X[40:], IDS[40:])
    index = HashedNeighbors(ITQHasher(8, random_state=0)).fit(X[:40]).add(X[40:])
    _, indices = index.kneighbors(QUERIES, 5)
    assert backend.search(QUERIES, 5)[1] == indices.tolist()


def test_more_documents_than_there_are():
    scores, places = filled().search(QUERIES, 1000)
    assert sorted(places[0]) == list(range(60))
    assert len(scores) == 7


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_tensors(dtype):
    documents, queries = (torch.from_numpy(part).to(dtype) for part in (X, QUERIES))
    backend = HashedSearchBackend(BITS)
    backend.add_documents(documents.requires_grad_(), IDS)
    expected = HashedSearchBackend(BITS)
    expected.add_documents(documents.detach().float().numpy(), IDS)
    assert backend.search(queries, 5) == expected.search(queries.float().numpy(), 5)


def test_the_index_that_is_passed_stays_as_it_is():
    index = HashedNeighbors(ITQHasher(8, random_state=0))
    backend = filled(index)
    with pytest.raises(NotFittedError):
        check_is_fitted(index)
    assert backend.n_bytes_per_item_ == backend.neighbors_.n_bytes_per_item_
    n_bytes = backend.n_bytes_per_item_
    backend.clear()
    assert (backend.neighbors_, backend.n_bytes_per_item_) == (None, n_bytes)
    with pytest.raises(ValueError, match="no documents to search; call add_documents"):
        backend.search(QUERIES, 5)
    backend.add_documents(X[:30], IDS[:30])  # the next task
    assert backend.neighbors_.n_items_ == 30


@pytest.mark.parametrize(
    ("embeddings", "names", "message"),
    [
        (X[:2], ["a"], "idxs has 1 identifiers for 2 documents"),
        (X[:2], ["a", "a"], "idxs has an identifier twice"),
        (X[:2], ["a", "d7"], "idxs has an identifier twice"),
        (X[:2, :5], ["a", "b"], "features"),
        (X[:2] * np.nan, ["a", "b"], "embeddings contains NaN"),
    ],
)
def test_documents_that_are_refused_change_nothing(embeddings, names, message):
    backend = filled()
    before = backend.search(QUERIES, 60)
    with pytest.raises(ValueError, match=message):
        backend.add_documents(embeddings, names)
    assert backend.search(QUERIES, 60) == before
    backend.add_documents(X[:1], ["a"])
    assert backend.neighbors_.n_items_ == 61


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"q0": ["d1", "z"]}, QUERY_IDS), "top_ranked names 'z', which was not added"),
        (({"q0": ["d1"]},), "top_ranked needs query_idx_to_id"),
    ],
)
def test_lists_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        filled().search(QUERIES, 5, None, *arguments)


def test_an_object_that_is_no_index():
    with pytest.raises(TypeError, match=r"neighbors has no method \w+; pass HashedN"):
        HashedSearchBackend(ITQHasher(8))
