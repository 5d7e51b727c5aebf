"""The fit by gradients: minibatches, what they cost, a solver, and a schedule."""

import math
import warnings
from contextlib import contextmanager

import numpy as np
import torch
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from ..._threads import one_thread
from ...objectives._memory import keep_freed_memory
from .._base import independent_random_state
from .._rows import mean_and_unit
from ._callbacks import FitCallbacks
from ._early_stopping import EarlyStopping, LastEpoch
from ._features import make_features
from ._functions import FeedForward, UserModule
from ._improvement import Improvement
from ._progress import progress_of_chunks, progress_of_fit, random_state_of_chunk
from ._schedule import Schedule
from ._solvers import load_moments, make_solver, moments_of, set_learning_rate
from ._start import start_weights, to_standard_units
from ._validation import ValidationScore, split_samples

# What reaches objectives and scores from here has been checked.
_TRUSTED = {"assume_finite": True, "skip_parameter_validation": True}

_MOST_SCORED = 1000  # training samples

_REMEDY_OF_NAN = (
    "Try a smaller learning_rate_init, and see whether the features are too large for "
    "float32, and whether a module of your own divides by 0 or takes the root or logarithm "
    "of it."
)


class _NotFiniteError(Exception):
    """Training has come to NaN or infinity."""


def fit_by_gradient(hasher, data, settings, loss):
    """Train a hash function from its start, or from the last fit with `warm_start`.

    Parameters
    ----------
    hasher : GradientHasher
        Gives its random state, callbacks, and weights to go on from. It is not changed.

    data : TrainingData
        What to learn from.

    settings : Settings
        What to do.

    loss : BatchLoss
        What a minibatch costs.

    Returns
    -------
    fitted : dict
        All attributes of the fitted hasher.
    """
    rng = independent_random_state(hasher.random_state)
    samples, held_out = np.arange(data.X.shape[0]), None
    if settings.n_held_out:
        samples, held_out = split_samples(data, settings.n_held_out, rng)
    before = None
    if hasher.warm_start:
        before = progress_of_fit(hasher, data.X.shape[1], settings)
    features = _features_of(data.X, settings, None)
    keeper, improvement = LastEpoch(), Improvement()
    if hasher.early_stopping:
        score = _make_score(data, features, held_out, settings)
        keeper = EarlyStopping(score, settings.n_iter_no_change, settings.tol, held_out)
        improvement = Improvement(score, "validation")
    elif settings.module is not None:
        improvement = Improvement(_score_of_some(data, features, settings), "training")
    fitted, _ = _train(
        hasher, data, settings, loss, features, samples, keeper, before, rng, improvement
    )
    return fitted


def fit_chunk_by_gradient(hasher, data, settings, loss):
    """Train on a chunk of data, going on from earlier ones.

    Parameters and result are those of :func:`fit_by_gradient`.
    """
    before = progress_of_chunks(hasher, data.X.shape[1], settings)
    rng = random_state_of_chunk(hasher)
    features = _features_of(data.X, settings, before)
    samples = np.arange(data.X.shape[0])
    fitted, trainer = _train(
        hasher,
        data,
        settings,
        loss,
        features,
        samples,
        LastEpoch(),
        before,
        rng,
        Improvement(),
    )
    fitted["_training_state_"]["moments"] = trainer.moments()
    return fitted


def _train(
    hasher, data, settings, loss, features, samples, keeper, before, rng, improvement
):
    """Return the fitted attributes, and the trainer."""
    with _modes_of_torch_and_sklearn():
        function = _make_function(features, samples, settings, before, rng)
        loss.begin(rng)
        known = data.seen | {"affinity_": data.affinity.given}
        callbacks = FitCallbacks(
            hasher,
            data.X,
            data.targets,
            settings.max_iter,
            fitted=lambda: known | function.fitted(),
        )
        moments = before.moments if before else None
        trainer = Trainer(function, loss, rng, settings, keeper, callbacks, moments)
        with function.generators():
            improvement.begin(function.module)
            losses = trainer.run(features, samples)
            improvement.end(function.module, stacklevel=7)
        callbacks.end_fit()
        state = {
            "mean": features.mean,
            "unit": features.unit,
            "moments": None,
            "declared_levels": data.declared_levels,
            "n_bits": settings.n_bits,
        }
        history = _history(before, losses, keeper)
        return known | function.fitted() | history | {"_training_state_": state}, trainer


