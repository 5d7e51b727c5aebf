"""Early stopping: which weights are kept, when to stop, and what is held out."""

import math

import numpy as np
import pytest
from engines import NotedSteps
from hashers import small, split_labels
from sklearn.base import clone

from sklearn_talr.hashing.training._host import HostEngine
from sklearn_talr.hashing.training._monitor import Monitor


def stopping(**params):
    defaults = {"early_stopping": True, "validation_fraction": 0.2, "max_iter": 6}
    return small(**(defaults | params))


def score_of_held_out(hasher, X, y):
    """Score of the rows that `fit` holds out: the first thing it draws."""
    n_held_out = math.ceil(hasher.validation_fraction * len(y))
    _, held_out = split_labels(y, n_held_out)
    return hasher.score(X[held_out], y[held_out])


def monitor_of(scores, held_out=None, **params):
    """A monitor whose validation scores are these, after one of the start."""
    following = iter([0.0, *scores])
    return Monitor(
        lambda _: next(following), follows_epochs=True, held_out=held_out, **params
    )


class TestMonitor:
    def run(self, scores, **params):
        """Weight i after epoch i; what each epoch answers, and the weight kept."""
        engine = NotedSteps()
        monitor = monitor_of(scores, **params)
        monitor.begin(engine)
        stops = []
        for epoch in range(len(scores)):
            engine.weight = epoch
            stops.append(monitor.end_epoch(engine, -epoch))
        monitor.restore(engine)
        assert monitor.scores == scores
        assert monitor.losses == [-epoch for epoch in range(len(scores))]
        return stops, engine.weight

    def test_goes_on_while_it_improves_by_tol(self):
        scores = [0.125, 0.25, 0.375, 0.375, 0.375, 0.5]
        stops, kept = self.run(scores, n_iter_no_change=2, tol=0.125)
        assert stops == [False] * 6  # the last improvement is just enough
        assert kept == 5

    def test_stops_after_more_than_n_epochs_without(self):
        scores = [0.1, 0.2, 0.2005, 0.3, 0.3, 0.3, 0.3]
        stops, kept = self.run(scores, n_iter_no_change=2, tol=0.01)
        assert stops == [False] * 6 + [True]
        assert kept == 3

    def test_keeps_the_best_even_where_it_counts_as_no_improvement(self):
        stops, kept = self.run([0.3, 0.31, 0.2], n_iter_no_change=1, tol=0.1)
        assert stops == [False, False, True]
        assert kept == 1

    def test_keeps_the_start_of_no_epoch(self):
        assert self.run([], n_iter_no_change=1, tol=0.0) == ([], -1)

    def descend(self, scores, held_out):
        """Two epochs, the first of which is the best, and a descent from there."""
        engine = NotedSteps()
        monitor = monitor_of([0.5, 0.4, *scores], held_out, n_iter_no_change=0)
        monitor.begin(engine)
        for epoch in range(2):
            engine.weight = epoch
            stale = monitor.end_epoch(engine, 1.0)
        assert stale
        rows = monitor.begin_descent(engine, np.array([0, 2]))
        assert engine.weight == 0  # back at the best
        for epoch in range(2, 2 + len(scores)):
            engine.weight = epoch
            assert not monitor.end_epoch(engine, 1.0)  # it is stale only once
        monitor.restore(engine)
        return rows, engine.weight, monitor.scores

    def test_of_a_descent_the_last_epoch_that_is_no_worse_is_kept(self):
        for scores, kept in [([0.6, 0.55], 3), ([0.6, 0.45], 2), ([0.4, 0.3], 0), ([], 0)]:
            rows, weight, seen = self.descend(scores, None)
            assert weight == kept
            assert seen == [0.5, 0.4, *scores]
            np.testing.assert_array_equal(rows, [0, 2])

    def test_what_was_held_out_is_trained_on_and_no_more_scored(self):
        rows, weight, seen = self.descend([0.4, 0.3], np.array([1, 3]))
        assert weight == 3
        assert seen == [0.5, 0.4]
        np.testing.assert_array_equal(rows, [0, 1, 2, 3])


