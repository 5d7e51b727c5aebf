"""Searches of allowed items, against brute force over the subset."""

import neighbor_cases
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import ONE_CODE, order_of
from numpy.testing import assert_array_equal
from reference import n_weights_of, wanted_bits

from sklearn_talr.neighbors import HammingNeighbors, WeightedHammingNeighbors


class Columns(list):
    """A table that iterates over its columns, as those of polars and Arrow do."""

    def __init__(self, rows):
        super().__init__(rows.T)
        self.rows = rows

    def __array__(self, dtype=None, copy=None):
        return np.array(self.rows, dtype=dtype)


pytestmark = pytest.mark.filterwarnings(f"ignore:{ONE_CODE}")
SHARED = ["indices", "mask", "integers", "list", "series"]
EACH = ["lists", "masks", "csr", "frame", "nullable", "columns", "rows"]
FORMS = {
    "indices": lambda allowed, masks: np.repeat(np.flatnonzero(allowed[0]), 2)[::-1],
    "mask": lambda allowed, masks: masks[0],
    "lists": lambda allowed, masks: [np.flatnonzero(row)[::-1] for row in allowed],
    "masks": lambda allowed, masks: masks,
    "csr": lambda allowed, masks: sp.csr_array(masks),
    # What says the same in other types
    "integers": lambda allowed, masks: masks[0].astype(np.uint8),
    "list": lambda allowed, masks: masks[0].astype(int).tolist(),
    "series": lambda allowed, masks: pd.Series(masks[0], dtype="boolean"),
    "frame": lambda allowed, masks: pd.DataFrame(masks),
    "nullable": lambda allowed, masks: pd.DataFrame(masks).astype("boolean"),
    "columns": lambda allowed, masks: Columns(masks),
    "rows": lambda allowed, masks: masks.astype(int),
}


def slow_distances(queries, database):
    """Those of weights, of which 0 and 1 are taken for -1 and 1."""
    weights = 2.0 * queries - 1 if queries.dtype.kind == "u" else queries.astype(float)
    return neighbor_cases.slow_distances(weights, database)


