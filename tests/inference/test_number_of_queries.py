"""How many queries a comparison needs, against simulated tests."""

import numpy as np
import pytest
from scipy import integrate, stats

from sklearn_talr.inference import n_queries_needed


@pytest.mark.parametrize(
    ("difference", "alpha", "power"),
    [(0.05, 0.05, 0.8), (0.1, 0.01, 0.9), (0.1, 0.05, 0.5)],
)
def test_so_many_queries_see_the_difference_as_often_as_asked(difference, alpha, power):
    """New queries are drawn from the given ones, moved to the difference."""
    rng = np.random.default_rng(0)
    differences = rng.choice([-0.5, 0.0, 0.0, 0.25, 1 / 3], size=200)
    n_queries = n_queries_needed(differences, difference, alpha=alpha, power=power)
    population = differences - differences.mean() + difference
    samples = rng.choice(population, size=(4000, n_queries))
    seen = (stats.ttest_1samp(samples, 0, axis=1).pvalue < alpha).mean()
    assert seen == pytest.approx(power, abs=0.05)
    for fewer in (0.8, 0.6):
        samples = rng.choice(population, size=(4000, int(n_queries * fewer)))
        assert (stats.ttest_1samp(samples, 0, axis=1).pvalue < alpha).mean() < seen


def test_without_spread_and_with_a_tiny_difference():
    assert n_queries_needed([0.2, 0.2, 0.2], 0.01) == 2
    n_queries = n_queries_needed(np.linspace(-1, 1, 30), 1e-5)
    spread = np.std(np.linspace(-1, 1, 30), ddof=1)
    expected = (stats.norm.isf([0.025, 0.2]).sum() * spread) ** 2
    assert n_queries == pytest.approx(expected * 1e10, rel=0.001)


def slow_power(n, effect, alpha):
    """Power of the t-test by an integral over the chi distribution of the spread."""

    def given(chi):
        needed, shift = limit * chi / np.sqrt(n - 1), effect * np.sqrt(n)
        either = stats.norm.sf(needed - shift) + stats.norm.cdf(-needed - shift)
        return either * stats.chi.pdf(chi, n - 1)

    limit, top = stats.t.isf(alpha / 2, n - 1), np.sqrt(n) + 12
    return integrate.quad(given, 0, top, limit=400, points=[0.01, 0.1, 1, np.sqrt(n)])[0]


EFFECTS = [0.02, 0.2, 1, 3, 10, 30]


@pytest.mark.parametrize(
    ("alpha", "power", "effects"),
    [
        (1e-12, 0.8, EFFECTS[::2]),
        (1e-8, 0.8, EFFECTS[1::2]),
        (1e-4, 0.99, EFFECTS[1::2]),
        (0.05, 0.8, EFFECTS),
        (0.5, 0.6, EFFECTS[1::2]),
        (0.9, 0.92, EFFECTS[2:]),
    ],
)
def test_it_is_the_least_number_with_that_power(alpha, power, effects):
    spread = np.array([-1.0, 0.0, 1.0])
    for effect in effects:
        n_queries = n_queries_needed(spread, effect, alpha=alpha, power=power)
        off = 2 if n_queries > 10_000 else 0
        assert n_queries == 2 or slow_power(n_queries - off - 1, effect, alpha) < power
        assert slow_power(n_queries + off // 2, effect, alpha) >= power


@pytest.mark.parametrize(
    ("differences", "arguments", "message"),
    [
        ([0.1], {}, "minimum of 2"),
        ([[0.1, 0.2], [0.3, 0.4]], {}, "shape .n_queries,."),
        ([0.1, np.nan], {}, "differences contains NaN"),
        ([0.1, 0.2], {"difference": 0}, "'difference'"),
        ([0.1, 0.2], {"power": 1}, "'power'"),
        ([0.1, 0.2], {"alpha": 5}, "'alpha'"),
    ],
)
def test_bad_input_is_refused(differences, arguments, message):
    with pytest.raises(ValueError, match=message):
        n_queries_needed(differences, **{"difference": 0.1, **arguments})
