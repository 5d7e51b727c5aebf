"""Of probabilities ClassProbabilities makes softer ones, or scores beside features."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from sklearn_talr.hashing import ClassProbabilities
from sklearn_talr.hashing._class_probabilities import softened


@pytest.fixture(scope="module")
def few():
    X, y = load_digits(return_X_y=True)
    return X[:200], y[:200] % 4


def logits(seed):
    return np.random.default_rng(seed).normal(scale=3, size=(5, 4))


@given(st.integers(0, 1000), st.floats(0.3, 5))
def test_logits_are_divided(seed, temperature):
    scores = logits(seed)
    found = softened(softmax(scores, axis=1), temperature, True)
    assert_allclose(found, softmax(scores / temperature, axis=1), rtol=1e-9)
    found = softened(expit(scores), temperature, False)
    assert_allclose(found, expit(scores / temperature), rtol=1e-9)


def test_classes_are_softened_and_labels_are_not(few):
    X, y = few
    for targets, same in ((y, False), (np.eye(4, dtype=int)[y], True)):
        plain = ClassProbabilities(temperature=1).fit_transform(X, targets)
        by_default = ClassProbabilities().fit_transform(X, targets)
        assert np.array_equal(by_default, plain) == same
    assert_allclose(ClassProbabilities().fit_transform(X, y).sum(axis=1), 1)


@pytest.mark.parametrize("temperature", [0, -1.0, "soft", None])
def test_wrong_temperatures_are_named(few, temperature):
    with pytest.raises(ValueError, match="'temperature' parameter"):
        ClassProbabilities(temperature=temperature).fit(*few)


@pytest.mark.parametrize("several", [False, True])
def test_features_stand_beside_scores(few, several):
    X, y = few
    y = np.eye(4, dtype=int)[y] if several else y
    both = ClassProbabilities(passthrough=True)
    Z = both.fit_transform(X, y)
    assert Z.shape == (200, 64 + 4) == (200, len(both.get_feature_names_out()))
    centered = X - X.mean(axis=0)
    lengths = np.linalg.norm(centered, axis=1, keepdims=True)
    assert_allclose(Z[:, :64], centered / lengths, atol=1e-12)
    P = ClassProbabilities(temperature=1).fit_transform(X, y)
    scores = np.log(P / (1 - P)) if several else np.log(P)
    scores -= 0 if several else scores.mean(axis=1, keepdims=True)
    scores -= scores.mean(axis=0)
    scores /= np.sqrt((scores**2).sum(axis=1).mean())
    assert_allclose(Z[:, 64:], scores, atol=1e-6)


def test_fit_learns_what_fit_transform_learns(few):
    X, y = few
    one, other = (
        ClassProbabilities(passthrough=np.True_),
        ClassProbabilities(passthrough=True),
    )
    other.fit_transform(X, y)
    assert_array_equal(one.fit(X, y).transform(X), other.transform(X))


def test_constant_rows_and_certain_classes_stay_finite(few):
    X, y = few
    both = ClassProbabilities(GaussianNB(), passthrough=True).fit(X, y)
    Z = both.transform(np.vstack([X.mean(axis=0), X[0] * 1e3]))
    assert np.isfinite(Z).all()
    assert_allclose(Z[0, :64], 0, atol=1e-9)
