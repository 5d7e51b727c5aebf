"""Pairs that do not count are not counted, whatever says so: tables against slow loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import (
    JudgmentAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    SharedLabelAffinity,
    ThresholdAffinity,
)
from sklearn_talr.histogram import HammingHistogram, RankingHistogram, hamming_histogram


class Gap:
    """An oracle of one's own, whose pairs do not count where it has NaN or less than 0."""

    levels_ = np.array([0, 2, 5])

    def __call__(self, y_query, y_database):
        gap = np.abs(np.subtract.outer(y_query, y_database))
        grades = np.array([5, 2, 0, np.nan, -3])
        return grades[np.minimum(gap, 4)]


def labels(rng, n_query, n_items):
    return rng.integers(0, 4, n_query), rng.integers(0, 4, n_items)


def indicators(rng, n_query, n_items):
    return [(rng.random((n, 4)) < 0.4).astype(int) for n in (n_query, n_items)]


def numbers(rng, n_query, n_items):
    return [rng.integers(0, 9, n) for n in (n_query, n_items)]


def judgments(rng, n_query, n_items):
    grades = rng.integers(-2, 3, (n_query, n_items))
    grades *= rng.random(grades.shape) < 0.5
    return sp.csr_array(grades), np.arange(n_items)


CASES = {
    "labels": (LabelAffinity(), labels),
    "ignored label": (LabelAffinity(ignored=3), labels),
    "indicators": (SharedLabelAffinity(), indicators),
    "thresholds": (ThresholdAffinity((0.5, 0.2), levels=(1, 4)), numbers),
    "own oracle": (Gap(), numbers),
    "judgments": (JudgmentAffinity(), judgments),
    "judged alone": (JudgmentAffinity(unjudged="ignored"), judgments),
}


def slow_counts(queries, items, affinity, levels):
    counts = np.zeros((len(queries), len(levels), queries.shape[1] + 1), dtype=int)
    for q, query in enumerate(queries):
        for i, item in enumerate(items):
            if affinity[q, i] >= 0:
                level = list(levels).index(affinity[q, i])
                counts[q, level, np.sum(query != item)] += 1
    return counts


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_query", [9, 80])  # of so many equal codes are merged
@pytest.mark.parametrize("n_bits", [3, 70])
def test_tables_are_those_of_pairs_that_count(case, n_query, n_bits):
    rng = np.random.default_rng(n_query)
    affinity, draw = CASES[case]
    y_query, y_items = draw(rng, n_query, 150)
    if hasattr(affinity, "fit"):
        affinity = affinity.fit(y_query)
    queries, items = (rng.integers(0, 2, (n, n_bits)) for n in (n_query, 150))
    groups = rng.choice(["a", "b", "c", "d"], n_query), rng.choice(["b", "c", "x"], 150)
    values = np.asarray(affinity(y_query, y_items), dtype=float)
    for of_query, of_items in ((None, None), groups):
        expected = values.copy()
        if of_query is not None:
            expected[of_query[:, None] == of_items] = -1
        options = {"groups_query": of_query, "groups_database": of_items}
        table = hamming_histogram(queries, items, affinity, y_query, y_items, **options)
        slow = slow_counts(queries, items, expected, table.levels)
        assert_array_equal(table.counts, slow)
        assert_array_equal(table.n_items, (expected >= 0).sum(axis=1))


@pytest.mark.parametrize("case", ["labels", "thresholds", "own oracle"])
def test_groups_of_one_are_samples_that_do_not_rank_themselves(case):
    rng = np.random.default_rng(3)
    affinity, draw = CASES[case]
    y, _ = draw(rng, 90, 1)
    affinity = affinity.fit(y) if hasattr(affinity, "fit") else affinity
    codes, groups = rng.integers(0, 2, (90, 5)), rng.integers(0, 7, 90)
    asked, both = (codes, codes, affinity, y, y), {"groups_query": groups}
    both["groups_database"] = groups
    alone = hamming_histogram(*asked, exclude_self=True)
    values = np.asarray(affinity(y, y), dtype=float)
    np.fill_diagonal(values, -1)
    assert_array_equal(alone.counts, slow_counts(codes, codes, values, alone.levels))
    one = dict.fromkeys(both, np.arange(90).astype(str))
    assert_array_equal(hamming_histogram(*asked, **one).counts, alone.counts)
    grouped = hamming_histogram(*asked, **both)
    own = hamming_histogram(*asked, **both, exclude_self=True)
    assert_array_equal(own.counts, grouped.counts)  # a sample is in its own group
    assert np.all(grouped.n_items <= alone.n_items)
    assert grouped.n_items.sum() < alone.n_items.sum()


@pytest.mark.parametrize("convert", [np.array, sp.csr_array, sp.csr_matrix])
def test_entries_below_0_and_nan_of_a_matrix_do_not_count(convert):
    rng = np.random.default_rng(4)
    matrix = rng.integers(-3, 3, (40, 40)).astype(float)
    codes = rng.integers(0, 2, (40, 6))
    wanted, given = np.where(matrix < 0, -1, matrix), matrix.copy()
    given[matrix == -3] = np.nan
    y = PrecomputedAffinity(convert(given))
    assert_array_equal(y.toarray(), wanted)
    assert_array_equal(y.levels_, [0, 1, 2])
    table = hamming_histogram(codes, codes, "auto", y, y)
    assert_array_equal(table.counts, slow_counts(codes, codes, wanted, table.levels))
    integers = convert(matrix.astype(int))
    PrecomputedAffinity(integers)
    assert_array_equal(integers.toarray() if sp.issparse(integers) else integers, matrix)


def test_pairs_and_rankings_leave_out_nan():
    codes = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    table = HammingHistogram.from_pairs(codes, codes[::-1], [1, np.nan, 0, 1])
    kept = HammingHistogram.from_pairs(codes[[0, 2, 3]], codes[[3, 1, 0]], [1, 0, 1])
    assert_array_equal(table.counts, kept.counts)
    y_true, scores = [[1, np.nan, 0, 2]], [[3, 3, 3, 1]]
    wide = np.array(scores) + 2**60  # which float64 would tie
    for y_score in (scores, [[3.0, np.nan, 3.0, 1.0]], wide, [[3.0, np.inf, 3.0, 1.0]]):
        table = RankingHistogram.from_scores(y_true, y_score)
        assert_array_equal(table.counts, [[[1, 0], [1, 0], [0, 1]]])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ((None, [0, 1]), "groups_query is None, but the other side has groups"),
        (([0, 1], None), "groups_database is None"),
        (([0], [0, 1]), r"groups_query must be a label for each of 2 samples, got.*\(1,\)"),
        (([0, 1], [[0, 1]] * 2), r"groups_database must be.*np\.unique\(columns, axis=0"),
        (([0, np.nan], [0, 1]), "groups_query has missing values"),
        ((["a", None], ["a", "b"]), "groups_query has missing values"),
        (([0, 1], ["0", "1"]), "numbers and strings are never equal"),
    ],
)
def test_groups_that_cannot_be_compared_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        hamming_histogram(
            *[[[0, 1], [1, 1]]] * 2,
            "auto",
            *[[0, 1]] * 2,
            groups_query=groups[0],
            groups_database=groups[1],
        )
