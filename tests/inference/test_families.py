"""Adjusted p-values and tiers against slow definitions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_talr.inference._tests import adjust_holm, joint_p_values, null_ranges, tiers


def holm(p_values):
    """Reject, from the least on, while p <= alpha / (number left): the least such alpha."""
    order, adjusted, least = np.argsort(p_values), {}, 0.0
    for place, test in enumerate(order):
        least = max(least, min(1.0, p_values[test] * (len(p_values) - place)))
        adjusted[test] = least
    return [adjusted[test] for test in range(len(p_values))]


@given(
    st.lists(st.sampled_from([0.0, 0.001, 0.02, 0.02, 0.3, 1.0]), min_size=1, max_size=8)
)
def test_holms_adjustment(p_values):
    column = np.array(p_values)[:, None]
    assert_allclose(adjust_holm(column)[:, 0], holm(p_values))
    untested = np.append(column, np.nan)[:, None]  # NaN is in no family
    assert_allclose(adjust_holm(untested)[:-1], adjust_holm(column))
    assert np.isnan(adjust_holm(untested)[-1, 0])


def test_null_ranges_are_those_of_permuted_systems():
    """The distribution, against a loop of permutations of its own."""
    rng = np.random.default_rng(0)
    values = rng.beta(0.5, 1, size=(12, 4, 2))
    ranges = null_ranges(values, 4000, np.random.RandomState(0))
    assert ranges.shape == (4000, 2)
    slow = [
        np.ptp(np.mean([rng.permutation(row) for row in values], axis=0), axis=0)
        for _ in range(4000)
    ]
    levels = [0.1, 0.5, 0.9, 0.95]
    found, wanted = (np.quantile(each, levels, axis=0) for each in (ranges, slow))
    assert_allclose(found, wanted, rtol=0.05)


def test_joint_p_values_count_ranges():
    ranges = np.array([[0.1], [0.2], [0.2], [0.4]])
    difference = np.array([[0.3], [-0.2], [0.0]])
    assert_allclose(joint_p_values(difference, ranges)[:, 0], [2 / 5, 4 / 5, 1])


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_two_systems_share_a_tier_just_if_they_are_not_separated(n, seed, share):
    rng = np.random.default_rng(seed)
    mean = rng.integers(0, 4, n) / 4
    separated = np.triu(rng.random((n, n)) < share, 1)
    separated |= separated.T
    found = tiers(mean, separated)
    for first, second in combinations(range(n), 2):
        together = any(first in tier and second in tier for tier in found)
        assert together != separated[first, second]
    assert set().union(*found) == set(range(n))
    for tier in found:
        assert [mean[system] for system in tier] == sorted(mean[tier], reverse=True)
        assert sum(set(tier) <= set(other) for other in found) == 1  # within no other
    best = [mean[tier[0]] for tier in found]
    assert best == sorted(best, reverse=True)


@pytest.mark.parametrize("n", [1, 2])
def test_all_alike_and_all_apart(n):
    mean = np.arange(n)[::-1]
    assert tiers(mean, np.zeros((n, n), dtype=bool)) == [list(range(n))]
    apart = ~np.eye(n, dtype=bool)
    assert tiers(mean, apart) == [[system] for system in range(n)]
