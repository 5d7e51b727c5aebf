"""Error rates and power of tests of systems, on tables of published and made-up scores.

    python benchmarks/bench_tests.py  # four hours

Systems are drawn from a table, and rows of it with replacement. *false*: all systems are
shifted to one mean, and any pair is significant at .05. *right*: they have their own means,
and this share of pairs is significant in the right direction. *wrong*: share of significant
pairs that are not. The p-value of a single pair is not adjusted. Made-up systems have one
mean as they are.
SKLEARN_TALR_DATA names the folder of the published tables.
"""

from itertools import combinations, product

import numpy as np
from _store import RESULTS, Store
from benchmark_sets import folder_of_sets
from scipy import stats

from sklearn_talr.inference._multiple import adjust_bh, adjust_holm, max_t
from sklearn_talr.inference._paired import TESTS, p_values
from sklearn_talr.inference._resampling import Resampling, make_strata

TABLES = {
    "TREC-8, AP": "trec_scores/adhoc8_ap.csv",
    "MTEB": "mteb_eng_v2.csv",
    "Web track, nDCG@20": "trec_scores/web2013_ndcg20.csv",
    "TREC-8, P@10": "trec_scores/adhoc8_p10.csv",
}
N_DRAWS = {2: 10_000, 5: 2000, 20: 2000, 100: 200}  # by number of systems
MADE = "normal", "skewed", "zeros and ones", "nearly equal", "constant"
N_DRAWS_OF_TWO = {5: 2000, 20: 2000, 60: 1000, 100: 500}  # of max-t and of t with Holm
N_SAMPLES = 1000
FIGURES = ["false", "right", "wrong", "n_draws"]


def johnson(differences):
    """p-values of Johnson's t, which takes skewness out of Student's."""
    n, mean = len(differences), differences.mean(axis=0)
    skewness = stats.skew(differences, axis=0)
    t = mean / stats.sem(differences, axis=0)
    t += skewness / (6 * np.sqrt(n)) * (1 + 2 * t**2)
    return np.nan_to_num(2 * stats.t.sf(np.abs(t), n - 1), nan=1.0)


def made_up(kind, n_systems, n_rows, rng):
    """Scores of systems of one mean."""
    shape, size = (n_rows, n_systems), np.exp(rng.normal(0, 0.5, n_systems))
    if kind == "normal":
        return rng.normal(size=shape) * size
    if kind == "skewed":
        return (rng.gamma(0.5, size=shape) - 0.5) * size
    if kind == "zeros and ones":
        return (rng.random(shape) < rng.beta(0.5, 1, (n_rows, 1))).astype(float)
    if kind == "nearly equal":  # three of four are copies, in 5 % of the rows another value
        row = rng.gamma(0.5, size=(n_rows, 1))
        own, place = rng.gamma(1, size=shape) * row, np.arange(n_systems)
        n_kinds = max(2, n_systems // 4)
        is_own = (rng.random(shape) < 0.05) | (place < n_kinds)
        return np.where(is_own, own, own[:, place % n_kinds])
    values = rng.gamma(1, size=shape) - 1
    values[:, : max(1, n_systems // 4)] = 0.0  # a constant is compared with skewed values
    return values


def tested(values, random_state, of_two):
    """Yield names of methods and p-values of all pairs, adjusted if there are more."""
    first, second = np.transpose(list(combinations(range(values.shape[1]), 2)))
    differences = values[:, first] - values[:, second]
    resampling = Resampling(make_strata(None, len(values)), N_SAMPLES, random_state)
    single = {}
    scale = np.abs(values).max(axis=0)
    scale = np.maximum(scale[first], scale[second])
    for test in ["t"] if of_two else TESTS:
        if len(first) > 1 and test == "bootstrap":
            continue  # its least p-value is too large for many pairs
        if values.size > 1000 and test == "wilcoxon":
            continue  # exact distributions of many pairs or rows take hours
        p_value = p_values(test, differences, scale, resampling).p_value
        single[test] = np.nan_to_num(p_value, nan=1.0)
    if len(first) == 1:
        yield from single.items()
        return
    if of_two:
        p_value, _ = max_t(
            values,
            (first, second),
            [differences],
            scale=scale,
            resampling=resampling,
            alpha=0.05,
        )
        yield "max-t", p_value[0]
        yield "t, holm", adjust_holm(single["t"][:, None])[:, 0]
        return
    single["Johnson"] = johnson(differences)
    for test, p_value in single.items():
        if test != "t":
            yield f"{test}, holm", adjust_holm(p_value[:, None])[:, 0]
        yield f"{test}, bh", adjust_bh(p_value[:, None])[:, 0]


def simulate(scores, n_systems, n_rows, n_draws, of_two):
    """Figures by method; `scores` are a table, or what is made up."""
    rng, random_state = np.random.default_rng(0), np.random.RandomState(0)
    counts = {}
    for _ in range(n_draws):
        if isinstance(scores, str):
            centered = made_up(scores, n_systems, n_rows, rng)
        else:
            systems = scores[:, rng.choice(scores.shape[1], n_systems, replace=False)]
            rows, mean = rng.integers(len(scores), size=n_rows), systems.mean(axis=0)
            centered = (systems - mean)[rows]
        for method, p_value in tested(centered, random_state, of_two):
            of_method = counts.setdefault(method, np.zeros(4))
            of_method[0] += (p_value <= 0.05).any()
        if isinstance(scores, str):
            continue
        first, second = np.transpose(list(combinations(range(n_systems), 2)))
        found = systems[rows].mean(axis=0)
        is_right = (mean[first] - mean[second]) * (found[first] - found[second]) > 1e-12
        for method, p_value in tested(systems[rows], random_state, of_two):
            is_significant = p_value <= 0.05
            right, n = (is_significant & is_right).sum(), is_significant.sum()
            counts[method] += 0, right / len(first), n - right, n
    for method, (n_false, right, n_wrong, n) in counts.items():
        shares = n_false / n_draws, right / n_draws, n_wrong / max(n, 1)
        known = shares[:1] if isinstance(scores, str) else shares
        yield method, {"n_draws": n_draws, **dict(zip(FIGURES, known))}


if __name__ == "__main__":
    store = Store(RESULTS / "tests.csv", ["data", "systems", "rows", "method"], FIGURES)
    scores = {}
    for name, path in TABLES.items():
        table = np.genfromtxt(folder_of_sets() / path, delimiter=",", skip_header=1)
        scores[name] = table[:, ~np.isnan(table).all(axis=0)]  # but for names of tasks
    all_rows = 6, 9, 10, 12, 25, 50, 200
    cells = [*product([True], N_DRAWS_OF_TWO, all_rows, [*TABLES, *MADE])]
    cells += product([False], N_DRAWS, (25, 50, 10, 200), TABLES)
    for of_two, n_systems, n_rows, name in cells:
        key = {"data": name, "systems": n_systems, "rows": n_rows}
        values = scores.get(name, name)
        last = "t, holm" if of_two else "Johnson, bh" if n_systems > 2 else TESTS[-1]
        if name in TABLES and n_systems > values.shape[1]:
            continue
        if store.has(**key, method=last):
            continue
        n_draws = (N_DRAWS_OF_TWO if of_two else N_DRAWS)[n_systems]
        for method, found in simulate(values, n_systems, n_rows, n_draws, of_two):
            store.add(**key, method=method, **found)
