"""Comparisons of runs: how often tests err, how often intervals cover, and seconds.

Rates are of simulated runs that are equally good and have many ties. A rate near .05 of
3 000 simulations has a standard error of .004. ``rates`` writes ``results/comparisons.csv``
and goes on where it stopped; ``intervals`` writes ``results/intervals.csv``, of several
methods; ``families`` writes ``results/unequal_runs.csv``, of runs that do not vary alike;
``speed`` prints medians of alternating runs.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from _simulated_runs import MEASURES, SIGNALS, simulated_values
from _timing import medians
from scipy import stats

from sklearn_talr.inference import mean_interval, paired_test
from sklearn_talr.inference._tests import adjust_holm, joint_p_values, null_ranges
from sklearn_talr.runs import RunEvaluation, compare_runs

RESULTS = Path(__file__).parent / "results" / "comparisons.csv"
TESTS = "randomization", "bootstrap", "t", "wilcoxon"
SIZES = 20, 50, 200
N_SYSTEMS = 5
POPULATION = 100_000  # queries, whose means intervals should cover
COLUMNS = "difficulty", "n_queries", "what", "measure", "rate", "n_simulations"


def rejected(first, second, n_resamples, seed):
    """Whether each test rejects at 5 %, a row of measures for each."""
    arguments = {"n_resamples": n_resamples, "random_state": seed}
    for test in TESTS:
        yield paired_test(first, second, test=test, **arguments).p_value <= 0.05


def covered(values, mean, symmetric, n_resamples, seed):
    """Whether intervals of 95 % hold the mean of all queries."""
    low, high = mean_interval(
        values, symmetric=symmetric, n_resamples=n_resamples, random_state=seed
    )
    return (low <= mean + 1e-12) & (high >= mean - 1e-12)


def any_rejected(values, n_resamples, seed):
    """Whether Holm and Tukey separate any two of some systems, of which none is better."""
    first, second = np.triu_indices(values.shape[1], 1)
    difference = (values[:, first] - values[:, second]).mean(axis=0)
    p_values = [
        paired_test(
            values[:, i], values[:, j], n_resamples=n_resamples, random_state=seed
        ).p_value
        for i, j in zip(first, second)
    ]
    yield (adjust_holm(np.array(p_values)) <= 0.05).any(axis=0)
    ranges = null_ranges(values, n_resamples, np.random.RandomState(seed))
    yield (joint_p_values(difference, ranges) <= 0.05).any(axis=0)


def rates(difficulty, n_queries, n_simulations, n_resamples=1000, population=POPULATION):
    """Yield (what, rates of the measures, their number) of simulated comparisons."""
    rng = np.random.default_rng(n_queries)
    values = simulated_values(rng, population, 2, difficulty)
    mean, found = values.mean(axis=(0, 1)), []
    for seed in range(n_simulations):
        # One of the two systems is as likely to be first as the other: no mean differs
        sample = rng.permuted(values[rng.integers(len(values), size=n_queries)], axis=1)
        first, second = sample[:, 0], sample[:, 1]
        row = list(rejected(first, second, n_resamples, seed))
        row.append(covered(first, mean, False, n_resamples, seed))
        row.append(covered(first - second, 0.0, True, n_resamples, seed))
        found.append(row)
    names = *TESTS, "interval of a mean", "interval of a difference"
    yield from zip(names, np.mean(found, axis=0), [n_simulations] * len(names))
    n_families = n_simulations // 4
    values = simulated_values(rng, population // 4, N_SYSTEMS, difficulty)
    rows = rng.integers(len(values), size=(n_families, n_queries))
    found = [
        list(any_rejected(rng.permuted(values[row], axis=1), n_resamples, seed))
        for seed, row in enumerate(rows)
    ]
    yield from zip(("Holm", "Tukey"), np.mean(found, axis=0), [n_families] * 2)


def intervals(values, n_resamples, rng):
    """Yield (name, low, high) of the intervals of a mean, by several methods."""
    mean, n = values.mean(axis=0), len(values)
    for name, symmetric in (("expanded percentile", False), ("its symmetric form", True)):
        ends = mean_interval(
            values, symmetric=symmetric, n_resamples=n_resamples, random_state=rng
        )
        yield name, *ends
    error = np.maximum(stats.sem(values), 1e-12)
    reach = stats.t.isf(0.025, n - 1) * error
    yield "Student's t", mean - reach, mean + reach
    drawn = values[rng.randint(n, size=(n_resamples, n))]
    low, high = np.quantile(drawn.mean(axis=1), [0.025, 0.975], axis=0)
    yield "percentile", low, high
    t = (drawn.mean(axis=1) - mean) / np.maximum(stats.sem(drawn, axis=1), 1e-12)
    low, high = np.quantile(t, [0.025, 0.975], axis=0)
    yield "percentile-t", mean - high * error, mean - low * error
    yield "BCa", *bca(values, np.sort(drawn.mean(axis=1), axis=0))


def bca(values, means):
    """Ends of the bias-corrected and accelerated interval, from sorted means of samples."""
    mean, spread = values.mean(axis=0), values - values.mean(axis=0)
    below = ((means < mean).mean(axis=0) + (means <= mean).mean(axis=0)) / 2
    bias = stats.norm.ppf(below.clip(1e-4, 1 - 1e-4))
    variance = np.maximum((spread**2).sum(axis=0), 1e-12)
    acceleration = (spread**3).sum(axis=0) / variance**1.5 / 6
    for quantile in stats.norm.ppf([0.025, 0.975]):
        shifted = bias + quantile
        level = stats.norm.cdf(bias + shifted / (1 - acceleration * shifted))
        columns = zip(means.T, level)
        yield np.array([np.quantile(column, share) for column, share in columns])


def write_intervals(n_simulations, n_queries=20, n_resamples=1000):
    """Write how often intervals of a mean and of a difference of few queries cover."""
    rows = []
    for difficulty in SIGNALS:
        rng = np.random.default_rng(0)
        values = simulated_values(rng, POPULATION, 2, difficulty)
        draw, counts = np.random.RandomState(0), {}
        for _ in range(n_simulations):
            sample = rng.permuted(values[rng.integers(len(values), size=n_queries)], axis=1)
            for what, column, mean in (
                ("mean", sample[:, 0], values.mean(axis=(0, 1))),
                ("difference", sample[:, 0] - sample[:, 1], 0.0),
            ):
                for name, low, high in intervals(column, n_resamples, draw):
                    covers = (low <= mean + 1e-9) & (high >= mean - 1e-9)
                    counts[what, name] = counts.get((what, name), 0) + covers
        rows += [
            (difficulty, n_queries, what, name, measure, f"{n / n_simulations:.4f}")
            for (what, name), covered in counts.items()
            for measure, n in zip(MEASURES, covered)
        ]
    with open(RESULTS.with_name("intervals.csv"), "w", newline="") as file:
        columns = "difficulty", "n_queries", "of", "interval", "measure", "coverage"
        csv.writer(file).writerows([columns, *rows])


def write_families(n_simulations, n_queries=50, n_runs=8, n_resamples=1000):
    """Write how often equally good runs are separated if two vary ten times as much."""
    rng, found = np.random.default_rng(0), []
    scale = np.where(np.arange(n_runs) < 2, 10.0, 1.0)
    for seed in range(n_simulations):
        values = scale * rng.normal(size=(n_queries, n_runs))
        found.append(list(any_rejected(values[..., None], n_resamples, seed)))
    rates = np.mean(found, axis=(0, 2)).tolist()
    rows = [
        (n_queries, n_runs, method, f"{rate:.4f}", n_simulations)
        for method, rate in zip(("Holm", "Tukey"), rates)
    ]
    with open(RESULTS.with_name("unequal_runs.csv"), "w", newline="") as file:
        columns = "n_queries", "n_runs", "method", "rate", "n_simulations"
        csv.writer(file).writerows([columns, *rows])


def write_rates(n_simulations):
    done = set()
    if RESULTS.exists():
        with open(RESULTS, newline="") as file:
            done = {(r["difficulty"], int(r["n_queries"])) for r in csv.DictReader(file)}
    for difficulty in SIGNALS:
        for n_queries in SIZES:
            if (difficulty, n_queries) in done:
                continue
            rows = [
                (difficulty, n_queries, what, measure, f"{rate:.4f}", n)
                for what, by_measure, n in rates(difficulty, n_queries, n_simulations)
                for measure, rate in zip(MEASURES, by_measure)
            ]
            with open(RESULTS, "a", newline="") as file:
                writer = csv.writer(file)
                if file.tell() == 0:
                    writer.writerow(COLUMNS)
                writer.writerows(rows)
            print(difficulty, n_queries, flush=True)


def evaluations(n_queries, n_runs, n_measures):
    """Evaluations of runs that get better from one to the next."""
    rng = np.random.default_rng(0)
    queries = [f"q{number}" for number in range(n_queries)]
    measures = [f"P@{number}" for number in range(1, n_measures + 1)]
    ease = rng.normal(size=(n_queries, 1))
    for run in range(n_runs):
        expected = ease + 0.02 * run + rng.normal(size=(n_queries, n_measures))
        expected = 1 / (1 + np.exp(-expected))
        columns = expected, expected - 0.001, expected + 0.001, expected
        yield RunEvaluation(f"run {run}", measures, queries, *columns)


def speed(n_queries=1000, n_runs=10, n_measures=5, n_resamples=10_000):
    """Print seconds of whole comparisons, and of one pair as scipy tests it."""
    results = list(evaluations(n_queries, n_runs, n_measures))
    first, second = results[0].expected[:, 0], results[1].expected[:, 0]
    contenders = {
        f"compare_runs, adjust={adjust!r}": lambda adjust=adjust: compare_runs(
            *results, adjust=adjust, n_resamples=n_resamples
        )
        for adjust in ("holm", "tukey")
    }
    contenders["one p-value, ours"] = lambda: paired_test(
        first, second, n_resamples=n_resamples
    )
    contenders["one p-value, scipy"] = lambda: stats.permutation_test(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=1000,
    )
    print(
        f"{n_queries} queries, {n_runs} runs, {n_measures} measures, {n_resamples} samples"
    )
    for name, seconds in medians(contenders, 3).items():
        print(f"{name:32} {seconds:7.3f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["rates", "intervals", "families", "speed"])
    parser.add_argument("--n-simulations", type=int, default=3000)
    args = parser.parse_args()
    if args.what == "rates":
        write_rates(args.n_simulations)
    elif args.what == "intervals":
        write_intervals(args.n_simulations)
    elif args.what == "families":
        write_families(args.n_simulations)
    else:
        speed()


if __name__ == "__main__":
    main()
