"""Minimizing the loss of minibatches: epochs, steps, and what ends them."""

import math
import warnings

import numpy as np
import torch
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from ..._threads import one_thread
from ._schedule import Schedule
from ._solvers import load_moments, make_solver, moments_of, set_learning_rate

# Arrays that reach losses and scores from here have been checked.
_TRUSTED = {"assume_finite": True, "skip_parameter_validation": True}

_REMEDY_OF_NAN = (
    "Try a smaller learning_rate_init, and see whether the features are too large for "
    "float32, and whether a module or a loss of your own divides by 0 or takes the root or "
    "logarithm of it."
)


class _NotFiniteError(Exception):
    """Training has come to NaN or infinity."""


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

    keeper : LastEpoch or EarlyDescent
        Decides which weights are kept, and when to stop.

    callbacks : FitCallbacks
        Told about the begin and end of each epoch; may ask to stop.

    moments : tuple or None
        Result of :meth:`moments` after an earlier training of the same module.

    verbose : bool, default=False
        Whether to print the loss of each epoch.
    """

    def __init__(
        self,
        function,
        batch_loss,
        rng,
        settings,
        keeper,
        callbacks,
        moments=None,
        verbose=False,
    ):
        self.module = function.module
        self.batch_loss = batch_loss
        self.rng = rng
        self.settings = settings
        self._descends = settings.learning_rate == "cosine"
        self.keeper = keeper
        self.callbacks = callbacks
        self.verbose = verbose
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
        is completed. A loss or weight that is NaN or infinite ends training, too, and is a
        ValueError in the first epoch.
        """
        self.keeper.begin(self.module)
        try:
            with one_thread(), config_context(**_TRUSTED):
                self._run_epochs(features, samples)
        except KeyboardInterrupt:
            if not self.keeper.losses:
                raise
            self._break_off(
                f"Training interrupted after {len(self.keeper.losses)} of "
                f"{self.settings.max_iter} epochs; the hasher keeps {self.keeper.kept}."
            )
        except _NotFiniteError as stop:
            if not self.keeper.losses:
                raise ValueError(f"{stop} {_REMEDY_OF_NAN}") from None
            self._break_off(
                f"{stop} Training ends there, and the hasher keeps {self.keeper.kept}. "
                f"{_REMEDY_OF_NAN}"
            )
        self.keeper.restore(self.module)
        return self.keeper.losses

    def _break_off(self, message):
        self.callbacks.break_off()
        warnings.warn(message, ConvergenceWarning, stacklevel=8)

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
        """The learning rate when this fraction of the epoch is done."""
        rate = self.settings.learning_rate_init
        return rate * schedule.descent(fraction) if self._descends else rate

    def _run_step(self, features, samples, progress, rate):
        set_learning_rate(self.optimizer, rate)
        loss = self.batch_loss(self.module(features.batch(samples)), samples, progress)
        self.module.zero_grad()
        loss.backward()
        self.optimizer.step()
        self._decay_weights(rate)
        return loss.detach()

    @torch.no_grad()
    def _decay_weights(self, rate):
        """Shrink weights apart from the gradient, whatever the solver; not frozen ones."""
        decay = rate * self.settings.weight_decay
        for parameter, factor in zip(self.module.parameters(), self._decay_factors):
            if factor and parameter.grad is not None:
                parameter *= max(0.0, 1 - factor * decay)

    def _check_finite(self, loss):
        """Raise _NotFiniteError if the loss or a weight is NaN or infinite."""
        if not math.isfinite(loss):
            what = f"loss is {loss}"
        elif not all(bool(p.isfinite().all()) for p in self.module.parameters()):
            what = "weights are NaN or infinite"
        else:
            return
        epoch = len(self.keeper.losses) + 1
        raise _NotFiniteError(f"The {what} in epoch {epoch} of {self.settings.max_iter}.")

    def _report(self, loss):
        if self.verbose:
            score, epoch = self.keeper.describe(), len(self.keeper.losses)
            print(f"Epoch {epoch}/{self.settings.max_iter}, loss = {loss:.6f}{score}")
