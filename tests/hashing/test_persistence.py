"""Fitted hashers survive every way of storing them, and carry nothing of torch."""

import io
import pickle
import pickletools

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances

from sklearn_talr import PrecomputedAffinity, TALRHasher

X, LABELS = (array[:120] for array in load_digits(return_X_y=True))
INDICATORS = np.stack([LABELS % 2, LABELS < 3, LABELS > 6], axis=1).astype(int)
AFFINITY = (pairwise_distances(X) < 30).astype(int)
TARGETS = {
    "labels": LABELS,
    "shared": INDICATORS,
    "precomputed": PrecomputedAffinity(AFFINITY),
    "matrix": AFFINITY,
    "thresholds": None,
}


@pytest.fixture(scope="module", params=TARGETS)
def targets(request):
    return TARGETS[request.param]


@pytest.fixture(scope="module", params=[(), (10,)], ids=["linear", "mlp"])
def hasher(request, targets):
    hasher = TALRHasher(
        12, hidden_layer_sizes=request.param, max_iter=2, device="cpu", random_state=0
    )
    return hasher.fit(X, targets)


def through_pickle(hasher):
    return pickle.loads(pickle.dumps(hasher))


def through_joblib(hasher):
    file = io.BytesIO()
    joblib.dump(hasher, file)
    file.seek(0)
    return joblib.load(file)


def through_skops(hasher):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    stored = io.dumps(hasher)
    return io.loads(stored, trusted=io.get_untrusted_types(data=stored))


@pytest.mark.parametrize("store", [through_pickle, through_joblib, through_skops])
def test_round_trip(store, hasher, targets):
    loaded = store(hasher)
    assert np.array_equal(loaded.decision_function(X), hasher.decision_function(X))
    assert loaded.score(X, targets) == hasher.score(X, targets)
    assert loaded.get_params().keys() == hasher.get_params().keys()
    assert loaded.loss_curve_ == hasher.loss_curve_


def test_a_loaded_hasher_can_be_fitted_again(hasher, targets):
    loaded = through_pickle(hasher).fit(X, targets)
    assert np.array_equal(loaded.transform(X), hasher.transform(X))


def test_a_pickle_names_nothing_of_torch(hasher):
    stored = pickle.dumps(hasher, protocol=2)  # in which each global is one opcode
    names = {
        argument.split()[0]
        for opcode, argument, _ in pickletools.genops(stored)
        if opcode.name == "GLOBAL"
    }
    assert any(name.startswith("sklearn_talr") for name in names)
    assert not any(name.split(".")[0] == "torch" for name in names)


def test_skops_asks_trust_for_our_own_types_only(hasher):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    untrusted = io.get_untrusted_types(data=io.dumps(hasher))
    assert "sklearn_talr.hashing._talr.TALRHasher" in untrusted
    assert all(name.startswith("sklearn_talr.") for name in untrusted), untrusted
