"""Paired tests against their definitions and against scipy."""

import tracemalloc
from itertools import product
from math import comb

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
    n_queries_needed,
    paired_test,
)
from sklearn_talr.inference._sign_patterns import saddlepoint_shares

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


def test_the_most_queries_of_which_all_patterns_are_counted():
    differences = np.random.default_rng(0).normal(0.4, size=21)
    differences[0] = 0
    of_20 = paired_test(differences, np.zeros(21))
    assert (of_20.is_exact, of_20.n_resamples) == (True, 2**20)
    differences[0] = 0.1
    of_21 = paired_test(differences, np.zeros(21))
    assert (of_21.is_exact, of_21.n_resamples) == (False, 0)


def enumerated(differences):
    """Share of all patterns, by one array of their sums."""
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    return np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-9)


@settings(max_examples=20, deadline=None)
@given(arrays(float, st.integers(10, 18), elements=STEPS))
def test_halves_count_all_patterns(differences):
    result = paired_test(differences, np.zeros(len(differences)))
    assert result.p_value == pytest.approx(enumerated(differences), rel=1e-9)


@pytest.mark.parametrize("kind", ["steps", "normal", "skewed"])
@pytest.mark.parametrize(("n", "median", "most"), [(10, 0.04, 0.7), (18, 0.01, 0.3)])
def test_the_saddlepoint_is_close_to_the_share_of_all_patterns(kind, n, median, most):
    rng = np.random.default_rng(n)
    shape = n, 150
    draws = {
        "steps": lambda: rng.integers(-6, 9, shape) / 10,
        "normal": lambda: rng.normal(0.4, 1, shape),
        "skewed": lambda: rng.beta(0.3, 1, shape) - rng.beta(0.3, 1.5, shape),
    }
    differences = draws[kind]()
    found = saddlepoint_shares(np.abs(differences), np.abs(differences.sum(axis=0)))
    wanted = np.array([enumerated(column) for column in differences.T])
    error = np.abs(found / wanted - 1)
    assert np.median(error) < median
    assert error.max() < most


@settings(max_examples=80, deadline=None)
@given(
    n_large=st.integers(2, 40),
    n_small=st.integers(19, 60),
    ratio=st.sampled_from([0.003, 0.01, 0.1, 1 / 3]),
    data=st.data(),
)
def test_of_two_sizes_all_patterns_are_counted(n_large, n_small, ratio, data):
    """By products of binomials; the saddlepoint may be off by a factor of three."""
    minus = data.draw(st.integers(0, n_large)), data.draw(st.integers(0, n_small))
    sizes = np.repeat([1.0, ratio], [n_large, n_small])
    sizes[: minus[0]] *= -1
    sizes[n_large : n_large + minus[1]] *= -1
    total = abs(sizes.sum())
    n_reaching = sum(
        comb(n_large, a) * comb(n_small, b)
        for a in range(n_large + 1)
        for b in range(n_small + 1)
        if abs(2 * a - n_large + ratio * (2 * b - n_small)) >= total - 1e-9
    )
    found = paired_test(sizes, 0 * sizes)
    assert found.is_exact
    assert found.p_value == pytest.approx(n_reaching / 2 ** len(sizes), rel=1e-9)
    assert found.n_resamples == (2 ** len(sizes) if len(sizes) < 63 else 0)


@pytest.mark.parametrize("spread", [0, 0.1])
def test_where_sums_clump_patterns_are_drawn(spread):
    """Some large differences among many small ones, of which no two are equal."""
    rng, ratios = np.random.default_rng(0), []
    for _ in range(11):  # the last sums clump for both spreads
        n_large = rng.integers(3, 12)
        large = rng.choice([-1, 1], n_large, p=[0.2, 0.8]) * rng.normal(1, spread, n_large)
        small = rng.normal(scale=10 ** rng.uniform(-2.5, -1), size=22 - n_large)
        differences = rng.permutation(np.append(large, small))
        found = paired_test(differences, np.zeros(22))
        assert found.n_resamples == (2**22 if found.is_exact else 10_000)
        ratios.append(found.p_value / enumerated(differences))
        again = paired_test(0 * differences, rng.permutation(differences))
        assert again.p_value == pytest.approx(found.p_value, rel=1e-9)
    assert 0.85 < min(ratios) < max(ratios) < 1.15
    few = paired_test(differences, np.zeros(22), n_resamples=100, random_state=1)
    assert few.n_resamples == 100
    assert few.p_value == pytest.approx(found.p_value, rel=0.5)


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        (np.full(30, 0.1), 2.0**-29),
        (np.linspace(0.1, 1, 30), 2.0**-29),
        (np.append(np.linspace(0.1, 1, 900), 0), 2.0**-899),
        (np.tile([0.3, -0.3], 15), 1),
        (np.tile([0.7, 0.1, -0.8], 10), 1),
        (np.append(np.tile([0.25, -0.25], 12), 0.25), 1),  # 25 steps make no sum of 0
        (np.append(np.zeros(40), 0.5), 1),
        (np.zeros(40), 1),
    ],
)
def test_limits_of_the_randomization_test(differences, p_value):
    for sign in (1, -1):
        result = paired_test(sign * differences, np.zeros(len(differences)))
        assert result.p_value == p_value