@contextmanager
def _modes_of_torch_and_sklearn():
    """Context of a fit: torch has gradients, and both libraries get their modes back.

    A context within, such as ``torch.no_grad``, restores the mode itself, unless an
    interrupt comes while it does.
    """
    with torch.enable_grad(), config_context():
        yield


def _features_of(X, settings, before):
    """Features as the hash function takes them."""
    unit = before.mean_and_unit if before else None
    unit = unit or mean_and_unit(X)
    as_they_are = settings.module is not None
    return make_features(X, *unit, settings.device, as_they_are)


def _make_score(data, features, held_out, settings):
    """What early stopping goes by: the user's validation set, or samples held out."""
    if data.validation is None:
        targets = data.targets[held_out]
    else:
        X, targets = data.validation
        held_out = np.arange(X.shape[0])
        features = features.of_rows(X)
    return ValidationScore(data.affinity, features, held_out, targets, settings.metric)


def _score_of_some(data, features, settings):
    """Score of training samples, or None where these are too few to rank."""
    n_samples = data.X.shape[0]
    rows = np.unique(np.linspace(0, n_samples - 1, _MOST_SCORED, dtype=int))
    try:
        data.affinity.check_contrast(data.targets[rows], data.levels)
    except ValueError:
        return None
    return ValidationScore(
        data.affinity, features, rows, data.targets[rows], settings.metric
    )


def _make_function(features, samples, settings, before, rng):
    """The hash function to be trained."""
    if settings.module is not None:
        return UserModule(settings.module, before, settings.n_bits, features, rng)
    if before:
        weights = to_standard_units(*before.weights, features.mean, features.unit)
    else:
        with one_thread():
            weights = start_weights(
                features, samples, settings.layer_sizes, settings.n_bits, settings.init, rng
            )
    return FeedForward(*weights, features, settings.dropout, rng)


def _history(before, losses, keeper):
    """Fitted attributes that tell how training went, over all warm starts."""
    losses = [*before.loss_curve, *losses] if before else losses
    scores, best = before.validation_scores if before else None, None
    if isinstance(keeper, EarlyStopping):
        scores = [*(scores or []), *keeper.scores]
        best = max(keeper.scores, default=None)
    return {
        "loss_curve_": losses,
        "n_iter_": len(losses),
        "validation_scores_": scores,
        "best_validation_score_": best,
    }


