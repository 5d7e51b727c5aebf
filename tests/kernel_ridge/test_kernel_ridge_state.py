"""KernelRidgeClassifierCV: what is refused, and what a fit that was broken off leaves."""

import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from interruptions import Interruption, interrupted_at, statements_of
from sklearn.exceptions import NotFittedError

from sklearn_talr._core import state as fitted_state
from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV, _classifier, _model

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(30, 4)), np.arange(30) % 3
NAMED = pd.DataFrame(RNG.normal(size=(24, 3)), columns=["a", "b", "c"])
OTHER = np.array(["no", "yes"])[np.arange(24) % 2]
WITH_NAN, WITH_INF = X.copy(), X.copy()
WITH_NAN[3, 1], WITH_INF[3, 1] = np.nan, np.inf

FIXED = {"gammas": [0.1], "alphas": [1.0]}

REFUSALS = {
    "NaN": ({}, (WITH_NAN, y), "X contains NaN"),
    "infinity": ({}, (WITH_INF, y), "X contains infinity"),
    "one class": ({}, (X, np.ones(30)), "only one class: 1.0"),
    "constant features": ({}, (np.ones((30, 4)), y), "constant features"),
    "constant in groups": (
        {},
        (np.ones((30, 4)), y, None, y),
        "X has distances between samples that are all 0",
    ),
    "tiny features": ({}, (1e-200 * X, y), "too small or too large .* scale them"),
    "one direction": (
        {"kernel": "cosine"},
        (np.abs(X[:, :1]), y),
        "X has 1 feature.* kernel='cosine' is equal for all samples.* Set kernel='rbf'",
    ),
    "one group": ({}, (X, y, None, np.zeros(30)), "groups has one group only"),
    "groups of other length": ({}, (X, y, None, np.arange(29)), "inconsistent numbers"),
    "table of groups": ({}, (X, y, None, X), "1d array"),
    "negative weights": ({}, (X, y, -np.ones(30)), "Negative values .*sample_weight"),
    "no weights": ({}, (X, y, np.zeros(30)), "[Ss]ample.weight"),
    "one weight": ({}, (X, y, np.eye(30)[0]), "sample_weight leaves fewer than 2 samples"),
    "NaN as weight": ({}, (X, y, np.full(30, np.nan)), "sample_weight contains NaN"),
    "weights of other length": ({}, (X, y, np.ones(29)), "sample_weight.shape"),
    "negative class weight": ({"class_weight": {1: -1}}, (X, y), "class_weight must have"),
    "class_weight": ({"class_weight": "even"}, (X, y), "class_weight"),
    "kernel": ({"kernel": "sigmoid"}, (X, y), "'kernel' parameter"),
    "n_components": ({"n_components": 0}, (X, y), "'n_components' parameter"),
    "gammas of 0": ({"gammas": [0.0, 1.0]}, (X, y), "gammas must have finite values above"),
    "no gammas": ({"gammas": []}, (X, y), "gammas must be a list of numbers"),
    "a table of gammas": ({"gammas": [[1.0]]}, (X, y), "gammas must be a list"),
    "negative alphas": ({"alphas": [-1.0]}, (X, y), "alphas must have finite values above"),
    "infinite alphas": ({"alphas": [np.inf]}, (X, y), "alphas must have finite values"),
    "one alpha": ({"alphas": 1.0}, (X, y), "'alphas' parameter"),
    "singular": (
        {"gammas": [1e-6], "alphas": [1e-30]},
        (X, y),
        "too singular for all alphas. Pass larger alphas, or alphas=None",
    ),
    "continuous y": ({}, (X, X[:, 0]), "continuous"),
    "no y": ({}, (X, None), "requires y to be passed, but the target y is None"),
    "infinite y": ({}, (X, np.where(y == 0, np.inf, y)), "y contains infinity"),
    "NaN among names": ({}, (X, [*"ab" * 14, "a", np.nan]), "^y contains NaT"),
    "None among names": (
        {},
        (X, np.array([*"ab" * 14, "a", None])),
        "^y contains NaT, None",
    ),
    "pandas' NA": ({}, (X, pd.Series([*"ab" * 14, "a", pd.NA])), "^y contains NaT"),
    "columns of classes": (
        {},
        (X, np.column_stack([y, y])),
        "y must be one class for each",
    ),
    "y of other length": ({}, (X, y[1:]), "inconsistent numbers of samples"),
    "labels of other length": ({}, (X, np.eye(3)[y[1:]]), "inconsistent numbers"),
    "flat features": ({}, (X[:, 0], y), "Expected 2D array"),
}


@pytest.mark.parametrize("method", ["fit", "fit_predict_proba"])
@pytest.mark.parametrize("case", REFUSALS)
def test_a_refused_fit_changes_nothing(case, method):
    params, data, message = REFUSALS[case]
    classifier = KernelRidgeClassifierCV(alphas=[1.0], gammas=[0.1]).fit(NAMED, OTHER)
    state = joblib.hash(vars(classifier))
    P = classifier.predict_proba(NAMED)
    defaults = KernelRidgeClassifierCV().get_params()
    classifier.set_params(**{**defaults, **params})
    with pytest.raises(ValueError, match=message):
        getattr(classifier, method)(*data)
    classifier.set_params(**{**defaults, "alphas": [1.0], "gammas": [0.1]})
    assert joblib.hash(vars(classifier)) == state
    assert np.array_equal(classifier.predict_proba(NAMED), P)
    getattr(classifier, method)(X, y)
    assert classifier.predict_proba(X).shape == (30, 3)


def test_refused_questions():
    classifier = KernelRidgeClassifierCV()
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(classifier, method)(X)
    classifier.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        classifier.predict(X[:, :2])


@pytest.mark.parametrize("Y", [np.where(np.arange(30) < 1, 9, y), np.eye(30)[:, :2]])
def test_lone_classes_are_told_of_where_they_matter(Y):
    classifier = KernelRidgeClassifierCV()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier.fit(X, Y.astype(int))
    with pytest.warns(UserWarning, match="in one sample or group only") as caught:
        classifier.fit_predict_proba(X, Y.astype(int))
    assert caught[0].filename == __file__


def test_an_interrupted_fit_changes_nothing():
    """`fit` is broken off only at statements that `fit_predict_proba` does not have."""
    classifier = KernelRidgeClassifierCV(**FIXED).fit(X, y)
    state = joblib.hash(vars(classifier))
    modules = [_classifier, _model, fitted_state]
    checked = set()
    for method in ("fit_predict_proba", "fit"):
        twin = KernelRidgeClassifierCV(**FIXED)
        call = partial(getattr(twin, method), NAMED, OTHER)
        statements = statements_of(call, modules)
        in_state = [file == fitted_state.__file__ for file, _ in statements]
        # After the replacement there is the new state.
        last = np.flatnonzero(in_state)[-1]
        assert last > 80
        for place, statement in enumerate(statements[: last + 1]):
            if statement in checked and not in_state[place]:
                continue
            with pytest.raises(Interruption), interrupted_at(statement):
                getattr(classifier, method)(NAMED, OTHER)
            assert joblib.hash(vars(classifier)) == state, statement
        checked |= set(statements)

        new = KernelRidgeClassifierCV(**FIXED)
        with pytest.raises(Interruption), interrupted_at(statements[last]):
            getattr(new, method)(NAMED, OTHER)
        assert vars(new) == vars(KernelRidgeClassifierCV(**FIXED))
