"""Judgments of items by queries, against loops over pairs, and groups of queries."""

import pickle

import numpy as np
import pytest
import reference
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.base import clone

from sklearn_talr.affinity import (
    BaseAffinity,
    JudgmentAffinity,
    query_groups,
    resolve_affinity,
)
from sklearn_talr.histogram import hamming_histogram

RNG = np.random.default_rng(0)
# Six queries and nine items; an empty row, an empty column, and all items of one query
GRADES = RNG.choice([0, 0, 0, 1, 3], (6, 9))
GRADES[1], GRADES[:, 4], GRADES[2] = 0, 0, [1, 3, 1, 1, 2, 1, 1, 3, 1]
FORMATS = ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]
CONVERSIONS = [
    np.asarray,
    np.ndarray.tolist,
    *(lambda y, f=f: sp.csr_array(y).asformat(f) for f in FORMATS),
    *(lambda y, f=f: sp.csr_matrix(y).asformat(f) for f in FORMATS),
]

grades = st.lists(
    st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=7
).map(np.array)


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("dtype", [int, float, np.uint8])
def test_grades_are_looked_up_both_ways_round(convert, dtype):
    by_query, by_item = convert(GRADES.astype(dtype)), convert(GRADES.T.astype(dtype))
    affinity = JudgmentAffinity().fit(by_query)
    assert_array_equal(affinity.levels_, [0, 1, 2, 3])
    assert_array_equal(JudgmentAffinity().fit(by_item).levels_, [0, 1, 2, 3])
    for numbers in (np.arange(9), [8, 0, 0, 3], [2, 3, 4], [1, 4, 6], []):
        numbers = np.array(numbers, dtype=int)
        expected = [[row[i] for i in numbers] for row in GRADES]
        actual = affinity(by_query, numbers)
        assert (type(actual), actual.dtype) == (np.ndarray, np.int64)
        assert_array_equal(actual, np.reshape(expected, (6, len(numbers))))
    for numbers in (np.arange(6), np.array([5, 1, 1]), np.array([0, 3])):
        assert_array_equal(affinity(numbers, by_item), GRADES[numbers])


def test_stored_zeros_stay_stored_and_are_not_relevant():
    stored = sp.csr_array(([2, 0, 1], ([0, 0, 1], [0, 1, 2])), shape=(2, 3))
    for judgments in (stored, stored.tocoo(), stored.tocsc(), sp.csr_matrix(stored)):
        targets = JudgmentAffinity().check_targets(judgments)
        assert targets.nnz == 3
        assert_array_equal(JudgmentAffinity()(judgments, [0, 1, 2]), [[2, 0, 0], [0, 0, 1]])
    assert_array_equal(query_groups(stored.T), [0, 1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0.0, np.inf]], "y must hold integers"),
        ([[0.0, -np.inf]], "y must hold integers"),
        ([[0.5, 1]], "y must hold integers.*Round or bin"),
        (sp.coo_array([[-0.5, 1]]), "y must hold integers"),
        ([[2.0**63]], "y must hold integers"),
        (np.array([[2**63]], dtype=np.uint64), "y must hold integers"),
        ([["a", "b"]], "y must hold numbers, which are grades"),
        (np.array([[1, None]]), "y contains NaT, None or NaN"),
        (np.array([[1j]]), "y must hold numbers, which are grades, got complex"),
        (np.zeros((2, 2, 2)), r"a row for each sample, got shape \(2, 2, 2\)"),
        (3, r"a row for each sample, got shape \(\)"),
        ([0.0, 1.0], "y of one dimension must be numbers of columns.*np.flatnonzero"),
        ([True, False], "y of one dimension must be numbers of columns"),
        (["a"], "y of one dimension must be numbers of columns"),
        ([0, -1], "y of one dimension must be numbers of columns.*integers from 0"),
        ([[1, 2], [3]], "rows of different lengths"),
        (np.ma.masked_equal([[1, 0]], 0), "y has masked entries"),
    ],
)
def test_what_is_no_judgment_is_refused(y, message):
    affinity = JudgmentAffinity().fit([[1]])
    for ask in (affinity.fit, affinity.check_targets, lambda y: affinity(y, [0])):
        with pytest.raises(ValueError, match=message):
            ask(y)
    assert_array_equal(affinity.levels_, [0, 1])


def test_both_sides_fit_together():
    affinity = JudgmentAffinity()
    with pytest.raises(ValueError, match=r"both are judgments.*PrecomputedAffinity"):
        affinity([[1]], [[1]])
    with pytest.raises(ValueError, match="both are numbers of columns"):
        affinity([1], [1])
    for sides in (([[1, 0]], [2]), ([0, 2], [[1, 0]])):
        with pytest.raises(ValueError, match="number 2, but the judgments have 2 columns"):
            affinity(*sides)


