"""Adjusted p-values and tiers against slow definitions."""

import tracemalloc
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_talr.inference._multiple import adjust_bh, adjust_holm, max_t, tiers
from sklearn_talr.inference._paired import p_values
from sklearn_talr.inference._resampling import Resampling, make_strata
from sklearn_talr.runs import compare_scores


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
    scaled = [(p, p * n / rank) for rank, p in enumerate(ordered, 1)]
    wanted = [min(value for p, value in scaled if p >= own) for own in p_values]
    column = np.array([*p_values, np.nan])[:, None]
    assert_allclose(adjust_bh(column)[:-1, 0], np.minimum(wanted, 1))
    assert np.isnan(adjust_bh(column)[-1, 0])


def slow_error(values, labels):
    """Standard error of the mean of each column, its strata one at a time."""
    groups = [values[labels == label] for label in np.unique(labels)]
    variance = sum(len(group) * group.var(axis=0, ddof=1) for group in groups)
    return np.sqrt(variance) / len(values)


def slow_max_t(kind, differences, labels, n_samples, seed):
    """One sample and one set of pairs at a time, and the intervals' halves at .05."""
    rng, n = np.random.default_rng(seed), len(differences)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    error = slow_error(differences, labels)
    added = 5 / np.sqrt(n) * np.median(error[error > 0])
    drawn = []
    for _ in range(n_samples):
        samples = [(group, rng.choice(group, len(group))) for group in groups]
        means = [differences[group].mean(axis=0) for group in groups]
        centered = [differences[sample] - mean for (_, sample), mean in zip(samples, means)]
        centered = np.concatenate(centered)
        of_rows = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        shrunk = added * ((n - len(groups)) / n) ** 2
        errors = slow_error(centered, of_rows)
        drawn.append(np.abs(centered.mean(axis=0)) / (errors + shrunk))
    drawn = np.array(drawn)
    observed = np.abs(kind.mean(axis=0)) / (slow_error(kind, labels) + added)
    adjusted, largest = np.empty(len(observed)), 2.0 ** (1 - n)
    for pair in np.argsort(-observed):  # each among those that are not above it
        among = drawn[:, observed <= observed[pair] + 1e-9].max(axis=1)
        largest = max(largest, np.mean(among >= observed[pair]))
        adjusted[pair] = largest
    return adjusted, np.quantile(drawn.max(axis=1), 0.95) * (error + added)


def by_max_t(values, n_samples=2000, labels=None, kinds=(), seed=0):
    """Adjusted p-values of all pairs of columns, and of other kinds, and the reach."""
    first, second = np.transpose(list(combinations(range(values.shape[1]), 2)))
    differences = values[:, first] - values[:, second]
    kinds = [differences, *(differences * factor for factor in kinds)]
    scale = np.abs(values).max(axis=0)
    p_value, reach = max_t(
        values,
        (first, second),
        kinds,
        scale=np.maximum(scale[first], scale[second]),
        resampling=Resampling(make_strata(labels, len(values)), n_samples, seed),
        alpha=0.05,
    )
    return p_value, reach, kinds


@pytest.mark.parametrize("n_strata", [1, 3])
def test_max_t_is_that_of_a_slow_bootstrap(n_strata):
    rng, labels = np.random.default_rng(0), np.arange(24) % n_strata
    values = rng.gamma(1, size=(24, 4)) * [1, 1, 2, 1] + [0, 0.1, 0.2, 0.9]
    values = 1e3 * values + rng.normal(0, 1e6, (24, 1))  # queries differ more than systems
    found, reach, kinds = by_max_t(values, 20_000, labels, [0.5])
    for of_kind, kind in zip(found, kinds):
        p_value, wanted = slow_max_t(kind, kinds[0], labels, 3000, 1)
        assert_allclose(of_kind, p_value, atol=0.03)
        assert_allclose(reach, wanted, rtol=0.03)
    assert found[0].min() < 0.05 < 0.5 < found[0].max()


