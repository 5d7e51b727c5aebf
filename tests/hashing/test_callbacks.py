"""scikit-learn's callbacks: each epoch or iteration, and each chunk, is told to them."""

import numpy as np
import pytest
from hashers import small
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_talr import TALRHasher
from sklearn_talr.hashing import AdditiveHasher, ClassProbabilities
from sklearn_talr.metrics import make_retrieval_scorer


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback")


def test_scoring_monitor_sees_every_epoch(few_digits, callback):
    X, y = few_digits
    monitor = callback.ScoringMonitor(scoring={"score": make_retrieval_scorer()})
    hasher = small(max_iter=4).set_callbacks(monitor).fit(X, y)
    data = monitor.get_logs().data
    scores = [row["score"] for row in data if row["task_name"] == "epoch"]
    assert len(scores) == 4
    assert scores[-1] == pytest.approx(hasher.score(X, y))
    assert len(set(scores)) > 1


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


def test_a_progress_bar_stays_where_training_was_interrupted(few_digits, callback, capsys):
    pytest.importorskip("rich")

    class Interrupt:
        def setup(self, estimator, context):
            self.n_ended = 0

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.n_ended += 1
            if self.n_ended == 2:
                raise KeyboardInterrupt

    hasher = small(max_iter=8).set_callbacks(callback.ProgressBar(), Interrupt())
    with pytest.warns(ConvergenceWarning, match="2 of 8 epochs"):
        hasher.fit(*few_digits)
    shown = capsys.readouterr().out
    assert " 25%" in shown
    assert "100%" not in shown


def test_a_search_has_callbacks_and_the_hasher_within_none(few_digits, callback, capsys):
    pytest.importorskip("rich")
    search = GridSearchCV(small(), {"n_bits": [2, 4]}, cv=2, error_score="raise")
    search.set_callbacks(callback.ProgressBar()).fit(*few_digits)
    assert "TALRHasher" in capsys.readouterr().out
    search.set_params(estimator=small().set_callbacks(callback.ProgressBar()))
    with pytest.raises(TypeError, match=r"Register them .*on the meta-estimator"):
        search.fit(*few_digits)


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


def test_fits_without_support_of_callbacks(few_digits, monkeypatch):
    """As with scikit-learn before 1.9, whose estimators cannot be given callbacks."""
    for owner in TALRHasher.__mro__:
        if "_init_callback_context" in vars(owner):
            monkeypatch.delattr(owner, "_init_callback_context")
    assert small().fit(*few_digits).partial_fit(*few_digits).n_iter_ == 4


ADDITIVE = [
    AdditiveHasher(32, max_iter=3, random_state=0),  # too few rows for words of many bits
    AdditiveHasher(32, word_size=8, max_iter=3, random_state=0),
    AdditiveHasher(16, word_size=8, max_iter=3, metric="euclidean", random_state=0),
]


def recall(hasher, X, y):
    return hasher.score(X)


@pytest.mark.parametrize("hasher", ADDITIVE)
def test_scoring_monitor_sees_every_iteration(hasher, few_digits, callback):
    X, y = few_digits
    plain = clone(hasher).fit(X).encode(X)
    monitor = callback.ScoringMonitor(scoring={"score": recall})
    hasher = clone(hasher).set_callbacks(monitor).fit(X, y)
    data = monitor.get_logs().data
    scores = [row["score"] for row in data if row["task_name"] == "iteration"]
    assert len(scores) == hasher.n_iter_ > 1
    assert scores[-1] == hasher.score(X)
    assert scores[0] != scores[-1]
    np.testing.assert_array_equal(hasher.encode(X).data, plain.data)


def test_scoring_monitor_sees_the_iterations_of_chunks(few_digits, callback):
    X, y = few_digits
    monitor = callback.ScoringMonitor(scoring={"score": recall})
    hasher = AdditiveHasher(16, word_size=1, max_iter=3, random_state=0)
    hasher.partial_fit(X[:150]).set_callbacks(monitor).partial_fit(X[150:], y[150:])
    data = monitor.get_logs().data
    scores = [row["score"] for row in data if row["task_name"] == "iteration"]
    assert 1 <= len(scores) <= 2
    assert scores[-1] == hasher.score(X[150:])


@pytest.mark.parametrize("hasher", ADDITIVE)
def test_a_callback_may_stop_alternations(hasher, few_digits, callback):
    X, _ = few_digits

    class Stop:
        def setup(self, estimator, context):
            pass

        teardown = on_fit_task_begin = setup

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            if context.task_name == "iteration":
                self.codes = fitted_estimator.transform(X)
            return True

    stop = Stop()
    hasher = clone(hasher).set_callbacks(stop).fit(X)
    assert hasher.n_iter_ == 1
    np.testing.assert_array_equal(stop.codes, hasher.transform(X))


@pytest.mark.parametrize(
    "probabilities",
    [
        ClassProbabilities(),
        ClassProbabilities(LogisticRegression(), cv=2),
        ClassProbabilities(passthrough=True),
    ],
)
@pytest.mark.parametrize("last", [small(), *ADDITIVE[:2]])
def test_a_progress_bar_of_the_recommended_pipeline(
    probabilities, last, few_digits, callback, capsys
):
    """Without a warning that a step does not support it, which would be an error here."""
    pytest.importorskip("rich")
    X, y = few_digits
    pipeline = make_pipeline(clone(probabilities), clone(last))
    plain = clone(pipeline).fit(X, y).transform(X)
    pipeline.set_callbacks(callback.ProgressBar()).fit(X, y)
    np.testing.assert_array_equal(pipeline.transform(X), plain)
    shown = capsys.readouterr().out
    for name in ("ClassProbabilities", type(last).__name__):
        assert name in shown
    probabilities = clone(probabilities).set_callbacks(callback.ProgressBar())
    for method in (probabilities.fit, probabilities.fit_transform):
        method(X, y)
        assert "100%" in capsys.readouterr().out


def test_verbose_prints_each_iteration(few_digits, capsys):
    X, y = few_digits
    for hasher in ADDITIVE:
        hasher = clone(hasher).set_params(verbose=True).fit(X, y)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("Iteration 1/3, ")
        assert lines[-1].startswith(f"Iteration {hasher.n_iter_}/3, ")
        assert clone(hasher).set_params(verbose=False).fit(X, y)
        assert not capsys.readouterr().out
