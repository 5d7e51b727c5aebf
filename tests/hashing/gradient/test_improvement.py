"""What is said when training does more harm than good."""

import warnings

import numpy as np
import pytest
import torch
from engines import NotedSteps
from hashers import small
from sklearn.exceptions import ConvergenceWarning

from sklearn_talr import TALRHasher
from sklearn_talr.hashing.training._monitor import Monitor
from sklearn_talr.losses import OrthoHashLoss


class Score:
    """Scores of a number of samples, each with a code of its own, before and after."""

    def __init__(self, n_samples, before, after):
        self.samples = np.arange(n_samples)
        self._before = before
        self._after = after

    def __call__(self, engine):
        return self._before

    def codes(self, engine):
        return self.samples[:, None]

    def evaluate(self, codes):
        are_equal = len(np.unique(codes)) == 1
        return 0.1 if are_equal else self._after


@pytest.mark.parametrize(
    ("kind", "n_samples", "before", "after", "says"),
    [
        ("training", 100, 0.5, 0.44, "lowered"),
        ("training", 100, 0.5, 0.46, None),
        ("training", 10_000, 0.5, 0.494, "lowered"),
        ("training", 100, 0.11, 0.105, "not raised"),  # as good as equal codes
        ("validation", 100, 0.5, 0.46, "not raised"),
        ("validation", 30, 0.5, 0.46, None),
        ("validation", 100, 0.5, 0.9, None),
        ("validation", 100, np.nan, np.nan, None),  # nothing is similar
    ],
)
def test_a_score_that_does_not_rise_is_told(kind, n_samples, before, after, says):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine = NotedSteps()
        engine.weight = "first"
        monitor = Monitor(
            Score(n_samples, before, after),
            follows_epochs=kind == "validation",
            is_doubtful=True,
        )
        monitor.begin(engine)
        engine.weight = "trained"
        monitor.end(engine)
    assert engine.weight == ("first" if says == "lowered" else "trained")
    assert len(caught) == (says is not None)
    if says:
        told = f"{says} the score of {n_samples} {kind} samples"
        assert told in str(caught[0].message)
        assert f"{before:.3f}" in str(caught[0].message)
        assert f"{after:.3f}" in str(caught[0].message)
        assert "smaller learning_rate_init" in str(caught[0].message)


MODULE = torch.nn.Linear(64, 8)
HARM = {"learning_rate_init": 1e-9, "weight_decay": 1e9}  # no weight is left


@pytest.mark.parametrize(
    ("hasher", "samples"),
    [
        (small(module=MODULE, **HARM), "300 training"),
        (small(early_stopping=True, **HARM), "30 validation"),
        (
            TALRHasher(8, loss=OrthoHashLoss(), module=MODULE, max_iter=2, **HARM),
            "300 training",
        ),
    ],
)
def test_a_fit_that_harms_warns_its_caller(few_digits, hasher, samples):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        hasher.fit(*few_digits)
    (warning,) = caught
    assert f"lowered the score of {samples} samples" in str(warning.message)
    assert warning.filename == __file__


def test_codes_that_have_collapsed_are_told_even_if_the_first_were_no_better():
    X = np.random.default_rng(0).standard_normal((300, 64))
    hasher = small(module=MODULE, **HARM)
    with pytest.warns(ConvergenceWarning, match="equal.*BatchNorm1d.*cross entropy"):
        hasher.fit(X, np.arange(300) % 10)


def test_training_samples_are_scored_a_thousand_at_most(digits):
    hasher = TALRHasher(8, module=MODULE, max_iter=1, **HARM)
    with pytest.warns(ConvergenceWarning, match="of 1000 training samples"):
        hasher.fit(*digits)


def test_samples_without_anything_similar_are_not_compared():
    X = np.random.default_rng(0).standard_normal((3000, 64))
    y = np.arange(3000)
    y[1] = 0  # one pair, which is hardly among the thousand
    hasher = small(module=MODULE, max_iter=1, learning_rate_init=1e-3)
    with pytest.warns(ConvergenceWarning, match="2998 of 3000 samples have no similar"):
        hasher.fit(X, y)
    assert np.isfinite(hasher.loss_curve_).all()


def test_a_plain_fit_that_harms_keeps_its_start(few_digits):
    """Whatever the targets; the score is that of some training samples by hard codes."""
    X, y = few_digits
    start = small(max_iter=1, learning_rate_init=1e-12).fit(X, y)
    for params in ({}, {"hidden_layer_sizes": 9}, {"loss": "nDCG"}):
        with pytest.warns(ConvergenceWarning, match="lowered.*its initial weights.*larger"):
            hasher = small(**HARM, **params).fit(X, y)
        if not params:
            np.testing.assert_array_equal(hasher.transform(X), start.transform(X))
        assert hasher.score(X, y) > 0.3
        assert hasher.n_iter_ == len(hasher.loss_curve_) == 3
    with pytest.warns(ConvergenceWarning, match="lowered the score of 50 training samples"):
        small(loss="nDCG", **HARM).fit(X)
