"""Two stages, a hidden layer or a linear function: which one for small sets.

    python benchmarks/bench_choice.py  # some minutes

Half of the rows, but 1 000 at most, train. Then the other rows, 1 000 at most, rank each
other with codes of 16 bits; the figure is mean AP. Columns have unit variance. A split and
method that is in ``results/choice.csv`` is not measured again.
"""

import argparse
from itertools import product

import numpy as np
from _store import RESULTS, Store
from comparison._data import load_comparison
from sklearn import datasets
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import ClassProbabilities, TALRHasher, make_retrieval_scorer

N_SPLITS, N_BITS = 3, 16
N_TRAIN = N_TEST = 1000
SCORER = make_retrieval_scorer("AP")
STORE = Store(RESULTS / "choice.csv", ["data", "seed", "method"], ["ap"])


def make_noisy_classes(n_classes):
    """Columns are mostly noise; if there are two classes, each has four clusters."""
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


def load_cifar10():
    """2 000 training rows of the comparison."""
    data = load_comparison("cifar10", 0)
    rows = np.random.default_rng(0).choice(len(data.X_train), 2000, replace=False)
    return data.X_train[rows], data.y_train[rows]


SETS = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "made up, 2 classes": lambda: make_noisy_classes(2),
    "made up, 5 classes": lambda: make_noisy_classes(5),
    "made up, 20 classes": lambda: make_noisy_classes(20),
    "made up, 100 classes": lambda: make_noisy_classes(100),
    "CIFAR-10": load_cifar10,
}


def make_method(name):
    linear = TALRHasher(N_BITS, random_state=0)
    if name == "two stages":
        return make_pipeline(StandardScaler(), ClassProbabilities(), linear)
    if name == "hidden layer":
        linear.set_params(loss="nDCG", hidden_layer_sizes=256)
    return make_pipeline(StandardScaler(), linear)


METHODS = "two stages", "hidden layer", "linear"


def measure(name, seed, method):
    """Mean AP of held-out rows that rank each other."""
    X, y = SETS[name]()
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=min(N_TRAIN, len(X) // 2), stratify=y, random_state=seed
    )
    hasher = make_method(method).fit(X_train, y_train)
    return float(SCORER(hasher, X_test[:N_TEST], y_test[:N_TEST]))


def main():
    for seed, name, method in product(range(N_SPLITS), SETS, METHODS):
        key = {"data": name, "seed": seed, "method": method}
        if not STORE.has(**key):
            STORE.add(**key, ap=measure(name, seed, method))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    main()
