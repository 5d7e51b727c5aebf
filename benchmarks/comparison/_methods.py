"""Methods of the comparison: what each is, and how it is tuned."""

import runpy
import time
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_talr.affinity import LabelAffinity, ThresholdAffinity
from sklearn_talr.baselines import BREHasher, FastHasher, MACHasher, StructHasher
from sklearn_talr.hashing import (
    AdditiveHasher,
    ClassProbabilities,
    ITQHasher,
    LSHHasher,
    TALRHasher,
)
from sklearn_talr.losses import (
    CSQLoss,
    DPSHLoss,
    DSHLoss,
    DTSHLoss,
    HashNetLoss,
    MutualInformationLoss,
    OrthoHashLoss,
)
from sklearn_talr.metrics import make_retrieval_scorer


class Method(NamedTuple):
    """An estimator, the kind of its hash function, and whether it learns from a teacher.

    With a teacher its features are the probabilities of that.
    """

    estimator: BaseEstimator
    function: str = "linear"
    taught: bool = False


def _by_loss(loss):
    return Method(TALRHasher(loss=loss))


def _behind_teacher(estimator):
    return Method(estimator, "two stages", taught=True)


_HIDDEN = {"hidden_layer_sizes": (256,)}
_LOGISTIC = LogisticRegression(C=3, max_iter=1000)
_OF_TEACHER = {
    "kernel + TALR-AP": _behind_teacher(TALRHasher(loss="AP")),
    "kernel + TALR-NDCG": _behind_teacher(TALRHasher(loss="nDCG")),
    "kernel + additive": _behind_teacher(
        AdditiveHasher(method="bits", metric="inner_product")
    ),
    "kernel + additive words": _behind_teacher(AdditiveHasher(metric="inner_product")),
    "kernel + TALR-NDCG, hidden layer": _behind_teacher(TALRHasher(loss="nDCG", **_HIDDEN)),
}
_OF_FEATURES = {
    "LSH": Method(LSHHasher()),
    "ITQ": Method(ITQHasher()),
    "DSH": _by_loss(DSHLoss()),
    "DPSH": _by_loss(DPSHLoss()),
    "HashNet": _by_loss(HashNetLoss()),
    "DTSH": _by_loss(DTSHLoss()),
    "MIHash": _by_loss(MutualInformationLoss()),
    "OrthoHash": _by_loss(OrthoHashLoss()),
    "CSQ": _by_loss(CSQLoss()),
    "TALR-AP": Method(TALRHasher(loss="AP")),
    "TALR-NDCG": Method(TALRHasher(loss="nDCG")),
    "TALR-AP, hidden layer": Method(TALRHasher(**_HIDDEN), "hidden layer"),
    "TALR-NDCG, hidden layer": Method(TALRHasher(loss="nDCG", **_HIDDEN), "hidden layer"),
    "logistic + TALR-AP": Method(
        make_pipeline(
            ClassProbabilities(_LOGISTIC, cv=5, temperature=1), TALRHasher(weight_decay=0.0)
        ),
        "two stages",
    ),
    "logistic + additive": Method(
        make_pipeline(
            ClassProbabilities(_LOGISTIC, temperature=1),
            AdditiveHasher(method="bits", metric="inner_product"),
        ),
        "two stages",
    ),
    "additive bits, addend": Method(
        AdditiveHasher(method="bits", metric="euclidean"), "search"
    ),
    "additive words, addend": Method(AdditiveHasher(metric="euclidean"), "search"),
    "additive words": Method(AdditiveHasher(metric="cosine"), "search"),
    "BRE": Method(BREHasher()),
    "MACHash": Method(MACHasher()),
    "StructHash": Method(StructHasher()),
    "FastHash": Method(FastHasher(), "trees"),
}
# The losses that stand behind the same teacher, too.
TAUGHT_RIVALS = {
    f"kernel + {name}": _behind_teacher(_OF_FEATURES[name].estimator)
    for name in ("MIHash", "DPSH", "DTSH", "HashNet", "OrthoHash", "CSQ", "DSH")
}
METHODS = _OF_TEACHER | _OF_FEATURES | TAUGHT_RIVALS
LOOKUP_METHODS = {
    "DSH": _by_loss(DSHLoss()),
    "4-DSH": _by_loss(DSHLoss(margin=4)),
    "8-DSH": _by_loss(DSHLoss(margin=8)),
    "12-DSH": _by_loss(DSHLoss(margin=12)),
}
SCORES = ("kernel scores", "logistic scores")
CLASSIFIERS = ("kernel one-hot", "logistic one-hot", *SCORES)  # have no length to choose
# Words of several bits, which the Hamming distance does not rank
WORDS = ("kernel + additive words", "additive words, addend", "additive words")
_NEEDS_CLASSES = ("OrthoHash", "CSQ", "logistic + TALR-AP", "logistic + additive")
_NEEDS_DISTANCES = ("additive bits, addend", "additive words, addend", "additive words")

