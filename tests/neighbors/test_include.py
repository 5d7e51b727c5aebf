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

FORMS_FOR_ALL = {
    "indices": lambda allowed, masks: np.flatnonzero(allowed[0])[::-1],
    "mask": lambda allowed, masks: masks[0],
    "list of bool": lambda allowed, masks: masks[0].tolist(),
    "Series of bool": lambda allowed, masks: pd.Series(masks[0], dtype="boolean"),
    "set": lambda allowed, masks: set(np.flatnonzero(allowed[0]).tolist()),
    "tuple": lambda allowed, masks: tuple(np.flatnonzero(allowed[0]).tolist()),
    "Series": lambda allowed, masks: pd.Series(np.flatnonzero(allowed[0]), dtype="Int64"),
    "keys": lambda allowed, masks: dict.fromkeys(
        np.flatnonzero(allowed[0]).tolist()
    ).keys(),
}
FORMS_FOR_EACH = {
    "lists": lambda allowed, masks: [np.flatnonzero(row)[::-1] for row in allowed],
    "masks": lambda allowed, masks: masks,
    "csr": lambda allowed, masks: sp.csr_array(masks),
    "coo of ratings": lambda allowed, masks: sp.coo_matrix(masks * 2.5),
    "lil": lambda allowed, masks: sp.lil_array(masks),
    "frame": lambda allowed, masks: pd.DataFrame(masks),
    "nullable": lambda allowed, masks: pd.DataFrame(masks).astype("boolean"),
    "columns": lambda allowed, masks: Columns(masks),
    "lists of bool": lambda allowed, masks: masks.tolist(),
    "sets": lambda allowed, masks: [set(np.flatnonzero(row).tolist()) for row in allowed],
    "Series of lists": lambda allowed, masks: pd.Series(
        [np.flatnonzero(row).tolist() for row in allowed]
    ),
    "generator": lambda allowed, masks: (np.flatnonzero(row) for row in allowed),
    "lists and masks": lambda allowed, masks: [
        mask if place % 2 else frozenset(np.flatnonzero(row).tolist())
        for place, (row, mask) in enumerate(zip(allowed, masks))
    ],
}
FORMS = FORMS_FOR_ALL | FORMS_FOR_EACH


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
    form = draw(st.sampled_from(sorted(FORMS)))
    share = draw(st.sampled_from([0.02, 0.3, 0.6, 0.95]))
    is_for_all = form in FORMS_FOR_ALL
    shares = share if is_for_all else share * rng.choice([0.05, 1], (n_queries, 1))
    masks = rng.random((1 if is_for_all else n_queries, n_items)) < shares
    masks = np.broadcast_to(masks, (n_queries, n_items))
    allowed = masks & is_there
    return neighbors, database, queries, allowed, FORMS[form](allowed, masks)


@settings(deadline=None, max_examples=80)
@given(task=tasks(), n_neighbors=st.sampled_from([1, 3, 10]))
def test_neighbors_are_those_of_the_subset(task, n_neighbors):
    neighbors, database, queries, allowed, include = task
    expected = slow_distances(queries, database)
    expected[~allowed] = np.inf
    n_neighbors = min(n_neighbors, int(allowed.sum(axis=1).min()))
    if not n_neighbors:
        with pytest.raises(ValueError, match="include allows 0 items for query"):
            neighbors.kneighbors(queries, 1, include=include)
        return
    distances, indices, tied = neighbors.kneighbors(
        queries, n_neighbors, return_tied=True, include=include
    )
    order = order_of(expected)[:, :n_neighbors]
    assert_array_equal(indices, order)
    assert_array_equal(distances, np.take_along_axis(expected, order, axis=1))
    for row, last, items in zip(expected, order[:, -1], tied):
        assert_array_equal(items, np.flatnonzero(row == row[last]))


@settings(deadline=None, max_examples=50)
@given(task=tasks(word_sizes=[1]), radius=st.sampled_from([0, 2, 9]))
def test_a_radius_finds_those_of_the_subset(task, radius):
    neighbors, database, queries, allowed, include = task
    expected = slow_distances(queries, database)
    expected[~allowed] = np.inf
    found = neighbors.radius_neighbors(queries, radius, include=include)
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
    include = FORMS[form](masks, masks)
    assert_array_equal(neighbors.kneighbors(include=include)[1], order_of(expected)[:, :4])
    n_allowed = int(masks[0].sum())
    with pytest.raises(ValueError, match=f"include allows {n_allowed - 1} items"):
        neighbors.kneighbors(n_neighbors=n_allowed, include=include)


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
    found = neighbors.kneighbors(weights, include=masks, return_distance=False)
    if n_candidates < 300:
        assert_array_equal(found, order_of(expected)[:, :3])
    else:
        every = slow_distances(weights, database)
        every[~masks] = np.inf
        assert_array_equal(found, order_of(every)[:, :3])


