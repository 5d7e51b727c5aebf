"""FastHasher: inference of bits against all there are, and the trees that learn them."""

from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.dummy import DummyRegressor

from sklearn_talr.baselines import FastHasher
from sklearn_talr.baselines.discrete._graph_cuts import PairwiseBits
from sklearn_talr.export import export_onnx
from sklearn_talr.hashing import LSHHasher
from sklearn_talr.histogram import hamming_histogram
from sklearn_talr.metrics import tie_aware_average_precision


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def loss_by_definition(codes, signs):
    """The sum that a bit is to minimise, the last one of r."""
    n, n_bits = codes.shape
    return sum(
        (n_bits * signs[i, j] - codes[i] @ codes[j]) ** 2
        for i in range(n)
        for j in range(n)
        if i != j
    )


@pytest.mark.parametrize("n_before", [0, 1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_inferred_bits(seed, n_before):
    """Two classes are two blocks: each gets what is best, given the other."""
    rng = np.random.RandomState(seed)
    y = np.array([0, 0, 0, 1, 1, 1, 1])
    pairs = PairwiseBits(y[:, None] == y, rng)
    y = y[pairs.order]
    before = rng.choice(np.float32([-1, 1]), (7, n_before))
    bit = rng.choice(np.float32([-1, 1]), 7)
    losses = [loss_by_definition(np.column_stack([before, bit]), pairs.signs)]
    for _ in range(4):
        pairs.improve(bit, before, n_before + 1)
        losses.append(loss_by_definition(np.column_stack([before, bit]), pairs.signs))
    assert np.all(np.diff(losses) <= 0)
    for label in (0, 1):
        block = np.flatnonzero(y == label)
        for part in product([-1, 1], repeat=len(block)):
            other = bit.copy()
            other[block] = part
            loss = loss_by_definition(np.column_stack([before, other]), pairs.signs)
            assert losses[-1] <= loss


def test_later_bits_build_on_what_trees_give(digits):
    X, y = digits
    hasher = FastHasher(5, n_trees=3, random_state=0).fit(X, y)
    codes = np.where(hasher.transform(X), 1.0, -1.0)
    signs = np.where(y[:, None] == y, 1.0, -1.0)
    for n_bits, loss in enumerate(hasher.loss_curve_, start=1):
        expected = loss_by_definition(codes[:, :n_bits], signs)
        assert loss == pytest.approx(expected / n_bits**2 / (300 * 299), rel=1e-4)
    assert len(hasher.estimators_) == 5


def test_more_trees_learn_the_bits_better(digits):
    X, y = digits
    few, many = (
        FastHasher(8, n_trees=n_trees, random_state=0).fit(X, y).loss_curve_[-1]
        for n_trees in (1, 20)
    )
    assert many < few


def test_bits_that_all_samples_share():
    """Trees need two classes, but the samples drawn may be all similar."""
    X = np.arange(12.0)[:, None]
    y = np.repeat([0, 1], [11, 1])
    hasher = FastHasher(4, subsample=3, random_state=1).fit(X, y)
    shared = [isinstance(trees, DummyRegressor) for trees in hasher.estimators_]
    assert all(shared)
    codes = hasher.transform(X)
    np.testing.assert_array_equal(codes, np.repeat(codes[:1], 12, axis=0))


def test_sparse_features_are_encoded_in_blocks(digits, monkeypatch):
    X, y = digits
    hasher = FastHasher(4, n_trees=3, random_state=0).fit(X, y)
    expected = hasher.decision_function(X)
    monkeypatch.setattr("sklearn_talr.baselines.discrete._fasthash._ROWS_PER_BLOCK", 7)
    np.testing.assert_array_equal(hasher.decision_function(X), expected)


def test_learns():
    X, y = load_digits(return_X_y=True)
    aps = []
    for hasher in (LSHHasher(16), FastHasher(16, n_trees=10)):
        codes = hasher.set_params(random_state=0).fit(X[:600], y[:600]).transform(X)
        histogram = hamming_histogram(codes[900:], codes[:900], "auto", y[900:], y[:900])
        aps.append(np.nanmean(tie_aware_average_precision(histogram)))
    assert aps[1] > aps[0] + 0.25


def test_trees_are_not_exported(digits, tmp_path):
    hasher = FastHasher(2, n_trees=1, random_state=0).fit(*digits)
    with pytest.raises(ValueError, match="layers"):
        export_onnx(hasher, tmp_path / "hasher.onnx")


@pytest.mark.parametrize("name", ["n_trees", "max_depth", "learning_rate", "n_samples"])
def test_bad_parameters(name, digits):
    with pytest.raises(ValueError, match=name):
        FastHasher(**{name: 0}).fit(*digits)
