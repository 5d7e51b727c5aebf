"""The schedule of training, and its end in fewer epochs."""

import numpy as np
import pytest

from sklearn_talr.hashing.gradient._schedule import Schedule


def run(schedule):
    """Progress and the first descent of each epoch that is left."""
    seen = []
    while schedule.n_left:
        seen.append((schedule.progress(), schedule.descent(0.0)))
        schedule.end_epoch()
    return np.transpose(seen)


@pytest.mark.parametrize("n_epochs", [2, 3, 100])
def test_progress_reaches_1_and_the_rate_falls_along_half_a_cosine(n_epochs):
    progress, descent = run(Schedule(n_epochs))
    np.testing.assert_allclose(progress, np.linspace(0, 1, n_epochs), atol=1e-12)
    done = np.arange(n_epochs) / n_epochs
    np.testing.assert_allclose(descent, (1 + np.cos(np.pi * done)) / 2, atol=1e-12)


def test_within_an_epoch_it_goes_on():
    schedule = Schedule(4)
    schedule.end_epoch()
    assert schedule.done_within(0.5) == pytest.approx(0.375)


def test_one_epoch():
    progress, descent = run(Schedule(1))
    assert (progress, descent) == ([0.0], [1.0])


def test_the_rest_in_fewer_epochs():
    schedule = Schedule(100)
    for _ in range(30):
        schedule.end_epoch()
    schedule.hasten(7)
    progress, descent = run(schedule)
    assert len(progress) == 7
    assert progress[-1] == pytest.approx(1)
    assert np.all(np.diff(progress) > 0)
    done = 0.3 + 0.1 * np.arange(7)
    np.testing.assert_allclose(descent, (1 + np.cos(np.pi * done)) / 2)


def test_no_more_epochs_than_there_are():
    schedule = Schedule(5)
    schedule.end_epoch()
    schedule.hasten(20)
    assert schedule.n_left == 4
