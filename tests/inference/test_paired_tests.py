"""Paired tests against their definitions and against scipy."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_talr.inference import (
    PairedTest,
    mean_interval,
    n_queries_to_separate,
    paired_test,
)

TESTS = "randomization", "bootstrap", "t", "wilcoxon"
STEPS = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1 / 3])


def share_of_patterns(differences):
    """Share of all patterns of signs whose sum is as far from 0."""
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences)))
        for signs in product([-1, 1], repeat=len(differences))
    ]
    return np.mean([total >= abs(sum(differences)) - 1e-9 for total in sums])


@settings(max_examples=40, deadline=None)
@given(arrays(float, st.integers(1, 9), elements=STEPS))
def test_few_queries_are_tested_by_all_patterns(differences):
    """Queries without a difference change nothing."""
    result = paired_test(differences, np.zeros(len(differences)))
    assert result.is_exact
    assert result.n_resamples == 2 ** (differences != 0).sum() * bool(differences.any())
    assert result.p_value == pytest.approx(share_of_patterns(differences))


def test_more_queries_are_tested_by_random_patterns_as_scipy_does():
    rng = np.random.default_rng(0)
    first, second = rng.uniform(size=(2, 40))
    second *= 0.85
    result = paired_test(first, second, n_resamples=40_000)
    theirs = stats.permutation_test(
        (first, second),
        lambda x, y: np.mean(x - y),
        permutation_type="samples",
        n_resamples=40_000,
        random_state=1,  # rng, where scipy no longer takes the old name
    )
    assert not result.is_exact
    assert result.n_resamples == 40_000
    assert result.difference == pytest.approx(theirs.statistic)
    assert 0.002 < theirs.pvalue < 0.2
    assert result.p_value == pytest.approx(theirs.pvalue, abs=0.004)
    assert paired_test(first + 9, second).p_value == 1 / 10_001  # never 0


def test_the_most_queries_of_which_all_patterns_are_tried():
    differences = np.random.default_rng(0).normal(0.4, size=15)
    differences[0] = 0
    of_14 = paired_test(differences, np.zeros(15))
    assert (of_14.is_exact, of_14.n_resamples) == (True, 2**14)
    differences[0] = 0.1
    assert not paired_test(differences, np.zeros(15)).is_exact
    of_15 = paired_test(differences, np.zeros(15), n_resamples=2**15)
    assert (of_15.is_exact, of_15.n_resamples) == (True, 2**15)


def test_t_and_wilcoxon_are_scipys():
    first, second = np.random.default_rng(0).uniform(size=(2, 30, 4))
    result = paired_test(first, second, test="t")
    assert_allclose(result.p_value, stats.ttest_rel(first, second).pvalue, rtol=1e-12)
    assert_array_equal(result.n_resamples, 0)
    result = paired_test(first, second, test="wilcoxon")
    assert_allclose(result.p_value, stats.wilcoxon(first, second).pvalue, rtol=1e-9)


@pytest.mark.parametrize("n", [3, 8, 14])
def test_few_signed_ranks_are_exact_with_ties_and_without(n):
    rng = np.random.default_rng(n)
    without = rng.normal(0.4, size=n)
    expected = stats.wilcoxon(without, method="exact").pvalue
    found = paired_test(without, np.zeros(n), test="wilcoxon").p_value
    assert found == pytest.approx(expected)
    tied = rng.choice([-0.5, 0.25, 0.5, 1 / 3], size=n)
    ranks = stats.rankdata(np.abs(tied)) * np.sign(tied)
    found = paired_test(tied, np.zeros(n), test="wilcoxon").p_value
    assert found == pytest.approx(share_of_patterns(ranks))


def test_the_bootstrap_test_is_close_to_that_of_student_where_values_are_normal():
    differences = np.random.default_rng(0).normal(0.3, 1, size=(12, 50))
    found = paired_test(differences, 0 * differences, test="bootstrap").p_value
    expected = stats.ttest_1samp(differences, 0).pvalue
    assert np.median(np.abs(found - expected)) < 0.02
    assert expected.min() < 0.05 < 0.5 < expected.max()


def test_strata_have_the_error_and_the_freedom_of_their_means():
    rng = np.random.default_rng(0)
    differences, strata = rng.normal(0.5, 1, 9), np.array(list("aaabbbbcc"))
    variance = sum(
        (len(group) / 9) ** 2 * group.var(ddof=1) / len(group)
        for group in (differences[strata == label] for label in "abc")
    )
    expected = 2 * stats.t.sf(abs(differences.mean()) / np.sqrt(variance), 9 - 3)
    found = paired_test(differences, np.zeros(9), test="t", stratify=strata)
    assert found.p_value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("test", TESTS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_swapped_systems_and_other_orders_of_queries(test, data):
    values = data.draw(arrays(float, (2, data.draw(st.integers(2, 10))), elements=STEPS))
    order = data.draw(st.permutations(range(values.shape[1])))
    once = paired_test(*values, test=test, n_resamples=200)
    swapped = paired_test(*values[::-1], test=test, n_resamples=200)
    assert swapped.difference == -once.difference
    assert_allclose(swapped.p_value, once.p_value, rtol=1e-12)
    assert np.isnan(once.p_value) or 0 <= once.p_value <= 1
    if test != "bootstrap":  # whose samples go by the places of queries
        shuffled = paired_test(*values[:, order], test=test, n_resamples=200)
        assert_allclose(shuffled.p_value, once.p_value, rtol=1e-9)


@pytest.mark.parametrize("test", TESTS)
def test_of_equal_systems_and_rounding(test):
    values = np.array([0.1, 0.7, 0.2])
    for second in (values, values + np.array([1e-16, 0, -1e-16])):
        assert paired_test(values, second, test=test).p_value == 1
    one_query = paired_test([0.5], [0.25], test=test).p_value
    assert one_query == 1 if test in ("randomization", "wilcoxon") else np.isnan(one_query)
    if test in ("t", "bootstrap"):
        same = paired_test(values + 0.25, values, test=test)
        assert same.p_value == 0  # the mean difference is known without error


def test_columns_are_tested_each_for_itself():
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 3, size=(2, 24, 3)) / 2
    for test in TESTS:
        result = paired_test(first, second, test=test)
        assert isinstance(result, PairedTest)
        for column in range(3):
            one = paired_test(first[:, column], second[:, column], test=test)
            assert one.p_value == pytest.approx(result.p_value[column], rel=1e-12)
            assert one.is_exact == result.is_exact[column]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], [0.1]), "must have one shape"),
        (([0.1, np.inf], [0.1, 0.2]), "first contains infinity"),
        (([0.1], [np.nan]), "second contains NaN"),
        (([[[0.1]]], [[[0.2]]]), "dim 3"),
    ],
)
def test_wrong_values_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        paired_test(*arguments)


@pytest.mark.usefixtures("dispatching")
def test_arrays_of_other_libraries_are_taken():
    torch = pytest.importorskip("torch")
    values = np.array([0.5, 0.25, 1.0, 0.125, 0.0, 0.75, 0.5])
    given, zeros = torch.tensor(values), torch.zeros(7, dtype=torch.float64)
    found = paired_test(given, zeros)
    assert found.p_value == paired_test(values, 0 * values).p_value
    assert isinstance(found.difference, float)
    assert mean_interval(given) == mean_interval(values)
    assert n_queries_to_separate(given, 0.1) == n_queries_to_separate(values, 0.1)
