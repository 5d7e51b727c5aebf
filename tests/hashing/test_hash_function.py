"""The hook by which a hasher says what it computes."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hashers import HASHERS, name_of
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_talr.codes import pack_codes
from sklearn_talr.hashing import (
    BaseHasher,
    CrossViewHasher,
    HashFunction,
    ITQHasher,
    Layers,
)
from sklearn_talr.neighbors import HashedNeighbors

X = load_digits().data[:120]
FORMER_HOOKS = {"hash_function", "query_function", "code_factors", "n_units"}


class Parity(BaseHasher):
    """A hasher without layers: bits are parities of rounded sums of some features."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.blocks_ = np.array_split(np.arange(X.shape[1]), 8)
        return self

    def __talr_hash_function__(self, space):
        def sums(rows):
            return np.stack([rows[:, block].sum(axis=1) for block in self.blocks_], axis=1)

        return HashFunction(
            activations=sums,
            n_bits=8,
            prepare=lambda X: X // 2,
            quantize=lambda rows: (sums(rows) % 2 == 1, None),
            query_weights=lambda rows: sums(rows)[:, ::-1],
            saturates_weights=True,
        )


class Halves(ITQHasher):
    """Codes of features that are halved and rounded first."""

    def __talr_hash_function__(self, space):
        return replace(super().__talr_hash_function__(space), prepare=lambda X: X // 2)


@pytest.mark.parametrize("hasher", HASHERS, ids=name_of)
def test_the_parts_of_the_function_are_not_among_the_names_of_a_hasher(hasher):
    parts = {field.name for field in fields(HashFunction)} - {"n_bits", "query_weights"}
    assert not (parts | FORMER_HOOKS) & set(dir(clone(hasher)))


@pytest.mark.parametrize("memory", [1024, 512 / 2**20])
def test_a_hasher_defines_everything_by_its_hook(memory):
    hasher = Parity().fit(X)
    halves = np.stack([(X[:, b] // 2).sum(axis=1) for b in hasher.blocks_], axis=1)
    with config_context(working_memory=memory):  # one block, or one row in each
        np.testing.assert_array_equal(hasher.decision_function(X), halves)
        np.testing.assert_array_equal(hasher.transform(X), halves % 2)
        np.testing.assert_array_equal(hasher.encode(X).data, pack_codes(halves % 2).data)
        weights = hasher.query_weights(X)
    means = np.abs(halves).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(weights, np.tanh(2 * halves / means)[:, ::-1], rtol=1e-5)
    assert list(hasher.get_feature_names_out()) == [f"parity{bit}" for bit in range(8)]


@pytest.mark.parametrize(
    "around",
    [
        lambda hasher: hasher,
        FrozenEstimator,
        lambda hasher: make_pipeline(StandardScaler(with_std=False).fit(X), hasher),
    ],
    ids=["bare", "frozen", "pipeline"],
)
def test_indexes_use_the_hook_of_a_subclass_wherever_it_stands(around):
    index = HashedNeighbors(around(Halves(16, random_state=0).fit(X))).fit(X)
    plain = HashedNeighbors(around(ITQHasher(16, random_state=0).fit(X))).fit(X)
    assert np.any(index.kneighbors(X)[0] != plain.kneighbors(X)[0])
    np.testing.assert_array_equal(index.kneighbors(X)[0][:, 0], 0)


def test_the_function_of_two_views_is_that_of_items():
    Q, items = X[:, :32], X[:, 32:]
    hasher = CrossViewHasher(8, max_iter=1, random_state=0).fit(items, X_query=Q)
    bits = hasher.item_hasher_.transform(items)
    np.testing.assert_array_equal(hasher.transform(items), bits)
    names = hasher.get_feature_names_out()
    assert list(names) == [f"crossviewhasher{bit}" for bit in range(8)]
    with pytest.raises(ValueError, match="CrossViewHasher is expecting 32 features"):
        hasher.transform(X)


def test_layers_are_linear_with_rectifiers_between_them():
    rng = np.random.default_rng(0)
    coefs = [rng.normal(size=shape) for shape in ((64, 5), (5, 3))]
    intercepts = [rng.normal(size=5), rng.normal(size=3)]
    mean = X.mean(axis=0)
    hidden = np.maximum((X - mean) @ coefs[0] + intercepts[0], 0)
    found = Layers(coefs, intercepts, mean=mean)(X)
    np.testing.assert_allclose(found, hidden @ coefs[1] + intercepts[1])
