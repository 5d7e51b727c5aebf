"""RankingSVC and its loss-augmented inference, side by side with scans and other SVMs.

    python benchmarks/bench_svm.py              # all tables but the last, a few minutes
    python benchmarks/bench_svm.py inference    # one of: inference scaling sizes training
                                                #         path grades offsets quality

``quality`` needs the folder of benchmark sets (environment variable
``SKLEARN_TALR_DATA``) and takes about half an hour. Contenders take turns in one process;
figures are medians of wall time. What ``grades`` and ``quality`` measure are rows of
``results/svm.csv``. Rows that are there are not measured again.
"""

import argparse
import contextlib
import time
import warnings
from functools import partial

import numpy as np
from _store import RESULTS, Store
from _timing import medians
from benchmark_sets import load_benchmark
from record_speed import scan_of_ranks
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from sklearn_talr._core.progress import Progress
from sklearn_talr.measures import nDCG
from sklearn_talr.metrics import tie_aware_average_precision_score, tie_aware_ndcg_score
from sklearn_talr.svm import RankingSVC, _solver, loss_augmented_ranks
from sklearn_talr.svm import _ranking_svc as estimator
from sklearn_talr.svm._ranking_svc import FeatureMatrix
from sklearn_talr.svm._risks import HingeRisk, RankingRisk

STORE = Store(
    RESULTS / "svm.csv",
    ["table", "seed", "problem", "model"],
    ["ap", "ndcg", "ndcg_at_10", "seconds"],
)
LOSSES = "AP", "nDCG"
METRICS = {
    "AP": tie_aware_average_precision_score,
    "nDCG": tie_aware_ndcg_score,
}


def draw_scores(n_positive, n_negative):
    rng = np.random.default_rng(0)
    return rng.normal(1.0, size=n_positive), rng.normal(size=n_negative)


def inference():
    """One call with a million negatives: ours, the scan over all ranks, one np.sort."""
    print("\nOne call, N = 1 000 000, milliseconds")
    print(f"{'loss':17s}{'P':>6s}{'ours':>9s}{'scan':>10s}{'np.sort':>9s}"
          f"{'scan/ours':>11s}{'ours/sort':>11s}")  # fmt: skip
    for loss in LOSSES:
        for n_positive in (100, 1_000):
            positive, negative = draw_scores(n_positive, 1_000_000)
            contenders = {
                "ours": partial(loss_augmented_ranks, positive, negative, loss),
                "scan": partial(scan_of_ranks, positive, negative, loss),
            }
            contenders["np.sort"] = partial(np.sort, negative)
            ms = {name: 1e3 * t for name, t in medians(contenders, repeats=5).items()}
            print(
                f"{loss:17s}{n_positive:6d}{ms['ours']:9.1f}"
                f"{ms['scan']:10.0f}{ms['np.sort']:9.1f}{ms['scan'] / ms['ours']:11.0f}"
                f"{ms['ours'] / ms['np.sort']:11.2f}"
            )


def scaling():
    """Growth with N: nanoseconds per negative and log2 P would be constant."""
    print("\nTime per negative, nanoseconds")
    print(f"{'loss':17s}{'P':>6s}" + "".join(f"{f'N = 10^{e}':>12s}" for e in (4, 5, 6)))
    for loss in LOSSES:
        for n_positive in (10, 100, 1_000):
            row = f"{loss:17s}{n_positive:6d}"
            for n_negative in (10**4, 10**5, 10**6):
                scores = draw_scores(n_positive, n_negative)
                ours = {"ours": partial(loss_augmented_ranks, *scores, loss)}
                seconds = medians(ours, repeats=9)["ours"]
                row += f"{1e9 * seconds / n_negative:12.1f}"
            print(row)


