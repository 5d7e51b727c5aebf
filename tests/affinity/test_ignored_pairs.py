"""Oracles that say which pairs do not count."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from sklearn_talr.affinity import (
    BaseAffinity,
    JudgmentAffinity,
    LabelAffinity,
    PrecomputedAffinity,
    fit_affinity,
)


@pytest.mark.parametrize(
    ("y", "ignored"),
    [([0, -1, 1, -1, 0], -1), (["a", "?", "b", "?", "a"], "?"), ([0, 7, 1, 7, 0], 7.0)],
)
def test_samples_of_the_ignored_label_count_for_nobody(y, ignored):
    affinity = LabelAffinity(ignored=ignored).fit(y)
    expected = np.equal.outer([0, 1, 2, 1, 0], [0, 1, 2, 1, 0]).astype(int)
    expected[[1, 3]] = expected[:, [1, 3]] = -1
    assert_array_equal(affinity(y, y), expected)
    checked = affinity.check_targets(y)
    assert_array_equal(affinity.level_index(checked, checked, affinity.levels_), expected)
    classes, members = affinity.memberships(checked)
    assert len(classes) == 2
    assert_array_equal(members.toarray().sum(axis=1), [1, 0, 1, 0, 1])
    again = BaseAffinity.from_plain(affinity.to_plain())
    assert_array_equal(again(y, y), expected)


def test_an_ignored_label_has_the_type_of_the_labels():
    with pytest.raises(ValueError, match="ignored='-1' is not of the type of labels"):
        LabelAffinity(ignored="-1").fit([0, -1, 1])
    with pytest.raises(ValueError, match=r"affinity=LabelAffinity\(ignored=-1\)"):
        LabelAffinity().fit([0, -1, 1])
    with pytest.raises(ValueError, match="'ignored' parameter of LabelAffinity"):
        LabelAffinity(ignored=[1]).fit([0, 1])


@pytest.mark.parametrize("by_items", [False, True])
def test_grades_below_0_do_not_count_nor_do_unjudged_pairs_that_are_ignored(by_items):
    stored = np.array([[True, True, False, True], [False, True, True, False]])
    grades = np.array([[2, 0, 0, -2], [0, 1, 0, 0]])
    row, column = np.nonzero(stored)
    judgments = sp.csr_array((grades[row, column], (row, column)), shape=grades.shape)
    known = np.where(grades < 0, -1, grades)
    ignored = np.where(stored, known, -1)
    for unjudged, expected in (("irrelevant", known), ("ignored", ignored)):
        affinity = JudgmentAffinity(unjudged=unjudged).fit(judgments)
        assert_array_equal(affinity.levels_, [0, 1, 2])
        if by_items:
            found = affinity(np.arange(2), judgments.T)
        else:
            found = affinity(judgments, np.arange(4))
        assert_array_equal(found, expected)
    missing = np.where(grades < 0, np.nan, grades)
    assert_array_equal(JudgmentAffinity()(missing, np.arange(4)), known)


def test_a_fit_needs_contrast_among_pairs_that_count():
    X, y, groups = np.eye(4), [0, 0, 1, 1], [0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"No two samples are similar.*and groups"):
        fit_affinity("auto", X, y, groups)
    affinity, targets, levels = fit_affinity("auto", X, y, [0, 1, 0, 2])
    index = affinity.level_index(targets, targets, levels)
    expected = [[-1, 1, -1, 0], [1, -1, 0, 0], [-1, 0, -1, 1], [0, 0, 1, -1]]
    assert_array_equal(index, expected)
    assert isinstance(affinity.given, LabelAffinity)
    matrix = PrecomputedAffinity([[-1, 1, -1], [1, -1, 1], [-1, 1, -1]])
    with pytest.raises(ValueError, match="All pairs of samples are equally similar"):
        fit_affinity("auto", X[:3], matrix)
