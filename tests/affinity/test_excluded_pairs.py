"""Which pairs do not count: those of one group, and a sample's pair with itself."""

import numpy as np
import pytest

from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.affinity._excluded import (
    ExcludedPairs,
    GroupedTargets,
    leave_out_groups,
    within_groups,
)

N = 30
CAMERAS = np.random.default_rng(0).integers(0, 4, N)
OTHER_CAMERAS = np.random.default_rng(1).integers(0, 4, N)


def excluded(first, second, exclude_self=False):
    return ExcludedPairs.from_groups(
        first, second, n_queries=N, n_database=N, exclude_self=exclude_self
    )


def test_without_groups_every_pair_counts():
    assert excluded(None, None) is None


def test_a_sample_is_not_ranked_against_itself():
    np.testing.assert_array_equal(excluded(None, None, True).mask(), np.eye(N, dtype=bool))


@pytest.mark.parametrize("exclude_self", [False, True])
@pytest.mark.parametrize("second", [CAMERAS, OTHER_CAMERAS], ids=["equal", "other"])
@pytest.mark.parametrize("as_labels", [list, lambda x: x.astype(str), lambda x: x / 7])
def test_pairs_of_a_group_are_those_of_equal_labels(second, exclude_self, as_labels):
    pairs = excluded(as_labels(CAMERAS), as_labels(second), exclude_self)
    expected = CAMERAS[:, None] == second
    if exclude_self:
        expected = expected | np.eye(N, dtype=bool)
    np.testing.assert_array_equal(pairs.mask(), expected)


def test_selections_of_targets_remember_their_groups_and_numbers():
    labels = np.arange(N) % 3
    affinity, y_query, y_database = leave_out_groups(
        LabelAffinity(),
        labels,
        labels,
        groups_query=CAMERAS,
        groups_database=OTHER_CAMERAS,
        exclude_self=True,
    )
    queries, items = np.array([4, 9, 2]), np.array([2, 8, 9, 21])
    found = affinity.level_index(y_query[queries], y_database[items], np.array([0, 1]))
    counts = CAMERAS[queries][:, None] != OTHER_CAMERAS[items]
    counts &= queries[:, None] != items
    expected = np.where(counts, labels[queries][:, None] == labels[items], -1)
    np.testing.assert_array_equal(found, expected)


def test_groups_of_one_set_are_those_of_both_sides():
    affinity, targets = within_groups(LabelAffinity(), np.arange(N) % 3, CAMERAS)
    assert isinstance(targets, GroupedTargets)
    index = affinity.level_index(targets, targets, np.array([0, 1]))
    np.testing.assert_array_equal(index < 0, CAMERAS[:, None] == CAMERAS)
    same_affinity, same_targets = within_groups(affinity, targets, CAMERAS)
    assert same_affinity is affinity
    assert same_targets is targets
