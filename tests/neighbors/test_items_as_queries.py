"""Items of the database as queries, by their ids, and graphs of what is within a radius."""

import numpy as np
import pytest
from neighbor_cases import draw, slow_distances
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import NearestNeighbors

from sklearn_talr.codes import PackedCodes
from sklearn_talr.hashing import ITQHasher
from sklearn_talr.neighbors import (
    HammingNeighbors,
    HashedNeighbors,
    WeightedHammingNeighbors,
)

NAMES = np.array([f"item {i}" for i in range(50)])
CODES = draw("learned", 3, 50, 12)[1]
DISTANCES = (CODES[:, None] != CODES).sum(axis=2).astype(float)
np.fill_diagonal(DISTANCES, np.inf)


@pytest.mark.parametrize("ids", [None, NAMES, 7 * np.arange(50)])
@pytest.mark.parametrize("removed", [[], [0, 3, 49]])
def test_items_are_asked_for_in_the_order_of_their_ids(ids, removed):
    names = np.arange(50) if ids is None else ids
    index = HammingNeighbors(4).fit(CODES, ids=ids)
    distances = DISTANCES.copy()
    if removed:
        index.remove(names[removed])
        distances[:, removed] = np.inf
    rows = np.array([20, 4, 4, 31])
    order = np.argsort(distances[rows], axis=1, kind="stable")[:, :4]
    for asked in (names[rows], names[rows].tolist(), tuple(names[rows])):
        near, found = index.kneighbors(ids=asked)
        assert_array_equal(found, names[order])
        assert_array_equal(near, np.take_along_axis(distances[rows], order, axis=1))
    one = names[20].item()
    assert_array_equal(index.kneighbors(ids=one)[1], names[order[:1]])
    within = index.radius_neighbors(ids=names[rows], radius=2, return_distance=False)
    for row, found_names in zip(distances[rows], within, strict=True):
        assert set(found_names) == set(names[row <= 2])


def test_items_have_their_bits_for_queries():
    """Words of every width, of which a query has the first bytes."""
    rng = np.random.default_rng(0)
    for n_bits in (3, 8, 17, 24, 40, 64, 200):
        codes = rng.integers(0, 2, (30, n_bits))
        index = HammingNeighbors(5).fit(codes)
        expected = index.kneighbors(codes[[7]], exclude=[[7]])
        assert_array_equal(index.kneighbors(ids=[7]), expected)


def test_features_are_not_needed_to_ask_by_bits():
    X = np.random.default_rng(0).normal(size=(60, 6))
    hasher = FrozenEstimator(ITQHasher(6, random_state=0).fit(X))
    index = HashedNeighbors(hasher).fit(X, ids=[f"{i}" for i in range(60)])
    for name in ("3", "59"):
        expected = index.kneighbors(X[[int(name)]], exclude=[[name]])
        assert_array_equal(index.kneighbors(ids=[name]), expected)
    with pytest.raises(
        ValueError, match=r"bits alone are kept.*set_params\(query='bits'\)"
    ):
        index.set_params(query="weights").kneighbors(ids=["3"])


