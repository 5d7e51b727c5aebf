"""The engine of the host and that of torch, each the other's oracle."""

import inspect
import pickle
from functools import partial

import numpy as np
import pytest
import torch
from engines import ENGINES, engine_of, parameters_of
from hashers import small

from sklearn_talr import CrossViewHasher
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.hashing.training import _engine, _plan
from sklearn_talr.hashing.training._host import HostEngine
from sklearn_talr.hashing.training._torch import TorchEngine
from sklearn_talr.losses import AveragePrecisionLoss, NDCGLoss

rng = np.random.default_rng(0)
X = rng.standard_normal((50, 9))
TARGETS = {
    "labels": (LabelAffinity(), rng.integers(0, 4, 50)),
    "shared labels": (SharedLabelAffinity(), (rng.random((50, 5)) < 0.4).astype(int)),
    "distances": (ThresholdAffinity((0.5, 0.1), levels=(1, 4)), X[:, :3]),
}
LOSSES = [
    loss(simplified)
    for loss in (AveragePrecisionLoss, NDCGLoss)
    for simplified in (False, True)
]
KEPT = np.array([5, 1, 3, 0, 7])


def gradients(engine, rows, kept, scale):
    if isinstance(engine, HostEngine):
        return engine.gradients(rows, kept, scale)
    loss = engine.loss(rows, kept, scale)
    engine.module.zero_grad()
    loss.backward()
    return loss.item(), [each.grad.numpy() for each in engine.module.parameters()]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize("sizes", [(), (7,), (7, 6)], ids=str)
def test_losses_gradients_and_steps_are_equal(loss, targets, sizes):
    affinity, y = TARGETS[targets]
    host, other = (engine_of(each, loss, X, y, affinity, sizes) for each in ENGINES)
    rows = np.array([31, 4, 7, 12, 40, 3, 22, 19, 48, 5])
    for kept in (None, KEPT):
        (value, found), (expected, wanted) = (
            gradients(each, rows, kept, 2.0) for each in (host, other)
        )
        assert value == pytest.approx(expected, abs=1e-12)
        assert len(found) == len(wanted)
        for mine, theirs in zip(found, wanted):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-9)
            assert np.abs(mine).max() > 1e-4


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("sizes", [(), (7,)], ids=str)
def test_gradients_on_the_host_are_as_wide_as_weights(loss, sizes):
    """A scalar of NumPy would make them double, which takes twice as long."""
    affinity, y = TARGETS["shared labels"]
    engine = engine_of(HostEngine, loss, X, y, affinity, sizes, dtype=np.float32)
    _, found = engine.gradients(np.arange(30), KEPT, 2.0)
    assert {each.dtype for each in found} == {np.dtype(np.float32)}


@pytest.mark.parametrize("solver", ["adam_mini", "adam"])
def test_solvers_take_equal_steps_and_decay_equally(solver):
    affinity, y = TARGETS["labels"]
    host, other = (
        engine_of(each, NDCGLoss(), X, y, affinity, (7,), solver=solver, weight_decay=0.7)
        for each in ENGINES
    )
    start = parameters_of(host)
    for step in range(8):
        rows = np.roll(np.arange(50), step)[:30]
        for each in (host, other):
            each.step(rows, KEPT, 2.0, 0.02)
    for mine, theirs, first in zip(parameters_of(host), parameters_of(other), start):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-8)
        assert np.abs(mine - first).max() > 1e-3
    assert host.is_finite()
    assert other.is_finite()


def hashed(monkeypatch, Engine, fit):
    with monkeypatch.context() as patch:
        if Engine is TorchEngine:
            patch.setattr(_plan, "LOSSES_ON_HOST", ())
        seen, step = [], Engine.step

        def noted(self, rows, kept, *how):
            seen.append((rows, kept))
            return step(self, rows, kept, *how)

        patch.setattr(Engine, "step", noted)
        hasher = fit()
    assert seen
    return hasher, seen


def two_views():
    way = CrossViewHasher(8, teacher=None, max_iter=3, random_state=0, loss="nDCG")
    labels = np.arange(50) % 5
    return way.fit(X[:, :5], labels, X_query=X[:, 5:], y_query=labels)


def many_classes():
    """Rows of 17 classes, three rows of each come into a minibatch."""
    labels = np.arange(50) // 3
    rows = X[labels] + 0.5 * X
    how = {"hidden_layer_sizes": (6,), "dropout": 0.0, "batch_size": 16, "loss": "nDCG"}
    return small(**how).fit(rows, labels)


FITS = {
    "linear": lambda: small(max_iter=3).fit(X, TARGETS["labels"][1]),
    "nested, hidden layers": lambda: small(
        nested=True, hidden_layer_sizes=(6,), dropout=0.0, loss="nDCG"
    ).fit(X, TARGETS["shared labels"][1]),
    "early stopping": lambda: small(early_stopping=True, validation_fraction=0.4).fit(
        X, TARGETS["labels"][1]
    ),
    "many classes, drawn together": many_classes,
    "two views": two_views,
    "shared function": lambda: CrossViewHasher(
        8, teacher=None, shared=True, max_iter=3, random_state=0
    ).fit(X, np.arange(50) % 5, X_query=X[::-1], y_query=np.arange(50)[::-1] % 5),
}


