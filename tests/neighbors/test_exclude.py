"""Searches that leave out items for each query, such as those that a user has seen."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import may_have_one_code
from numpy.testing import assert_array_equal
from sklearn.frozen import FrozenEstimator

from sklearn_talr.codes import PackedCodes
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
    for include in (allowed, np.flatnonzero(allowed), np.tile(allowed, (40, 1))):
        _, found = index.kneighbors(QUERIES, include=include, exclude=sp.csr_array(SEEN))
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


# Everything that says what may be found, together


def draw_filter(rng, n_queries, n_items, is_there):
    """What an argument says, as a mask for each query, and a form that says so."""
    form = rng.choice(["none", "indices", "mask", "set", "lists", "masks", "CSR"])
    share = rng.choice([0.0, 0.01, 0.3, 0.9])
    masks = rng.random((n_queries, n_items)) < share
    if form in ("none", "indices", "mask", "set"):
        masks = np.broadcast_to(masks[:1], masks.shape)
    here = masks & is_there
    forms = {
        "none": lambda: None,
        "indices": lambda: np.flatnonzero(here[0]),
        "mask": lambda: masks[0],
        "set": lambda: set(np.flatnonzero(here[0]).tolist()),
        "lists": lambda: [np.flatnonzero(row).tolist() for row in here],
        "masks": lambda: np.array(masks),
        "CSR": lambda: sp.csr_array(masks),
    }
    return None if form == "none" else masks, forms[form]()


@may_have_one_code
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    n_items=st.sampled_from([5, 60, 300]),
    n_queries=st.sampled_from([1, 3, 40]),
    ask=st.sampled_from(["queries", "items", "ids"]),
    n_jobs=st.sampled_from([None, 2]),
)
def test_what_may_be_found_is_what_all_arguments_leave(
    seed, n_items, n_queries, ask, n_jobs
):
    """`include`, `exclude`, removed items and items as queries, against brute force."""
    rng = np.random.default_rng(seed)
    items, is_there = rng.integers(0, 2, (n_items, 9)), np.ones(n_items, dtype=bool)
    index = HammingNeighbors(n_jobs=n_jobs).fit(items)
    if rng.random() < 0.5:
        is_there[rng.integers(0, n_items, n_items // 5)] = False
        index.remove(set(np.flatnonzero(~is_there).tolist()))
    here, queries = np.flatnonzero(is_there), rng.integers(0, 2, (n_queries, 9))
    options, own = {"X": queries}, np.full(n_queries, -1)
    if ask == "items":
        options, own = {}, here
    elif ask == "ids":
        own = rng.choice(here, n_queries)
        options = {"ids": own.tolist()}
    queries = queries if ask == "queries" else items[own]
    distances = hamming(queries, items)
    distances[:, ~is_there] = np.inf
    if ask != "queries":
        distances[np.arange(len(own)), own] = np.inf
    for name in ("include", "exclude"):
        masks, options[name] = draw_filter(rng, len(queries), n_items, is_there)
        if masks is not None:
            distances[masks == (name == "exclude")] = np.inf
    order, k = np.argsort(distances, axis=1, kind="stable"), int(rng.integers(1, 8))
    n_left = np.isfinite(distances).sum(axis=1)
    found = index.kneighbors(**options, n_neighbors=k, allow_fewer=True, return_tied=True)
    for query, (near, rows, tied) in enumerate(zip(*found, strict=True)):
        expected = order[query, : min(k, n_left[query])]
        assert_array_equal(rows, expected)
        assert_array_equal(near, distances[query, expected])
        last = distances[query, expected[-1:]]
        assert_array_equal(tied, np.flatnonzero(np.isin(distances[query], last)))
    if n_left.min() >= k:
        assert_array_equal(index.kneighbors(**options, n_neighbors=k)[1], order[:, :k])
    else:
        with pytest.raises(ValueError, match=r"for query|more than the"):
            index.kneighbors(**options, n_neighbors=k)
    within = index.radius_neighbors(**options, radius=3, return_distance=False)
    for row, rows in zip(distances, within, strict=True):
        assert set(rows) == set(np.flatnonzero(row <= 3))


@pytest.mark.parametrize("form", [np.asarray, np.flatnonzero])
def test_what_all_queries_leave_out_is_not_kept_for_each(form):
    """As much memory as the allow-list of the others takes."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (40_000, 8), dtype=np.uint8)
    index, mask = HammingNeighbors().fit(PackedCodes(data, 64)), rng.random(40_000) < 0.5
    queries = PackedCodes(data[:200].copy(), 64)
    expected, allowed = peak_of(lambda: index.kneighbors(queries, include=~mask))
    found, excluded = peak_of(lambda: index.kneighbors(queries, exclude=form(mask)))
    assert_array_equal(found[1], expected[1])
    assert excluded < 3 * allowed
    _, within_allowed = peak_of(lambda: index.radius_neighbors(queries, 12, include=~mask))
    _, within = peak_of(lambda: index.radius_neighbors(queries, 12, exclude=form(mask)))
    assert within < 3 * within_allowed


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_what_each_query_leaves_out_is_not_found_first(share):
    """Queries that leave out half of the items find no more than they are asked for."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (40_000, 8), dtype=np.uint8)
    index, masks = HammingNeighbors().fit(PackedCodes(data, 64)), rng.random((40, 40_000))
    queries, exclude = PackedCodes(data[:40].copy(), 64), masks < share
    n_octets = 8 * np.count_nonzero(exclude)  # of their rows, once
    expected, _ = peak_of(lambda: index.kneighbors(queries, include=~exclude))
    found, peak = peak_of(lambda: index.kneighbors(queries, exclude=exclude))
    assert_array_equal(found[1], expected[1])
    assert peak < 4 * n_octets


def peak_of(call):
    """What a call returns, and how much memory it takes at most."""
    call()  # compiled before
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