def test_a_mean_near_0_and_scales_bring_no_jump():
    rng = np.random.default_rng(0)
    differences = rng.normal(size=(30, 1)) - np.linspace(-0.02, 0.02, 81)
    differences -= differences.mean(axis=0).mean()
    p_value = paired_test(differences, 0 * differences).p_value
    assert np.abs(np.diff(p_value)).max() < 0.004
    assert p_value[40] == pytest.approx(1, abs=1e-6)
    for scale in (1e-6, 1e6):
        scaled = paired_test(scale * differences, 0 * differences).p_value
        assert_allclose(scaled, p_value, rtol=1e-6)


def test_one_small_loss_among_many_gains():
    differences = np.append(np.linspace(0.5, 1, 25), -1e-9)
    found = paired_test(differences, np.zeros(26)).p_value
    assert found == 4 * 2.0**-26  # either sign of the loss, and all of that turned


SIZES = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "normal": lambda rng, n: np.abs(rng.normal(size=n)),
    "skewed": lambda rng, n: rng.exponential(size=n),
    "steps": lambda rng, n: rng.integers(1, 40, size=n) / 40,
}


# Of the kinds of sizes, the largest relative error with so many minus signs. Patterns are
# counted if few reach the sum, so nothing is off while nearly all signs are one.
@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize(
    ("n", "n_minus", "most"),
    [
        (21, 0, 0),
        (21, 1, 0),
        (21, 3, 0),
        (21, 5, 0.05),
        (21, 9, 0.05),
        (22, 2, 0),
        (23, 2, 0),
    ],
)
def test_where_nearly_all_signs_are_one_the_p_value_is_exact(n, n_minus, most, kind):
    rng = np.random.default_rng(n + n_minus)
    for _ in range(4):
        differences = np.sort(SIZES[kind](rng, n))
        differences[:n_minus] *= -1
        found = paired_test(differences, np.zeros(n))
        assert found.p_value == pytest.approx(enumerated(differences), rel=most + 1e-9)
        assert found.is_exact or most
        if found.is_exact:
            assert found.n_resamples == 2**n
        turned = paired_test(1e-3 * differences[::-1], np.zeros(n))
        assert turned.p_value == pytest.approx(found.p_value, rel=1e-6)


@pytest.mark.parametrize("n", [40, 100, 500])
def test_few_patterns_of_many_queries_are_counted(n):
    """One minus: that of the least size, so that its two patterns alone reach the sum."""
    differences = np.random.default_rng(n).uniform(1, 1.9, size=n)
    differences[3] = -0.5
    found = paired_test(differences, 0 * differences)
    assert found.is_exact
    assert found.p_value == 4 * 2.0**-n
    differences[5] = -1  # of sizes above .5 that sum to 1.5 there are those alone, and both
    n_reaching = 1 + 1 + np.sum((np.abs(differences) <= 1.5) & (np.abs(differences) > 0.5))
    n_reaching += np.sum(np.abs(differences) <= 1) - 1
    assert paired_test(differences, 0 * differences).p_value == n_reaching * 2 * 2.0**-n


def test_labels_of_two_series_are_those_of_one_another():
    pd = pytest.importorskip("pandas")
    first = pd.Series([0.1, 0.5, 0.3, 0.9], index=list("abcd"))
    second = first + np.array([0.1, -0.2, 0.4, 0.1])
    strata = pd.Series([0, 0, 1, 1], index=list("abcd"))
    wanted = paired_test(
        first.to_numpy(), second.to_numpy(), test="t", stratify=[0, 0, 1, 1]
    )
    found = paired_test(first, second, test="t", stratify=strata)
    assert found.p_value == wanted.p_value
    for arguments, message in [
        (
            (first, second[::-1], None),
            "second has the same labels in another order than first",
        ),
        ((first, second, strata[::-1]), "stratify has the same labels in another order"),
        ((first, second.rename({"a": "x"}), None), "second has other labels than first"),
        ((first, second.to_numpy(), strata[::-1]), "stratify has the same labels"),
        ((first.to_numpy(), second, strata[::-1]), "stratify has the same labels"),
    ]:
        with pytest.raises(ValueError, match=message):
            paired_test(*arguments[:2], stratify=arguments[2])
    frames = pd.DataFrame({"x": first, "y": second})
    with pytest.raises(ValueError, match="second has the same labels in another order"):
        paired_test(frames, frames[["y", "x"]])
    with pytest.raises(ValueError, match="stratify has the same labels in another order"):
        mean_interval(first, stratify=strata[::-1])
    assert mean_interval(first, stratify=strata) == mean_interval(
        first.to_numpy(), stratify=strata.to_numpy()
    )