class TestSplit:
    def test_parts_are_disjoint_ascending_and_drawn(self):
        training, held_out = split_labels(np.arange(100) % 2, 30)
        assert len(held_out) == 30
        together = np.concatenate([training, held_out])
        np.testing.assert_array_equal(np.sort(together), np.arange(100))
        assert np.all(np.diff(training) > 0)
        assert np.all(np.diff(held_out) > 0)
        other = split_labels(np.arange(100) % 2, 30, seed=1)[1]
        assert not np.array_equal(held_out, other)

    def test_too_few_samples(self):
        for y, fraction in [
            (np.arange(12) % 2, 0.05),  # one sample held out
            (np.arange(12) % 2, 0.9),  # one sample left to train on
            (np.array([0] * 11 + [1]), 0.2),  # one class on one side
            (np.r_[np.arange(11), 0], 0.25),  # one similar pair in all
        ]:
            X = np.random.default_rng(0).standard_normal((12, 3))
            with pytest.raises(ValueError, match="validation_fraction"):
                stopping(validation_fraction=fraction).fit(X, y)


class TestFit:
    def test_best_weights_are_restored_when_training_does_harm(
        self, few_digits, monkeypatch
    ):
        end_epoch = Monitor.end_epoch

        def ruined(self, engine, loss):
            if len(self.losses) >= 3:
                engine.restore([np.zeros_like(each) for each in engine.weights()])
            return end_epoch(self, engine, loss)

        monkeypatch.setattr(Monitor, "end_epoch", ruined)
        hasher = stopping().fit(*few_digits)
        assert np.argmax(hasher.validation_scores_) <= 2
        score = score_of_held_out(hasher, *few_digits)
        assert score == pytest.approx(hasher.best_validation_score_, abs=1e-3)

    def test_without_improvement_the_rate_descends_and_all_samples_are_trained_on(
        self, few_digits, monkeypatch
    ):
        rates, n_samples, step = [], [], HostEngine.step

        def watched(self, rows, kept, scale, rate):
            rates.append(rate)
            n_samples.append(len(rows))
            return step(self, rows, kept, scale, rate)

        monkeypatch.setattr(HostEngine, "step", watched)
        hasher = stopping(max_iter=50, tol=2.0, n_iter_no_change=4, batch_size=300)
        hasher.fit(*few_digits)
        # The first score beats minus infinity; then more than four epochs do not. A quarter
        # of the epochs remains.
        assert hasher.n_iter_ == len(hasher.loss_curve_) == 6 + 13
        assert len(hasher.validation_scores_) == 6
        assert n_samples == [240] * 6 + [300] * 13
        done = np.r_[np.arange(6) / 50, np.linspace(6 / 50, 1, 14)[:-1]]
        np.testing.assert_allclose(rates, 0.0125 * (1 + np.cos(np.pi * done)))

    def test_held_out_samples_are_not_trained_on(self, few_digits):
        X, y = few_digits
        hasher = stopping(max_iter=2, learning_rate_init=0.05)
        _, held_out = split_labels(y, 60)
        y_other = y.copy()
        y_other[held_out] = np.roll(y[held_out], 1)
        np.testing.assert_array_equal(
            hasher.fit(X, y).transform(X), clone(hasher).fit(X, y_other).transform(X)
        )

    def test_warm_start_appends_scores(self, few_digits):
        hasher = stopping(warm_start=True, max_iter=2).fit(*few_digits)
        first = hasher.validation_scores_
        hasher.fit(*few_digits)
        assert hasher.validation_scores_[:2] == first
        assert len(hasher.validation_scores_) == hasher.n_iter_ == 4
        assert hasher.best_validation_score_ == max(hasher.validation_scores_[2:])