@pytest.mark.parametrize("query", ["bits", "weights"])
@pytest.mark.parametrize("n_rescored", [None, 60])
def test_items_ask_by_the_features_that_an_index_keeps(query, n_rescored):
    """Of an index that orders items by features, and of one that was loaded with them."""
    X = np.random.default_rng(0).normal(size=(60, 6)).astype(np.float32)
    hasher = FrozenEstimator(ITQHasher(6, random_state=0).fit(X))
    names = np.array([f"{i}" for i in range(63)])
    index = HashedNeighbors(hasher, query=query, n_rescored=60).fit(X, ids=names[:60])
    index.add(X[:3] + 0.25, ids=names[60:]).remove(["4", "61"])
    rows = np.array([20, 3, 62, 20])
    features = np.concatenate((X, X[:3] + 0.25))
    exclude = [[name] for name in names[rows]]
    index.set_params(n_rescored=n_rescored)
    expected = index.kneighbors(features[rows], 4, exclude=exclude)
    found = index.kneighbors(ids=names[rows], n_neighbors=4)
    for mine, theirs in zip(found, expected, strict=True):
        assert_array_equal(mine, theirs)
    if n_rescored is not None:
        squares = ((features[rows][:, None] - features) ** 2).sum(axis=2)
        squares[np.arange(4), rows] = squares[:, [4, 61]] = np.inf
        nearest = np.argsort(squares, axis=1, kind="stable")[:, :4]
        assert_array_equal(found[1], names[nearest])
    here = np.setdiff1d(np.arange(63), [4, 61])
    found = index.kneighbors(n_neighbors=2, return_distance=False)
    exclude = [[name] for name in names[here]]
    expected = index.kneighbors(features[here], 2, return_distance=False, exclude=exclude)
    assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["item 9", "item 90"], r"ids contains \['item 90'\].* of 2 items 1 are not"),
        ([9], "ids holds integers, such as 9, .*strings, such as 'item 0'.*str"),
        ([], "ids names no item"),
        (np.arange(50) < 3, "ids must be indices or ids, got a mask"),
        ([["item 9"]], "entries of type list"),
        ({"item 9": 1}, "got a dict"),
        ([None, "item 9"], "ids has missing values"),
    ],
)
def test_ids_that_name_no_items_are_refused(ids, message):
    index = HammingNeighbors(4).fit(CODES, ids=NAMES)
    for ask in (index.kneighbors, index.radius_neighbors):
        with pytest.raises(ValueError, match=message):
            ask(ids=ids)
        with pytest.raises(ValueError, match="X and ids are given"):
            ask(CODES, ids=NAMES)
    assert index.kneighbors(ids=["item 9"])[1].shape == (1, 4)


def test_weights_are_no_items():
    index = WeightedHammingNeighbors(4).fit(CODES)
    for options in ({}, {"ids": [3]}):
        with pytest.raises(ValueError, match="Pass X, the weights of the queries"):
            index.kneighbors(**options)
    for ask in (index.rank, index.predict, lambda X: index.score(X, [1])):
        with pytest.raises(ValueError, match=r"X is None, and [a-z]+ needs queries"):
            ask(None)


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("X", [None, CODES[:7], 1 - CODES[:7]])
@pytest.mark.parametrize("radius", [0, 2, 12])
def test_a_graph_of_a_radius_is_that_of_scikit_learn(mode, X, radius):
    theirs = NearestNeighbors(radius=radius, metric="manhattan").fit(CODES)
    index = HammingNeighbors(radius=radius).fit(CODES)
    graph = index.radius_neighbors_graph(X, mode=mode)
    expected = theirs.radius_neighbors_graph(X, mode=mode)
    assert (graph.shape, graph.dtype) == (expected.shape, np.float64)
    assert graph.nnz == expected.nnz  # distances of 0 are stored
    assert_array_equal(graph.toarray(), expected.toarray())
    assert_array_equal(
        index.radius_neighbors_graph(X, radius=1, mode=mode).toarray(),
        theirs.radius_neighbors_graph(X, radius=1, mode=mode).toarray(),
    )


def test_columns_of_graphs_are_indices():
    index = HammingNeighbors(3, radius=3).fit(CODES, ids=NAMES).remove(NAMES[[1, 7]])
    distances = (CODES[:5, None] != CODES).sum(axis=2).astype(float)
    distances[:, [1, 7]] = np.inf
    expected = np.where(distances <= 3, distances, 0)
    graph = index.radius_neighbors_graph(CODES[:5], mode="distance")
    assert_array_equal(graph.toarray(), expected)
    weights = 2.0 * CODES[:5] - 1.25  # each bit that differs costs .75 or 1.25
    weighted = WeightedHammingNeighbors(radius=2.5).fit(CODES)
    costs = slow_distances(weights, CODES)
    graph = weighted.radius_neighbors_graph(weights)
    assert_array_equal(graph.toarray(), costs <= 2.5)
    nothing = HammingNeighbors(radius=0).fit(CODES).radius_neighbors_graph(1 - CODES[:1])
    assert nothing.shape == (1, 50)
    with pytest.raises(ValueError, match="mode must be 'connectivity' or 'distance'"):
        index.radius_neighbors_graph(CODES, mode="distances")