def random_patterns(differences, n_patterns, seed):
    """Share of random patterns of signs whose sum is as far from 0."""
    signs = np.random.default_rng(seed).integers(
        2, size=(n_patterns, len(differences)), dtype=np.int8
    )
    sums = signs @ (2 * differences) - differences.sum()
    return np.mean(np.abs(sums) >= np.abs(differences.sum()) - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n_steps", [0, 10])
@pytest.mark.parametrize("n", [25, 50, 200])
def test_many_random_patterns_have_the_same_share(n, n_steps):
    rng = np.random.default_rng(n)
    for gain in (0.1, 0.25):
        differences = rng.beta(0.5, 1, n) - rng.beta(0.5, 1 + gain, n)
        if n_steps:
            differences = np.round(n_steps * differences) / n_steps
        found = paired_test(differences, np.zeros(n)).p_value
        wanted = random_patterns(differences, 1_000_000, n)
        error = 4 * np.sqrt(wanted / 1_000_000) + 0.02 * wanted
        assert found == pytest.approx(wanted, abs=error)


def test_all_pairs_of_many_systems_take_little_memory():
    first, second = np.random.default_rng(0).beta(0.5, 1, size=(2, 50, 8000))
    tracemalloc.start()
    result = paired_test(first, second)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.p_value.shape == (8000,)
    assert most < 150e6


@pytest.mark.slow
def test_published_p_values_of_two_systems_of_trec_8(trec_8):
    """By Urbano, Lima and Hanjalic, SIGIR 2019; theirs of randomization is by chance."""
    first, second = trec_8[:, 124], trec_8[:, 125]
    found = paired_test(first, second, test="t").p_value
    assert found == pytest.approx(0.0013193972, rel=1e-7)
    found = paired_test(first, second).p_value
    assert found == pytest.approx(0.001188, rel=0.01)


def test_t_and_wilcoxon_are_scipys():
    first, second = np.random.default_rng(0).uniform(size=(2, 30, 4))
    result = paired_test(first, second, test="t")
    assert_allclose(result.p_value, stats.ttest_rel(first, second).pvalue, rtol=1e-12)
    assert_array_equal(result.n_resamples, 0)
    result = paired_test(first, second, test="wilcoxon")
    expected = stats.wilcoxon(first, second, method="exact").pvalue
    assert_allclose(result.p_value, expected, rtol=1e-9)
    assert result.is_exact.all()


def test_many_signed_ranks_are_close_to_exact_with_ties_and_without():
    rng = np.random.default_rng(0)
    for differences in (rng.normal(0.1, 1, 220), rng.integers(-8, 11, 220)):
        found = paired_test(differences, np.zeros(220), test="wilcoxon")
        differing = differences[differences != 0]
        assert found.is_exact == (len(differing) <= 200)
        ranks = 2 * stats.rankdata(np.abs(differing)).astype(float)
        walk = np.ones(1)  # shares of the sums of positive ranks
        for rank in ranks.astype(int):
            walk = np.convolve(walk, [0.5, *np.zeros(rank - 1), 0.5])
        sums = np.abs(2 * np.arange(len(walk)) - ranks.sum())
        expected = walk[sums >= abs(ranks @ np.sign(differing))].sum()
        assert found.p_value == pytest.approx(expected, rel=5e-3)


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


@settings(max_examples=20, deadline=None)
@given(arrays(float, st.integers(14, 18), elements=STEPS))
def test_tied_signed_ranks_are_enumerated(differences):
    differing = differences[differences != 0]
    ranks = stats.rankdata(np.abs(differing)) * np.sign(differing)
    found = paired_test(differences, np.zeros(len(differences)), test="wilcoxon")
    assert found.p_value == pytest.approx(enumerated(ranks))


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
        ((np.ma.masked_array([0.1], [True]), [0.2]), "first has masked entries"),
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
    assert n_queries_needed(given, 0.1) == n_queries_needed(values, 0.1)


def test_masks_are_not_lost():
    values = np.ma.masked_array([0.5, 0.25, 0.75], [False, True, False])
    for call, name in (
        (lambda: mean_interval(values), "values"),
        (lambda: mean_interval([1.0, 2.0, 3.0], stratify=values), "stratify"),
        (lambda: n_queries_needed(values, 0.1), "differences"),
    ):
        with pytest.raises(ValueError, match=f"{name} has masked entries"):
            call()
    assert paired_test(values.data, values[::-1].copy().filled(0.25)).p_value == 1
