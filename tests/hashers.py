"""Hashers that are fitted in a moment, one of each class."""

import numpy as np

from sklearn_talr.affinity import LabelAffinity
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
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.hashing.gradient._data import TrainingData
from sklearn_talr.hashing.gradient._validation import split_samples
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.measures import AP

LINEAR = [LSHHasher(8), ITQHasher(8)]
DISCRETE = [
    BREHasher(8, n_anchors=5, subsample=60),
    MACHasher(8, first_penalty=1.0, subsample=60),
    FastHasher(2, n_trees=2, max_depth=2, subsample=60),
    StructHasher(4, n_queries=10, subsample=60),
]
CLASS_HASHERS = [CSQHasher, OrthoHasher]
PAIR_HASHERS = [DPSHHasher, DSHHasher, DTSHHasher, HashNetHasher, MIHasher]
TRAINED_BASELINES = [*CLASS_HASHERS, *PAIR_HASHERS]
GRADIENT = [cls(8, max_iter=2) for cls in (TALRHasher, *TRAINED_BASELINES)]
HASHERS = [*LINEAR, AdditiveHasher(8, max_iter=3), *DISCRETE, *GRADIENT]


def name_of(value):
    """Name of a hasher's class, for the names of cases."""
    return value.__name__ if isinstance(value, type) else type(value).__name__


def small(**params):
    """A hasher that trains in a moment."""
    defaults = {"n_bits": 8, "max_iter": 3, "batch_size": 64, "random_state": 0}
    return TALRHasher(**(defaults | params))


def split_labels(y, n_held_out, seed=0):
    """Rows to train on, and rows held out: the first thing drawn by a fit to labels."""
    affinity = LabelAffinity()
    data = TrainingData(None, y, affinity, affinity.levels_, None, {})
    return split_samples(data, n_held_out, np.random.RandomState(seed))


def held_out_histogram(hasher, X, y, n_train):
    """Fit the first rows; return how the others rank those."""
    codes = hasher.fit(X[:n_train], y[:n_train]).transform(X)
    targets = y[n_train:], y[:n_train]
    return hamming_histogram(codes[n_train:], codes[:n_train], "auto", *targets)


def mean_ap(histogram):
    """Mean of the tie-aware average precision over queries with something similar."""
    return np.nanmean(AP(histogram))
