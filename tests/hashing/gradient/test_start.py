"""First weights: an unsupervised projection of what comes before the last layer."""

import numpy as np
import pytest
from hashers import small

from sklearn_talr import ITQHasher
from sklearn_talr.features._scaling import Scaling, mean_and_unit
from sklearn_talr.hashing._function import feed_forward
from sklearn_talr.hashing._linear import start_weights
from sklearn_talr.hashing.training._host import Features


def features_of(X):
    return Features(X, Scaling(*mean_and_unit(X)))


def start(features, layers=(), init="itq", samples=None, n_bits=16):
    samples = np.arange(features.X.shape[0]) if samples is None else samples
    return start_weights(features, samples, layers, n_bits, init, np.random.RandomState(0))


def test_activations_have_mean_0_and_unit_mean_square(few_digits):
    for init in ["itq", "pca", "random"]:
        for layers in [(), (500, 300)]:
            features = features_of(few_digits[0])
            coefs, intercepts = start(features, layers, init)
            X = features.block(np.arange(300))
            activations = feed_forward(X, coefs, intercepts)
            np.testing.assert_allclose(activations.mean(axis=0), 0, atol=1e-9)
            assert np.mean(activations**2) == pytest.approx(1)
            # Units of every hidden layer have unit mean square (He et al.).
            for depth in range(1, len(layers) + 1):
                hidden = feed_forward(
                    features.block(np.arange(300)), coefs[:depth], intercepts[:depth]
                )
                assert np.mean(hidden**2) == pytest.approx(1, rel=0.2)


def test_a_linear_start_is_itq(few_digits, learned):
    X, y = few_digits
    hasher = small(max_iter=1, learning_rate_init=1e-12, n_bits=16)
    hasher.set_params(random_state=learned.seed).fit(X, y)
    itq = ITQHasher(16, random_state=learned.seed).fit(X)
    learned.error(np.mean(hasher.transform(X) != itq.transform(X)))


def test_only_the_samples_given_matter(few_digits):
    X = few_digits[0].copy()
    samples = np.arange(0, 300, 3)
    scaling = Scaling(*mean_and_unit(X))
    expected = start(Features(X, scaling), samples=samples)
    X[1::3] = 99.0
    found = start(Features(X, scaling), samples=samples)
    np.testing.assert_array_equal(found[0][0], expected[0][0])
