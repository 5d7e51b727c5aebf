"""Which item is relevant to which query, pair by pair."""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_talr.affinity import (
    JudgmentAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    fit_affinity,
)
from sklearn_talr.hashing import _views
from sklearn_talr.hashing._views import Pairs, has_contrast

N_ITEMS, N_QUERIES = 23, 9
rng = np.random.default_rng(0)
GRADES = rng.integers(0, 4, (N_ITEMS, N_QUERIES)) * (rng.random((N_ITEMS, N_QUERIES)) < 0.4)
GRADES[:, 2] = GRADES[5] = 0  # an empty column and an empty row
GRADES[GRADES == 2] = 7  # levels 0, 1, 3, 7
STORED = (GRADES > 0) | (rng.random(GRADES.shape) < 0.2)  # the rest is not judged
STORED[:, 4] = False
GRADES[:, 4] = 0
LABELS, LABELS_QUERY = rng.integers(0, 5, N_ITEMS), rng.integers(1, 7, N_QUERIES)
SHARED = (rng.random((N_ITEMS, 6)) < 0.3).astype(int)
SHARED_QUERY = (rng.random((N_QUERIES, 6)) < 0.3).astype(int)
SHARED[:, 1] = 0  # a label that only queries have
SHARED_QUERY[:3] = 0
SHARED_QUERY[3] = [1, 1, 0, 0, 0, 0]


class Closeness(LabelAffinity):
    """An affinity of one's own, which names no classes: 4 minus the difference."""

    def fit(self, y):
        super().fit(y)
        self.levels_ = np.arange(5)
        return self

    def levels_between(self, y_query, y_database):
        return np.arange(5)

    def memberships(self, y):
        return None

    def level_index(self, y_query, y_database, levels):
        return np.searchsorted(levels, self(y_query, y_database))

    def __call__(self, y_query, y_database):
        difference = np.abs(np.subtract.outer(np.asarray(y_query), np.asarray(y_database)))
        return np.maximum(4 - difference, 0)


def judged_pairs(judgments, levels, ignores_unjudged):
    numbers = np.arange(judgments.shape[0])
    unjudged = "ignored" if ignores_unjudged else "irrelevant"
    by_query = judgments.T.tocsr()
    return Pairs(JudgmentAffinity(), by_query, numbers, levels, unjudged=unjudged)


def judged(ignores_unjudged):
    row, column = np.nonzero(STORED)
    shape = GRADES.shape
    judgments = sp.csr_array((GRADES[row, column], (row, column)), shape=shape)
    assert judgments.nnz == STORED.sum()
    levels = np.array([0, 1, 3, 7])
    known = STORED if ignores_unjudged else np.ones_like(STORED)
    return judged_pairs(judgments, levels, ignores_unjudged), np.where(known, GRADES, -1).T


def of_targets(affinity, y_query, y_item):
    affinity = affinity.fit_clone(y_item)
    levels = affinity.levels_between(y_query, y_item)
    return Pairs(affinity, y_query, y_item, levels), affinity(y_query, y_item)


def of_same_rows(affinity, y):
    affinity = affinity.fit_clone(y)
    pairs = Pairs(affinity, y, y, affinity.levels_between(y, y), same_rows=True)
    expected = affinity(y, y).astype(int)
    np.fill_diagonal(expected, -1)
    return pairs, expected


LONELY = np.append(LABELS, [8, 9])  # two rows without a second of their class
CASES = {
    "judged": judged(False),
    "unjudged ignored": judged(True),
    "labels": of_targets(LabelAffinity(), LABELS_QUERY, LABELS),
    "words": of_targets(LabelAffinity(), LABELS_QUERY.astype(str), LABELS.astype(str)),
    "shared labels": of_targets(SharedLabelAffinity(), SHARED_QUERY, SHARED),
    "sparse labels": of_targets(
        SharedLabelAffinity(), sp.csr_array(SHARED_QUERY), sp.csr_array(SHARED)
    ),
    "any shared label": of_targets(SharedLabelAffinity(binary=True), SHARED_QUERY, SHARED),
    "numbered columns": of_targets(
        JudgmentAffinity(), np.array([3, 0, 7]), sp.csr_array(GRADES)
    ),
    "own affinity": of_targets(Closeness(), LABELS_QUERY, LABELS),
    "labels of rows": of_same_rows(LabelAffinity(), LONELY),
    "shared labels of rows": of_same_rows(SharedLabelAffinity(), SHARED),
}
every_case = pytest.mark.parametrize(("pairs", "expected"), CASES.values(), ids=CASES)


