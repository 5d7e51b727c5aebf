"""The fit by gradients: steps, schedules, interrupts, warm starts and chunks."""

import pickle
import warnings
from itertools import count

import hashers
import numpy as np
import pytest
import torch
from engines import noted_steps
from hashers import MEASURES, name_of, small
from sklearn.exceptions import ConvergenceWarning

from sklearn_talr import TALRHasher
from sklearn_talr.hashing.training._host import HostEngine
from sklearn_talr.hashing.training._monitor import Monitor
from sklearn_talr.losses import HashNetLoss


def interrupt_epoch(monkeypatch, number):
    """Interrupt the third of the five steps of an epoch, which two steps have moved."""
    interrupt_call(monkeypatch, HostEngine, "step", 5 * number + 3)


def interrupt_call(monkeypatch, owner, name, number):
    """Let the n-th call, from 1, end before it begins."""
    call, calls = getattr(owner, name), count(1)

    def interrupted(*args, **kwargs):
        if next(calls) == number:
            raise KeyboardInterrupt
        return call(*args, **kwargs)

    monkeypatch.setattr(owner, name, interrupted)


class TestSteps:
    def steps(self, monitor=None, **params):
        params = {"batch_size": 4, "tanh_scale": (1.0, np.e), "n_bits": 1} | params
        steps, losses = noted_steps(small(**params), monitor=monitor)
        return steps, losses, [np.log(step.scale) for step in steps]

    @pytest.mark.parametrize("schedule", ["cosine", "constant"])
    def test_batches_rates_and_progress(self, schedule):
        rates = {"learning_rate": schedule, "learning_rate_init": 0.1}
        steps, losses, progress = self.steps(max_iter=4, **rates)
        samples = [step.rows for step in steps]
        assert [len(batch) for batch in samples] == [4, 3, 3] * 4
        orders = [np.concatenate(samples[i : i + 3]) for i in range(0, 12, 3)]
        for order in orders:  # each sample once, and in another order each time
            np.testing.assert_array_equal(np.sort(order), np.arange(10))
        assert len({tuple(order) for order in orders}) == 4
        fraction = np.arange(12) / 12
        cosine = 0.1 * (1 + np.cos(np.pi * fraction)) / 2
        expected = cosine if schedule == "cosine" else np.full(12, 0.1)
        assert [step.rate for step in steps] == pytest.approx(expected)
        assert progress == pytest.approx(np.repeat([0, 1 / 3, 2 / 3, 1], 3))
        # The mean over the samples: (4 x 4 + 3 x 3 + 3 x 3) / 10.
        assert losses == pytest.approx([3.4] * 4)

    @pytest.mark.parametrize(
        ("max_iter", "stale_after", "done", "progress"),
        [
            (1, 9, [0], [0]),
            (8, 3, [0, 1 / 8, 1 / 4, 3 / 8, 11 / 16], [0, 1 / 7, 2 / 7, 6 / 11, 1]),
            (3, 2, [0, 1 / 3, 2 / 3], [0, 1 / 2, 1]),  # no more epochs than there are
        ],
    )
    def test_the_schedule_ends_in_fewer_epochs_once_the_score_is_stale(
        self, max_iter, stale_after, done, progress
    ):
        """A quarter of all epochs are left; the rate descends from where it is."""

        class Stale(Monitor):
            def end_epoch(self, engine, loss):
                super().end_epoch(engine, loss)
                return len(self.losses) == stale_after

        rates = {"learning_rate": "cosine", "learning_rate_init": 0.1, "batch_size": 10}
        steps, _, found = self.steps(Stale(), max_iter=max_iter, **rates)
        cosine = 0.1 * (1 + np.cos(np.pi * np.array(done))) / 2
        np.testing.assert_allclose([step.rate for step in steps], cosine, atol=1e-12)
        np.testing.assert_allclose(found, progress, atol=1e-12)


@pytest.mark.parametrize(
    ("init", "solver", "learning_rate", "rate"),
    [
        ("itq", "adam_mini", "cosine", 0.01),
        ("pca", "adam_mini", "constant", 0.01),
        ("random", "adam", "constant", 0.003),
    ],
)
def test_loss_falls_at_a_fixed_scale(
    few_digits, learned, init, solver, learning_rate, rate
):
    hasher = small(
        max_iter=10,
        init=init,
        solver=solver,
        learning_rate=learning_rate,
        learning_rate_init=rate,
        tanh_scale=1.0,
        bit_dropout=0,
        weight_decay=0,
        random_state=learned.seed,
    ).fit(*few_digits)
    assert hasher.n_iter_ == len(hasher.loss_curve_) == 10
    learned.gain(hasher.loss_curve_[0] - hasher.loss_curve_[-1])