@pytest.mark.parametrize("test", ["randomization", "t", "bootstrap", "wilcoxon"])
def test_numbers_that_rows_have_in_common_and_scales_change_no_p_value(test):
    """Differences are those of rounding, or not, whatever the values are."""
    values = np.array(
        [[0, 1, 0, 1], [1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 0]]
        * 2,
        dtype=float,
    )
    values[7:, 3] += [0.3, 0.1, 0.2, 0.7, 0.4]
    rows = np.arange(12)[:, None]
    forms = [
        values,
        values + 0.1 * rows,
        values + 1e3 * np.sin(rows),
        values * 1e-9 + 1e-9 * rows,
        values * 1e12,
        values * 0.1 - 7.3,
    ]
    found = []
    for form in forms:
        scores = {f"s{place}": column for place, column in enumerate(form.T)}
        comparison = compare_scores(scores, test=test, adjust="max-t", n_resamples=999)
        p_values = comparison.p_value, comparison.adjusted_p_value
        found.append(np.stack([*p_values, np.sign(comparison.difference)]))
        effect_size = comparison.effect_size
        assert_allclose(effect_size, np.where(found[0][2] == 0, 0, effect_size))
    for others in found[1:]:
        assert_allclose(others, found[0], rtol=1e-4)
    equal = [comparison.pairs.index(pair) for pair in ((0, 1), (0, 2), (1, 2))]
    assert (comparison.difference[equal] == 0).all()
    assert (comparison.adjusted_p_value[equal] == 1).all()
    assert comparison.adjusted_p_value[-1] < 1


@pytest.mark.parametrize("n_systems", [4, 12])
def test_max_t_does_not_depend_on_the_order_of_systems(n_systems):
    """Few rows of 0 and 1 have statistics that tie, and samples without spread."""
    first, second = np.transpose(list(combinations(range(n_systems), 2)))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 2, (rng.integers(3, 9), n_systems)).astype(float)
        found = []
        for order in (np.arange(n_systems), rng.permutation(n_systems)):
            adjusted = np.zeros((n_systems, n_systems))
            adjusted[order[first], order[second]] = by_max_t(values[:, order], 200)[0][0]
            found.append(np.maximum(adjusted, adjusted.T))
        assert_allclose(*found, rtol=1e-12)


def test_many_rows_are_compared_in_bounded_memory():
    values = np.random.default_rng(0).normal(size=(12_000, 3))
    tracemalloc.start()
    by_max_t(values, 5000)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 300e6  # all samples at once would take 480 MB


@pytest.mark.parametrize("step", [1e-9, 0.5, 2])
@pytest.mark.parametrize("seed", range(3))
def test_a_pair_whose_interval_leaves_out_0_is_significant(seed, step):
    """Steps find some pairs more, whose intervals reach 0."""
    values = np.random.default_rng(seed).normal(np.arange(8) / 2, size=(40, 8))
    (p_value,), reach, (differences,) = by_max_t(np.round(values / step) * step)
    leaves_out_0 = np.abs(differences.mean(axis=0)) > reach
    assert leaves_out_0.any()
    assert (p_value[leaves_out_0] <= 0.05).all()
    first = np.argmin(p_value)  # of one step, which all have
    assert leaves_out_0[first] == (p_value[first] <= 0.05)


def test_few_tasks_are_enough_for_models_that_lead_in_each():
    quality = np.array([0.55, 0.57, 0.62, 0.63, 0.63, 0.42, 0.40, 0.1])
    first, second = np.transpose(list(combinations(range(8), 2)))
    is_large = np.abs(quality[first] - quality[second]) > 0.125
    for seed, n in product(range(5), (6, 9)):
        rng = np.random.default_rng(seed)
        values = quality + rng.normal(0, 0.08, (n, 1)) + rng.normal(0, 0.03, (n, 8))
        p_value = by_max_t(values)[0][0]
        assert (p_value[is_large] <= 0.05).all()
        assert p_value[(first == 3) & (second == 4)] > 0.05  # of one quality


