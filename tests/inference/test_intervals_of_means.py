"""Intervals of means against a slow bootstrap, and what they promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_talr.inference import mean_interval, paired_test
from sklearn_talr.inference._intervals import expanded_interval
from sklearn_talr.inference._resampling import (
    Resampling,
    bootstrap_deviations,
    make_strata,
)


def slow_interval(values, n_resamples, seed, strata, level=0.95):
    """Quantiles of means of samples, one stratum at a time."""
    rng, n = np.random.default_rng(seed), len(values)
    groups = [values[strata == label] for label in np.unique(strata)]
    drawn = [rng.choice(group, (n_resamples, len(group))) for group in groups]
    means = sum(of_group.sum(axis=1) for of_group in drawn) / n
    of_mean = np.sqrt(sum(len(g) * g.var(ddof=1) for g in groups)) / n
    of_samples = np.sqrt(sum(len(g) * g.var() for g in groups)) / n
    deviate = stats.t.ppf((1 + level) / 2, n - len(groups)) * of_mean / of_samples
    return np.quantile(means, [stats.norm.cdf(-deviate), stats.norm.cdf(deviate)])


@pytest.mark.parametrize("n_strata", [1, 3])
def test_the_interval_is_that_of_a_slow_bootstrap(n_strata):
    rng = np.random.default_rng(0)
    values = rng.beta(0.3, 1, 40)
    strata = np.arange(40) % n_strata
    values += strata
    found = mean_interval(values, stratify=strata, n_resamples=40_000)
    spread = found[1] - found[0]
    assert_allclose(found, slow_interval(values, 40_000, 1, strata), atol=0.02 * spread)


@pytest.mark.parametrize("symmetric", [False, True])
def test_ends_are_quantiles_of_the_samples_as_numpy_has_them(symmetric):
    values = np.random.default_rng(0).beta(0.3, 1, size=(25, 1))
    resampling = Resampling(make_strata(None, 25), n_resamples=150, seed=0)
    drawn = bootstrap_deviations(values, resampling)[:, 0]
    tail = stats.norm.cdf(stats.t.ppf(0.025, 24) * np.sqrt(25 / 24))
    if symmetric:
        reach = np.quantile(np.abs(drawn), 1 - 2 * tail)
        wanted = values.mean() - reach, values.mean() + reach
    else:
        wanted = values.mean() + np.quantile(drawn, [tail, 1 - tail])
    found = mean_interval(values[:, 0], symmetric=symmetric, n_resamples=150)
    assert_allclose(found, wanted, rtol=1e-12)


def test_strata_take_the_differences_between_them_out():
    rng = np.random.default_rng(0)
    strata = np.repeat(["easy", "hard"], 25)
    values = rng.normal(size=50) + 10 * (strata == "hard")
    low, high = mean_interval(values)
    of_strata = mean_interval(values, stratify=strata)
    assert of_strata[1] - of_strata[0] < 0.3 * (high - low)


def test_ties_widen_the_interval_as_drawing_their_orders_does():
    rng = np.random.default_rng(0)
    expected, noise = rng.uniform(size=(30, 1)), rng.uniform(0.1, 0.6, size=(30, 1))
    resampling = Resampling(make_strata(None, 30), n_resamples=40_000, seed=0)
    found = expanded_interval(expected, resampling, 0.95, tie_variance=noise**2)
    rows = rng.integers(30, size=(40_000, 30))
    signs = rng.choice([-1, 1], size=rows.shape)
    means = (expected[rows, 0] + signs * noise[rows, 0]).mean(axis=1)
    ties = (noise**2).mean() / 30
    ratio = np.sqrt((expected.var(ddof=1) / 30 + ties) / (expected.var() / 30 + ties))
    deviate = stats.t.ppf(0.975, 29) * ratio
    wanted = np.quantile(means, [stats.norm.cdf(-deviate), stats.norm.cdf(deviate)])
    assert_allclose(np.ravel(found), wanted, atol=0.02 * np.diff(wanted)[0])
    without = mean_interval(expected[:, 0])
    assert found[0] < without[0] < without[1] < found[1]


def test_columns_are_intervals_of_their_own_with_the_same_samples():
    values = np.random.default_rng(0).uniform(size=(25, 3))
    low, high = mean_interval(values, random_state=3)
    for column in range(3):
        one = mean_interval(values[:, column], random_state=3)
        assert all(isinstance(end, float) for end in one)
        assert_allclose(one, (low[column], high[column]), rtol=1e-12)
    assert_array_equal(mean_interval(values, random_state=3), (low, high))


@settings(max_examples=40, deadline=None)
@given(
    arrays(float, st.integers(2, 30), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    st.floats(0.5, 20),
    st.floats(-5, 5),
)
def test_scaled_and_moved_values_have_scaled_and_moved_intervals(values, scale, offset):
    interval = np.array(mean_interval(values, n_resamples=300))
    assert interval[0] <= values.mean() + 1e-12
    assert interval[1] >= values.mean() - 1e-12
    moved = mean_interval(values * scale + offset, n_resamples=300)
    assert_allclose(moved, interval * scale + offset, atol=1e-9)


def test_a_symmetric_interval_agrees_with_the_bootstrap_test():
    rng = np.random.default_rng(0)
    n_rejected = 0
    for seed in range(60):
        differences = rng.normal(0.35, 1, size=25)
        low, high = mean_interval(differences, symmetric=True, random_state=seed)
        assert (low + high) / 2 == pytest.approx(differences.mean())
        result = paired_test(differences, np.zeros(25), test="bootstrap", random_state=seed)
        if abs(result.p_value - 0.05) > 0.002:  # of so many samples
            assert (low > 0 or high < 0) == (result.p_value < 0.05)
            n_rejected += result.p_value < 0.05
    assert 10 < n_rejected < 50


def test_of_equal_values_and_of_one_query():
    assert mean_interval([0.1, 0.1, 0.1]) == pytest.approx((0.1, 0.1), abs=1e-12)
    assert np.isnan(mean_interval([0.5])).all()
    low, high = mean_interval([0, 0, 0, 0, 0, 1])
    assert 0 <= low < 0.2 < high <= 1


@pytest.mark.parametrize(
    ("values", "arguments", "message"),
    [
        ([0.1, np.nan], {}, "values contains NaN"),
        ([[[0.1]], [[0.2]]], {}, "dim 3"),
        ([], {}, "minimum of 1"),
        ([0.1, 0.2], {"confidence_level": 95}, "'confidence_level'"),
        ([0.1, 0.2], {"n_resamples": 10}, "'n_resamples'"),
        ([0.1, 0.2], {"stratify": ["a"]}, "one label for each of the 2 queries"),
        ([0.1, 0.2, 0.3], {"stratify": ["a", "a", "b"]}, "'b' has one: merge it"),
        ([0.1, 0.2, 0.3], {"stratify": [1.0, np.nan, np.nan]}, "missing labels"),
        ([0.1, 0.2, 0.3], {"stratify": ["a", None, None]}, "missing labels"),
        (["a", "b"], {}, "strings"),
    ],
)
def test_bad_input_is_refused(values, arguments, message):
    with pytest.raises(ValueError, match=message):
        mean_interval(values, **arguments)


def test_a_generator_goes_on_and_a_seed_begins_anew():
    values = np.random.default_rng(0).beta(0.3, 1, 30)
    by_seed = mean_interval(values, n_resamples=200, random_state=3)
    assert mean_interval(values, n_resamples=200, random_state=3) == by_seed
    generator = np.random.RandomState(3)
    assert mean_interval(values, n_resamples=200, random_state=generator) == by_seed
    assert mean_interval(values, n_resamples=200, random_state=generator) != by_seed
