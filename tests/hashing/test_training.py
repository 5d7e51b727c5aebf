"""Training: early stopping, dropout, chunks of data, callbacks, modules of one's own."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning

from sklearn_talr import PrecomputedAffinity, TALRHasher
from sklearn_talr.affinity import LabelAffinity, SharedLabelAffinity, ThresholdAffinity
from sklearn_talr.hashing.gradient import _trained
from sklearn_talr.hashing.gradient._early_stopping import EarlyStopping, split_samples
from sklearn_talr.hashing.gradient._functions import SeededDropout
from sklearn_talr.metrics import make_retrieval_scorer


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


def small(**params):
    """A hasher that trains in a moment."""
    defaults = {"n_bits": 8, "max_iter": 3, "batch_size": 64, "random_state": 0}
    return TALRHasher(**(defaults | params))


def stopping(**params):
    defaults = {"early_stopping": True, "validation_fraction": 0.2, "max_iter": 6}
    return small(**(defaults | params))


def held_out_samples(hasher, y, seed=0):
    """The rows that `fit` holds out: the first thing drawn from its random state."""
    affinity = LabelAffinity()
    rng = np.random.RandomState(seed)
    fraction = hasher.validation_fraction
    return split_samples(y, fraction, affinity, affinity.levels_, rng)[1]


class TestEarlyStopping:
    def test_scores_are_those_of_the_hasher_itself(self, digits):
        X, y = digits
        hasher = stopping(n_bits=16).fit(X, y)
        held_out = held_out_samples(hasher, y)
        assert len(held_out) == 60
        assert len(hasher.validation_scores_) == hasher.n_iter_ == 6
        assert hasher.best_validation_score_ == max(hasher.validation_scores_)
        score = hasher.score(X[held_out], y[held_out])
        assert score == pytest.approx(hasher.best_validation_score_, abs=1e-3)

    def test_best_weights_are_restored_when_training_does_harm(self, digits, monkeypatch):
        X, y = digits
        run_epoch = _trained.Trainer._run_epoch

        def ruined(self, X, epoch):
            loss = run_epoch(self, X, epoch)
            if epoch >= 3:
                self.module[0].weight.data.zero_()
            return loss

        monkeypatch.setattr(_trained.Trainer, "_run_epoch", ruined)
        hasher = stopping().fit(X, y)
        assert np.argmax(hasher.validation_scores_) <= 2
        assert hasher.transform(X).std(axis=0).any()
        held_out = held_out_samples(hasher, y)
        score = hasher.score(X[held_out], y[held_out])
        assert score == pytest.approx(hasher.best_validation_score_, abs=1e-3)

    def test_stops_without_improvement(self, digits):
        hasher = stopping(max_iter=50, tol=2.0, n_iter_no_change=4).fit(*digits)
        # The first score beats minus infinity; then more than four epochs do not.
        assert hasher.n_iter_ == len(hasher.loss_curve_) == 6

    def test_goes_on_while_it_improves(self):
        scores = iter([0.1, 0.2, 0.2005, 0.3, 0.3, 0.3, 0.3])
        module = torch.nn.Linear(1, 1)
        keeper = EarlyStopping(lambda _: next(scores), n_iter_no_change=2, tol=0.01)
        stops = [keeper.end_epoch(module) for _ in range(7)]
        assert stops == [False] * 6 + [True]
        assert keeper.best_score == 0.3

    def test_held_out_samples_are_not_trained_on(self, digits):
        X, y = digits
        hasher = stopping(max_iter=1, learning_rate_init=0.05)
        held_out = held_out_samples(hasher, y)
        y_other = y.copy()
        y_other[held_out] = np.roll(y[held_out], 1)
        np.testing.assert_array_equal(
            hasher.fit(X, y).transform(X), clone(hasher).fit(X, y_other).transform(X)
        )

    def test_off_means_all_samples_and_no_scores(self, digits):
        hasher = small(early_stopping=False, tol=2.0, n_iter_no_change=1, max_iter=5)
        hasher.fit(*digits)
        assert hasher.n_iter_ == 5
        assert hasher.validation_scores_ is hasher.best_validation_score_ is None

    @pytest.mark.parametrize("objective", ["average_precision", "ndcg"])
    def test_any_kind_of_target(self, digits, objective):
        X, labels = digits
        _, indicator = make_multilabel_classification(300, random_state=0)
        matrix = (labels[:, None] == labels).astype(int)
        targets = [
            labels.astype(str),
            indicator,
            sp.csr_array(indicator),
            matrix,
            sp.csr_array(matrix),
            PrecomputedAffinity(matrix),
            None,
        ]
        for y in targets:
            hasher = stopping(max_iter=2, objective=objective).fit(X, y)
            assert len(hasher.validation_scores_) == 2
            assert np.all(np.isfinite(hasher.validation_scores_))

    def test_feature_rows_as_targets(self, digits):
        X, _ = digits
        hasher = stopping(affinity=ThresholdAffinity()).fit(X, X[:, :32])
        assert 0 < hasher.best_validation_score_ < 1

    def test_warm_start_appends_scores(self, digits):
        hasher = stopping(warm_start=True, max_iter=2).fit(*digits)
        first = hasher.validation_scores_
        hasher.fit(*digits)
        assert hasher.validation_scores_[:2] == first
        assert len(hasher.validation_scores_) == hasher.n_iter_ == 4
        assert hasher.best_validation_score_ == max(hasher.validation_scores_[2:])

    def test_verbose_prints_scores(self, digits, capsys):
        hasher = stopping(verbose=True).fit(*digits)
        lines = capsys.readouterr().out.splitlines()
        printed = [float(line.split("validation score = ")[1]) for line in lines]
        np.testing.assert_allclose(printed, hasher.validation_scores_, atol=1e-6)

    @pytest.mark.parametrize(
        ("y", "fraction"),
        [
            (np.arange(12) % 2, 0.05),  # one sample held out
            (np.arange(12) % 2, 0.9),  # one sample left to train on
            (np.array([0] * 11 + [1]), 0.2),  # one class on one side
            (np.r_[np.arange(11), 0], 0.25),  # one similar pair in all
        ],
    )
    def test_too_few_samples(self, y, fraction):
        X = np.random.default_rng(0).standard_normal((12, 3))
        with pytest.raises(ValueError, match="validation_fraction"):
            stopping(validation_fraction=fraction).fit(X, y)

    @pytest.mark.parametrize(
        "params",
        [
            {"validation_fraction": 0.0},
            {"validation_fraction": 1.0},
            {"n_iter_no_change": 0},
            {"tol": -1.0},
            {"early_stopping": "yes"},
        ],
    )
    def test_bad_parameters(self, digits, params):
        with pytest.raises(ValueError, match=next(iter(params))):
            small(**params).fit(*digits)


def interrupt_epoch(monkeypatch, number):
    run_epoch = _trained.Trainer._run_epoch

    def interrupted(self, X, epoch):
        if epoch == number:
            self.module[0].weight.data.zero_()  # half an epoch's harm
            raise KeyboardInterrupt
        return run_epoch(self, X, epoch)

    monkeypatch.setattr(_trained.Trainer, "_run_epoch", interrupted)


class TestInterrupt:
    def test_keeps_the_best_weights(self, digits, monkeypatch):
        X, y = digits
        interrupt_epoch(monkeypatch, 4)
        with pytest.warns(ConvergenceWarning, match="4 of 6 epochs.* best validation"):
            hasher = stopping(learning_rate_init=0.2).fit(X, y)
        assert len(hasher.validation_scores_) == hasher.n_iter_ == 4
        held_out = held_out_samples(hasher, y)
        score = hasher.score(X[held_out], y[held_out])
        assert score == pytest.approx(hasher.best_validation_score_, abs=1e-3)

    def test_before_the_first_epoch_keeps_the_start(self, digits, monkeypatch):
        X, y = digits
        start = small(max_iter=1, learning_rate_init=1e-12).fit(X, y).transform(X)
        interrupt_epoch(monkeypatch, 0)
        with pytest.warns(ConvergenceWarning, match="0 of 3 epochs"):
            hasher = small().fit(X, y)
        assert hasher.n_iter_ == 0
        np.testing.assert_array_equal(hasher.transform(X), start)

    def test_while_scoring_does_not_count_the_epoch(self, digits, monkeypatch):
        calls = []
        end_epoch = EarlyStopping.end_epoch

        def interrupted(self, module):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return end_epoch(self, module)

        monkeypatch.setattr(EarlyStopping, "end_epoch", interrupted)
        with pytest.warns(ConvergenceWarning, match="2 of 6 epochs"):
            hasher = stopping().fit(*digits)
        assert len(hasher.loss_curve_) == len(hasher.validation_scores_) == 2


class TestDropout:
    def test_fraction_and_scale(self):
        layer = SeededDropout(0.3, torch.Generator().manual_seed(0))
        dropped = layer(torch.ones(1000, 50))
        assert torch.mean((dropped == 0).float()) == pytest.approx(0.3, abs=0.01)
        assert dropped.mean() == pytest.approx(1.0, abs=0.02)
        assert torch.equal(layer.eval()(torch.ones(3, 2)), torch.ones(3, 2))

    @pytest.mark.parametrize("dropout", [0.5, (0.2, 0.0), (0.2, 0.5)])
    def test_changes_training_and_is_seeded(self, digits, dropout):
        X, y = digits

        def activations(**params):
            hasher = small(hidden_layer_sizes=(16,), **params).fit(X, y)
            return hasher.decision_function(X)

        first = activations(dropout=dropout)
        np.testing.assert_array_equal(first, activations(dropout=dropout))
        assert np.abs(first - activations(dropout=0.0)).max() > 1e-3

    def test_automatic_rates_are_for_hidden_layers_and_labels(self, digits):
        X, y = digits
        hidden = (16,)
        for layers, target, rates in (
            (hidden, y, (0.2, 0.5)),
            (hidden, None, 0.0),
            ((), y, 0.0),
        ):
            automatic = small(hidden_layer_sizes=layers).fit(X, target)
            explicit = small(hidden_layer_sizes=layers, dropout=rates).fit(X, target)
            np.testing.assert_array_equal(automatic.transform(X), explicit.transform(X))

    def test_a_number_is_for_hidden_units_only(self, digits):
        X, y = digits
        one = small(hidden_layer_sizes=(16,), dropout=0.5).fit(X, y)
        pair = small(hidden_layer_sizes=(16,), dropout=(0.0, 0.5)).fit(X, y)
        np.testing.assert_array_equal(one.transform(X), pair.transform(X))
        linear = small(dropout=0.5).fit(X, y)
        np.testing.assert_array_equal(linear.transform(X), small().fit(X, y).transform(X))

    def test_global_generators_and_fitted_state(self, digits):
        before = np.random.mtrand._rand.get_state()[1].copy(), torch.get_rng_state()
        hasher = small(hidden_layer_sizes=(16,), dropout=(0.2, 0.5)).fit(*digits)
        np.testing.assert_array_equal(np.random.mtrand._rand.get_state()[1], before[0])
        assert torch.equal(torch.get_rng_state(), before[1])
        assert [coef.shape for coef in hasher.coefs_] == [(64, 16), (16, 8)]

    def test_is_off_while_scoring(self, digits):
        X, y = digits
        hasher = stopping(hidden_layer_sizes=(16,), dropout=(0.5, 0.8)).fit(X, y)
        held_out = held_out_samples(hasher, y)
        score = hasher.score(X[held_out], y[held_out])
        assert score == pytest.approx(hasher.best_validation_score_, abs=1e-3)

    @pytest.mark.parametrize("dropout", [1.0, -0.1, (0.1, 1.0), (0.1, 0.1, 0.1), ()])
    def test_bad_values(self, digits, dropout):
        with pytest.raises(ValueError, match="dropout"):
            small(dropout=dropout).fit(*digits)


class TestPartialFit:
    def chunks(self, X, y, n_chunks=3):
        for rows in np.array_split(np.arange(len(X)), n_chunks):
            yield X[rows], y[rows]

    @pytest.mark.parametrize("hidden_layer_sizes", [(), (16,)])
    @pytest.mark.parametrize("solver", ["adam_mini", "adam", "sgd"])
    def test_learns(self, digits, solver, hidden_layer_sizes):
        X, y = digits
        rate = 0.02 if solver != "sgd" else 0.1 if hidden_layer_sizes else 1.0
        hasher = small(
            n_bits=16,
            solver=solver,
            learning_rate_init=rate,
            hidden_layer_sizes=hidden_layer_sizes,
            weight_decay=0.0,
            dropout=0.0,
        )
        scores = []
        for _ in range(10):
            for X_chunk, y_chunk in self.chunks(X, y):
                hasher.partial_fit(X_chunk, y_chunk)
            scores.append(hasher.score(X, y))
        assert scores[-1] > scores[0] + 0.08
        assert hasher.n_iter_ == len(hasher.loss_curve_) == 30

    def test_sets_what_fit_sets(self, digits):
        X, y = digits

        def public(hasher):
            return {name for name in vars(hasher) if name.endswith("_")}

        assert public(small().partial_fit(X, y)) == public(small().fit(X, y))

    def test_is_a_warm_start_of_one_epoch(self, digits):
        X, y = digits
        params = {"warm_start": True, "learning_rate": "constant", "max_iter": 1}
        fitted = small(tanh_scale=4.0, **params).fit(X, y)
        chunk = small(tanh_scale=(1.0, 4.0)).partial_fit(X, y)
        np.testing.assert_array_equal(fitted.transform(X), chunk.transform(X))

    def test_uses_the_last_scale(self, digits):
        X, y = digits
        two = small(tanh_scale=(1.0, 6.0)).partial_fit(X, y)
        one = small(tanh_scale=6.0).partial_fit(X, y)
        np.testing.assert_array_equal(two.coefs_[0], one.coefs_[0])

    def test_goes_on_after_fit(self, digits):
        X, y = digits
        hasher = small().fit(X, y)
        before = hasher.transform(X)
        hasher.set_params(learning_rate_init=1e-12).partial_fit(X[:50] + 3.0, y[:50])
        assert hasher.n_iter_ == 4
        np.testing.assert_array_equal(hasher.transform(X), before)

    def test_fit_starts_anew(self, digits):
        X, y = digits
        hasher = small().partial_fit(X + 5.0, y).fit(X, y)
        np.testing.assert_array_equal(hasher.transform(X), small().fit(X, y).transform(X))

    def test_pickle_between_chunks_changes_nothing(self, digits):
        X, y = digits
        kept = small().partial_fit(X, y)
        loaded = pickle.loads(pickle.dumps(kept))
        kept.partial_fit(X, y)
        loaded.partial_fit(X, y)
        np.testing.assert_array_equal(kept.coefs_[0], loaded.coefs_[0])

    @pytest.mark.parametrize("solver", ["adam_mini", "adam", "sgd"])
    def test_the_solver_remembers_its_moments(self, digits, solver):
        X, y = digits
        kept = small(solver=solver, batch_size=100).partial_fit(X, y)
        reset = pickle.loads(pickle.dumps(kept))
        reset._solver_state = None
        kept.partial_fit(X, y)
        reset.partial_fit(X, y)
        assert np.abs(kept.coefs_[0] - reset.coefs_[0]).max() > 1e-6
        if solver != "sgd":
            assert [h._solver_state[1][0]["step"] for h in (kept, reset)] == [6, 3]

    def test_another_solver_starts_anew(self, digits):
        hasher = small().partial_fit(*digits)
        hasher.set_params(solver="sgd").partial_fit(*digits)
        assert np.isfinite(hasher.coefs_[0]).all()

    def test_each_chunk_has_its_own_order_of_samples(self, digits):
        X, y = digits
        hasher = small(learning_rate_init=1e-12).partial_fit(X, y)
        hasher.partial_fit(X, y).partial_fit(X, y)
        assert hasher.loss_curve_[1] != pytest.approx(hasher.loss_curve_[2], abs=1e-6)

    def test_a_chunk_of_one_class_or_of_equal_rows_is_survived(self, digits):
        X, y = digits
        hasher = small().partial_fit(X, y)
        hasher.partial_fit(X[:40], np.zeros(40, dtype=int))
        hasher.partial_fit(np.repeat(X[:1], 5, axis=0), y[:5])
        assert np.isfinite(hasher.coefs_[0]).all()

    def test_kinds_of_targets(self, digits):
        X, y = digits
        matrix = PrecomputedAffinity((y[:, None] == y).astype(int))
        _, indicator = make_multilabel_classification(300, random_state=0)
        for target in (matrix, sp.csr_array(indicator), X):
            affinity = ThresholdAffinity() if target is X else "auto"
            hasher = small(affinity=affinity)
            for rows in np.array_split(np.arange(300), 3):
                hasher.partial_fit(X[rows], target[rows])
            assert hasher.n_iter_ == 3
            assert 0 < hasher.score(X, target) < 1

    def test_thresholds_are_those_of_the_first_chunk(self, digits):
        X, _ = digits
        hasher = small().partial_fit(X)
        thresholds = hasher.affinity_.thresholds_
        hasher.partial_fit(10 * X)
        np.testing.assert_array_equal(hasher.affinity_.thresholds_, thresholds)

    def test_levels_grow_with_shared_labels(self, digits):
        X, _ = digits
        few = np.eye(4, dtype=int)[np.arange(100) % 4]
        many = np.maximum(few, np.roll(few, 1, axis=0))
        hasher = small(objective="ndcg", affinity=SharedLabelAffinity())
        hasher.partial_fit(X[:100], few)
        assert hasher.affinity_.levels_.tolist() == [0, 1]
        hasher.partial_fit(X[100:200], many).partial_fit(X[:100], few)
        assert hasher.affinity_.levels_.tolist() == [0, 1, 2]

    def test_declared_levels(self, digits):
        X, y = digits

        def graded(y_query, y_database):
            return 3 * (y_query[:, None] == y_database)

        with pytest.raises(ValueError, match="Pass them as levels"):
            small(affinity=graded).partial_fit(X, y)
        hasher = small(affinity=graded).partial_fit(X, y, levels=[0, 3])
        hasher.partial_fit(X, y)
        assert hasher.n_iter_ == 2
        with pytest.raises(ValueError, match="differ from those of the first call"):
            hasher.partial_fit(X, y, levels=[0, 2, 3])

    @pytest.mark.parametrize("levels", [[1, 2], [0], [0, 0.5], [0, 2, 1], [[0, 1]]])
    def test_bad_levels(self, digits, levels):
        with pytest.raises(ValueError, match="levels"):
            small().partial_fit(*digits, levels=levels)

    def test_levels_that_lack_a_value(self, digits):
        X, _ = digits
        _, indicator = make_multilabel_classification(300, random_state=0)
        with pytest.raises(ValueError, match="lacks"):
            small().partial_fit(X, indicator, levels=[0, 1])

    def test_other_features(self, digits):
        X, y = digits
        with pytest.raises(ValueError, match="63 features"):
            small().partial_fit(X, y).partial_fit(X[:, :63], y)

    def test_other_shape(self, digits):
        hasher = small().partial_fit(*digits)
        with pytest.raises(ValueError, match="layer sizes"):
            hasher.set_params(n_bits=9).partial_fit(*digits)

    def test_early_stopping_is_refused(self, digits):
        assert not hasattr(stopping(), "partial_fit")
        with pytest.raises(AttributeError) as error:
            stopping().partial_fit(*digits)
        assert "early_stopping=False" in str(error.value.__cause__)


class TestCallbacks:
    @pytest.fixture
    def callback(self):
        return pytest.importorskip("sklearn.callback")

    def test_scoring_monitor_sees_every_epoch(self, digits, callback):
        X, y = digits
        monitor = callback.ScoringMonitor(scoring={"score": make_retrieval_scorer()})
        hasher = small(max_iter=4).set_callbacks(monitor).fit(X, y)
        data = monitor.get_logs().data
        scores = [row["score"] for row in data if row["task_name"] == "epoch"]
        assert len(scores) == 4
        assert scores[-1] == pytest.approx(hasher.score(X, y))
        assert len(set(scores)) > 1

    def test_scoring_monitor_sees_every_chunk(self, digits, callback):
        X, y = digits
        monitor = callback.ScoringMonitor(scoring={"score": make_retrieval_scorer()})
        hasher = small().set_callbacks(monitor)
        expected = []
        for start in (0, 100, 200):
            rows = slice(start, start + 100)
            hasher.partial_fit(X[rows], y[rows])
            expected.append(hasher.score(X[rows], y[rows]))
        runs = monitor.get_logs(select="all")
        epochs = [[row for row in run.data if row["task_name"] == "epoch"] for run in runs]
        assert [len(rows) for rows in epochs] == [1, 1, 1]
        assert [rows[0]["score"] for rows in epochs] == pytest.approx(expected)

    def test_progress_bar(self, digits, callback, capsys):
        pytest.importorskip("rich")
        X, y = digits
        plain = small().fit(X, y).transform(X)
        hasher = small().set_callbacks(callback.ProgressBar()).fit(X, y)
        np.testing.assert_array_equal(hasher.transform(X), plain)
        assert "TALRHasher" in capsys.readouterr().out

    def test_a_callback_may_stop(self, digits, callback):
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
                self.codes = fitted_estimator.transform(digits[0])
                return context.task_name == "epoch" and len(self.ended) == 2

        stop = Stop()
        hasher = small(max_iter=5).set_callbacks(stop).fit(*digits)
        assert hasher.n_iter_ == 2
        assert stop.ended == ["epoch", "epoch", "fit", "teardown"]
        np.testing.assert_array_equal(stop.codes, hasher.transform(digits[0]))
        stop.ended.clear()
        hasher.partial_fit(*digits)
        assert stop.ended == ["epoch", "fit", "teardown"]
        np.testing.assert_array_equal(stop.codes, hasher.transform(digits[0]))

    def test_fits_without_support_of_callbacks(self, digits, monkeypatch):
        """As with scikit-learn before 1.9, whose estimators cannot be given callbacks."""
        for owner in TALRHasher.__mro__:
            if "_init_callback_context" in vars(owner):
                monkeypatch.delattr(owner, "_init_callback_context")
        assert small().fit(*digits).partial_fit(*digits).n_iter_ == 4


class Network(torch.nn.Module):
    """A module with buffers and layers that behave differently in training."""

    def __init__(self, n_features=64, n_bits=8):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layers = torch.nn.Sequential(
                torch.nn.BatchNorm1d(n_features),
                torch.nn.Linear(n_features, 32),
                torch.nn.Tanh(),
                torch.nn.Dropout(0.2),
                torch.nn.Linear(32, n_bits),
            )

    def forward(self, X):
        return self.layers(X)


class TestModule:
    def fitted(self, X, y, **params):
        defaults = {"module": Network(), "weight_decay": 0.0, "max_iter": 15}
        return small(**(defaults | params)).fit(X, y)

    def test_learns(self, digits):
        X, y = digits
        start = self.fitted(X, y, max_iter=1, learning_rate_init=1e-9).score(X, y)
        assert 1 - self.fitted(X, y).score(X, y) < 0.5 * (1 - start)

    def test_the_given_module_is_left_alone(self, digits):
        module = Network()
        before = {name: value.clone() for name, value in module.state_dict().items()}
        module.eval()
        hasher = self.fitted(*digits, module=module)
        assert hasher.module is module
        assert not module.training
        for name, value in module.state_dict().items():
            assert torch.equal(value, before[name])

    def test_fitted_state_is_numpy_and_activations_are_the_modules(self, digits):
        X, y = digits
        hasher = self.fitted(X, y)
        state = hasher.module_state_
        assert all(type(value) is np.ndarray for value in state.values())
        assert not hasattr(hasher, "coefs_")
        module = Network().eval()
        module.load_state_dict({name: torch.tensor(v) for name, v in state.items()})
        with torch.no_grad():
            expected = module(torch.tensor(X, dtype=torch.float32)).numpy()
        activations = hasher.decision_function(X)
        assert activations.dtype == np.float32
        np.testing.assert_allclose(activations, expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(hasher.transform(X), activations > 0)

    def test_pickle_and_clone(self, digits):
        X, y = digits
        hasher = self.fitted(X, y)
        loaded = pickle.loads(pickle.dumps(hasher))
        np.testing.assert_array_equal(loaded.transform(X), hasher.transform(X))
        again = clone(hasher).fit(X, y)
        np.testing.assert_array_equal(again.transform(X), hasher.transform(X))

    def test_same_seed_same_codes_and_global_generators(self, digits):
        X, y = digits
        before = torch.get_rng_state()
        first = self.fitted(X, y).decision_function(X)
        assert torch.equal(torch.get_rng_state(), before)
        torch.rand(3)
        np.testing.assert_array_equal(first, self.fitted(X, y).decision_function(X))
        other = self.fitted(X, y, random_state=1).decision_function(X)
        assert np.abs(first - other).max() > 1e-3

    def test_early_stopping_warm_start_and_chunks(self, digits):
        X, y = digits
        params = {"early_stopping": True, "validation_fraction": 0.2}
        hasher = self.fitted(X, y, **params)
        held_out = held_out_samples(hasher, y)
        score = hasher.score(X[held_out], y[held_out])
        assert score == pytest.approx(hasher.best_validation_score_, abs=1e-3)
        hasher.set_params(early_stopping=False, warm_start=True, learning_rate_init=1e-12)
        before = hasher.score(X, y)
        hasher.fit(X, y).partial_fit(X, y)
        assert hasher.n_iter_ == 31
        assert hasher.score(X, y) == pytest.approx(before, abs=0.02)

    def test_sparse_features(self, digits):
        X, y = digits
        dense = self.fitted(X, y)
        sparse = self.fitted(sp.csr_array(X), y)
        np.testing.assert_array_equal(sparse.transform(sp.csr_array(X)), dense.transform(X))

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"module": Network(n_bits=7)}, r"module must .* \(2, 8\), got shape \(2, 7\)"),
            ({"module": Network}, "module"),
            ({"hidden_layer_sizes": (4,)}, "hidden_layer_sizes"),
        ],
    )
    def test_bad_parameters(self, digits, params, message):
        with pytest.raises(ValueError, match=message):
            self.fitted(*digits, **params)

    def test_warm_start_cannot_change_module(self, digits):
        hasher = self.fitted(*digits, warm_start=True)
        with pytest.raises(ValueError, match="module"):
            hasher.set_params(module=None).fit(*digits)
        with pytest.raises(ValueError, match="module"):
            hasher.set_params(module=torch.nn.Linear(64, 8)).fit(*digits)

    def test_cold_fit_may_change_to_and_fro(self, digits):
        X, y = digits
        hasher = self.fitted(X, y).set_params(module=None).fit(X, y)
        assert not hasattr(hasher, "module_state_")
        hasher.set_params(module=Network()).fit(X, y)
        assert not hasattr(hasher, "coefs_")


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_warning_of_an_interrupt_points_at_the_caller(digits, monkeypatch, method):
    interrupt_epoch(monkeypatch, 0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        getattr(small(), method)(*digits)
    assert caught[0].filename == __file__
