"""What is stored and loaded again is the same, of every estimator and shape of network."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from hashers import HASHERS, name_of
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from sklearn_talr import HammingNeighbors, ITQHasher, RankingSVC, TALRHasher
from sklearn_talr.affinity import ThresholdAffinity
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.neighbors import (
    HashedNeighbors,
    MaxSimNeighbors,
    WeightedHammingNeighbors,
)

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((40, 5)), np.arange(40) % 3
QUERIES = RNG.standard_normal((7, 5))

SEVERAL_SHAPES = [
    TALRHasher(
        int(rng.integers(1, 20)),
        max_iter=1,
        hidden_layer_sizes=rng.integers(1, 9, size=seed % 3).tolist(),
        loss=["AP", "nDCG"][seed % 2],
        nested=seed % 4 == 0,
    )
    for seed, rng in enumerate(map(np.random.default_rng, range(5)))
]
ESTIMATORS = [
    *HASHERS,
    *SEVERAL_SHAPES,
    AdditiveHasher(9, metric="euclidean", max_iter=2),
    AdditiveHasher(8, method="codebooks", max_iter=2),
    ClassProbabilities(GaussianNB()),
    HammingNeighbors(3),
    WeightedHammingNeighbors(3),
    HashedNeighbors(ITQHasher(8, random_state=0), n_neighbors=3, n_rescored=5),
    HashedNeighbors(AdditiveHasher(8, max_iter=2, random_state=0), n_neighbors=3),
    MaxSimNeighbors(AdditiveHasher(8, max_iter=2, random_state=0), n_neighbors=3),
    RankingSVC("nDCG"),
    ThresholdAffinity((0.3, 0.1), (1, 2)),
]
METHODS = ["transform", "decision_function", "query_weights"]
METHODS += ["encode", "kneighbors", "predict"]


def through_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(estimator):
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    stored = skops.dumps(estimator)
    return skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))


WAYS = {
    "pickle, old": lambda estimator: pickle.loads(pickle.dumps(estimator, protocol=2)),
    "pickle, new": lambda estimator: pickle.loads(pickle.dumps(estimator, protocol=5)),
    "joblib": through_joblib,
    "skops": through_skops,
    "deepcopy": copy.deepcopy,
}


def answers(estimator):
    """All that an estimator says about queries, as bytes."""
    queries = QUERIES
    if isinstance(estimator, HammingNeighbors):
        queries = QUERIES > 0
    methods = [method for method in METHODS if hasattr(estimator, method)]
    found = [getattr(estimator, method)(queries) for method in methods]
    if isinstance(estimator, ThresholdAffinity):
        found = [estimator(QUERIES, X)]
    assert found
    return [
        np.asarray(getattr(part, "data", part)).tobytes()
        for each in found
        for part in (each if isinstance(each, tuple) else (each,))
    ]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name_of)
def test_every_estimator_is_loaded_as_it_was_stored(estimator):
    estimator = clone(estimator)
    if hasattr(estimator, "random_state"):
        estimator.set_params(random_state=0)
    data = (X, Y == 0) if isinstance(estimator, RankingSVC) else (X, Y)
    if isinstance(estimator, HammingNeighbors | WeightedHammingNeighbors):
        data = X > 0, Y
    if isinstance(estimator, ThresholdAffinity):
        data = (X,)
    expected = answers(estimator.fit(*data))
    for way, store in WAYS.items():
        loaded = store(estimator)
        assert answers(loaded) == expected, way
        if way in ("pickle, new", "skops"):
            assert answers(loaded.fit(*data)) == expected, way
