"""Small data of two views in all forms, and CrossViewHashers fitted in a moment."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from two_views import halves_of_digits, judged

from sklearn_talr.hashing import ClassProbabilities, CrossViewHasher

X, Y, Q, C = halves_of_digits(160, 50)
J = judged(C, Y).T.tocsr()
LABELS = np.eye(10, dtype=int)[:, [0, 1, 2, 3, 4, 5, 0, 1]]  # two classes have none
TEACHER = ClassProbabilities(LogisticRegression(max_iter=2000, C=0.01))


def small(**params):
    """A hasher that trains in a moment."""
    return CrossViewHasher(**({"n_bits": 8, "max_iter": 2, "random_state": 0} | params))


WAYS = {
    "labels": ((X, Y), {"X_query": Q, "y_query": C}),
    "indicators": ((X, LABELS[Y]), {"X_query": Q, "y_query": LABELS[C]}),
    "judgments": ((X, J), {"X_query": Q}),
    "partners": ((X[:50],), {"X_query": Q}),
    "same rows": ((X, Y), {}),
}
VARIANTS = {
    "taught": {},
    "towers": {"teacher": None},
    "weights": {"query": "weights"},
    "weights of towers": {"query": "weights", "teacher": None},
}
# Classes of one sample, which classifiers warn of.
LONE_CLASSES = pytest.mark.filterwarnings("ignore:Classes or labels")
every_way = pytest.mark.parametrize("way", WAYS)
every_variant = pytest.mark.parametrize("variant", VARIANTS)


def fit(way, **params):
    args, kwargs = WAYS[way]
    return small(**params).fit(*args, **kwargs)


def queries_of(way):
    return X if way == "same rows" else Q


def codes_of(hasher, way):
    queries = queries_of(way)
    return (
        hasher.transform(WAYS[way][0][0]),
        hasher.transform_query(queries),
        hasher.query_weights(queries),
    )