class Trainer:
    """Minimizes a minibatch loss of a torch module.

    Parameters
    ----------
    function : FeedForward or UserModule
        Its module turns features into activations.

    batch_loss : callable
        ``batch_loss(activations, samples, progress) -> scalar tensor``; `samples` are row
        indices, and `progress` runs from 0 to 1 over the epochs.

    rng : RandomState
        Shuffles the samples.

    settings : Settings
        Solver, schedules, sizes.

    keeper : LastEpoch or EarlyStopping
        Decides which weights are kept, and when to stop.

    callbacks : FitCallbacks
        Told about the begin and end of each epoch; may ask to stop.

    moments : tuple or None
        What :meth:`moments` returned after an earlier training of the same module.
    """

    def __init__(
        self, function, batch_loss, rng, settings, keeper, callbacks, moments=None
    ):
        self.module = function.module
        self.batch_loss = batch_loss
        self.rng = rng
        self.settings = settings
        self._descends = settings.learning_rate == "cosine"
        self.keeper = keeper
        self.callbacks = callbacks
        rate_factors, self._decay_factors = zip(*function.steps())
        self.optimizer = make_solver(
            settings.solver, self.module.parameters(), rate_factors
        )
        if moments and moments[0] == settings.solver:
            load_moments(self.optimizer, moments[1])

    def run(self, features, samples):
        """Train on some rows of `Features` and return the mean loss of each epoch.

        The module then holds the weights that the keeper has kept. An interrupt ends
        training after the last completed epoch, with a warning, or is passed on if none
        is completed. So does a loss or weight that is NaN or infinite, which is a
        ValueError if it comes in the first epoch.
        """
        keep_freed_memory()
        self.keeper.begin(self.module)
        try:
            with one_thread(), config_context(**_TRUSTED):
                self._run_epochs(features, samples)
        except KeyboardInterrupt:
            if not self.keeper.losses:
                raise
            self.callbacks.break_off()
            warnings.warn(
                f"Training interrupted after {len(self.keeper.losses)} of "
                f"{self.settings.max_iter} epochs; the hasher keeps {self.keeper.kept}.",
                ConvergenceWarning,
                stacklevel=7,
            )
        except _NotFiniteError as stop:
            if not self.keeper.losses:
                raise ValueError(f"{stop} {_REMEDY_OF_NAN}") from None
            self.callbacks.break_off()
            warnings.warn(
                f"{stop} Training ends there, and the hasher keeps {self.keeper.kept}. "
                f"{_REMEDY_OF_NAN}",
                ConvergenceWarning,
                stacklevel=7,
            )
        self.keeper.restore(self.module)
        return self.keeper.losses

    def moments(self):
        """The solver's name, and its moments of the gradients as NumPy arrays."""
        return self.settings.solver, moments_of(self.optimizer)

    def _run_epochs(self, features, samples):
        schedule = Schedule(self.settings.max_iter)
        while schedule.n_left:
            self.callbacks.begin()
            loss = self._run_epoch(features, samples, schedule)
            self._check_finite(loss)
            schedule.end_epoch()
            is_stale = self.keeper.end_epoch(self.module, loss)
            self._report(loss)
            wants_to_stop = self.callbacks.end()
            if wants_to_stop or (is_stale and not self._descends):
                break
            if is_stale:
                schedule.hasten(math.ceil(self.settings.max_iter / 4))
                samples = self.keeper.begin_descent(self.module, samples)

    def _run_epoch(self, features, samples, schedule):
        n_batches = math.ceil(len(samples) / self.settings.batch_size)
        # A batch of one ranks nothing, and batch normalization fails on it.
        n_batches = max(1, min(n_batches, len(samples) // 2))
        order = samples[self.rng.permutation(len(samples))]
        progress = schedule.progress()
        total = torch.zeros((), device=features.device)
        for i, batch in enumerate(np.array_split(order, n_batches)):
            rate = self._learning_rate(schedule, i / n_batches)
            total += self._run_step(features, batch, progress, rate) * len(batch)
        return float(total) / len(samples)

    def _learning_rate(self, schedule, fraction):
        """The rate once this fraction of the epoch is done."""
        rate = self.settings.learning_rate_init
        return rate * schedule.descent(fraction) if self._descends else rate

    def _run_step(self, features, samples, progress, rate):
        set_learning_rate(self.optimizer, rate)
        loss = self.batch_loss(self.module(features.batch(samples)), samples, progress)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self._decay_weights(rate)
        return loss.detach()

    @torch.no_grad()
    def _decay_weights(self, rate):
        """Decoupled from the gradient whatever the solver; what is frozen stays."""
        decay = rate * self.settings.weight_decay
        for parameter, factor in zip(self.module.parameters(), self._decay_factors):
            if factor and parameter.grad is not None:
                parameter *= max(0.0, 1 - factor * decay)

    def _check_finite(self, loss):
        """Raise _NotFiniteError if an epoch has left the numbers."""
        if not math.isfinite(loss):
            what = f"loss is {loss}"
        elif not all(bool(p.isfinite().all()) for p in self.module.parameters()):
            what = "weights are NaN or infinite"
        else:
            return
        epoch = len(self.keeper.losses) + 1
        raise _NotFiniteError(f"The {what} in epoch {epoch} of {self.settings.max_iter}.")

    def _report(self, loss):
        if self.settings.verbose:
            score, epoch = self.keeper.describe(), len(self.keeper.losses)
            print(f"Epoch {epoch}/{self.settings.max_iter}, loss = {loss:.6f}{score}")