@pytest.mark.parametrize("fit", FITS)
def test_fits_draw_the_same_and_learn_the_same(fit, monkeypatch):
    """From one seed; after few steps, since training amplifies rounding."""
    (host, seen), (other, expected) = (
        hashed(monkeypatch, each, FITS[fit]) for each in ENGINES
    )
    assert len(seen) == len(expected)
    for mine, theirs in zip(seen, expected):
        assert str(mine) == str(theirs)
    np.testing.assert_allclose(host.loss_curve_, other.loss_curve_, atol=1e-5)
    np.testing.assert_allclose(
        host.decision_function(X[:, : host.n_features_in_]),
        other.decision_function(X[:, : host.n_features_in_]),
        atol=1e-3,
    )


@pytest.mark.parametrize("solver", ["adam_mini", "adam"])
@pytest.mark.parametrize("first", ENGINES)
def test_chunks_go_on_in_the_other_engine(first, solver, monkeypatch):
    """With its moments, through a pickle."""
    y = TARGETS["labels"][1]
    ways = []
    for engines in (ENGINES, ENGINES[::-1], [first, first]):
        hasher = small(solver=solver)
        for Engine in engines:
            hasher, _ = hashed(monkeypatch, Engine, partial(hasher.partial_fit, X, y))
            hasher = pickle.loads(pickle.dumps(hasher))
        ways.append(hasher.coefs_[0])
    for way in ways:
        np.testing.assert_allclose(way, ways[-1], rtol=1e-3, atol=1e-5)


class TestDropoutOnTheHost:
    """Units are left out at random, and others scaled up, so that means stay."""

    def test_shares_and_scale(self):
        affinity, y = TARGETS["labels"]
        how = {"sizes": (40,), "dropout": (0.3, 0.5), "dtype": np.float32}
        layers = engine_of(HostEngine, NDCGLoss(), X, y, affinity, **how)._functions[0]
        rows = np.outer(np.arange(1, 2001), np.arange(1, 10)).astype(np.float32)
        _, (features, hidden) = layers.forward(rows.copy(), None)
        is_kept = features != 0
        np.testing.assert_allclose(is_kept.mean(axis=0), 0.7, atol=0.05)
        np.testing.assert_allclose(features[is_kept], rows[is_kept] / 0.7, rtol=1e-5)
        weights, offsets = layers.parameters[:2]
        without = np.maximum(features @ weights.T + offsets, 0)
        is_kept = (hidden > 0)[without > 0]
        assert is_kept.mean() == pytest.approx(0.5, abs=0.02)
        np.testing.assert_allclose(
            hidden[hidden > 0], 2 * without[hidden > 0], rtol=1e-4, atol=1e-3
        )

    def test_gradients_are_those_of_what_was_kept(self):
        """By differences in double precision, with the same units left out."""
        affinity, y = TARGETS["labels"]
        how = {"sizes": (7,), "dropout": (0.2, 0.5)}
        engine = engine_of(HostEngine, NDCGLoss(), X, y, affinity, **how)
        layers, rows = engine._functions[0], np.arange(30)

        def loss():
            layers._generator = np.random.SFC64(3)
            return engine.gradients(rows, KEPT, 1.0)

        _, expected = loss()
        for parameter, gradient in zip(layers.parameters, expected):
            for place in np.ndindex(*parameter.shape):
                if place[0] % 3:
                    continue
                ends = []
                for step in (1e-6, -2e-6):
                    parameter[place] += step
                    ends.append(loss()[0])
                parameter[place] += 1e-6
                assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(
                    gradient[place], abs=1e-6
                )


@pytest.mark.parametrize("Engine", ENGINES)
def test_codes_in_blocks_are_those_of_the_fitted_layers(few_digits, Engine, monkeypatch):
    """In the middle of training, with dropout."""
    X, y = few_digits
    how = {"sizes": (9,), "dropout": (0.3, 0.3), "dtype": np.float32}
    engine = engine_of(Engine, AveragePrecisionLoss(), X, y, LabelAffinity(), **how)
    engine.step(np.arange(100), None, 1.0, 0.01)
    monkeypatch.setattr("sklearn_talr.hashing.training._host._CELLS_PER_BLOCK", 1000)
    samples = np.arange(250, 0, -1)
    codes = engine.codes(engine._features[0], samples)
    assert codes.dtype == np.uint8
    fitted = engine._functions[0].fitted()
    hasher = small(hidden_layer_sizes=(9,), max_iter=1).fit(X, y)
    vars(hasher).update(fitted)
    activations = hasher.decision_function(X[samples])
    assert np.mean(codes != (activations > 0)) < 1e-3


def test_a_fit_reads_and_restores_what_numpy_does_at_bad_numbers(few_digits):
    before = np.geterr()
    small(max_iter=1).fit(*few_digits)
    assert np.geterr() == before


def test_losses_of_ones_own_that_derive_from_ours_train_as_they_say(few_digits):
    """A subclass may compute otherwise: it is called."""
    called = []

    class Own(AveragePrecisionLoss):
        def between(self, *args, **kwargs):
            called.append(len(args[0]))
            return super().between(*args, **kwargs)

    hasher = small(loss=Own(), max_iter=1).fit(*few_digits)
    assert called
    assert hasher.loss_curve_ == pytest.approx(
        small(max_iter=1).fit(*few_digits).loss_curve_
    )
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("engine_class", ENGINES)
def test_engines_offer_what_is_written_down(engine_class):
    names = {name for name in vars(_engine.Engine) if not name.startswith("_")}
    assert {"step", "codes", "restore"} <= names
    assert all(callable(getattr(engine_class, name)) for name in names)
    for name in ("step", "codes", "restore", "load_moments", "features"):
        expected = list(inspect.signature(getattr(_engine.Engine, name)).parameters)
        parameters = list(inspect.signature(getattr(engine_class, name)).parameters)
        assert parameters[: len(expected)] == expected