# Where similarity goes by labels, their weighted queries weigh bits by tanh(a / m): a are
# activations, m their mean magnitude. On held-out training rows that ranked better than a
# and than tanh(2 a / m), which the others take.
_SATURATE_LESS = (
    *("LSH", "ITQ", "DPSH", "HashNet", "DTSH", "OrthoHash", "CSQ"),
    *("BRE", "MACHash", "StructHash", "FastHash"),
)

# The tuning budget of hashers that have something to tune: seven candidates, the last
# beyond what most fits choose.
GRID = {"weight_decay": [0.1, 0.3, 0.6, 1.5, 3.0, 6.0, 12.0]}
CLASSIFIER_GRID = {"C": [0.1, 1.0, 10.0, 100.0]}
N_FOLDS = 2
TUNING_BITS = 32


def applies(method, data):
    """Whether a method suits a data set: some need classes, one needs distances."""
    if not isinstance(data.affinity, ThresholdAffinity):
        return method not in _NEEDS_DISTANCES
    return method not in (*_NEEDS_CLASSES, *CLASSIFIERS) and not is_taught(method)


def is_taught(method):
    """Whether a method learns from the probabilities of the teacher."""
    if method in CLASSIFIERS:
        return method.startswith("kernel")
    return find_method(method).taught


def function_of(method):
    """Kind of the hash function of a method, as the tables name it."""
    return "classifier" if method in CLASSIFIERS else find_method(method).function


def find_method(name):
    """The method of a name, or for ``FILE.py:NAME`` a hasher with the loss of that name."""
    known = METHODS | LOOKUP_METHODS
    if name in known:
        return known[name]
    path, _, loss = name.rpartition(":")
    return _by_loss(runpy.run_path(path)[loss])


def call_hasher(estimator, method, X):
    """Result of a method of a hasher, or of the last step of a Pipeline, on features."""
    if hasattr(estimator, "steps"):
        return getattr(estimator[-1], method)(estimator[:-1].transform(X))
    return getattr(estimator, method)(X)


def query_weights(method, estimator, data):
    """Weights of the queries of a data set."""
    saturates_less = method.removeprefix("kernel + ") in _SATURATE_LESS
    if not saturates_less or isinstance(data.affinity, ThresholdAffinity):
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
    if is_taught(method):
        return {}, 0.0
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
    """The unfitted estimator of a method, of probabilities if there is a teacher."""
    if method in CLASSIFIERS:
        if is_taught(method):
            return FunctionTransformer()
        single = isinstance(data.affinity, LabelAffinity)
        return clone(_LOGISTIC) if single else OneVsRestClassifier(_LOGISTIC)
    estimator = clone(find_method(method).estimator)
    hasher = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    hasher.set_params(n_bits=n_bits, random_state=seed)
    if "affinity" in hasher.get_params():
        hasher.set_params(affinity=data.affinity)
    return estimator