def sizes():
    """Figures 2 and 3 of Mohapatra et al.: samples, negatives and positives in turn."""
    print("\nOne call at the sizes of the paper, milliseconds")
    print(f"{'loss':17s}{'P':>6s}{'N':>8s}{'ours':>9s}{'scan':>10s}"
          f"{'0-1':>8s}{'scan/ours':>11s}")  # fmt: skip
    grid = [(n // 10, n - n // 10) for n in (500, 1_000, 3_300, 10_000)]
    grid += [(227, n) for n in (1_000, 3_000, 30_000)]
    grid += [(p, 200) for p in (50, 200, 800)]
    for loss in LOSSES:
        for n_positive, n_negative in grid:
            positive, negative = draw_scores(n_positive, n_negative)
            contenders = {
                "ours": partial(loss_augmented_ranks, positive, negative, loss),
                "scan": partial(scan_of_ranks, positive, negative, loss),
            }
            is_positive = np.arange(n_positive + n_negative) < n_positive
            hinge = HingeRisk(is_positive, np.ones(len(is_positive)))
            both = np.concatenate([positive, negative])
            contenders["0-1"] = partial(hinge, both)
            ms = {name: 1e3 * t for name, t in medians(contenders, repeats=7).items()}
            print(
                f"{loss:17s}{n_positive:6d}{n_negative:8d}{ms['ours']:9.2f}"
                f"{ms['scan']:10.2f}{ms['0-1']:8.3f}{ms['scan'] / ms['ours']:11.1f}"
            )


def draw_features(n_samples=3_300, n_features=2_400):
    """As many samples and features as in the paper, a tenth positive, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features)) * np.arange(1, n_features + 1) ** -0.4
    X /= np.linalg.norm(X, axis=1).mean()
    z = X @ rng.normal(size=n_features)
    z += z.std() * rng.normal(size=n_samples)
    return X, (z > np.quantile(z, 0.9)).astype(int)


def training():
    """Table 1 of the paper: whole trainings to a gap of 1e-3, and the inference in them."""
    X, y = draw_features()
    print("\nTraining on 3 300 x 2 400 to a gap of 1e-3, seconds")
    print(f"{'C':>5s}  {'loss':17s}{'total':>8s}{'inference':>11s}{'steps':>7s}"
          f"{'calls':>7s}{'/ 0-1':>8s}{'cutting plane':>15s}")  # fmt: skip
    for C in (0.1, 1.0, 10.0):
        fits = {
            (loss, solver): RankingSVC(loss, C, solver=solver)
            for loss in ("zero_one", *LOSSES)
            for solver in ("bundle", "cutting_plane")
        }
        seconds = medians(
            {key: partial(svc.fit, X, y) for key, svc in fits.items()}, repeats=3
        )
        for loss in ("zero_one", *LOSSES):
            spent, calls = _time_of_inference(RankingSVC(loss, C), X, y)
            total = seconds[loss, "bundle"]
            print(
                f"{C:5.1f}  {loss:17s}{total:8.2f}{spent:11.3f}"
                f"{fits[loss, 'bundle'].n_iter_:7d}{calls:7d}"
                f"{total / seconds['zero_one', 'bundle']:8.2f}"
                f"{seconds[loss, 'cutting_plane']:15.2f}"
            )


def _time_of_inference(svc, X, y):
    """Seconds and number of evaluations of the risk within one training."""
    positive = y == 1
    if svc.loss == "zero_one":
        risk = HingeRisk(positive, np.ones(len(y)))
    else:
        risk = RankingRisk(positive, np.zeros(len(y), dtype=int), svc.loss)
    spent = []

    def timed(scores):
        start = time.perf_counter()
        result = risk(scores)
        spent.append(time.perf_counter() - start)
        return result

    ranks = svc.loss != "zero_one"
    features = FeatureMatrix(X, not ranks, ranks)
    bundle = _solver.Bundle(features.n_weights)
    options = {"tol": svc.tol, "max_iter": svc.max_iter, "line_search": True}
    options["progress"] = Progress()
    estimator.minimize(features, timed, svc.C * len(y), bundle, **options)
    return sum(spent), len(spent)


def path():
    """A path of seven C, from cold and from warm starts."""
    X, y = draw_features(n_features=600)
    print("\nPath of 7 values of C on 3 300 x 600, seconds")
    for loss in ("zero_one", *LOSSES):
        seconds = medians(
            {warm: partial(_fit_path, loss, X, y, warm) for warm in (False, True)},
            repeats=3,
        )
        print(
            f"{loss:17s} cold {seconds[False]:6.2f}  warm {seconds[True]:6.2f}  "
            f"ratio {seconds[False] / seconds[True]:.2f}"
        )


def _fit_path(loss, X, y, warm_start):
    svc = RankingSVC(loss, warm_start=warm_start)
    for C in np.logspace(-2, 1, 7):
        svc.set_params(C=C).fit(X, y)


def quality(seeds=(0, 1, 2)):
    """Held-out AP and NDCG of one label against the rest, C by cross-validation for all.

    The sets are the training rows and the queries of the protocol of coco17. Every model
    gets the same grid of C, three folds, and the metric it is compared in to choose by.
    """
    models = {
        "RankingSVC average_precision": RankingSVC("AP", warm_start=True),
        "RankingSVC ndcg": RankingSVC("nDCG", warm_start=True),
        "RankingSVC zero_one": RankingSVC("zero_one", warm_start=True),
        "LinearSVC": LinearSVC(random_state=0),
        "LinearSVC hinge": LinearSVC(loss="hinge", random_state=0),
    }
    grid = np.logspace(-3, 2, 11)
    for seed in seeds:
        data = load_benchmark("coco17", seed)
        for label in range(data.y_train.shape[1]):
            y, y_test = data.y_train[:, label], data.y_query[:, label]
            for name, model in models.items():
                key = _key("quality", seed, f"label {label}", name)
                if not STORE.has(**key):
                    best = _held_out(model, grid, data.X_train, y, data.X_query, y_test)
                    STORE.add(**key, **dict(zip(("ap", "ndcg"), map(float, best))))
    _print_means("coco17, one label against the rest, held out", "quality", seeds)


def _key(table, seed, problem, model):
    return {"table": table, "seed": seed, "problem": problem, "model": model}


def _print_means(title, table, seeds):
    """Means over problems, for each seed and in all."""
    print(f"\n{title}: mean, and mean of each seed")
    rows = [row for row in STORE.rows() if row["table"] == table]
    for model in dict.fromkeys(row["model"] for row in rows):
        text = f"{model:30s}"
        for figure in ("ap", "ndcg", "ndcg_at_10"):
            means = [
                np.mean([float(row[figure]) for row in rows if _is_of(row, model, seed)])
                for seed in seeds
                if any(row[figure] and _is_of(row, model, seed) for row in rows)
            ]
            if means:
                text += f"  {figure} {np.mean(means):.4f} {np.round(means, 4)}"
        print(text)


def _is_of(row, model, seed):
    return row["model"] == model and row["seed"] == str(seed)


def _held_out(model, grid, X, y, X_test, y_test):
    """AP and NDCG on the test set, each with the C that is best in it on three folds."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    tuning = np.mean(
        [_along(model, grid, X[a], y[a], X[b], y[b]) for a, b in folds], axis=0
    )
    test = _along(model, grid, X, y, X_test, y_test)
    return [test[chosen, m] for m, chosen in enumerate(tuning.argmax(axis=0))]


def _along(model, grid, X, y, X_test, y_test):
    """Metrics for each C, shape (n_C, n_metrics)."""
    rows = []
    for C in grid:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(C=C).fit(X, y)
        scores = model.decision_function(X_test)
        rows.append([metric([y_test], [scores]) for metric in METRICS.values()])
    return np.array(rows)


def grades(seeds=(0, 1, 2)):
    """Held-out NDCG of grades 0, 1 and 2, C by validation: against what people do today.

    Queries, features and grades are drawn to look like those of LETOR's MQ2008: 46 features
    between 0 and 1 within each query, a fifth of the documents relevant.
    """
    grid = np.logspace(-5, 0, 6)
    contenders = {
        "RankingSVC, grades": _fit_ndcg,
        "RankingSVC, grade >= 1": partial(_fit_ndcg, grade=1),
        "RankingSVC, grade >= 2": partial(_fit_ndcg, grade=2),
        "logistic regression of pairs": _fit_pairs,
    }
    for seed in seeds:
        rng = np.random.default_rng(seed)
        mixing = 0.7 * rng.normal(size=(10, 46))
        train, validation, test = (_draw_grades(rng, mixing, n) for n in (250, 500, 500))
        for name, fit in contenders.items():
            key = _key("grades", seed, "drawn", name)
            if STORE.has(**key):
                continue
            start = time.process_time()
            models = [fit(*train, C) for C in grid]
            best = max(models, key=lambda model: _mean_ndcg(model, *validation))
            STORE.add(
                **key,
                ndcg=float(_mean_ndcg(best, *test)),
                ndcg_at_10=float(_mean_ndcg(best, *test, k=10)),
                seconds=time.process_time() - start,
            )
    _print_means("Grades 0, 1 and 2", "grades", seeds)


def offsets(seeds=(0, 1, 2)):
    """Held-out NDCG of queries with offsets of their own: features centered within, or not.

    LightGBM takes part where it is installed.
    """
    contenders = {
        "RankingSVC": [partial(_fit_ndcg, C=C) for C in (1e-4, 1e-3, 1e-2, 1e-1)],
        "ridge regression": [partial(_fit_ridge, alpha=10.0**i) for i in range(-1, 4)],
    }
    with contextlib.suppress(ImportError):
        import lightgbm

        def fit(X, y, groups, **how):
            ranker = lightgbm.LGBMRanker(learning_rate=0.05, verbose=-1, n_jobs=1, **how)
            return ranker.fit(X, y, group=np.bincount(groups)).predict

        sizes = [{"n_estimators": n, "num_leaves": m} for n in (100, 300) for m in (7, 31)]
        contenders["lambdarank"] = [partial(fit, **how) for how in sizes]
    for seed in seeds:
        rng = np.random.default_rng(seed)
        mixing, worth = rng.normal(size=(10, 30)), rng.normal(size=10)
        worth *= 1.3 / np.linalg.norm(worth)
        parts = [_draw_offsets(rng, mixing, worth, n) for n in (150, 100, 200)]
        for kind in ("as they are", "centered"):
            for name, fits in contenders.items():
                key = _key("offsets", seed, "drawn", f"{name}, {kind}")
                if STORE.has(**key):
                    continue
                start = time.process_time()
                train, *rest = [(X[kind], y, groups) for X, y, groups in parts]
                models = [fit(*train) for fit in fits]

                def score(model, X, y, groups):
                    y_score = model(X) if callable(model) else X @ model
                    return nDCG.score(y, y_score, groups=groups)

                best = max(models, key=lambda model: score(model, *rest[0]))
                seconds = time.process_time() - start
                STORE.add(**key, ndcg=float(score(best, *rest[1])), seconds=seconds)
    _print_means("Queries with offsets", "offsets", seeds)


def _fit_ridge(X, y, groups, alpha):
    return Ridge(alpha=alpha).fit(X, y).coef_


def _draw_offsets(rng, mixing, worth, n_queries, n=40):
    latent = rng.normal(size=(n_queries, n, len(mixing)))
    offset = 2 * rng.normal(size=(n_queries, 1, len(mixing)))
    X = (latent + offset) @ mixing + 0.6 * rng.normal(size=(n_queries, n, mixing.shape[1]))
    worth = latent @ worth + 0.8 * rng.normal(size=(n_queries, n))
    y = np.searchsorted([1.4, 2.4, 3.2], worth.ravel())
    forms = {"as they are": X, "centered": X - X.mean(axis=1, keepdims=True)}
    forms = {kind: rows.reshape(-1, rows.shape[2]) for kind, rows in forms.items()}
    return forms, y, np.repeat(np.arange(n_queries), n)


def _draw_grades(rng, mixing, n_queries):
    X, y, groups = [], [], []
    for query in range(n_queries):
        n = rng.integers(6, 60)
        latent = rng.normal(size=(n, 10))
        features = latent @ mixing + rng.normal(size=(n, 46)) + 1.5 * rng.normal(size=46)
        features -= features.min(axis=0)
        worth = latent[:, 0] + 0.7 * latent[:, 1] + 0.5 * latent[:, 2] * latent[:, 0]
        worth += 1.2 * rng.normal(size=n) + 0.6 * rng.normal()
        X.append(features / features.max(axis=0))
        y.append((worth > 1.6).astype(int) + (worth > 2.6))
        groups.append(np.full(n, query))
    return [np.concatenate(parts) for parts in (X, y, groups)]


def _fit_ndcg(X, y, groups, C, grade=None):
    svc = RankingSVC("nDCG", C=C)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return svc.fit(X, y if grade is None else y >= grade, groups=groups).coef_[0]


def _fit_pairs(X, y, groups, C):
    """Logistic regression of the differences of all pairs of one query and two grades."""
    differences = []
    for rows in _rows_of_queries(groups):
        better, worse = np.nonzero(y[rows][:, None] > y[rows])
        differences.append(X[rows][better] - X[rows][worse])
    differences = np.concatenate(differences)
    both = np.concatenate([differences, -differences])
    model = LogisticRegression(C=C, fit_intercept=False, max_iter=500)
    return model.fit(both, np.arange(len(both)) < len(differences)).coef_[0]


def _mean_ndcg(coef, X, y, groups, k=None):
    return np.mean(
        [
            tie_aware_ndcg_score([y[rows]], [X[rows] @ coef], k=k)
            for rows in _rows_of_queries(groups)
            if y[rows].any()
        ]
    )


def _rows_of_queries(groups):
    return [np.flatnonzero(groups == query) for query in np.unique(groups)]


RUNS = (inference, scaling, sizes, training, path, grades, offsets, quality)
TABLES = {run.__name__: run for run in RUNS}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", nargs="?", choices=[*TABLES])
    chosen = parser.parse_args().table
    for name, run in TABLES.items():
        if name == chosen or (chosen is None and name != "quality"):
            run()
