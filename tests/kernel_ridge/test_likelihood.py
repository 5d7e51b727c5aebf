"""Temperatures and lines of scores are those that are most likely."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax

from sklearn_talr.kernel_ridge import KernelRidgeClassifierCV
from sklearn_talr.kernel_ridge._model import line_of_labels, temperature_of_classes

STEPS = (-0.01, 0.01)


def loss_of_classes(logits, Y, weights):
    losses = -np.sum(Y * log_softmax(logits, axis=1), axis=1)
    return np.average(losses, weights=weights)


def loss_of_labels(logits, Y, weights):
    P = expit(logits)
    losses = -(Y * np.log(P) + (1 - Y) * np.log(1 - P)).sum(axis=1)
    return np.average(losses, weights=weights)


@pytest.fixture(params=range(3))
def drawn(request):
    """Noisy scores, targets between 0 and 1 (as copies that disagree have), and weights."""
    rng = np.random.default_rng(request.param)
    Y = np.eye(4)[rng.integers(4, size=80)]
    Y[:5] = 0.5 * Y[:5] + 0.5 * Y[5:10]
    return Y + rng.normal(size=Y.shape), Y, rng.uniform(0.1, 3, size=80)


def test_temperature_of_classes(drawn):
    scores, Y, weights = drawn
    loss, slope, offset = temperature_of_classes(scores, Y, weights)
    logits = slope * scores
    assert offset == 0
    assert loss == pytest.approx(loss_of_classes(logits, Y, weights))
    for step in STEPS:
        assert loss < loss_of_classes((1 + step) * logits, Y, weights)


def test_line_of_labels(drawn):
    scores, Y, weights = drawn
    loss, slope, offset = line_of_labels(scores, Y, weights)
    logits = slope * scores + offset
    assert loss == pytest.approx(loss_of_labels(logits, Y, weights))
    for step in STEPS:
        assert loss < loss_of_labels((1 + step) * logits, Y, weights)
        assert loss < loss_of_labels(logits + step, Y, weights)
        both = (1 + step) * logits - 0.5 * step
        assert loss < loss_of_labels(both, Y, weights)


def test_weights_count(drawn):
    scores, Y, _ = drawn
    weights = np.arange(80) % 3
    rows = np.repeat(np.arange(80), weights)
    for calibrate in (temperature_of_classes, line_of_labels):
        loss, slope, _ = calibrate(scores, Y, weights)
        expected = calibrate(scores[rows], Y[rows], np.ones(len(rows)))
        assert slope == pytest.approx(expected[1], rel=1e-4)
        assert loss == pytest.approx(expected[0])


@pytest.mark.parametrize("calibrate", [temperature_of_classes, line_of_labels])
def test_scores_are_never_turned_round(calibrate, drawn):
    _, Y, weights = drawn
    loss, slope, _ = calibrate(-Y, Y, weights)
    assert 0 < slope < 0.1
    assert np.isfinite(loss)


class TestOfTheClassifier:
    """What is most likely for the samples that were left out."""

    @pytest.fixture
    def samples(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(120, 4))
        Y = (X[:, :3] + rng.normal(size=(120, 3)) > 0.3).astype(int)
        return X, Y, rng.uniform(0.2, 2, size=120)

    def test_classes(self, samples):
        X, Y, weights = samples
        y = Y[:, 0] + Y[:, 1]
        P = KernelRidgeClassifierCV().fit_predict_proba(X, y, weights)
        loss = loss_of_classes(np.log(P), np.eye(3)[y], weights)
        for step in STEPS:
            other = loss_of_classes((1 + step) * np.log(P), np.eye(3)[y], weights)
            assert loss < other

    def test_labels(self, samples):
        X, Y, weights = samples
        P = KernelRidgeClassifierCV().fit_predict_proba(X, Y, weights)
        logits = np.log(P / (1 - P))
        loss = loss_of_labels(logits, Y, weights)
        for step in STEPS:
            assert loss < loss_of_labels((1 + step) * logits, Y, weights)
            assert loss < loss_of_labels(logits + step, Y, weights)

    def test_no_neighbor_on_the_grid_is_more_likely(self, samples):
        X, Y, _ = samples
        y = Y[:, 0] + Y[:, 1]
        gammas, alphas = [0.01, 0.1, 0.5], [0.03, 0.3, 3, 30]

        def loss(gamma, alpha):
            classifier = KernelRidgeClassifierCV(gammas=[gamma], alphas=[alpha])
            P = classifier.fit_predict_proba(X, y)
            return loss_of_classes(np.log(P), np.eye(3)[y], None)

        losses = np.array([[loss(gamma, alpha) for alpha in alphas] for gamma in gammas])
        shuffled = {"gammas": [0.5, 0.01, 0.1], "alphas": [30, 0.3, 0.03, 3]}
        classifier = KernelRidgeClassifierCV(**shuffled).fit(X, y)
        i, j = gammas.index(classifier.gamma_), alphas.index(classifier.alpha_)
        around = losses[max(0, i - 1) : i + 2, j], losses[i, max(0, j - 1) : j + 2]
        assert losses[i, j] == np.concatenate(around).min() < losses.max() - 0.02