@pytest.fixture(params=[None, 1, 50], autouse=True)
def pairs_per_block(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(_views, "_PAIRS_PER_BLOCK", request.param)


@every_case
def test_sizes_and_levels(pairs, expected):
    assert (pairs.n_queries, pairs.n_items) == expected.shape
    assert pairs.levels[0] == 0
    assert np.all(np.diff(pairs.levels) > 0)
    assert set(np.unique(expected)) <= {-1, *pairs.levels.tolist()}


@every_case
def test_level_index(pairs, expected):
    """Of any queries, also repeated, and of different items in any order."""
    draw = np.random.default_rng(1)
    for n_items in (pairs.n_items, 5, 1):
        queries = draw.integers(0, pairs.n_queries, 7)
        items = draw.permutation(pairs.n_items)[:n_items]
        index = pairs.level_index(queries, items)
        assert index.dtype == np.int32
        block = expected[np.ix_(queries, items)]
        np.testing.assert_array_equal(index == -1, block == -1)
        np.testing.assert_array_equal(pairs.levels[index][block >= 0], block[block >= 0])


@every_case
def test_relevant(pairs, expected):
    queries = np.random.default_rng(2).integers(0, pairs.n_queries, 8)
    relevant = pairs.relevant(queries)
    assert relevant.format == "csr"
    assert relevant.dtype == np.float64
    assert np.all(relevant.data == 1)
    np.testing.assert_array_equal(relevant.toarray(), expected[queries] > 0)


@every_case
def test_grades(pairs, expected):
    """Not only where they are above 0; what is not known counts as 0."""
    queries = np.random.default_rng(3).integers(0, pairs.n_queries, 8)
    grades = pairs.grades(queries)
    assert grades.format == "csr"
    assert grades.dtype == np.float64
    np.testing.assert_array_equal(grades.toarray(), np.maximum(expected[queries], 0))


@every_case
def test_has_relevant(pairs, expected):
    found = pairs.has_relevant()
    assert found.dtype == bool
    if names_nothing(pairs):
        assert found.all()
    else:
        np.testing.assert_array_equal(found, np.any(expected > 0, axis=1))


@every_case
def test_draw_relevant(pairs, expected):
    """Each relevant item in its turn, of the queries that have any, in their order."""
    state = np.random.RandomState(0)
    if names_nothing(pairs):
        assert len(pairs.draw_relevant(np.arange(3), state)) == 0
        return
    for query in range(pairs.n_queries):
        drawn = pairs.draw_relevant(np.full(400, query), state)
        relevant = np.flatnonzero(expected[query] > 0)
        own = np.flatnonzero(expected[query] == -1) if pairs.same_rows else []
        assert len(drawn) == (400 if len(relevant) else 0)
        # Drawing the row itself, which does not count, would take long to rule out.
        assert set(relevant) <= set(drawn) <= {*relevant, *own}
    queries = np.random.default_rng(1).permutation(pairs.n_queries)
    drawn = pairs.draw_relevant(queries, state)
    having = queries[np.any(expected[queries] > 0, axis=1)]
    assert len(drawn) == len(having)
    if not pairs.same_rows:
        assert np.all(expected[having, drawn] > 0)


def names_nothing(pairs):
    return pairs in (CASES["own affinity"][0], CASES["numbered columns"][0])


@every_case
def test_has_contrast(pairs, expected):
    assert has_contrast(pairs)


@pytest.mark.parametrize("grade", [0, 1, 3])
def test_pairs_that_are_all_alike_have_no_contrast(grade):
    grades = np.full((4, 3), grade)
    levels = np.unique([0, grade])
    assert not has_contrast(judged_pairs(sp.csr_array(grades), levels, False))
    grades[1, 2] += 1
    levels = np.union1d([0], grades)
    assert has_contrast(judged_pairs(sp.csr_array(grades), levels, False))


def test_contrast_of_judged_pairs_alone():
    """Zeros that are stored are judged; under "ignore" nothing else is irrelevant."""
    levels = np.array([0, 1])
    ones = sp.csr_array(np.eye(3, dtype=int))
    assert not has_contrast(judged_pairs(ones, levels, True))
    assert has_contrast(judged_pairs(ones, levels, False))
    ones.data[1] = 0
    assert has_contrast(judged_pairs(ones, levels, True))
    assert not has_contrast(judged_pairs(sp.csr_array((3, 3), dtype=int), levels, True))


def test_rows_without_a_second_of_their_class_have_no_contrast():
    """Each row knows nothing of itself, and the rest is irrelevant."""
    for y, expected in (([0, 1, 2], False), ([0, 0, 0], False), ([0, 0, 1], True)):
        assert has_contrast(of_same_rows(LabelAffinity(), np.array(y))[0]) is expected


def test_affinity_of_a_matrix():
    matrix = np.add.outer(np.arange(5), np.arange(5)) % 3
    X = np.arange(10.0).reshape(5, 2)
    affinity, targets, levels = fit_affinity("auto", X, PrecomputedAffinity(matrix))
    pairs = Pairs(affinity, targets, targets, levels, same_rows=True)
    expected = matrix.copy()
    np.fill_diagonal(expected, -1)
    found = pairs.level_index(np.arange(5), np.arange(5))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(pairs.relevant(np.arange(5)).toarray(), expected > 0)


def test_items_and_queries_that_share_what_is_relevant_are_similar():
    pairs, _ = judged(False)
    relevant = (GRADES > 0).astype(int)
    for similar, shared in (
        (pairs.similar_items(), relevant @ relevant.T),
        (pairs.similar_queries(), relevant.T @ relevant),
    ):
        rows = np.arange(len(shared))
        np.testing.assert_array_equal(similar.levels_among(rows) > 0, shared > 0)
    pairs, _ = of_targets(LabelAffinity(), LABELS_QUERY, LABELS)
    for similar, y in (
        (pairs.similar_items(), LABELS),
        (pairs.similar_queries(), LABELS_QUERY),
    ):
        expected = y[:, None] == y
        np.testing.assert_array_equal(similar.levels_among(np.arange(len(y))) > 0, expected)