class TestFit:
    def test_batches_without_a_similar_pair_are_survived(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((60, 4))
        y = np.arange(60)
        y[1] = 0  # one similar pair in all
        with pytest.warns(ConvergenceWarning, match="58 of 60 samples have no similar"):
            hasher = small(batch_size=8).fit(X, y)
        assert np.isfinite(hasher.loss_curve_).all()
        assert np.isfinite(hasher.coefs_[0]).all()

    def test_unit_and_offset_of_the_features_do_not_matter(self, few_digits, learned):
        X, y = few_digits
        assert np.any(np.ptp(X, axis=0) == 0)  # neither do constant features
        hasher = small(random_state=learned.seed)
        codes = hasher.fit(X, y).transform(X)
        moved = 1000.0 * X + 50.0
        learned.error(np.mean(hasher.fit(moved, y).transform(moved) != codes))


class TestInterrupt:
    def test_keeps_the_last_epoch(self, few_digits, monkeypatch):
        X, y = few_digits
        params = {"learning_rate": "constant"}
        two_epochs = small(max_iter=2, **params).fit(X, y)
        interrupt_epoch(monkeypatch, 2)
        with pytest.warns(ConvergenceWarning, match="2 of 3 epochs.* last completed epoch"):
            hasher = small(**params).fit(X, y)
        assert hasher.loss_curve_ == two_epochs.loss_curve_
        np.testing.assert_array_equal(hasher.coefs_[0], two_epochs.coefs_[0])

    @pytest.mark.parametrize("early_stopping", [False, True])
    @pytest.mark.parametrize("warm_start", [False, True])
    def test_before_the_first_epoch_leaves_everything_as_it_was(
        self, few_digits, monkeypatch, warm_start, early_stopping
    ):
        """Of a first fit, and of a refit, which would replace what was learned."""
        X, y = few_digits
        hasher = small(warm_start=warm_start, early_stopping=early_stopping).fit(X, y)
        state = pickle.dumps(vars(hasher))
        new = small(early_stopping=early_stopping)
        for interrupted in (hasher, new):
            with monkeypatch.context() as patch:
                interrupt_epoch(patch, 0)
                with pytest.raises(KeyboardInterrupt):
                    interrupted.fit(X[::-1], y[::-1])
        assert pickle.dumps(vars(hasher)) == state
        assert not hasattr(new, "n_iter_")

    def test_while_scoring_does_not_count_the_epoch(self, few_digits, monkeypatch):
        interrupt_call(monkeypatch, Monitor, "end_epoch", 3)
        with pytest.warns(ConvergenceWarning, match="2 of 6 epochs.* best validation"):
            hasher = small(max_iter=6, early_stopping=True).fit(*few_digits)
        assert len(hasher.loss_curve_) == len(hasher.validation_scores_) == 2

    def test_in_a_chunk_leaves_everything_as_it_was(self, few_digits, monkeypatch):
        """Weights, and the moments of the solver, which half of the epoch has moved."""
        X, y = few_digits
        hasher, other = (small().partial_fit(X, y) for _ in range(2))
        new = small()
        for chunks in (hasher, new):
            with monkeypatch.context() as patch:
                interrupt_epoch(patch, 0)
                with pytest.raises(KeyboardInterrupt):
                    chunks.partial_fit(X, y)
        assert not hasattr(new, "n_iter_")
        assert hasher.n_iter_ == 1
        for chunks in (hasher, other):
            chunks.partial_fit(X, y)
        np.testing.assert_array_equal(hasher.coefs_[0], other.coefs_[0])


class NotNumbers(torch.nn.Module):
    """Gives NaN from some step of training on."""

    def __init__(self, n_steps):
        super().__init__()
        self.layer, self.n_left = torch.nn.utils.skip_init(torch.nn.Linear, 64, 8), n_steps
        torch.nn.init.orthogonal_(self.layer.weight, generator=torch.manual_seed(0))
        torch.nn.init.zeros_(self.layer.bias)

    def forward(self, X):
        self.n_left -= self.training
        return self.layer(X) / float(self.n_left >= 0)


class Root(torch.nn.Module):
    def forward(self, X):
        return X.sqrt()


def fails_at(n_steps):
    return small(module=NotNumbers(n_steps), learning_rate_init=1e-4)


class TestNotNumbers:
    """Five steps to an epoch."""

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    def test_in_the_first_epoch_are_refused(self, few_digits, method):
        hasher = fails_at(3)
        with pytest.raises(ValueError, match=r"The loss is nan in epoch 1 .*module"):
            getattr(hasher, method)(*few_digits)
        assert not hasattr(hasher, "n_iter_")

    def test_later_end_training_with_the_last_good_epoch(self, few_digits):
        X, y = few_digits
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hasher = fails_at(8).set_params(learning_rate="constant").fit(X, y)
        (warning,) = caught
        assert issubclass(warning.category, ConvergenceWarning)
        assert "The loss is nan in epoch 2 of 3. Training ends" in str(warning.message)
        assert warning.filename == __file__
        good = fails_at(99).set_params(max_iter=1, learning_rate="constant").fit(X, y)
        assert hasher.loss_curve_ == good.loss_curve_
        np.testing.assert_array_equal(hasher.transform(X), good.transform(X))

    def test_a_refit_that_fails_keeps_the_fitted(self, few_digits):
        X, y = few_digits
        hasher = fails_at(99).fit(X, y)
        codes = hasher.transform(X)
        hasher.module.n_left = 2
        with pytest.raises(ValueError, match="epoch 1 of 3"):
            hasher.fit(X, y)
        np.testing.assert_array_equal(hasher.transform(X), codes)

    def test_in_evaluation_are_refused(self, few_digits):
        X, y = few_digits
        with pytest.raises(ValueError, match="module returns NaN as an activation"):
            small(module=torch.nn.Sequential(NotNumbers(99), Root())).fit(X, y)
        hasher = fails_at(99).fit(X, y)
        message = "module returns NaN as an activation"
        with np.errstate(over="ignore"), pytest.raises(ValueError, match=message):
            hasher.transform(1e40 * X)  # beyond float32


class TestWarmStart:
    def test_continues(self, few_digits):
        X, y = few_digits
        hasher = small(warm_start=True).fit(X, y)
        first = hasher.loss_curve_
        hasher.set_params(max_iter=2, learning_rate_init=1e-12).fit(X, y)
        assert hasher.n_iter_ == 5
        assert hasher.loss_curve_[:3] == first
        cold = small().fit(X, y)
        np.testing.assert_allclose(hasher.coefs_[0], cold.coefs_[0], rtol=1e-4, atol=1e-6)

    def test_other_features_have_another_mean_and_unit(self, few_digits):
        """They are found anew, and what is fitted goes with the features as they were."""
        X, y = few_digits
        hasher = small(warm_start=True, hidden_layer_sizes=(9,)).fit(X, y)
        activations = hasher.decision_function(X)
        hasher.set_params(max_iter=1, learning_rate_init=1e-12).fit(X[:90] * 3 + 4, y[:90])
        np.testing.assert_allclose(
            hasher.decision_function(X), activations, rtol=1e-4, atol=1e-4
        )

    def test_goes_on_from_chunks_but_not_with_their_mean(self, few_digits):
        X, y = few_digits
        hasher = small(warm_start=True).partial_fit(X[:150] + 5, y[:150])
        hasher.fit(X[150:], y[150:])
        np.testing.assert_allclose(hasher.means_[0], X[150:].mean(axis=0))
        assert hasher.n_iter_ == 4


class TestChunks:
    @pytest.mark.parametrize(
        ("solver", "layers"), [("adam_mini", ()), ("adam", ()), ("adam_mini", (16,))]
    )
    def test_learn(self, few_digits, solver, layers, learned):
        X, y = few_digits
        hasher = small(n_bits=16, solver=solver, hidden_layer_sizes=layers)
        hasher.set_params(random_state=learned.seed)
        hasher.set_params(learning_rate_init=0.02, weight_decay=0.0, dropout=0.0)
        scores = []
        for _ in range(10):
            for rows in np.array_split(np.arange(300), 3):
                hasher.partial_fit(X[rows], y[rows])
            scores.append(hasher.score(X, y))
        learned.gain(scores[-1] - scores[0])
        assert hasher.n_iter_ == len(hasher.loss_curve_) == 30

    def test_set_what_fit_sets(self, few_digits):
        assert (
            vars(small().partial_fit(*few_digits)).keys()
            == vars(small().fit(*few_digits)).keys()
        )

    def test_are_warm_starts_of_one_epoch_at_the_last_scale(self, few_digits):
        X, y = few_digits
        params = {"n_bits": 8, "batch_size": 64, "random_state": 0, "max_iter": 1}
        chunk = TALRHasher(loss=HashNetLoss(), tanh_scale=(1.0, 4.0), **params).partial_fit(
            X, y
        )
        fitted = TALRHasher(
            loss=HashNetLoss(), tanh_scale=4.0, learning_rate="constant", **params
        ).fit(X, y)
        np.testing.assert_array_equal(fitted.coefs_[0], chunk.coefs_[0])

    def test_keep_the_rate_where_they_go_on(self, few_digits):
        """And the mean and unit of the first features."""
        X, y = few_digits
        hasher = small().fit(X, y)
        before = hasher.coefs_[0]
        state = hasher._training_state_
        hasher.set_params(learning_rate_init=1e-12).partial_fit(X[:50] + 3.0, y[:50])
        assert hasher.n_iter_ == 4
        np.testing.assert_allclose(hasher.coefs_[0], before, rtol=1e-5, atol=1e-9)
        assert hasher._training_state_["unit"] == state["unit"]
        np.testing.assert_array_equal(hasher._training_state_["mean"], state["mean"])

    def test_fit_forgets_what_chunks_before_it_have_left(self, few_digits):
        """The solver's moments, and the levels that were declared."""
        X, y = few_digits
        hasher = small().partial_fit(X + 5.0, y, levels=[0, 1]).fit(X, y).partial_fit(X, y)
        other = small().fit(X, y).partial_fit(X, y)
        np.testing.assert_array_equal(hasher.coefs_[0], other.coefs_[0])
        assert hasher._training_state_["declared_levels"] is None

    @pytest.mark.parametrize("solver", ["adam_mini", "adam"])
    def test_the_solver_remembers_its_moments_through_a_pickle(self, few_digits, solver):
        X, y = few_digits
        kept = small(solver=solver, batch_size=100).partial_fit(X, y)
        loaded, reset = (pickle.loads(pickle.dumps(kept)) for _ in range(2))
        reset._training_state_["moments"] = None
        for hasher in (kept, loaded, reset):
            hasher.partial_fit(X, y)
        np.testing.assert_array_equal(kept.coefs_[0], loaded.coefs_[0])
        assert np.abs(kept.coefs_[0] - reset.coefs_[0]).max() > 1e-6
        moments = [h._training_state_["moments"][1][0] for h in (kept, reset)]
        assert [values["step"] for values in moments] == [6, 3]

    def test_another_solver_starts_anew(self, few_digits):
        hasher = small().partial_fit(*few_digits)
        reset = pickle.loads(pickle.dumps(hasher))
        reset._training_state_["moments"] = None
        codes = [
            h.set_params(solver="adam").partial_fit(*few_digits).coefs_[0]
            for h in (hasher, reset)
        ]
        np.testing.assert_array_equal(*codes)

    def test_each_has_its_own_order_of_samples(self, few_digits):
        hasher = small(learning_rate_init=1e-12).partial_fit(*few_digits)
        hasher.partial_fit(*few_digits).partial_fit(*few_digits)
        assert hasher.loss_curve_[1] != pytest.approx(hasher.loss_curve_[2], abs=1e-6)

    def test_one_class_or_equal_rows_are_survived(self, few_digits):
        X, y = few_digits
        hasher = small().partial_fit(X, y)
        hasher.partial_fit(X[:40], np.zeros(40, dtype=int))
        hasher.partial_fit(np.repeat(X[:1], 5, axis=0), np.zeros(5, dtype=int))
        assert np.isfinite(hasher.coefs_[0]).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("measure", [MEASURES[0], MEASURES[3]], ids=name_of)
@pytest.mark.parametrize("batch_size", [64, 900])
def test_codes_of_cuda_are_those_of_the_seed(digits, measure, batch_size):
    """Pairs of small batches are counted on the host, others on the device."""
    X, y = digits
    hasher = small(max_iter=20, batch_size=batch_size, random_state=0)
    hasher.set_params(loss=hashers.loss_of(**measure), device="cuda")
    first, second = hasher.fit(X, y).transform(X), hasher.fit(X, y).transform(X)
    np.testing.assert_array_equal(first, second)
    score = hasher.score(X, y)
    assert score == pytest.approx(
        hasher.set_params(device="cpu").fit(X, y).score(X, y), abs=0.02
    )
