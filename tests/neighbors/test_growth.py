"""Databases that grow and shrink."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from neighbor_cases import CODES, check_same, draw, may_have_one_code, ranking
from numpy.testing import assert_array_equal

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import SharedLabelAffinity
from sklearn_talr.neighbors import HammingNeighbors


@may_have_one_code
@settings(deadline=None, max_examples=60)
@given(
    n_bits=st.sampled_from([1, 5, 8, 16, 40, 64, 65, 130]),
    kind=st.sampled_from(sorted(CODES)),
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    seed=st.integers(0, 999),
)
def test_parts_added_one_by_one_equal_all_at_once(n_bits, kind, sizes, seed):
    queries, database = draw(kind, 3, sum(sizes) + 2, n_bits, seed)
    neighbors = HammingNeighbors().add(database[:2])
    start = 2
    for size in sizes:
        neighbors.add(database[start : start + size])
        start += size
    check_same(neighbors, HammingNeighbors().fit(database), queries)


@may_have_one_code
@settings(deadline=None, max_examples=60)
@given(
    n_bits=st.sampled_from([1, 5, 16, 64, 130]),
    kind=st.sampled_from(sorted(CODES)),
    data=st.data(),
)
def test_what_is_removed_is_not_found_and_nothing_else_changes(n_bits, kind, data):
    queries, database = draw(kind, 3, 20, n_bits, data.draw(st.integers(0, 999)))
    removed = data.draw(st.sets(st.integers(0, 19), max_size=16))
    neighbors = HammingNeighbors().fit(database).remove(sorted(removed))
    kept = np.setdiff1d(np.arange(20), list(removed))
    assert_array_equal(neighbors.indices_, kept)
    assert_array_equal(neighbors.codes_, database[kept])
    assert (neighbors.n_items_, neighbors.n_samples_fit_) == (len(kept), 20)
    _, indices = neighbors.kneighbors(queries, 4)
    for found, row in zip(indices, ranking(queries, database)):
        assert_array_equal(found, [i for _, i in row if i not in removed][:4])
    assert_array_equal(
        neighbors.rank(queries).indices,
        [[i for _, i in row if i not in removed] for row in ranking(queries, database)],
    )


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([3], r"indices contains \[3\], which are not in the database"),
        ([-1], r"indices contains \[-1\]"),
        ([0], r"indices contains \[0\]"),  # already removed
        ([[1]], "indices must be .* all integers of int64, got entries of type list"),
        ([1.0], "indices holds floats, which have two readings"),
        (np.array([1.0]), "two readings.*astype"),
        ([1, None], "indices has missing values"),
        (None, "indices has missing values"),
        (["a"], "indices names ids, such as a, but the index has none. Give it some"),
        ([False, True, False], "Write np.flatnonzero"),
        ([1, 2], "indices would leave no item"),
    ],
)
def test_what_cannot_be_removed_is_refused(indices, message):
    neighbors = HammingNeighbors().fit([[0, 0], [0, 1], [1, 1]]).remove([0])
    with pytest.raises(ValueError, match=message):
        neighbors.remove(indices)
    assert_array_equal(neighbors.indices_, [1, 2])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([0, 1], [1, 2]),
        (["a", "b"], ["cc", "b"]),
        (np.eye(2, dtype=int), np.array([[1, 1], [0, 1]])),
        (sp.csr_array(np.eye(2, dtype=int)), np.array([[1, 1], [0, 1]])),
    ],
)
def test_targets_grow_with_the_codes(first, second):
    affinity = SharedLabelAffinity() if np.ndim(second) == 2 else "auto"
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    grown = HammingNeighbors(2, affinity=affinity)
    grown.add(codes[:2], first).add(codes[2:], second)
    both = [y.toarray() if sp.issparse(y) else np.asarray(y) for y in (first, second)]
    y = np.concatenate(both)
    whole = HammingNeighbors(2, affinity=affinity).fit(codes, y)
    assert_array_equal(grown.predict(codes), whole.predict(codes))
    assert grown.score(codes, y) == whole.score(codes, y)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 1], None, "added with y, and new items must"),
        (None, [0, 1], "added without y, and new items must"),
        ([0, 1], [0], "must have the same number of samples, got 2 and 1"),
        ([0, 1], ["a", "b"], "y has dtype <U1, but that of the first items"),
        (
            PrecomputedAffinity(np.eye(2, dtype=int)),
            PrecomputedAffinity(np.eye(2, dtype=int)),
            "Call fit with all codes and the whole matrix",
        ),
    ],
)
def test_targets_that_do_not_continue_are_refused(first, second, message):
    neighbors = HammingNeighbors(1).fit([[0, 0], [0, 1]], first)
    with pytest.raises(ValueError, match=message):
        neighbors.add([[1, 1], [1, 0]], second)
    assert neighbors.n_items_ == 2
