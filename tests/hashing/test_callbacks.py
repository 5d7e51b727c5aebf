"""scikit-learn's own callbacks of TALRHasher: each epoch and each chunk is told to them."""

import numpy as np
import pytest
from hashers import small

from sklearn_talr.metrics import make_retrieval_scorer


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback")


def test_scoring_monitor_sees_every_chunk(few_digits, callback):
    X, y = few_digits
    monitor = callback.ScoringMonitor(scoring={"score": make_retrieval_scorer()})
    hasher = small().set_callbacks(monitor)
    expected = []
    for rows in np.array_split(np.arange(300), 3):
        hasher.partial_fit(X[rows], y[rows])
        expected.append(hasher.score(X[rows], y[rows]))
    runs = monitor.get_logs(select="all")
    epochs = [[row for row in run.data if row["task_name"] == "epoch"] for run in runs]
    assert [len(rows) for rows in epochs] == [1, 1, 1]
    assert [rows[0]["score"] for rows in epochs] == pytest.approx(expected)


def test_progress_bar(few_digits, callback, capsys):
    pytest.importorskip("rich")
    X, y = few_digits
    plain = small().fit(X, y).transform(X)
    hasher = small().set_callbacks(callback.ProgressBar()).fit(X, y)
    np.testing.assert_array_equal(hasher.transform(X), plain)
    assert "TALRHasher" in capsys.readouterr().out


def test_a_callback_may_stop(few_digits, callback):
    X, _ = few_digits

    class Stop:
        def __init__(self):
            self.ended = []

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            self.ended.append("teardown")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.ended.append(context.task_name)
            self.codes = fitted_estimator.transform(X)
            return context.task_name == "epoch" and len(self.ended) == 2

    stop = Stop()
    hasher = small(max_iter=5).set_callbacks(stop).fit(*few_digits)
    assert hasher.n_iter_ == 2
    assert stop.ended == ["epoch", "epoch", "fit", "teardown"]
    np.testing.assert_array_equal(stop.codes, hasher.transform(X))
    stop.ended.clear()
    hasher.partial_fit(*few_digits)
    assert stop.ended == ["epoch", "fit", "teardown"]
    np.testing.assert_array_equal(stop.codes, hasher.transform(X))
