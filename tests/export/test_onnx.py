"""ONNX graphs give the codes of the hashers that they are made of."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from two_views import TwoViews, halves_of_digits

from sklearn_talr.baselines import BREHasher, FastHasher
from sklearn_talr.codes import pack_codes
from sklearn_talr.export import to_onnx
from sklearn_talr.hashing import AdditiveHasher, ITQHasher, LSHHasher, TALRHasher
from sklearn_talr.losses import DSHLoss

X, LABELS = (array[:120] for array in load_digits(return_X_y=True))


def run_onnx(path, X):
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {"features": X.astype(np.float32)})[0]


class Layers(LSHHasher):
    """A hasher of a class that the library does not know, without a mean."""

    n_bits = None

    def fit(self, sizes):
        rng = np.random.default_rng(0)
        shapes = list(pairwise(sizes))
        self.coefs_ = [rng.integers(-3, 4, shape).astype(float) for shape in shapes]
        self.intercepts_ = [rng.integers(-9, 9, n) + 0.5 for _, n in shapes]
        return self

    def decision_function(self, X):
        for coef, intercept in zip(self.coefs_[:-1], self.intercepts_):
            X = np.maximum(X @ coef + intercept, 0)
        return X @ self.coefs_[-1] + self.intercepts_[-1]


ANY_SIZES = [
    (64, *rng.integers(1, 12, size=rng.integers(1, 4)).tolist())
    for rng in map(np.random.default_rng, range(8))
]


@pytest.mark.parametrize("sizes", [(64, 1), (64, 8), (64, 9, 6, 33), *ANY_SIZES])
def test_the_graph_gives_the_packed_codes(sizes, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    hasher, path = Layers().fit(sizes), tmp_path / "hasher.onnx"
    to_onnx(hasher, path)
    for batch in (X, X[:1]):  # sums of small numbers: exact in any order
        expected = pack_codes(hasher.decision_function(batch) > 0).data
        found = run_onnx(path, batch)
        assert found.dtype == np.uint8
        assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "hasher",
    [
        LSHHasher(16, random_state=0),
        ITQHasher(16, random_state=0),
        TALRHasher(12, hidden_layer_sizes=(10,), max_iter=1, random_state=0),
    ],
)
def test_hashers_of_linear_layers(hasher, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    hasher.fit(X, LABELS)
    to_onnx(hasher, str(tmp_path / "hasher.onnx"))
    expected = pack_codes(hasher.transform(X.astype(np.float32))).data
    assert np.array_equal(run_onnx(str(tmp_path / "hasher.onnx"), X), expected)


@pytest.mark.parametrize(
    ("hasher", "labels", "saturated"),
    [
        (ITQHasher(16, random_state=0), None, False),
        (BREHasher(8, random_state=0), LABELS, False),
        (AdditiveHasher(70, max_iter=2, method="bits", random_state=0), None, False),
        (AdditiveHasher(9, metric="euclidean", method="bits", random_state=0), None, False),
        (TALRHasher(12, max_iter=1, random_state=0), None, False),
        (TALRHasher(12, hidden_layer_sizes=9, max_iter=1, random_state=0), LABELS, True),
        (TALRHasher(8, loss=DSHLoss(), max_iter=1, random_state=0), LABELS, True),
    ],
)
def test_query_weights_of_hashers(hasher, labels, saturated, tmp_path):
    """Saturated are those of hashers that were fitted to labels by gradients."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    hasher.fit(X, labels)
    to_onnx(hasher, tmp_path / "hasher.onnx", output="query_weights")
    found = run_onnx(tmp_path / "hasher.onnx", X)
    activations = hasher.decision_function(X.astype(np.float32))
    expected = activations
    if saturated:
        expected = np.tanh(2 * activations / np.abs(activations).mean(1, keepdims=True))
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
    weights = hasher.query_weights(X.astype(np.float32))
    np.testing.assert_allclose(found, weights, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("metric", ["cosine", "inner_product", "euclidean"])
def test_query_weights_of_words(metric, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    hasher = AdditiveHasher(16, method="codebooks", metric=metric, max_iter=2)
    hasher.set_params(random_state=0).fit(X)
    to_onnx(hasher, tmp_path / "hasher.onnx", output="query_weights")
    expected = hasher.query_weights(X.astype(np.float32))
    assert expected.shape == (len(X), 512)
    for batch in (slice(None), slice(1)):
        found = run_onnx(tmp_path / "hasher.onnx", X[batch])
        atol = 1e-5 * np.abs(expected).max()
        np.testing.assert_allclose(found, expected[batch], atol=atol)


def test_each_view_has_a_graph_of_its_own(tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    items, labels, queries, query_labels = halves_of_digits()
    hasher = TwoViews(12).fit(items, labels, X_query=queries, y_query=query_labels)
    codes = {"codes": (items, hasher.encode), "query_codes": (queries, hasher.encode_query)}
    for output, (features, encode) in codes.items():
        to_onnx(hasher, tmp_path / output, output=output)
        (named,) = onnx.load(tmp_path / output).graph.output
        assert named.name == output
        found = run_onnx(tmp_path / output, features)
        assert np.mean(found == encode(features).data) > 0.99
    to_onnx(hasher, tmp_path / "weights", output="query_weights")
    weights = hasher.query_weights(queries)
    found = run_onnx(tmp_path / "weights", queries)
    assert np.allclose(found, weights, rtol=1e-4, atol=1e-4 * np.abs(weights).max())


def with_something_else():
    hasher = Layers()
    hasher.tables_ = []
    return hasher


def with_a_module():
    hasher = TALRHasher(8, module=torch.nn.Linear(64, 8), max_iter=1, random_state=0)
    return hasher.fit(X, LABELS)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ITQHasher(), ValueError, "ITQHasher instance is not fitted yet"),
        (with_something_else, ValueError, "Layers instance is not fitted yet"),
        (with_a_module, ValueError, r"torch module.*torch\.onnx"),
        (lambda: FastHasher(2).fit(X, LABELS), ValueError, "a FastHasher, has trees"),
        (
            lambda: AdditiveHasher(4, max_iter=1, random_state=0).fit(X),
            ValueError,
            "for AdditiveHasher, which .* export the weights of queries with output=",
        ),
        (
            lambda: make_pipeline(StandardScaler(), ITQHasher(8)).fit(X),
            TypeError,
            "got Pipeline.*Export the last step",
        ),
        (lambda: MLPClassifier(), TypeError, "got MLPClassifier"),
        (lambda: StandardScaler().fit(X), TypeError, "got StandardScaler"),
        (lambda: X, TypeError, "got ndarray"),
    ],
)
def test_what_is_no_fitted_hasher_of_layers_is_refused(make, error, message, tmp_path):
    with pytest.raises(error, match=message):
        to_onnx(make(), tmp_path / "hasher.onnx")
    assert not list(tmp_path.iterdir())