# Fewer neighbors


def test_each_query_has_what_is_left():
    index = HammingNeighbors(4).fit(CODES, ids=NAMES)
    lists = [NAMES[:9].tolist(), NAMES[:2].tolist(), []]
    queries = CODES[[10, 11, 12]]
    distances, found, tied = index.kneighbors(
        queries, include=lists, allow_fewer=True, return_tied=True
    )
    assert [array.shape for array in (distances, found, tied)] == [(3,)] * 3
    assert {array.dtype for array in distances} == {np.dtype(np.int64)}
    assert {array.dtype.kind for array in found} == {"U"}
    for query, (near, names) in enumerate(zip(distances, found)):
        row = DISTANCES[10 + query, : len(lists[query])]
        order = np.argsort(row, kind="stable")[:4]
        assert_array_equal(names, NAMES[order])
        assert_array_equal(near, row[order])
    with pytest.raises(
        ValueError, match=r"include allows 0 items for query 2.*allow_fewer"
    ):
        index.kneighbors(queries, include=lists)
    # One form, whether or not some query has fewer
    whole = index.kneighbors(queries, 2, return_distance=False, allow_fewer=True)
    assert whole.shape == (3,)
    assert_array_equal(np.stack(whole), index.kneighbors(queries, 2)[1])
    every = index.kneighbors(queries, 99, return_distance=False, allow_fewer=True)
    assert [len(names) for names in every] == [50] * 3
    with pytest.raises(ValueError, match="n_neighbors=99 is more than the 50 items"):
        index.kneighbors(queries, 99)


@pytest.mark.parametrize("n_candidates", [None, 3, 60])
def test_fewer_are_found_by_weights_and_rescored(n_candidates):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(40, 12)).astype(np.float32)
    masks = rng.random((40, 50)) < rng.choice([0.0, 0.02, 0.1], (40, 1))
    costs = np.where(masks, slow_distances(weights.astype(float), CODES), np.inf)
    index = WeightedHammingNeighbors(3, n_candidates=n_candidates).fit(CODES)
    found = index.kneighbors(weights, include=masks, allow_fewer=True)[1]
    n_left = masks.sum(axis=1)
    assert [len(rows) for rows in found] == np.minimum(n_left, 3).tolist()
    if n_candidates != 3:
        for row, rows in zip(costs, found):
            assert_array_equal(rows, np.argsort(row, kind="stable")[: len(rows)])

    X = rng.random((50, 5))
    hasher = FrozenEstimator(ITQHasher(5, random_state=0).fit(X))
    rescored = HashedNeighbors(hasher, n_rescored=50).fit(X).remove([4])
    masks[:, 4] = False
    distances, found = rescored.kneighbors(X[:40], 3, include=masks, allow_fewer=True)
    squares = np.where(masks, ((X[:40, None] - X) ** 2).sum(axis=2), np.inf)
    for row, near, rows in zip(squares, distances, found, strict=True):
        order = np.argsort(row, kind="stable")[: min(3, np.isfinite(row).sum())]
        assert_array_equal(rows, order)
        np.testing.assert_allclose(near, np.sqrt(row[order]))


def test_an_index_of_packed_codes_is_asked_by_ids():
    packed = PackedCodes(np.arange(20, dtype=np.uint8).reshape(10, 2), 16)
    index = HammingNeighbors(2).fit(packed, ids=range(100, 110))
    assert_array_equal(
        index.kneighbors(ids=[103])[1], index.kneighbors(packed[[3]], exclude=[103])[1]
    )
