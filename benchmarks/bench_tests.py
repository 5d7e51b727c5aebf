"""Error rates and power of tests of systems, on tables of published scores.

    python benchmarks/bench_tests.py  # three hours

Systems are drawn from a table, and rows of it with replacement. *false*: all systems are
moved to one mean, and any pair is separated at .05. *right*: they have their own means, and
this share of pairs is separated the right way. Of two systems, and of wrong separations
among all (*wrong*), nothing is adjusted. SKLEARN_TALR_DATA names the folder of the tables.
"""

from itertools import combinations, product

import numpy as np
from _store import RESULTS, Store
from benchmark_sets import folder_of_sets
from scipy import stats

from sklearn_talr.inference._means import make_strata
from sklearn_talr.inference._tests import (
    TESTS,
    adjust_bh,
    adjust_holm,
    max_t_p_values,
    p_values,
)

TABLES = {
    "TREC-8, AP": "trec_scores/adhoc8_ap.csv",
    "MTEB": "mteb_eng_v2.csv",
    "Web track, nDCG@20": "trec_scores/web2013_ndcg20.csv",
    "TREC-8, P@10": "trec_scores/adhoc8_p10.csv",
}
N_DRAWS = {2: 10_000, 5: 2000, 20: 2000, 100: 200}  # by number of systems
N_SAMPLES = 1000
FIGURES = ["false", "right", "wrong", "n_draws"]


def johnson(differences):
    """p-values of Johnson's t, which takes skewness out of Student's."""
    n, mean = len(differences), differences.mean(axis=0)
    skewness = stats.skew(differences, axis=0)
    t = mean / stats.sem(differences, axis=0)
    t += skewness / (6 * np.sqrt(n)) * (1 + 2 * t**2)
    return np.nan_to_num(2 * stats.t.sf(np.abs(t), n - 1), nan=1.0)


def tested(values, random_state):
    """Yield names of methods and p-values of all pairs, adjusted if there are more."""
    first, second = np.transpose(list(combinations(range(values.shape[1]), 2)))
    differences = values[:, first] - values[:, second]
    strata, single = make_strata(None, len(values)), {}
    for test in TESTS:
        if len(first) > 1 and test == "bootstrap":
            continue  # its least p-value is too large for many pairs
        if values.size > 1000 and test == "wilcoxon":
            continue  # exact distributions of many pairs or rows take hours
        found, *_ = p_values(test, differences, strata, N_SAMPLES, random_state)
        single[test] = np.nan_to_num(found, nan=1.0)
    if len(first) == 1:
        yield from single.items()
        return
    single["Johnson"] = johnson(differences)
    for test, p_value in single.items():
        yield f"{test}, holm", adjust_holm(p_value[:, None])[:, 0]
        yield f"{test}, bh", adjust_bh(p_value[:, None])[:, 0]
    samples = strata, N_SAMPLES, random_state
    yield "max-t", max_t_p_values([differences], *samples)[0]


def simulate(scores, n_systems, n_rows, n_draws):
    """Figures by method."""
    rng, random_state = np.random.default_rng(0), np.random.RandomState(0)
    counts = {}
    for _ in range(n_draws):
        systems = scores[:, rng.choice(scores.shape[1], n_systems, replace=False)]
        rows, mean = rng.integers(len(scores), size=n_rows), systems.mean(axis=0)
        for method, p_value in tested((systems - mean)[rows], random_state):
            of_method = counts.setdefault(method, np.zeros(4))
            of_method[0] += (p_value <= 0.05).any()
        first, second = np.transpose(list(combinations(range(n_systems), 2)))
        found = systems[rows].mean(axis=0)
        is_right = (mean[first] - mean[second]) * (found[first] - found[second]) > 1e-12
        for method, p_value in tested(systems[rows], random_state):
            separated = p_value <= 0.05
            right, n = (separated & is_right).sum(), separated.sum()
            counts[method] += 0, right / len(first), n - right, n
    for method, (n_false, right, n_wrong, n) in counts.items():
        shares = n_false / n_draws, right / n_draws, n_wrong / max(n, 1)
        yield method, dict(zip(FIGURES, (*shares, n_draws)))


if __name__ == "__main__":
    store = Store(RESULTS / "tests.csv", ["data", "systems", "rows", "method"], FIGURES)
    cells = product(N_DRAWS, (25, 50, 10, 200), TABLES.items())
    for n_systems, n_rows, (name, path) in cells:
        scores = np.genfromtxt(folder_of_sets() / path, delimiter=",", skip_header=1)
        scores = scores[:, ~np.isnan(scores).all(axis=0)]  # but for names of tasks
        key = {"data": name, "systems": n_systems, "rows": n_rows}
        last = "max-t" if n_systems > 2 else TESTS[-1]
        if n_systems <= scores.shape[1] and not store.has(**key, method=last):
            for method, found in simulate(scores, n_systems, n_rows, N_DRAWS[n_systems]):
                store.add(**key, method=method, **found)
