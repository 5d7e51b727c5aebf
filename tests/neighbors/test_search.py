"""HammingNeighbors finds what brute force finds."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import (
    CODES,
    check_neighbors,
    check_radius,
    draw,
    fit,
    may_have_one_code,
    ranking,
)
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_talr.codes import hamming_distances
from sklearn_talr.neighbors import HammingNeighbors


@parametrize_with_checks([HammingNeighbors()])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:X has entries other than 0 and 1")
@may_have_one_code
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_bits", [1, 8, 9, 17, 32, 64, 65, 256, 300])
def test_comparing_finds_the_nearest(n_bits):
    """Words of every width, one and several of them, and counts beyond a byte."""
    for kind in CODES:
        queries, database = draw(kind, 6, 40, n_bits, seed=n_bits)
        neighbors = fit(database)
        for n_neighbors in (1, 7, 40):
            check_neighbors(neighbors, queries, database, n_neighbors)
        for radius in sorted({0, 1, n_bits // 3, n_bits}):
            check_radius(neighbors, queries, database, radius)


@settings(deadline=None, max_examples=60)
@given(
    n_bits=st.integers(1, 70),
    n_items=st.integers(1, 40),
    kind=st.sampled_from(sorted(CODES)),
    data=st.data(),
)
def test_any_search_equals_brute_force(n_bits, n_items, kind, data):
    queries, database = draw(kind, 3, n_items, n_bits, data.draw(st.integers(0, 999)))
    neighbors = fit(database)
    check_neighbors(neighbors, queries, database, data.draw(st.integers(1, n_items)))
    check_radius(neighbors, queries, database, data.draw(st.integers(0, n_bits)))


def test_many_queries_in_several_blocks_and_tiles():
    queries, database = draw("learned", 70, 3_000, 24)
    for codes in (
        database,
        *(draw(kind, 1, 3_000, 24)[1] for kind in ("random", "crowded")),
    ):
        for n_jobs in (None, 2):
            neighbors = fit(codes, n_jobs=n_jobs)
            check_neighbors(neighbors, queries, codes, 9)
            check_radius(neighbors, queries, codes, 5)


def test_items_as_queries_are_not_their_own_neighbors():
    for kind in CODES:
        _, database = draw(kind, 2, 30, 10)
        neighbors = fit(database)
        expected = [
            [pair for pair in row if pair[1] != own]
            for own, row in enumerate(ranking(database, database))
        ]
        for k in (1, 4, 29):
            distances, indices, tied = neighbors.kneighbors(None, k, return_tied=True)
            assert_array_equal(distances, [[d for d, _ in row[:k]] for row in expected])
            assert_array_equal(indices, [[i for _, i in row[:k]] for row in expected])
            for items, row in zip(tied, expected):
                assert_array_equal(items, [i for d, i in row if d == row[k - 1][0]])
        distances, indices = neighbors.radius_neighbors(radius=2)
        for found, items, row in zip(distances, indices, expected):
            assert_array_equal(found, [d for d, _ in row if d <= 2])
            assert_array_equal(items, [i for d, i in row if d <= 2])
        with pytest.raises(ValueError, match="n_neighbors=30 is more than the 29 items"):
            neighbors.kneighbors(None, 30)


def test_graph_holds_the_neighbors():
    queries, database = draw("learned", 5, 20, 9)
    neighbors = fit(database, n_neighbors=4)
    distances, indices = neighbors.kneighbors(queries)
    graph = neighbors.kneighbors_graph(queries)
    assert sp.issparse(graph)
    assert graph.shape == (5, 20)
    assert_array_equal(graph.indices.reshape(5, 4), indices)
    assert_array_equal(graph.data, 1)
    graph = neighbors.kneighbors_graph(queries, 2, mode="distance")
    assert_array_equal(graph.data.reshape(5, 2), distances[:, :2])
    with pytest.raises(ValueError, match="mode must be 'connectivity' or 'distance'"):
        neighbors.kneighbors_graph(queries, mode="weights")


@pytest.mark.parametrize("n_bits", [5, 64, 300])
@pytest.mark.parametrize("kind", ["learned", "equal"])
def test_rank_holds_all_items_and_their_ties(n_bits, kind):
    queries, database = draw(kind, 4, 25, n_bits)
    result = fit(database).rank(queries)
    expected = ranking(queries, database)
    assert_array_equal(result.distances, [[d for d, _ in row] for row in expected])
    assert_array_equal(result.indices, [[i for _, i in row] for row in expected])
    for row, ties in zip(expected, result.ties):
        distances = [d for d, _ in row]
        numbers = {d: number for number, d in enumerate(sorted(set(distances)))}
        assert_array_equal(ties, [numbers[d] for d in distances])


def test_clones_and_pickles():
    queries, database = draw("learned", 5, 40, 70)
    neighbors = fit(database)
    neighbors.radius_neighbors(queries, 2)
    copy = pickle.loads(pickle.dumps(neighbors))
    check_neighbors(copy, queries, database, 6)
    check_radius(copy, queries, database, 3)
    assert not hasattr(clone(neighbors), "n_features_in_")


@pytest.mark.parametrize("n_bits", [2**16 - 1, 2**16, 70_000])
def test_distances_of_long_codes(n_bits):
    codes = np.random.default_rng(0).random((6, n_bits)) > 0.5
    codes[1], codes[2] = ~codes[0], ~codes[0]
    codes[2, :50] ^= True
    expected = np.sort(hamming_distances(codes, codes), axis=1)
    assert expected.max() == n_bits
    index = HammingNeighbors(6).fit(codes)
    assert_array_equal(index.kneighbors(codes)[0], expected)
    for row, found in zip(expected, index.radius_neighbors(codes, n_bits - 50)[0]):
        assert_array_equal(found, row[row <= n_bits - 50])
