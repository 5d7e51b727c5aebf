"""The training loop that learned hashers share: minibatches, a loss, two schedules."""

import math
import warnings

import numpy as np
import torch
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from ..._threads import one_thread
from ...objectives._memory import keep_freed_memory
from ._solvers import make_solver


class Trainer:
    """Minimises a minibatch loss of a torch module.

    Parameters
    ----------
    module : torch.nn.Module
        From features to activations.

    batch_loss : callable
        ``batch_loss(activations, samples, n_queries, progress) -> scalar tensor``;
        `samples` are row indices, first those of the queries, and `progress` runs from 0
        to 1 over the epochs.

    rng : RandomState
        Shuffles the samples.

    keeper : LastEpoch or EarlyStopping
        Decides which weights are kept, and when to stop.

    callbacks : EpochCallbacks or None
        Told about the begin and end of each epoch; may ask to stop.

    solver_state : tuple or None
        What :meth:`solver_state` returned after an earlier training of the same module.

    Other parameters are those of the estimators.
    """

    def __init__(
        self,
        module,
        batch_loss,
        rng,
        *,
        keeper,
        callbacks=None,
        solver_state=None,
        solver,
        learning_rate,
        learning_rate_init,
        momentum,
        weight_decay,
        batch_size,
        database_batch_size=None,
        max_iter,
        verbose,
    ):
        self.module = module
        self.batch_loss = batch_loss
        self.rng = rng
        self.keeper = keeper
        self.callbacks = callbacks
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.database_batch_size = database_batch_size
        self.max_iter = max_iter
        self.verbose = verbose
        self.solver = solver
        self.optimizer = make_solver(solver, module, learning_rate_init, momentum)
        if solver_state and solver_state[0] == solver:
            self._restore_solver(solver_state[1])

    def run(self, X, samples):
        """Train on some rows of `Features` and return the mean loss of each epoch.

        An interrupt ends training after the last completed epoch, with a warning. The
        module then holds the weights that the keeper has kept.
        """
        keep_freed_memory()
        self.samples = samples
        losses = []
        self.keeper.begin(self.module)
        try:
            with one_thread(), config_context(assume_finite=True):
                for epoch in range(self.max_iter):
                    if self.callbacks:
                        self.callbacks.begin()
                    loss = self._run_epoch(X, epoch)
                    stop = self.keeper.end_epoch(self.module)
                    losses.append(loss)
                    self._report(epoch, loss)
                    if self.callbacks:
                        stop |= self.callbacks.end()
                    if stop:
                        break
        except KeyboardInterrupt:
            warnings.warn(
                f"Training interrupted after {len(losses)} of {self.max_iter} epochs; the "
                f"hasher keeps {self.keeper.kept}.",
                ConvergenceWarning,
                stacklevel=6,
            )
        self.keeper.restore(self.module)
        return losses

    def solver_state(self):
        """The solver's name, and its moments of the gradients as NumPy arrays."""
        state = self.optimizer.state_dict()["state"]
        moments = {
            index: {
                name: np.array(value.cpu().numpy())
                for name, value in values.items()
                if value is not None
            }
            for index, values in state.items()
        }
        return self.solver, moments

    def _restore_solver(self, moments):
        state = self.optimizer.state_dict()
        state["state"] = {
            index: {name: torch.as_tensor(value) for name, value in values.items()}
            for index, values in moments.items()
        }
        self.optimizer.load_state_dict(state)

    def _run_epoch(self, X, epoch):
        n_samples = len(self.samples)
        n_batches = math.ceil(n_samples / self.batch_size)
        order = self.samples[self.rng.permutation(n_samples)]
        batches = np.array_split(order, n_batches)
        progress = epoch / max(1, self.max_iter - 1)
        total = torch.zeros((), device=X.device)
        for i, queries in enumerate(batches):
            self._set_learning_rate((epoch + i / n_batches) / self.max_iter)
            samples = self._with_database(queries)
            total += self._run_step(X, samples, len(queries), progress) * len(queries)
        return float(total) / n_samples

    def _with_database(self, queries):
        """Queries, and other samples that make them up to a larger database."""
        n_database = min(self.database_batch_size or 0, len(self.samples))
        if n_database <= len(queries):
            return queries
        others = np.setdiff1d(self.samples, queries, assume_unique=True)
        drawn = self.rng.choice(others, n_database - len(queries), replace=False)
        return np.concatenate([queries, drawn])

    def _run_step(self, X, samples, n_queries, progress):
        loss = self.batch_loss(self.module(X.batch(samples)), samples, n_queries, progress)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self._decay_weights()
        return loss.detach()

    @torch.no_grad()
    def _decay_weights(self):
        """Decoupled from the gradient whatever the solver; intercepts are left alone."""
        rate = self.optimizer.param_groups[0]["lr"]
        for parameter in self.module.parameters():
            if parameter.ndim > 1:
                parameter *= max(0.0, 1 - rate * self.weight_decay)

    def _set_learning_rate(self, fraction):
        """`fraction` of all steps is done: a constant rate, or half a cosine down to 0."""
        rate = self.learning_rate_init
        if self.learning_rate == "cosine":
            rate *= 0.5 * (1 + math.cos(math.pi * fraction))
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def _report(self, epoch, loss):
        if self.verbose:
            score = self.keeper.describe()
            print(f"Epoch {epoch + 1}/{self.max_iter}, loss = {loss:.6f}{score}")
