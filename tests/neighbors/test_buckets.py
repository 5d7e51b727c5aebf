"""Lookup in buckets finds what a comparison with all codes finds."""

import pickle

import numpy as np
import pytest
from neighbor_cases import check_radius, draw, fit
from numpy.testing import assert_array_equal

from sklearn_talr.neighbors import _lookup


@pytest.fixture
def soon(monkeypatch):
    """Tables are made of few items at the first query, and used whatever they cost."""
    monkeypatch.setattr(_lookup, "_MIN_ITEMS", 1)
    monkeypatch.setattr(_lookup, "_MIN_QUERIES", 0)
    monkeypatch.setattr(_lookup, "_SCANNED_PER_LOOKED_UP", 0)


def has_buckets(neighbors):
    return neighbors._fitted.lookup.buckets is not None


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("n_bits", [3, 8, 9, 24, 40, 64, 65, 72, 128, 300])
@pytest.mark.parametrize("kind", ["random", "learned", "crowded", "equal"])
def test_what_is_within_a_radius(kind, n_bits):
    """Words of every width, addresses across two and more of them, and crowds."""
    queries, database = draw(kind, 40, 700, n_bits, seed=n_bits)
    neighbors = fit(database)
    for radius in sorted({0, 1, 2, 3, min(7, n_bits - 1)}):
        check_radius(neighbors, queries, database, radius)
    assert has_buckets(neighbors)
    check_radius(neighbors, queries, database, 1)  # by the tables of a larger radius


@pytest.mark.usefixtures("soon")
def test_items_come_and_go():
    queries, database = draw("random", 30, 600, 24)
    neighbors = fit(database[:400])
    neighbors.radius_neighbors(queries)
    check_radius(neighbors.add(database[400:]), queries, database, 2)
    neighbors.remove(np.arange(100))
    _, indices = neighbors.radius_neighbors(queries, radius=9)
    expected = (queries[:, None] != database).sum(axis=2) <= 9
    expected[:, :100] = False
    for found, row in zip(indices, expected):
        assert_array_equal(np.sort(found), np.flatnonzero(row))
    _distances, indices = neighbors.radius_neighbors(radius=2)  # items, not their own
    assert all(own + 100 not in found for own, found in enumerate(indices))


@pytest.mark.usefixtures("soon")
def test_they_count_as_memory_and_are_not_pickled():
    _, database = draw("random", 2, 500, 32)
    neighbors = fit(database)
    before = neighbors.nbytes
    neighbors.radius_neighbors(database[:1])
    assert neighbors.nbytes == before + neighbors._fitted.lookup.nbytes > before
    assert pickle.loads(pickle.dumps(neighbors)).nbytes == before


def test_they_are_made_when_they_pay(monkeypatch):
    monkeypatch.setattr(_lookup, "_MIN_ITEMS", 5_000)
    queries, database = draw("random", 60, 6_000, 64)
    few, neighbors = fit(database[:4_000]), fit(database)
    for _ in range(2):
        assert not has_buckets(few)
        assert not has_buckets(neighbors)
        few.radius_neighbors(queries)
        check_radius(neighbors, queries, database, 2)
    assert not has_buckets(few)
    assert has_buckets(neighbors)
    lookup, index = neighbors._fitted.lookup, neighbors._fitted
    assert lookup.buckets_for(index, 2, 1) is not None
    assert lookup.buckets_for(index, 12, 1) is None  # parts of few bits
    crowd = np.tile(database[:10], (600, 1))
    crowded = fit(crowd)
    for _ in range(2):
        check_radius(crowded, queries, crowd, 2)
    assert has_buckets(crowded)
    assert crowded._fitted.lookup.buckets_for(crowded._fitted, 2, 1) is None