@st.composite
def tasks(draw, word_sizes=(1, 4, 8)):
    """An index from which items were removed, queries, and an allow-list."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_items = draw(st.sampled_from([6, 60, 900, 3_000]))
    n_bits = draw(st.sampled_from([3, 12, 40, 70]))
    n_queries = draw(st.sampled_from([1, 1, 4, 40, 300]))
    database = rng.integers(0, 2, (n_items, n_bits), dtype=np.uint8)
    if draw(st.booleans()):
        database = database[rng.integers(0, max(2, n_items // 10), n_items)]
    if draw(st.booleans()):
        queries = rng.integers(0, 2, (n_queries, n_bits), dtype=np.uint8)
        neighbors = HammingNeighbors()
    else:
        n_weights = n_weights_of(n_bits, draw(st.sampled_from(word_sizes)))
        queries = rng.integers(-3, 4, (n_queries, n_weights)).astype(np.float32)
        queries[:, 0] = -0.5  # arrays of 0 and 1 are refused, as codes
        neighbors = WeightedHammingNeighbors()
    neighbors.set_params(n_jobs=draw(st.sampled_from([None, 2]))).fit(database)
    is_there = np.ones(n_items, dtype=bool)
    if draw(st.booleans()):
        is_there[rng.choice(n_items, n_items // 4, replace=False)] = False
        neighbors.remove(np.flatnonzero(~is_there))
    form = draw(st.sampled_from(SHARED + EACH))
    share = draw(st.sampled_from([0.02, 0.3, 0.6, 0.95]))
    shares = share if form in SHARED else share * rng.choice([0.05, 1], (n_queries, 1))
    masks = rng.random((1 if form in SHARED else n_queries, n_items)) < shares
    masks = np.broadcast_to(masks, (n_queries, n_items))
    allowed = masks & is_there
    return neighbors, database, queries, allowed, FORMS[form](allowed, masks)


@settings(deadline=None, max_examples=150)
@given(task=tasks(), n_neighbors=st.sampled_from([1, 3, 10]))
def test_neighbors_are_those_of_the_subset(task, n_neighbors):
    neighbors, database, queries, allowed, among = task
    expected = slow_distances(queries, database)
    expected[~allowed] = np.inf
    n_neighbors = min(n_neighbors, int(allowed.sum(axis=1).min()))
    if not n_neighbors:
        with pytest.raises(ValueError, match="among allows 0 items for query"):
            neighbors.kneighbors(queries, 1, among=among)
        return
    distances, indices, tied = neighbors.kneighbors(
        queries, n_neighbors, return_tied=True, among=among
    )
    order = order_of(expected)[:, :n_neighbors]
    assert_array_equal(indices, order)
    assert_array_equal(distances, np.take_along_axis(expected, order, axis=1))
    for row, last, items in zip(expected, order[:, -1], tied):
        assert_array_equal(items, np.flatnonzero(row == row[last]))


@settings(deadline=None, max_examples=100)
@given(task=tasks(word_sizes=[1]), radius=st.sampled_from([0, 2, 9]))
def test_a_radius_finds_those_of_the_subset(task, radius):
    neighbors, database, queries, allowed, among = task
    expected = slow_distances(queries, database)
    expected[~allowed] = np.inf
    found = neighbors.radius_neighbors(queries, radius, among=among)
    for row, distances, indices in zip(expected, *found):
        inside = order_of(row[None])[0][: np.count_nonzero(row <= radius)]
        assert_array_equal(indices, inside)
        assert_array_equal(distances, row[inside])


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("form", ["indices", "mask"])
def test_items_as_queries_are_not_their_own_neighbors(form, share):
    rng = np.random.default_rng(0)
    database = rng.integers(0, 2, (200, 9), dtype=np.uint8)
    masks = np.broadcast_to(rng.random(200) < share, (200, 200))
    expected = slow_distances(database, database)
    expected[~masks] = np.inf
    np.fill_diagonal(expected, np.inf)
    neighbors = HammingNeighbors(4).fit(database)
    among = FORMS[form](masks, masks)
    assert_array_equal(neighbors.kneighbors(among=among)[1], order_of(expected)[:, :4])
    n_allowed = int(masks[0].sum())
    with pytest.raises(ValueError, match=f"among allows {n_allowed - 1} items"):
        neighbors.kneighbors(n_neighbors=n_allowed, among=among)


@pytest.mark.parametrize("word_size", [1, 8])
@pytest.mark.parametrize("n_candidates", [5, 40, 1_000])
def test_candidates_are_allowed_items(n_candidates, word_size):
    rng = np.random.default_rng(1)
    database = rng.integers(0, 2, (300, 16), dtype=np.uint8)
    weights = rng.standard_normal((6, n_weights_of(16, word_size)))
    weights = weights.astype(np.float32)
    masks = rng.random((6, 300)) < 0.3
    near = slow_distances(wanted_bits(weights, 16).astype(np.uint8), database)
    near[~masks] = np.inf
    last = np.sort(near, axis=1)[:, min(n_candidates, masks.sum(axis=1).min()) - 1]
    expected = slow_distances(weights, database)
    expected[(near > last[:, None]) | ~masks] = np.inf
    neighbors = WeightedHammingNeighbors(3, n_candidates=n_candidates).fit(database)
    found = neighbors.kneighbors(weights, among=masks, return_distance=False)
    if n_candidates < 300:
        assert_array_equal(found, order_of(expected)[:, :3])
    else:
        every = slow_distances(weights, database)
        every[~masks] = np.inf
        assert_array_equal(found, order_of(every)[:, :3])


class TestRefusals:
    neighbors = HammingNeighbors(2).fit(np.eye(5, dtype=np.uint8)).remove([1])
    queries = np.eye(5, dtype=np.uint8)[:3]

    @pytest.mark.parametrize(
        ("among", "message"),
        [
            ([0, 1], r"among contains \[1\], .* in `indices_`"),
            ([[0, 2], [2, 3], [3, 7]], r"among contains \[7\]"),
            ([-1, 2], r"among contains \[-1\]"),
            ([2], "among allows 1 items for query 0, fewer than n_neighbors=2"),
            ([], "among allows 0 items"),
            ([[0, 2], [3], [2, 4]], "among allows 1 items for query 1"),
            ([True, True, False, False, False], "among allows 1 items"),
            ([[0, 2], [2, 3]], "among has 2 lists for 3 queries"),
            ([True, False], r"mask of shape \(2,\).* shape \(5,\), or \(3, 5\)"),
            (np.ones((2, 5), dtype=bool), "among has 2 lists for 3 queries"),
            (np.ones((3, 4), dtype=bool), r"mask of shape \(4,\).*, or \(3, 5\)"),
            ([0, 0, 0, 0, 0], "among allows 0 items"),
            (2, r"got int. For one item write \[item\]"),
            ("02", "a mask of bool, got str"),
            ({0: True, 2: False, 3: True}, "got dict.* if allowed"),
            (pd.Series([True] * 5, index=[0, 1, 2, 4, 3]), "items in another order"),
            (pd.DataFrame([[1] * 5] * 3).loc[:, ::-1], "items in another order"),
            (pd.Series([True, None, False, True, True]), "a mask of bool, got object"),
            (sp.csr_array(np.eye(4)), r"mask of shape \(4, 4\)"),
            ([0.5, 2.0], "among must be integers.*a mask of bool, got float64"),
            (["a", "b"], "among names ids, such as a, but the index has none"),
            (np.ones((1, 2, 3), dtype=int), r"among must be integers .* \(1, 2, 3\)"),
        ],
    )
    def test_the_remedy_is_named(self, among, message):
        with pytest.raises(ValueError, match=message):
            self.neighbors.kneighbors(self.queries, among=among)

    def test_stored_zeros_and_repeated_entries_of_a_sparse_mask(self):
        among = sp.csr_array(([0, 1.0, 1.0], [2, 3, 3], [0, 3]), shape=(1, 6))
        neighbors = HammingNeighbors(1).fit(np.eye(6))
        assert_array_equal(neighbors.kneighbors(np.eye(6)[2:3], among=among)[1], [[3]])

    def test_labels_of_masks_are_compared_with_ids(self):
        named = HammingNeighbors(1).fit(np.eye(3), ids=["a", "b", "c"])
        mask = pd.DataFrame([[False, True, True]], columns=["a", "b", "c"])
        assert named.kneighbors(np.eye(3)[:1], among=mask)[1].tolist() == [["b"]]
        with pytest.raises(ValueError, match="in another order than that of the index"):
            named.kneighbors(np.eye(3)[:1], among=mask[["b", "a", "c"]])

    @pytest.mark.parametrize("ids", [None, [7, 0, 1, 2, 3]])
    def test_masks_remove_nothing(self, ids):
        neighbors = HammingNeighbors(1).fit(np.eye(5), ids=ids)
        for mask in ([0, 1, 1, 0, 0], np.array([False, True, False, False, False])):
            with pytest.raises(ValueError, match=r"got a mask\. Those of a mask are"):
                neighbors.remove(mask)
        for items in ({0: False}, pd.DataFrame({0: [2], 1: [3]})):
            with pytest.raises(ValueError, match=r"indices must be integers|ids must be"):
                neighbors.remove(items)
        assert neighbors.n_items_ == 5
