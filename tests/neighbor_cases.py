"""Codes to search, and what is to be found, for the tests of neighbors."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from reference import what_is_weighed

from sklearn_talr.neighbors import HammingNeighbors

# The warning where all items are equal, which tests of ties mean to have.
ONE_CODE = "All rows of X have the same code"
may_have_one_code = pytest.mark.filterwarnings(f"ignore:{ONE_CODE}")


def random_codes(rng, n_items, n_bits):
    """Hardly any two codes are equal if they are long."""
    return rng.integers(0, 2, (n_items, n_bits), dtype=np.uint8)


def learned_codes(rng, n_items, n_bits):
    """Few distinct codes, near each other, some of them much more frequent."""
    distinct = rng.integers(0, 2, n_bits) ^ (rng.random((8, n_bits)) < 0.15)
    return distinct[(8 * rng.random(n_items) ** 3).astype(int)].astype(np.uint8)


def equal_codes(rng, n_items, n_bits):
    """Everything is tied."""
    return np.repeat(random_codes(rng, 1, n_bits), n_items, axis=0)


def crowded_codes(rng, n_items, n_bits):
    """All different, if they are long, but equal in most of their bits."""
    codes = np.zeros((n_items, n_bits), dtype=np.uint8)
    codes[:, -(-n_bits // 3) :] = rng.integers(0, 2, (n_items, n_bits - -(-n_bits // 3)))
    return codes


CODES = {
    "random": random_codes,
    "learned": learned_codes,
    "crowded": crowded_codes,
    "equal": equal_codes,
}


def draw(kind, n_queries, n_items, n_bits, seed=0):
    """Queries, some of them among the items or opposite to one, and a database."""
    rng = np.random.default_rng(seed)
    database = CODES[kind](rng, n_items, n_bits)
    queries = CODES[kind](rng, n_queries, n_bits)
    queries[0] = database[-1]
    queries[-1] = 1 - database[0]
    return queries, database


def ranking(queries, database):
    """For each query (distance, index) of every item, sorted, by brute force."""
    distances = (queries[:, None] != database).sum(axis=2)
    order = distances.argsort(axis=1, kind="stable")
    return [list(zip(d[i].tolist(), i.tolist())) for d, i in zip(distances, order)]


def slow_distances(weights, bits, terms=None):
    """Weights of differing bits, or minus the score of words and of codes with terms."""
    if weights.shape[1] > bits.shape[1]:
        scores = weights @ what_is_weighed(bits, weights.shape[1]).T
        if terms is not None:
            scores = scores * terms[:, 0] + terms[:, 1:].sum(axis=1)
        return -scores
    if terms is None:
        bits = (bits > 0) * 1.0
        return np.maximum(weights, 0) @ (1 - bits).T + np.maximum(-weights, 0) @ bits.T
    scores = weights @ (2.0 * bits - 1).T * terms[:, 0]
    return -(scores + (terms[:, 1] if terms.shape[1] > 1 else 0))


def order_of(distances):
    index = np.broadcast_to(np.arange(distances.shape[1]), distances.shape)
    return np.lexsort((index, distances), axis=1)


def fit(database, **params):
    neighbors = HammingNeighbors(**params)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ONE_CODE)
        return neighbors.fit(database)


def check_neighbors(neighbors, queries, database, n_neighbors):
    expected = ranking(queries, database)
    distances, indices, tied = neighbors.kneighbors(queries, n_neighbors, return_tied=True)
    assert distances.dtype == indices.dtype == np.int64
    nearest = [row[:n_neighbors] for row in expected]
    assert distances.tolist() == [[d for d, _ in row] for row in nearest]
    assert indices.tolist() == [[i for _, i in row] for row in nearest]
    last = [row[-1][0] for row in nearest]
    assert [items.tolist() for items in tied] == [
        [i for d, i in row if d == limit] for row, limit in zip(expected, last)
    ]


def check_radius(neighbors, queries, database, radius):
    rows = ranking(queries, database)
    expected = [[pair for pair in row if pair[0] <= radius] for row in rows]
    distances, indices = neighbors.radius_neighbors(queries, radius)
    assert {array.dtype for array in (*distances, *indices)} == {np.dtype(np.int64)}
    assert [found.tolist() for found in distances] == [[d for d, _ in r] for r in expected]
    assert [items.tolist() for items in indices] == [[i for _, i in r] for r in expected]


def check_same(neighbors, other, queries):
    """Both hold the same items and find the same."""
    assert_array_equal(neighbors.indices_, other.indices_)
    assert_array_equal(neighbors.codes_, other.codes_)
    assert neighbors.n_samples_fit_ == other.n_samples_fit_
    for mine, theirs in zip(neighbors.kneighbors(queries, 3), other.kneighbors(queries, 3)):
        assert_array_equal(mine, theirs)