def test_items_are_known_by_number():
    affinity = JudgmentAffinity()
    assert affinity.by_number
    assert_array_equal(affinity.targets_of(sp.csr_array((4, 2))), np.arange(4))
    affinity.check_width(affinity.check_targets(GRADES), 9)
    for wrong in (GRADES[:, :8], GRADES.T, np.arange(9)):
        with pytest.raises(ValueError, match=r"shape \(n_queries, 9\), a column for each"):
            affinity.check_width(affinity.check_targets(wrong), 9)


def test_a_judgment_oracle_is_cloned_pickled_and_saved():
    affinity = JudgmentAffinity().fit(GRADES)
    assert repr(clone(affinity)) == "JudgmentAffinity()"
    assert not hasattr(clone(affinity), "levels_")
    for twin in (
        pickle.loads(pickle.dumps(affinity)),
        BaseAffinity.from_plain(affinity.to_plain()),
        BaseAffinity.from_plain(JudgmentAffinity().to_plain()),
    ):
        assert type(twin) is JudgmentAffinity
        assert_array_equal(twin(GRADES, np.arange(9)), GRADES)
    assert_array_equal(JudgmentAffinity().fit(np.arange(4)).levels_, [0])


def test_auto_names_judgments_where_a_matrix_is_not_square():
    for y in (GRADES, GRADES.T, sp.csr_array(GRADES)):
        with pytest.raises(ValueError, match=r"JudgmentAffinity\(\) .*queries that judge"):
            resolve_affinity("auto", None, y)
    _, targets = resolve_affinity(JudgmentAffinity(), np.eye(6), GRADES)
    assert_array_equal(targets.toarray(), GRADES)
    _, targets = resolve_affinity(JudgmentAffinity(), np.eye(6), None)
    assert_array_equal(targets, np.arange(6))


# Counted with, both ways round

QUERIES, ITEMS = RNG.integers(0, 2, (6, 5)), RNG.integers(0, 2, (9, 5))


@pytest.mark.parametrize("convert", CONVERSIONS)
@pytest.mark.parametrize("fitted", [True, False])
def test_judgments_are_counted_by_distance(convert, fitted):
    """An oracle that was fitted to other grades counts new ones, too."""
    affinity = JudgmentAffinity()
    affinity = affinity.fit([[0, 1]]) if fitted else affinity
    distances = reference.hamming_distances(QUERIES, ITEMS)
    expected = reference.histogram(distances, GRADES, [0, 1, 2, 3], 6)
    by_query, by_item = convert(GRADES), convert(GRADES.T)
    for targets in ((by_query, np.arange(9)), (np.arange(6), by_item)):
        actual = hamming_histogram(QUERIES, ITEMS, affinity, *targets)
        assert_array_equal(actual.counts, expected)
        assert_array_equal(actual.levels, [0, 1, 2, 3])
    parts = [
        hamming_histogram(QUERIES, ITEMS[part], affinity, by_query, np.arange(9)[part])
        for part in (slice(4), slice(4, None))
    ]
    assert_array_equal(sum(parts).counts, expected)


# Groups of queries


def slow_groups(judgments):
    """Join queries that share a relevant item until nothing changes."""
    relevant = np.asarray(judgments) > 0
    groups = list(range(relevant.shape[1]))
    for _ in groups:
        for one in range(len(groups)):
            for other in range(len(groups)):
                if np.any(relevant[:, one] & relevant[:, other]):
                    groups[one] = groups[other] = min(groups[one], groups[other])
    numbers = list(dict.fromkeys(groups))
    return [numbers.index(group) for group in groups]


sparse_grades = st.integers(1, 6).flatmap(
    lambda n_queries: st.lists(
        st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=n_queries, max_size=n_queries),
        min_size=1,
        max_size=8,
    ).map(np.array)
)


@given(sparse_grades, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_groups_are_connected_components(judgments, random):
    groups = query_groups(judgments)
    assert groups.tolist() == slow_groups(judgments)
    assert_array_equal(query_groups(sp.coo_array(judgments)), groups)
    rows = random.sample(range(len(judgments)), len(judgments))
    assert_array_equal(query_groups(judgments[rows]), groups)
    columns = random.sample(range(len(groups)), len(groups))
    together = np.equal.outer(groups, groups)[np.ix_(columns, columns)]
    mixed = query_groups(judgments[:, columns])
    assert_array_equal(np.equal.outer(mixed, mixed), together)


@pytest.mark.parametrize(
    ("judgments", "message"),
    [
        ([[0.5]], "judgments must hold integers"),
        ([[np.inf]], "judgments must hold integers"),
        ([0, 1], r"judgments must be judgments with a row for each sample, got shape \(2,"),
        ("q", "'judgments' parameter of query_groups"),
    ],
)
def test_what_has_no_groups_is_refused(judgments, message):
    with pytest.raises(ValueError, match=message):
        query_groups(judgments)
