"""The validation set of a user."""

import numpy as np
import pytest
import scipy.sparse as sp
from hashers import GRADIENT, name_of, small
from sklearn.base import clone

from sklearn_talr import PrecomputedAffinity
from sklearn_talr.affinity import SharedLabelAffinity, ThresholdAffinity


def stopping(**params):
    return small(**({"early_stopping": True} | params))


def fit(hasher, X, y, y_val=..., n_train=200):
    """Fit the first rows and validate on the others."""
    y_val = y[n_train:] if y_val is ... else y_val
    return hasher.fit(X[:n_train], y[:n_train], X_val=X[n_train:], y_val=y_val)


@pytest.mark.filterwarnings("ignore:Training has")  # three epochs
def test_scores_are_those_of_the_hasher(few_digits):
    X, y = few_digits
    for params in ({}, {"loss": "nDCG"}, {"hidden_layer_sizes": 9}):
        hasher = fit(stopping(**params), X, y)
        assert len(hasher.validation_scores_) == hasher.n_iter_ == 3
        score = hasher.score(X[200:], y[200:])
        assert score == pytest.approx(hasher.best_validation_score_, abs=1e-3)


@pytest.mark.filterwarnings("ignore:Training has")  # three epochs
@pytest.mark.parametrize("hasher", GRADIENT, ids=name_of)
def test_nothing_is_held_out(few_digits, hasher):
    """All training samples are trained on, as they are without early stopping."""
    X, y = few_digits
    params = {"random_state": 0, "max_iter": 3, "tol": 0.0}
    plain = clone(hasher).set_params(**params).fit(X[:200], y[:200])
    hasher = clone(hasher).set_params(early_stopping=True, **params)
    fit(hasher, X, y)
    assert hasher.loss_curve_ == plain.loss_curve_
    assert len(hasher.validation_scores_) == 3
    if np.argmax(hasher.validation_scores_) == 2:
        np.testing.assert_array_equal(hasher.coefs_[0], plain.coefs_[0])


def test_the_descent_goes_on_being_scored(few_digits):
    X, y = few_digits
    hasher = fit(stopping(max_iter=20, tol=2.0, n_iter_no_change=1), X, y)
    assert hasher.n_iter_ == len(hasher.validation_scores_) == 3 + 5
    score = hasher.score(X[200:], y[200:])
    last = hasher.validation_scores_[-1]
    assert score == pytest.approx(max(last, max(hasher.validation_scores_[:3])), abs=1e-3)


def test_any_kind_of_target(few_digits):
    X, labels = few_digits
    indicator = np.eye(10, dtype=int)[labels]
    whole = PrecomputedAffinity((labels[:, None] == labels).astype(int))
    cases = [(labels.astype(str), {}), (indicator, {}), (sp.csr_array(indicator), {})]
    cases += [(whole, {}), (indicator, {"affinity": SharedLabelAffinity(binary=True)})]
    cases += [(X[:, :32], {"affinity": ThresholdAffinity()})]
    for y, params in cases:
        assert 0 < fit(stopping(**params), X, y).best_validation_score_ < 1
    by_labels = fit(stopping(), X, labels)
    for y_val in (whole[200:], PrecomputedAffinity(whole[200:].toarray())):
        hasher = fit(stopping(), X, whole, y_val)
        assert hasher.validation_scores_ == by_labels.validation_scores_
    by_distance = stopping().fit(X[:200], X_val=X[200:])
    assert 0 < by_distance.best_validation_score_ < 1


def test_what_does_not_fit_is_refused(few_digits):
    X, y = few_digits
    matrix = (y[:, None] == y).astype(int)
    train, val = (X[:200], y[:200]), {"X_val": X[200:], "y_val": y[200:]}
    cases = [
        (train, val, {"early_stopping": False}, "Set early_stopping=True"),
        (train, {"y_val": y[200:]}, {}, r"without X_val\. Pass both"),
        (train, {"X_val": X[200:]}, {}, "y_val is not. Pass its targets"),
        (train, val | {"y_val": y[:7]}, {}, "X_val has 100 samples, and y_val 7"),
        (train, val | {"X_val": X[200:, :5]}, {}, "X_val, y_val cannot.*5 features"),
        (train, val | {"y_val": np.zeros(100)}, {}, "X_val, y_val cannot.*one class"),
        (
            train,
            val | {"y_val": np.arange(100)},
            {},
            "X_val, y_val cannot.*nothing to rank",
        ),
        ((X[:200], matrix[:200, :200]), val, {}, "y_val must be a PrecomputedAffinity"),
        ((X[:200],), val, {"affinity": ThresholdAffinity()}, "X_val, y_val cannot"),
        (
            (X[:200], X[:200]),
            {"X_val": X[200:]},
            {"affinity": ThresholdAffinity()},
            "y_val is not",
        ),
    ]
    for args, given, params, message in cases:
        hasher = stopping(**params)
        with pytest.raises(ValueError, match=message):
            hasher.fit(*args, **given)
        assert not hasattr(hasher, "n_features_in_")
