"""Searches that leave out items for each query, such as those that a user has seen."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator

from sklearn_talr.hashing import LSHHasher
from sklearn_talr.neighbors import (
    HammingNeighbors,
    HashedNeighbors,
    WeightedHammingNeighbors,
)

rng = np.random.default_rng(0)
ITEMS, QUERIES = rng.integers(0, 2, (300, 9)), rng.integers(0, 2, (40, 9))
SEEN = rng.random((40, 300)) < rng.random((40, 1)) * 0.5
SEEN[3] = False
SEEN[5], SEEN[5, [7, 60, 61, 250]] = True, False
FORMS = {
    "lists": lambda seen: [np.flatnonzero(row).tolist() for row in seen],
    "CSR": sp.csr_array,
    "mask": np.asarray,
}


def slow(distances, left_out, k):
    distances = np.where(left_out, np.inf, distances)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def hamming(queries, items):
    return (queries[:, None] != items).sum(axis=2).astype(float)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_neighbors_are_those_of_the_items_that_are_left(form, n_jobs):
    index, exclude = HammingNeighbors(4, n_jobs=n_jobs).fit(ITEMS), FORMS[form](SEEN)
    distances = hamming(QUERIES, ITEMS)
    found = index.kneighbors(QUERIES, exclude=exclude, return_tied=True)
    expected = slow(distances, SEEN, 4)
    assert_array_equal(found[1], expected)
    assert_array_equal(found[0], np.take_along_axis(distances, expected, axis=1))
    for q, tied in enumerate(found[2]):
        is_tied = (distances[q] == found[0][q, -1]) & ~SEEN[q]
        assert_array_equal(tied, np.flatnonzero(is_tied))
    within = index.radius_neighbors(QUERIES, 2, return_distance=False, exclude=exclude)
    for q, rows in enumerate(within):
        assert set(rows) == set(np.flatnonzero((distances[q] <= 2) & ~SEEN[q]))


def test_allowed_and_excluded_items_and_items_as_queries():
    index, allowed = HammingNeighbors(3).fit(ITEMS), rng.random(300) < 0.5
    allowed[[7, 60, 61]] = True
    distances = hamming(QUERIES, ITEMS)
    expected = slow(distances, SEEN | ~allowed, 3)
    for among in (allowed, np.flatnonzero(allowed), np.tile(allowed, (40, 1))):
        _, found = index.kneighbors(QUERIES, among=among, exclude=sp.csr_array(SEEN))
        assert_array_equal(found, expected)
    seen = rng.random((300, 300)) < 0.2
    own = seen | np.eye(300, dtype=bool)
    expected = slow(hamming(ITEMS, ITEMS), own, 3)
    assert_array_equal(index.kneighbors(exclude=sp.csr_array(seen))[1], expected)
    everywhere = index.kneighbors(QUERIES, exclude=[5, 9])[1]
    assert_array_equal(everywhere, slow(distances, np.isin(np.arange(300), [5, 9]), 3))


def test_weighted_and_rescored_searches_and_ids():
    weights = rng.integers(-3, 4, (40, 9)).astype(np.float32)
    weights[weights == 0] = 1
    costs = np.abs(weights)[:, None] * ((weights > 0)[:, None] != ITEMS)
    expected = slow(costs.sum(axis=2), SEEN, 4)
    for n_candidates in (None, 300):
        index = WeightedHammingNeighbors(4, n_candidates=n_candidates).fit(ITEMS)
        assert_array_equal(index.kneighbors(weights, exclude=SEEN)[1], expected)
    X, ids = rng.random((80, 5)), [f"item {i}" for i in range(80)]
    hasher = FrozenEstimator(LSHHasher(8, random_state=0).fit(X))
    index = HashedNeighbors(hasher, n_rescored=80).fit(X, ids=ids)
    seen = [rng.choice(ids, 30, replace=False).tolist() for _ in range(6)]
    left_out = np.array([[name in row for name in ids] for row in seen])
    near = slow(((X[:6, None] - X) ** 2).sum(axis=2), left_out, 5)
    found = index.kneighbors(X[:6], 5, return_distance=False, exclude=seen)
    assert_array_equal(found, np.array(ids)[near])
    index.remove(["item 7"])
    with pytest.raises(ValueError, match=r"exclude contains .'item 7'."):
        index.kneighbors(X[:1], exclude=[["item 7"]])


@pytest.mark.parametrize(
    ("exclude", "message"),
    [
        ([[1, 2], [3]], "exclude has 2 lists for 40 queries"),
        ([[-1]] * 40, r"exclude contains \[-1\]"),
        (sp.csr_array((40, 7)), r"exclude is a mask of shape \(40, 7\)"),
        ("item", "exclude must be a list of indices or ids"),
        (np.arange(298), "exclude leaves 2 items for query 0, fewer than n_neighbors=4"),
    ],
)
def test_what_cannot_be_left_out_is_refused(exclude, message):
    with pytest.raises(ValueError, match=message):
        HammingNeighbors(4).fit(ITEMS).kneighbors(QUERIES, exclude=exclude)
