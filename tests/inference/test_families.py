"""Adjusted p-values and tiers against slow definitions."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_talr.inference._means import make_strata
from sklearn_talr.inference._tests import (
    adjust_bh,
    adjust_holm,
    max_t_p_values,
    p_values,
    tiers,
)


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


@given(
    st.lists(st.sampled_from([0.0, 0.001, 0.02, 0.02, 0.3, 1.0]), min_size=1, max_size=8)
)
def test_benjamini_and_hochbergs_adjustment(p_values):
    """The least alpha at which a p-value is up to alpha times a rank that it has."""
    n, ordered = len(p_values), sorted(p_values)
    wanted = [
        min(p * n / rank for rank, p in enumerate(ordered, 1) if p >= own)
        for own in p_values
    ]
    column = np.array([*p_values, np.nan])[:, None]
    assert_allclose(adjust_bh(column)[:-1, 0], np.minimum(wanted, 1))
    assert np.isnan(adjust_bh(column)[-1, 0])


def slow_hall(values, labels):
    """Hall's t of the mean of one column, its strata one at a time."""
    groups = [values[labels == label] for label in np.unique(labels)]
    variance = sum(len(group) * group.var(ddof=1) for group in groups)
    squares = sum(((group - group.mean()) ** 2).sum() for group in groups)
    cubes = sum(((group - group.mean()) ** 3).sum() for group in groups)
    t, a = values.sum() / np.sqrt(variance), cubes / squares**1.5
    return abs(t + a * (t**2 / 3 + 1 / 6) + a**2 * t**3 / 27)


def slow_max_t(differences, labels, n_samples, seed):
    """One sample, one pair and one set of pairs at a time."""
    rng = np.random.default_rng(seed)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    rows = np.concatenate(groups)
    means = [np.tile(differences[group].mean(axis=0), (len(group), 1)) for group in groups]
    centered, labels = differences[rows] - np.concatenate(means), labels[rows]
    drawn = []
    for _ in range(n_samples):
        sample = [
            rng.choice(np.flatnonzero(labels == label), (labels == label).sum())
            for label in np.unique(labels)
        ]
        sample = np.concatenate(sample)
        drawn.append([slow_hall(column, labels[sample]) for column in centered[sample].T])
    observed = np.array([slow_hall(column, labels) for column in differences[rows].T])
    drawn = np.array(drawn)
    adjusted, largest = np.empty(len(observed)), 0.0
    for pair in np.argsort(-observed):  # each among those that are not above it
        among = drawn[:, observed <= observed[pair]].max(axis=1)
        largest = max(largest, np.mean(among >= observed[pair]))
        adjusted[pair] = largest
    return adjusted


@pytest.mark.parametrize("n_strata", [1, 3])
def test_max_t_is_that_of_a_slow_bootstrap(n_strata):
    rng = np.random.default_rng(0)
    values = rng.gamma(1, size=(24, 4)) + np.array([0, 0.1, 0.2, 0.9])
    first, second = np.transpose(list(combinations(range(4), 2)))
    differences = values[:, first] - values[:, second]
    labels = np.arange(24) % n_strata
    kinds, strata = [differences, differences / 2], make_strata(labels, 24)
    found = max_t_p_values(kinds, strata, 20_000, np.random.RandomState(0))
    wanted = slow_max_t(differences, labels, 1500, 1)
    assert_allclose(found[0], wanted, atol=0.04)
    assert_allclose(found[1], wanted, atol=0.04)  # scale plays no part
    assert wanted.min() < 0.1 < 0.5 < wanted.max()


@pytest.mark.parametrize("n_systems", [4, 12])
def test_max_t_does_not_depend_on_the_order_of_systems(n_systems):
    """Few rows of 0 and 1 have statistics that tie, and samples without spread."""
    first, second = np.transpose(list(combinations(range(n_systems), 2)))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 2, (rng.integers(3, 9), n_systems)).astype(float)
        strata, found = make_strata(None, len(values)), []
        for order in (np.arange(n_systems), rng.permutation(n_systems)):
            differences = values[:, order[first]] - values[:, order[second]]
            samples = strata, 200, np.random.RandomState(0)
            adjusted = np.zeros((n_systems, n_systems))
            p_value = max_t_p_values([differences], *samples)[0]
            adjusted[order[first], order[second]] = p_value
            found.append(np.maximum(adjusted, adjusted.T))
        assert_allclose(*found, rtol=1e-12)


def test_many_rows_are_compared_in_bounded_memory():
    differences = np.random.default_rng(0).normal(size=(20_000, 3))
    tracemalloc.start()
    samples = make_strata(None, 20_000), 5_000, np.random.RandomState(0)
    max_t_p_values([differences], *samples)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 300e6


@pytest.mark.slow
def test_max_t_holds_its_level_where_holms_method_does_not(trec_8):
    """Twenty systems of one mean in 25 skewed queries of TREC-8."""
    rng, random_state = np.random.default_rng(0), np.random.RandomState(0)
    first, second = np.transpose(list(combinations(range(20), 2)))
    strata, n_false = make_strata(None, 25), np.zeros(2)
    for _ in range(800):
        systems = trec_8[:, rng.choice(129, 20, replace=False)]
        values = (systems - systems.mean(axis=0))[rng.integers(50, size=25)]
        differences = values[:, first] - values[:, second]
        p_value, *_ = p_values("randomization", differences, strata, 1000, random_state)
        by_max_t = max_t_p_values([differences], strata, 1000, random_state)
        by_holm = adjust_holm(p_value[:, None])
        n_false += [(each <= 0.05).any() for each in (by_max_t, by_holm)]
    by_max_t, by_holm = n_false / 800
    assert 0.02 < by_max_t < 0.08
    assert 0.1 < by_holm < 0.2


def test_max_t_of_equal_systems_and_of_one_query_that_differs():
    """Samples without that query have no spread, and must not hide the other pair."""
    values = np.random.default_rng(0).normal(size=(30, 3))
    values[:, 0] += 3
    values[:, 2] = values[:, 1]
    differences = values[:, [0, 0, 1]] - values[:, [1, 2, 2]]
    strata = make_strata(None, 30)

    def found():
        samples = strata, 2000, np.random.RandomState(0)
        return max_t_p_values([differences], *samples)[0]

    assert (found() == [1 / 2001, 1 / 2001, 1]).all()
    differences[3, 2] = 0.5
    assert (found()[:2] == 1 / 2001).all()
    assert found()[2] > 0.35
    differences[:, 2] = 0.5  # known exactly
    assert (found() == 1 / 2001).all()


def test_max_t_of_a_mean_without_spread_in_few_queries():
    """All signs are equal by chance in 2 of 2**n patterns, in any of the pairs."""
    rng = np.random.default_rng(0)
    for n, n_pairs, p_value in [(10, 45, 45 / 2**9), (6, 45, 1), (10, 1, 1 / 2**9)]:
        differences = rng.normal(size=(n, n_pairs))
        differences[:, 0] = -0.5
        samples = make_strata(None, n), 2000, np.random.RandomState(0)
        found = max_t_p_values([differences], *samples)[0]
        assert found[0] == pytest.approx(p_value)
        assert n_pairs == 1 or found[1:].min() < 0.9  # others are as they were


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
