"""Hashers that are fitted in a moment, one of each class."""

import numpy as np
import scipy.sparse as sp

from sklearn_talr.affinity import LabelAffinity, PrecomputedAffinity, SharedLabelAffinity
from sklearn_talr.baselines import BREHasher, FastHasher, MACHasher, StructHasher
from sklearn_talr.hashing import (
    AdditiveHasher,
    CrossViewHasher,
    ITQHasher,
    LSHHasher,
    TALRHasher,
)
from sklearn_talr.hashing.training._data import TrainingData
from sklearn_talr.hashing.training._plan import _shuffled
from sklearn_talr.hashing.training._start import split_samples
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.losses import (
    AveragePrecisionLoss,
    ContrastiveLoss,
    CSQLoss,
    DCMHLoss,
    DPSHLoss,
    DSHLoss,
    DTSHLoss,
    HashNetLoss,
    MutualInformationLoss,
    NDCGLoss,
    OrthoHashLoss,
)
from sklearn_talr.measures import AP

LINEAR = [LSHHasher(8), ITQHasher(8)]
DISCRETE = [
    BREHasher(8, n_anchors=5, subsample=60),
    MACHasher(4, first_penalty=1.0, subsample=60),
    FastHasher(2, n_trees=2, max_depth=2, subsample=60),
    StructHasher(2, n_queries=10, subsample=60),
]
CLASS_LOSSES = [CSQLoss(), OrthoHashLoss()]
PAIR_LOSSES = [
    DPSHLoss(),
    DSHLoss(),
    DTSHLoss(),
    HashNetLoss(),
    MutualInformationLoss(),
    DCMHLoss(),
    ContrastiveLoss(),
]
LOSSES = [*CLASS_LOSSES, *PAIR_LOSSES]
GRADIENT = [
    TALRHasher(8, max_iter=2),
    *(TALRHasher(8, loss=loss, max_iter=2) for loss in LOSSES),
]
# Of tie-aware losses: the parameters by which `TieAwareLoss` maximizes each.
MEASURES = [
    {"measure": measure, "simplified": simplified}
    for measure in ("AP", "nDCG")
    for simplified in (False, True)
]
CROSS_VIEW = [CrossViewHasher(8, teacher=None, max_iter=2), CrossViewHasher(8, max_iter=2)]
ADDITIVE = [AdditiveHasher(8, max_iter=3), AdditiveHasher(8, method="axes")]
HASHERS = [*LINEAR, *ADDITIVE, *DISCRETE, *GRADIENT, *CROSS_VIEW]
# The same with one loss of each kind: of rankings, of classes and of triplets
OF_TRIPLETS = next(hasher for hasher in GRADIENT if isinstance(hasher.loss, DTSHLoss))
KINDS = [*LINEAR, *ADDITIVE, *DISCRETE, *GRADIENT[:2], OF_TRIPLETS, *CROSS_VIEW]


def name_of(value):
    """Name of the class of a hasher or loss, with its loss, for the names of cases."""
    if isinstance(value, dict):
        return "-".join(map(str, value.values()))
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    loss = getattr(value, "loss", None)
    if isinstance(loss, str):
        return name
    return f"{name}-{name_of(loss)}" if loss is not None else name


def loss_of(measure, simplified):
    """The loss value of one of `MEASURES`."""
    return {"AP": AveragePrecisionLoss, "nDCG": NDCGLoss}[measure](simplified)


def small(**params):
    """A hasher that trains in a moment."""
    defaults = {"n_bits": 8, "max_iter": 3, "batch_size": 64, "random_state": 0}
    return TALRHasher(**(defaults | params))


def split_labels(y, n_held_out, seed=0):
    """Rows to train on, and rows held out: the first thing drawn by a fit to labels."""
    affinity = LabelAffinity()
    data = TrainingData(None, y, affinity, affinity.levels_)
    return split_samples(data, n_held_out, _shuffled, np.random.RandomState(seed))


class OwnEquality(LabelAffinity):
    """Compares labels in a way of its own, so that nobody knows that there are classes."""

    def __call__(self, y_query, y_database):
        return super().__call__(y_query, y_database)


def forms_of(labels):
    """The same relation in all forms: affinities and their targets, by name."""
    equal = (labels[:, None] == labels).astype(int)
    indicators = np.eye(labels.max() + 1, dtype=int)[labels]
    matrices = PrecomputedAffinity(equal), PrecomputedAffinity(sp.csr_array(equal))
    return {
        "labels": (LabelAffinity(), labels),
        "indicators": (SharedLabelAffinity(), indicators),
        "sparse indicators": (SharedLabelAffinity(binary=True), sp.csr_array(indicators)),
        "matrix": (matrices[0], matrices[0]),
        "sparse matrix": (matrices[1], matrices[1]),
        "own": (OwnEquality(), labels),
    }


def held_out_histogram(hasher, X, y, n_train):
    """Fit the first rows; return how the others rank those."""
    codes = hasher.fit(X[:n_train], y[:n_train]).transform(X)
    targets = y[n_train:], y[:n_train]
    return hamming_histogram(codes[n_train:], codes[:n_train], "auto", *targets)


def mean_ap(histogram):
    """Mean of the tie-aware average precision over queries with something similar."""
    return np.nanmean(AP.of(histogram))
