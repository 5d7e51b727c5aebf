"""What the tests and intervals promise, of simulated runs with ties that are equally good.

Rates are of one seed, so they are the same each time. A rate of .05 of 2 000 simulations
has a standard error of .005.
"""

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MEANS = "AP", "nDCG@10", "RR"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("bench_comparisons")


def by_name(bench, n_queries, n_simulations, **options):
    """Rates by what was tested, of the measures that have many values."""
    found = bench.rates("middling", n_queries, n_simulations, **options)
    return {what: dict(zip(bench.MEASURES, rates.tolist())) for what, rates, _ in found}


@pytest.mark.slow
@pytest.mark.parametrize("n_queries", [20, 50, 200])
def test_tests_err_and_intervals_cover_as_often_as_they_say(bench, n_queries):
    """In the mean of three measures, and each by two standard errors more."""
    found = by_name(bench, n_queries, 2000)
    bounds = dict.fromkeys(bench.TESTS, (0.04, 0.06))
    bounds |= dict.fromkeys(
        ("interval of a mean", "interval of a difference"), (0.93, 0.97)
    )
    bounds |= dict.fromkeys(("Holm", "Tukey"), (0.02, 0.06))  # of 500 simulations
    for what, (least, most) in bounds.items():
        rates = [found[what][measure] for measure in MEANS]
        assert least <= sum(rates) / 3 <= most, what
        margin = 0.02 if what in ("Holm", "Tukey") else 0.01
        assert least - margin <= min(rates) <= max(rates) <= most + margin, what


def test_rates_of_a_few_simulations(bench):
    found = by_name(bench, 12, 4, n_resamples=100, population=400)
    assert set(found) == {
        *bench.TESTS,
        "interval of a mean",
        "interval of a difference",
        "Holm",
        "Tukey",
    }
    assert all(0 <= rate <= 1 for rates in found.values() for rate in rates.values())


def test_simulated_systems_are_equally_good_and_tied(bench):
    rng = bench.np.random.default_rng(0)
    values = bench.simulated_values(rng, 4000, 2, "easy")
    means = values.mean(axis=0)
    assert means[0] == pytest.approx(means[1], abs=0.02)
    assert means.min() > 0.4
    one_half = (values[:, 0, bench.MEASURES.index("P@1")] == 0.5).mean()
    assert one_half > 0.02  # two documents share the first place
