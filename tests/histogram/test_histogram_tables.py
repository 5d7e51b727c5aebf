"""Tables of counts: what they check, when they add up, how they are made of scores."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_talr.histogram import HammingHistogram, RankingHistogram, hamming_histogram
from sklearn_talr.measures import AP


@pytest.mark.parametrize(
    ("counts", "levels", "message"),
    [
        (np.zeros((2, 3), int), [0, 1], "counts must have shape"),
        (np.zeros((2, 3, 4), int), [0, 1], r"shape \(n_queries, 2, n_columns\)"),
        (np.zeros((2, 2, 4)), [0, 1], "counts must be integers, got float64"),
        (np.zeros((2, 2, 4), bool), [0, 1], "counts must be integers, got bool"),
        ([[[1, 2], [3, -1]]], [0, 1], "counts must not be negative, got -1"),
        (np.zeros((2, 2, 4), int), [1, 2], "levels must be integers that ascend from 0"),
        (np.zeros((2, 3, 4), int), [0, 2, 1], "levels must be integers that ascend from 0"),
        (np.zeros((2, 2, 4), int), [0, 0], "levels must be integers that ascend from 0"),
        (np.zeros((2, 2, 4), int), [0, 0.5], "levels must be integers that ascend from 0"),
        (np.zeros((2, 2, 4), int), ["0", "1"], "levels must be integers that ascend from"),
        (np.zeros((2, 0, 4), int), [], "levels must be integers that ascend from 0"),
        (np.zeros((2, 2, 4), int), [[0], [1]], "levels must be integers that ascend from"),
        (np.zeros((2, 2, 4), int), [0, 2**63], r"from 0, below 2\*\*63, got"),
        (np.zeros((2, 2, 4), int), [0, 1e20], r"from 0, below 2\*\*63, got"),
        (np.full((2, 2, 4), 2**29), [0, 1], r"3000000000 items at most, got 4.29e\+09"),
        (np.full((1, 2, 4), 2**63, np.uint64), [0, 1], "3000000000 items at most"),
    ],
)
def test_a_table_checks_its_counts_and_levels(counts, levels, message):
    with pytest.raises(ValueError, match=message):
        RankingHistogram(counts, levels)
    with pytest.raises(ValueError, match=message):
        HammingHistogram(counts, levels, n_bits=3)


def test_a_table_takes_lists_and_levels_that_are_whole():
    table = HammingHistogram([[[1, 0], [0, 2]]], [0.0, 3.0], np.int64(1))
    assert table.levels.dtype.kind == "i"
    assert_array_equal(table.levels, [0, 3])
    assert (table.n_bits, len(table)) == (1, 1)
    assert_array_equal([table.n_items, table.n_relevant], [[3], [2]])
    with pytest.raises(AttributeError, match="cannot assign"):
        table.n_bits = 2


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_and_pickles_are_whole(clone):
    table = clone(HammingHistogram([[[1, 0, 0], [0, 2, 1]]], [0, 4], 2))
    assert type(table) is HammingHistogram
    assert table.n_bits == 2
    assert_array_equal(table.counts, [[[1, 0, 0], [0, 2, 1]]])
    assert_array_equal(table.levels, [0, 4])


def test_parts_of_a_database_add_up_over_all_levels():
    first = HammingHistogram([[[1, 0], [0, 2]]], [0, 1], 1)
    second = HammingHistogram([[[0, 1], [3, 0]]], [0, 5], 1)
    for total in (first + second, sum([second, first])):
        assert type(total) is HammingHistogram
        assert_array_equal(total.levels, [0, 1, 5])
        assert_array_equal(total.counts, [[[1, 1], [0, 2], [3, 0]]])


def test_tables_that_do_not_belong_together_do_not_add_up():
    one = HammingHistogram(np.zeros((1, 2, 4), int), [0, 1], 3)
    for other in (
        HammingHistogram(np.zeros((2, 2, 4), int), [0, 1], 3),
        HammingHistogram(np.zeros((1, 2, 3), int), [0, 1], 2),
    ):
        with pytest.raises(ValueError, match="same queries and the same n_bits"):
            one + other
    ties = RankingHistogram(np.zeros((1, 2, 4), int), [0, 1])
    for add in (
        lambda: ties + ties,
        lambda: ties + one,
        lambda: one + ties,
        lambda: sum([ties, ties]),
        lambda: one + 1,
        lambda: 1 + one,
    ):
        with pytest.raises(TypeError, match="only two HammingHistogram do"):
            add()


def test_a_table_of_scores_has_a_column_for_each_tie():
    """Best first; queries with fewer ties end in empty columns."""
    y_true = [[2, 0, 1, 0], [0, 0, 0, 1]]
    y_score = [[0.5, 0.5, 1.0, -3.0], [1.0, 1.0, 1.0, 1.0]]
    table = RankingHistogram.from_scores(y_true, y_score)
    assert_array_equal(table.levels, [0, 1, 2])
    assert_array_equal(
        table.counts, [[[0, 1, 1], [1, 0, 0], [0, 1, 0]], [[3, 0, 0], [1, 0, 0], [0, 0, 0]]]
    )
    assert type(HammingHistogram.from_scores(y_true, y_score)) is RankingHistogram


@pytest.mark.parametrize(
    ("y_true", "y_score", "message"),
    [
        ([[0, 1]], [[1.0, 2.0, 3.0]], "same shape"),
        ([[0, -1]], [[1.0, 2.0]], "non-negative integers"),
        ([[0, 0.5]], [[1.0, 2.0]], "non-negative integers"),
        ([[0, 1]], [[1.0, np.nan]], "y_score contains NaN"),
        ([0, 1], [[1.0, 2.0]], "y_true must be 2-D"),
        (None, [[1.0, 2.0]], "'y_true' parameter of RankingHistogram.from_scores must"),
    ],
)
def test_bad_scores_are_refused(y_true, y_score, message):
    with pytest.raises(ValueError, match=message):
        RankingHistogram.from_scores(y_true, y_score)


def test_masks_are_not_lost():
    counts, codes = np.ma.ones((1, 2, 2), dtype=int), np.ma.zeros((2, 3), dtype=int)
    counts[0, 0, 1] = codes[1, 1] = np.ma.masked
    plain, weights = np.zeros((2, 3), dtype=int), np.ma.masked_array([1.0], [True])
    for call, name in (
        (lambda: RankingHistogram(counts, [0, 1]), "counts"),
        (lambda: RankingHistogram(counts.data, np.ma.masked_equal([0, 1], 1)), "levels"),
        (lambda: hamming_histogram(codes, plain, "auto", [0, 1], [0, 1]), "query_codes"),
        (lambda: HammingHistogram.from_pairs(plain, codes, [0, 1]), "second_codes"),
        (lambda: AP.score([[1, 0]], [[0.5, 0.25]], sample_weight=weights), "sample_weight"),
    ):
        with pytest.raises(ValueError, match=f"{name} has masked entries"):
            call()