COUNTS = "two readings: a number of each item, such as its stock, or ids.*> 0.*np.unique"
TABLE = (
    r"a table of .* two readings: ratings, counts or flags.*include > 0.*list\(include\)"
)


class TestRefusals:
    neighbors = HammingNeighbors(2).fit(np.eye(5, dtype=np.uint8)).remove([1])
    queries = np.eye(5, dtype=np.uint8)[:3]

    @pytest.mark.parametrize(
        ("include", "message"),
        [
            ([0, 1], r"include contains \[1\], .* of `indices_`"),
            ([[0, 2], [2, 3], [3, 7]], r"include contains \[7\]"),
            ([-1, 2], r"include contains \[-1\]"),
            ([2], "include allows 1 items for query 0, fewer than n_neighbors=2"),
            ([], "include allows 0 items.*allow_fewer=True"),
            (set(), "include allows 0 items"),
            ([[0, 2], [3], [2, 4]], "include allows 1 items for query 1"),
            ([True, True, False, False, False], "include allows 1 items"),
            ([[0, 2], [2, 3]], "include has 2 lists for 3 queries"),
            (({0, 2}, {2, 3}), "include has 2 lists for 3 queries"),
            ([True, False], r"mask of shape \(2,\).* shape \(5,\)"),
            (np.ones((2, 5), dtype=bool), r"mask of shape \(2, 5\).*, or \(3, 5\)"),
            (np.ones((3, 4), dtype=bool), r"mask of shape \(3, 4\).*, or \(3, 5\)"),
            (np.ones((5, 3), dtype=bool), r"mask of shape \(5, 3\)"),
            ([[True, False]] * 3, r"mask of shape \(2,\)"),
            # Flags, counts and ratings in place of a mask
            ([0, 0, 0, 0, 0], COUNTS),
            (np.array([0, 3, 3, 0, 1]), COUNTS),
            (pd.Series([0, 3, 3, 0, 1]), COUNTS),
            (np.array([0, 1, 1, 0], dtype=np.uint8), COUNTS),  # of the items that are left
            ([[0, 3, 3, 0, 1]] * 3, COUNTS),
            (np.ones((3, 5), dtype=int), TABLE),
            (np.ones((3, 5)), TABLE),
            (np.array([[0, 2], [2, 3], [3, 4]]), TABLE),
            (np.ones((3, 5), dtype=int).astype(object), TABLE),
            (np.ones((1, 2, 3), dtype=int), TABLE),
            (pd.DataFrame(np.ones((3, 5), dtype=int)), r"list\(np.asarray\(include\)\)"),
            (pd.DataFrame([["a"], ["b"], ["c"]]), r"list\(np.asarray\(include\)\)"),
            ([0.5, 2.0], r"two readings: ratings.*include\) > 0.*astype"),
            (pd.Series([0, None, 2]), "missing values"),
            (pd.Series([0, None, 2], dtype="Int64"), "missing values"),
            # Pairs of a query and an item, and the places of a mask
            (
                [(0, 2), (1, 3), (2, 4)],
                r"two readings: ids, .* pairs of a query and an item",
            ),
            (np.nonzero(np.eye(3, 5)), "two readings: ids, .* or rows and columns"),
            (([0, 1, 2], [2, 3, 4]), "two readings: ids, .* or rows and columns"),
            (np.array([0.5, 2.0]), r"two readings: ratings.*include\) > 0.*astype"),
            ([[0, 2], None, [3, 4]], r"entry 1 is None. Write \[\]"),
            ([[0, 2], float("nan"), [3, 4]], r"entry 1 is nan. Write \[\]"),
            ([[0, 2], pd.NA, [3, 4]], r"entry 1 is <NA>. Write \[\]"),
            ([[0, 2], 3, [3, 4]], r"entry 1 is 3. Write \[3\]"),
            (
                [[0, 2], ["b"], [3, 4]],
                "include names ids, such as b, but the index has none",
            ),
            (np.array(2), r"got ndarray. For one item write \[item\]"),
            (
                {0: [2], 1: [3]},
                r"of a dict of lists .include\[query\] for query in queries",
            ),
            ([[0, 2], "b", [3, 4]], r"entry 1 is 'b'. Write \['b'\]"),
            ([[0, 2], [None], [3, 4]], r"missing values.* write \[\]"),
            ([[0, 2], [[3]], [3, 4]], "include must be all strings.*of type list"),
            ([[0, 2], {3: 1}, [3, 4]], "entry 1 is a dict"),
            ([[0, 2], np.eye(2), [3, 4]], "entry 1 is a ndarray of more than one"),
            ([True, 3, 4], "entries of type bool, int"),
            (np.array([2**63], dtype=np.uint64), "all integers of int64"),
            # What is neither
            (2, r"got int. For one item write \[item\]"),
            ("02", "a mask of bool, got str"),
            ({0: True, 2: False, 3: True}, "got dict.*in include.items"),
            (
                pd.Series([True] * 5, index=[0, 1, 2, 4, 3]),
                "items in another order than in",
            ),
            (pd.DataFrame([[True] * 5] * 3).loc[:, ::-1], "items in another order than in"),
            (pd.Series([True, None, False, True, True]), "missing values.*fillna"),
            (sp.csr_array(np.eye(4)), r"mask of shape \(4, 4\)"),
            (["a", "b"], "include names ids, such as a, but the index has none"),
        ],
    )
    def test_the_remedy_is_named(self, include, message):
        with pytest.raises(ValueError, match=message):
            self.neighbors.kneighbors(self.queries, include=include)
        if "include allows" not in message:
            with pytest.raises(ValueError, match=message.replace("include", "exclude")):
                self.neighbors.radius_neighbors(self.queries, exclude=include)

    def test_stored_zeros_and_repeated_entries_of_a_sparse_mask(self):
        include = sp.csr_array(([0, 1.0, 1.0], [2, 3, 3], [0, 3]), shape=(1, 6))
        neighbors = HammingNeighbors(1).fit(np.eye(6))
        assert_array_equal(neighbors.kneighbors(np.eye(6)[2:3], include=include)[1], [[3]])

    def test_labels_of_masks_are_compared_with_ids(self):
        named = HammingNeighbors(1).fit(np.eye(3), ids=["a", "b", "c"])
        mask = pd.DataFrame([[False, True, True]], columns=["a", "b", "c"])
        assert named.kneighbors(np.eye(3)[:1], include=mask)[1].tolist() == [["b"]]
        with pytest.raises(ValueError, match="in another order than in the index"):
            named.kneighbors(np.eye(3)[:1], include=mask[["b", "a", "c"]])

    def test_rows_of_queries_are_joined_by_their_labels(self):
        queries = pd.DataFrame(np.eye(5)[:3], index=["u", "v", "w"])
        lists = pd.Series([[0, 2], [2, 3], [3, 4]], index=["u", "v", "w"])
        masks = pd.DataFrame(np.eye(3, 5) + np.eye(3, 5, 2) > 0, index=["u", "v", "w"])
        index = HammingNeighbors(1).fit(np.eye(5))
        for include in (lists, masks):
            index.kneighbors(queries, include=include)
            with pytest.raises(ValueError, match="include has the same labels in another"):
                index.kneighbors(queries, include=include[::-1])

    @pytest.mark.parametrize("ids", [None, [7, 0, 1, 2, 3]])
    def test_masks_and_counts_remove_nothing(self, ids):
        neighbors = HammingNeighbors(1).fit(np.eye(5), ids=ids)
        for mask in ([False, True, True, False, False], np.arange(5) == 1):
            with pytest.raises(ValueError, match=r"got a mask\. Write np.flatnonzero"):
                neighbors.remove(mask)
        for items in ({0: False}, pd.DataFrame({0: [2], 1: [3]})):
            with pytest.raises(ValueError, match=r"a list of ids|have one dimension"):
                neighbors.remove(items)
        for counts in ([0, 1, 1, 0, 0], np.array([2, 0, 0, 3, 0])):
            with pytest.raises(ValueError, match=COUNTS):
                neighbors.remove(counts)
        assert neighbors.n_items_ == 5
        assert neighbors.remove({0, 3}).n_items_ == 3
