"""Two stages, a hidden layer or a linear function: which, by the kind of small set.

    python benchmarks/bench_choice.py            # half an hour
    python benchmarks/bench_choice.py --table    # what is measured

Half of the rows, but 1 000 at most, train. Then the other rows, 1 000 at most, rank each
other by codes of 16 bits; the figure is mean AP. Columns have unit variance. A *search* is
``GridSearchCV`` on the training rows, which takes one of the three by cross-validation with
three folds, on the first two splits. Every line is a row of a CSV file, ``--csv``, and is
not measured again.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
from _store import RESULTS, Store
from comparison._data import load_comparison
from sklearn import datasets
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import ClassProbabilities, TALRHasher, make_retrieval_scorer

N_SPLITS, N_SEARCHED, N_BITS = 8, 2, 16
N_TRAIN = N_TEST = 1000
SCORER = make_retrieval_scorer("AP")
HIDDEN = TALRHasher(N_BITS, loss="nDCG", hidden_layer_sizes=256, random_state=0)
STEPS = {
    "two stages": {"teacher": [ClassProbabilities()]},
    "hidden layer": {"hasher": [HIDDEN]},
    "linear": {},
}


def made(n_classes):
    """Columns are mostly noise, and two classes have four clusters each."""
    return datasets.make_classification(
        2000,
        n_features=40,
        n_informative=8 if n_classes < 20 else 16,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1 if n_classes > 2 else 4,
        class_sep=1.0 if n_classes < 20 else 2.0,
        random_state=0,
    )


def features(name):
    """Rows of features of a set of the comparison, as they are drawn there."""
    data = load_comparison(name, 0)
    rows = np.random.default_rng(0).choice(len(data.X_train), 2000, replace=False)
    return data.X_train[rows], data.y_train[rows]


SETS = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "2 classes of 4 clusters": lambda: made(2),
    "5 classes": lambda: made(5),
    "20 classes": lambda: made(20),
    "100 classes": lambda: made(100),
    "CIFAR-10": lambda: features("cifar10"),
    "Fashion-MNIST": lambda: features("fashion_mnist"),
}


def pipeline():
    steps = [
        ("scaler", StandardScaler()),
        ("teacher", "passthrough"),
        ("hasher", TALRHasher(N_BITS, random_state=0)),
    ]
    return Pipeline(steps)


def search():
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = [values or {"teacher": ["passthrough"]} for values in STEPS.values()]
    return GridSearchCV(pipeline(), grid, scoring=SCORER, cv=folds)


def measure(name, seed, method):
    """Mean AP of rows that rank each other, and what a search has chosen."""
    X, y = SETS[name]()
    parts = train_test_split(
        X, y, train_size=min(N_TRAIN, len(X) // 2), stratify=y, random_state=seed
    )
    X_train, X_test, y_train, y_test = parts
    X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
    if method == "search":
        model = search().fit(X_train, y_train)
        chosen = list(STEPS)[model.best_index_]
        ap = SCORER(model.best_estimator_, X_test, y_test)
        return {"chosen": chosen, "ap": float(ap)}
    model = pipeline().set_params(**{k: v[0] for k, v in STEPS[method].items()})
    return {
        "chosen": method,
        "ap": float(SCORER(model.fit(X_train, y_train), X_test, y_test)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", type=Path, default=RESULTS / "choice.csv")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    store = Store(arguments.csv, ["data", "seed", "method"], ["chosen", "ap"])
    cells = product([*STEPS, "search"], range(N_SPLITS), SETS)
    for method, seed, name in [] if arguments.table else cells:
        if method == "search" and seed >= N_SEARCHED:
            continue
        if not store.has(data=name, seed=seed, method=method):
            store.add(data=name, seed=seed, method=method, **measure(name, seed, method))
    rows = store.rows()
    for name, method in product(SETS, [*STEPS, "search"]):
        found = [r for r in rows if (r["data"], r["method"]) == (name, method)]
        if found:
            ap = [float(row["ap"]) for row in found]
            print(
                f"{name:26}{method:14}{np.mean(ap):.3f} ±{np.std(ap):.3f}  {len(ap)} splits"
            )


if __name__ == "__main__":
    main()
