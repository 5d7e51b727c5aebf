"""Methods of the comparison: what each is, and how it is tuned."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_talr.affinity import LabelAffinity, ThresholdAffinity
from sklearn_talr.baselines import (
    BREHasher,
    CSQHasher,
    DPSHHasher,
    DSHHasher,
    DTSHHasher,
    FastHasher,
    HashNetHasher,
    MACHasher,
    MIHasher,
    OrthoHasher,
    StructHasher,
)
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    ITQHasher,
    LSHHasher,
    TALRHasher,
)
from sklearn_talr.metrics import make_retrieval_scorer


class Method(NamedTuple):
    """An estimator, and the kind of its hash function."""

    estimator: BaseEstimator
    function: str = "linear"


_HIDDEN = {"hidden_layer_sizes": (256,)}
METHODS = {
    "LSH": Method(LSHHasher()),
    "ITQ": Method(ITQHasher()),
    "DSH": Method(DSHHasher()),
    "DPSH": Method(DPSHHasher()),
    "HashNet": Method(HashNetHasher()),
    "DTSH": Method(DTSHHasher()),
    "MIHash": Method(MIHasher()),
    "OrthoHash": Method(OrthoHasher()),
    "CSQ": Method(CSQHasher()),
    "TALR-AP": Method(TALRHasher(objective="average_precision")),
    "TALR-NDCG": Method(TALRHasher(objective="ndcg")),
    "TALR-AP, hidden layer": Method(TALRHasher(**_HIDDEN), "hidden layer"),
    "TALR-NDCG, hidden layer": Method(
        TALRHasher(objective="ndcg", **_HIDDEN), "hidden layer"
    ),
    "TALR of probabilities": Method(
        make_pipeline(ClassProbabilities(cv=5), TALRHasher(weight_decay=0.0)), "two stages"
    ),
    "additive bits of probabilities": Method(
        make_pipeline(ClassProbabilities(), AdditiveHasher(metric="inner_product")),
        "two stages",
    ),
    "additive bits": Method(AdditiveHasher(metric="euclidean"), "search"),
    "BRE": Method(BREHasher()),
    "MACHash": Method(MACHasher()),
    "StructHash": Method(StructHasher()),
    "FastHash": Method(FastHasher(), "trees"),
}
LOOKUP_METHODS = {
    "DSH": Method(DSHHasher()),
    "4-DSH": Method(DSHHasher(margin=4)),
    "8-DSH": Method(DSHHasher(margin=8)),
    "12-DSH": Method(DSHHasher(margin=12)),
}
CLASSIFIERS = ("one-hot predictions", "classifier scores")  # have no length to choose
_NEEDS_CLASSES = (
    "OrthoHash",
    "CSQ",
    "TALR of probabilities",
    "additive bits of probabilities",
    *CLASSIFIERS,
)
_NEEDS_DISTANCES = ("additive bits",)

# Where similarity goes by labels, their weighted queries weigh bits by tanh(a / m): a are
# activations, m their mean magnitude. On held-out training rows that ranked better than a
# and than tanh(2 a / m), which the others take.
_SATURATE_LESS = (
    *("LSH", "ITQ", "DPSH", "HashNet", "DTSH", "OrthoHash", "CSQ"),
    *("BRE", "MACHash", "StructHash", "FastHash"),
)

# The tuning budget of each method that has something to tune: four candidates.
GRID = {"weight_decay": [0.1, 0.3, 0.6, 1.5]}
CLASSIFIER_GRID = {"C": [0.1, 1.0, 10.0, 100.0]}
N_FOLDS = 2
TUNING_BITS = 32


def applies(method, data):
    """Whether a method suits a data set: some need classes, one needs distances."""
    by_distance = isinstance(data.affinity, ThresholdAffinity)
    return method not in (_NEEDS_CLASSES if by_distance else _NEEDS_DISTANCES)


def function_of(method):
    """Kind of the hash function of a method, as the tables name it."""
    known = METHODS | LOOKUP_METHODS
    return known[method].function if method in known else "classifier"


def call_hasher(estimator, method, X):
    """Result of a method of a hasher, or of the last step of a Pipeline, on features."""
    if hasattr(estimator, "steps"):
        return getattr(estimator[-1], method)(estimator[:-1].transform(X))
    return getattr(estimator, method)(X)


def query_weights(method, estimator, data):
    """Weights of the queries of a data set."""
    if method not in _SATURATE_LESS or isinstance(data.affinity, ThresholdAffinity):
        return call_hasher(estimator, "query_weights", data.X_query)
    activations = estimator.decision_function(data.X_query)
    magnitudes = np.abs(activations).mean(axis=1, keepdims=True)
    return np.tanh(activations / magnitudes)


def main_metric(data):
    """Name of the measure that tuning maximizes: NDCG if affinity is graded."""
    is_binary = isinstance(data.affinity, LabelAffinity)
    return "AP" if is_binary else "nDCG"


def tune(method, data, seed):
    """Parameters that are best in cross-validation on training rows, and the seconds."""
    start = time.process_time()
    if method in CLASSIFIERS:
        grid, scoring = CLASSIFIER_GRID, None
        if not isinstance(data.affinity, LabelAffinity):
            grid = {f"estimator__{name}": values for name, values in grid.items()}
    else:
        grid, scoring = GRID, make_retrieval_scorer(main_metric(data))
    estimator = make_estimator(method, TUNING_BITS, seed, data)
    if not set(grid) <= set(estimator.get_params()):
        return {}, 0.0
    folds = KFold(N_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(estimator, grid, scoring=scoring, cv=folds, refit=False)
    search.fit(data.X_train, data.y_train)
    return search.best_params_, time.process_time() - start


def make_estimator(method, n_bits, seed, data):
    """The unfitted estimator of a method."""
    if method in CLASSIFIERS:
        classifier = LogisticRegression(C=3, max_iter=1000)  # as ClassProbabilities has
        single = isinstance(data.affinity, LabelAffinity)
        return classifier if single else OneVsRestClassifier(classifier)
    estimator = clone((METHODS | LOOKUP_METHODS)[method].estimator)
    hasher = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    hasher.set_params(n_bits=n_bits, random_state=seed)
    if "affinity" in hasher.get_params():
        hasher.set_params(affinity=data.affinity)
    return estimator