class Sine(LSHHasher):
    """Layers, and a sine before the signs."""

    def __talr_hash_function__(self, space):
        layers = super().__talr_hash_function__(space)
        return replace(layers, activations=lambda X: np.sin(layers.activations(X)))


class Flipped(LSHHasher):
    """Layers whose negative signs are the bits."""

    def __talr_hash_function__(self, space):
        layers = super().__talr_hash_function__(space)
        return replace(layers, quantize=lambda X: (layers.activations(X) <= 0, None))


class Rounded(LSHHasher):
    """Layers of rounded features."""

    def __talr_hash_function__(self, space):
        return replace(super().__talr_hash_function__(space), prepare=np.round)


@pytest.mark.parametrize("cls", [Sine, Flipped, Rounded])
def test_a_hasher_that_encodes_in_a_way_of_its_own_is_refused_or_right(cls, tmp_path):
    hasher = cls(8, random_state=0).fit(X)
    plain = LSHHasher(8, random_state=0).fit(X)
    if cls is not Rounded:  # digits are whole numbers
        assert np.any(hasher.transform(X) != plain.transform(X))
    with pytest.raises(ValueError, match=f"{cls.__name__}.* of its own"):
        to_onnx(hasher, tmp_path / "codes.onnx")
    if cls is Flipped:  # whose queries are asked by layers
        to_onnx(hasher, tmp_path / "weights.onnx", output="query_weights")
        found = run_onnx(tmp_path / "weights.onnx", X)
        np.testing.assert_allclose(found, hasher.query_weights(X), rtol=1e-4, atol=1e-4)
    else:
        with pytest.raises(ValueError, match="a function of its own"):
            to_onnx(hasher, tmp_path / "weights.onnx", output="query_weights")
    assert not (tmp_path / "codes.onnx").exists()
