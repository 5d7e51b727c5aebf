"""Fitted hashers survive every way of storing them, and carry nothing of torch."""

import io
import pickle
import pickletools
import sys

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr import PrecomputedAffinity, TALRHasher
from sklearn_talr.codes import pack_codes
from sklearn_talr.export import export_onnx
from sklearn_talr.hashing import ITQHasher, LSHHasher

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


def codes_by_onnx(path, X):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"features": X.astype(np.float32)})[0]


@pytest.mark.parametrize("n_bits", [1, 7, 8, 12, 33])
@pytest.mark.parametrize("hidden", [(), (10,), (9, 6)])
def test_onnx_gives_the_packed_codes(n_bits, hidden, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    hasher = TALRHasher(n_bits, hidden_layer_sizes=hidden, max_iter=1, random_state=0)
    hasher.fit(X, LABELS)
    export_onnx(hasher, tmp_path / "hasher.onnx")
    for batch in (X, X[:1]):  # float32, as the graph computes
        expected = pack_codes(hasher.transform(batch.astype(np.float32))).data
        found = codes_by_onnx(tmp_path / "hasher.onnx", batch)
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("hasher_type", [LSHHasher, ITQHasher])
def test_onnx_of_other_hashers(hasher_type, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    hasher = hasher_type(16, random_state=0).fit(X)
    export_onnx(hasher, str(tmp_path / "hasher.onnx"))
    expected = pack_codes(hasher.transform(X.astype(np.float32))).data
    assert np.array_equal(codes_by_onnx(str(tmp_path / "hasher.onnx"), X), expected)


def test_onnx_needs_a_fitted_hasher(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        export_onnx(TALRHasher(), tmp_path / "hasher.onnx")


def test_onnx_refuses_what_is_not_a_hasher(tmp_path):
    pipeline = make_pipeline(StandardScaler(), ITQHasher(8, random_state=0)).fit(X)
    with pytest.raises(TypeError, match="last step"):
        export_onnx(pipeline, tmp_path / "hasher.onnx")


def test_onnx_refuses_a_module_of_its_own(tmp_path):
    hasher = ITQHasher(8, random_state=0).fit(X)
    del hasher.coefs_  # what is fitted instead has another name
    with pytest.raises(ValueError, match=r"torch\.onnx"):
        export_onnx(hasher, tmp_path / "hasher.onnx")


def test_without_onnx_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        export_onnx(ITQHasher(8, random_state=0).fit(X), tmp_path / "hasher.onnx")