def test_nearly_equal_systems_hide_nothing():
    """They differ in one query, so samples without it have no spread."""
    values = np.random.default_rng(0).normal(size=(30, 3))
    values[:, 0] += 3
    values[:, 2] = values[:, 1]
    assert (by_max_t(values)[0] == [1 / 2001, 1 / 2001, 1]).all()
    values[3, 2] += 0.5
    p_value = by_max_t(values)[0][0]
    assert (p_value[:2] == 1 / 2001).all()
    assert p_value[2] > 0.35


@pytest.mark.parametrize("n", [1, 2, 5, 6, 14])
def test_no_p_value_is_below_that_of_equal_signs(n):
    values = np.arange(3) + np.random.default_rng(0).normal(0, 1e-3, (n, 3))
    least = max(1 / 2001, 2.0 ** (1 - n))
    assert (by_max_t(values)[0] == least).all()
    assert np.isinf(by_max_t(values)[1]).all() == (least > 0.05)
    without_spread = np.tile(np.arange(3.0), (n, 1))
    assert (by_max_t(without_spread)[0] == least).all()


def significant_pairs(values, random_state):
    """Pairs that max-t, and t with Holm's method, find significant."""
    seed = random_state.randint(2**31)
    (p_value,), _, (differences,) = by_max_t(values, 999, seed=seed)
    resampling = Resampling(make_strata(None, len(values)), 999, seed)
    scale = np.ones(differences.shape[1])
    by_t = p_values("t", differences, scale, resampling).p_value
    return p_value <= 0.05, adjust_holm(by_t[:, None])[:, 0] <= 0.05


def share_of_draws(scores, n_systems, n_rows, n_draws=800):
    """How often any of equal means is found significant, with a standard error of 0.008."""
    rng, random_state = np.random.default_rng(0), np.random.RandomState(0)
    n_false = np.zeros(2)
    for _ in range(n_draws):
        systems = scores[:, rng.choice(scores.shape[1], n_systems, replace=False)]
        values = (systems - systems.mean(axis=0))[rng.integers(len(scores), size=n_rows)]
        n_false += [found.any() for found in significant_pairs(values, random_state)]
    return n_false / n_draws


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [12, 25])
def test_max_t_holds_its_level_where_holms_method_does_not(trec_8, n_rows):
    """Twenty systems of one mean in skewed queries of TREC-8."""
    by_max_t, by_t = share_of_draws(trec_8, 20, n_rows)
    assert 0.015 < by_max_t < 0.05 + 2 * 0.008
    assert by_t > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [6, 12, 50])
def test_max_t_holds_its_level_with_skewed_systems(n_rows):
    """Some of them are constant, and some nearly equal."""
    rng = np.random.default_rng(0)
    scores = rng.gamma(0.5, size=(10_000, 20)) * np.exp(rng.normal(0, 0.5, 20))
    is_copied = rng.random((10_000, 4)) > 0.05
    scores[:, 4:8] = np.where(is_copied, scores[:, 8:12], scores[:, 4:8])
    scores[:, :4] = 0.5
    by_max_t, by_t = share_of_draws(scores, 10, n_rows)
    assert by_max_t < 0.05 + 2 * 0.008
    assert by_t > 0.05 + 2 * 0.008


@pytest.mark.slow
@pytest.mark.parametrize(("n_systems", "n_rows"), [(5, 9), (20, 9), (20, 25), (60, 50)])
def test_max_t_finds_more_than_t_with_holms_method(trec_8, n_systems, n_rows):
    rng, random_state = np.random.default_rng(0), np.random.RandomState(0)
    n_significant = np.zeros(2)
    for _ in range(60):
        systems = trec_8[:, rng.choice(129, n_systems, replace=False)]
        values = systems[rng.integers(50, size=n_rows)]
        n_significant += [found.sum() for found in significant_pairs(values, random_state)]
    assert n_significant[0] > 1.02 * n_significant[1]


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_two_systems_share_a_tier_just_if_they_do_not_differ(n, seed, share):
    rng = np.random.default_rng(seed)
    mean = rng.integers(0, 4, n) / 4
    differ = np.triu(rng.random((n, n)) < share, 1)
    differ |= differ.T
    found = tiers(mean, differ)
    for first, second in combinations(range(n), 2):
        together = any(first in tier and second in tier for tier in found)
        assert together != differ[first, second]
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
