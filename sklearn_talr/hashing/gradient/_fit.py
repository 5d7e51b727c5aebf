"""The fit by gradients, step by step: features, function, loss, training, attributes."""

from contextlib import contextmanager

import numpy as np
import torch
from sklearn import config_context

from ..._random import independent_random_state
from ..._threads import one_thread
from ...losses._door import Training, bind
from ...metrics import make_retrieval_scorer
from .._callbacks import FitCallbacks
from .._rows import mean_and_unit
from ._early_descent import EarlyDescent, LastEpoch
from ._features import make_features
from ._functions import FeedForward, UserModule
from ._improvement import Improvement
from ._minibatches import MinibatchLoss
from ._progress import progress_of_chunks, progress_of_fit, random_state_of_chunk
from ._start import start_weights, to_standard_units
from ._trainer import Trainer
from ._validation import ValidationScore, split_samples

_MOST_SCORED = 1000  # training samples


def fit_by_gradient(hasher, loss, data, settings):
    """Train a hash function from its start, or from the last fit with `warm_start`.

    Parameters
    ----------
    hasher : SupervisedHasher
        Gives its parameters, callbacks, and weights to go on from. It is not changed.

    loss : callable
        See :mod:`sklearn_talr.losses`.

    data : TrainingData
        Features and targets.

    settings : Settings
        Parameters of the hasher for these data.

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
        before = progress_of_fit(hasher, data.X.shape[1], settings.layer_sizes)
    fit = GradientFit(hasher, loss, data, settings, rng, before)
    fit.watch(held_out)
    return fit.run(samples)


def fit_chunk_by_gradient(hasher, loss, data, settings):
    """Train on a chunk of data, going on from earlier chunks.

    Parameters and result are those of :func:`fit_by_gradient`.
    """
    before = progress_of_chunks(hasher, data.X.shape[1], settings.layer_sizes)
    rng = random_state_of_chunk(hasher)
    fit = GradientFit(hasher, loss, data, settings, rng, before)
    fitted = fit.run(np.arange(data.X.shape[0]))
    fitted["_training_state_"]["moments"] = fit.trainer.moments()
    return fitted


class GradientFit:
    """One fit of a hash function by gradients.

    Parameters
    ----------
    hasher, loss, data, settings : SupervisedHasher, callable, TrainingData, Settings
        As of :func:`fit_by_gradient`.

    rng : RandomState
        Draws all that is random, in the order of the steps.

    before : Progress or None
        Weights and history to go on from.
    """

    def __init__(self, hasher, loss, data, settings, rng, before):
        self.hasher, self.loss = hasher, loss
        self.data, self.settings = data, settings
        self.rng, self.before = rng, before
        unit = before.mean_and_unit if before else None
        unit = unit or mean_and_unit(data.X)
        as_they_are = hasher.module is not None
        self.features = make_features(data.X, *unit, settings.device, as_they_are)
        self.keeper, self.improvement = LastEpoch(), Improvement()

    def watch(self, held_out):
        """Set which weights are kept, and which score tells whether training helped."""
        if self.hasher.early_descent:
            score = self._validation_score(held_out)
            tol, n_iter = self.hasher.tol, self.hasher.n_iter_no_change
            self.keeper = EarlyDescent(score, n_iter, tol, held_out)
            self.improvement = Improvement(score, "validation")
        elif self.hasher.module is not None:
            self.improvement = Improvement(self._training_score(), "training")

    def run(self, samples):
        """Train on some rows, and return the fitted attributes."""
        with _modes_of_torch_and_sklearn():
            function = self._make_function(samples)
            step, of_loss = bind(self.loss, self._training())
            known = self.data.seen | {"affinity_": self.data.affinity.given} | of_loss
            callbacks = FitCallbacks(
                self.hasher,
                self.data.X,
                self.data.targets,
                self.settings.max_iter,
                fitted=lambda: known | function.fitted(),
            )
            self.trainer = self._make_trainer(function, step, callbacks)
            with function.generators():
                self.improvement.begin(function.module)
                losses = self.trainer.run(self.features, samples)
                self.improvement.end(function.module, stacklevel=7)
            callbacks.end_fit()
            return known | function.fitted() | self._history(losses) | self._state()

    def _make_function(self, samples):
        """Make the hash function that is trained."""
        hasher, features, rng = self.hasher, self.features, self.rng
        if hasher.module is not None:
            return UserModule(hasher.module, self.before, hasher.n_bits, features, rng)
        if self.before:
            moved = features.mean - hasher.means_[0]
            weights = to_standard_units(*self.before.weights, moved, features.unit)
        else:
            sizes = self.settings.layer_sizes, hasher.n_bits
            with one_thread():
                weights = start_weights(features, samples, *sizes, hasher.init, rng)
        return FeedForward(*weights, features, self.settings.dropout, rng)

    def _training(self):
        """Training data in the form that losses are bound to."""
        data = self.data
        return Training(
            data.affinity,
            data.targets,
            data.levels,
            self.hasher.n_bits,
            self.settings.tanh_scale is not None,
            self.settings.device,
            self.rng,
            vars(self.hasher) if self.before else {},
        )

    def _make_trainer(self, function, step, callbacks):
        loss = MinibatchLoss(step, self.settings, self.hasher.nested, self.rng)
        return Trainer(
            function,
            loss,
            self.rng,
            self.settings,
            self.keeper,
            callbacks,
            moments=self.before.moments if self.before else None,
            verbose=self.hasher.verbose,
        )

    def _validation_score(self, held_out):
        """Score of the user's validation set, or of samples that are held out."""
        data, features = self.data, self.features
        if data.validation is None:
            return self._score_of(features, held_out, data.targets[held_out])
        X, targets = data.validation
        return self._score_of(features.of_rows(X), np.arange(X.shape[0]), targets)

    def _training_score(self):
        """Score of some training samples, or None where too few are there to be ranked."""
        data, n_samples = self.data, self.data.X.shape[0]
        rows = np.unique(np.linspace(0, n_samples - 1, _MOST_SCORED, dtype=int))
        try:
            data.affinity.check_contrast(data.targets[rows], data.levels)
        except ValueError:
            return None
        return self._score_of(self.features, rows, data.targets[rows])

    def _score_of(self, features, rows, targets):
        scorer = make_retrieval_scorer(getattr(self.loss, "measure", "AP"))
        return ValidationScore(self.data.affinity, features, rows, targets, scorer)

    def _history(self, losses):
        """Fitted attributes that tell how training went, over all warm starts."""
        before, scores, best = self.before, None, None
        if before:
            losses, scores = [*before.loss_curve, *losses], before.validation_scores
        if self.hasher.early_descent:
            scores = [*(scores or []), *self.keeper.scores]
            best = max(self.keeper.scores, default=None)
        return {
            "loss_curve_": losses,
            "n_iter_": len(losses),
            "validation_scores_": scores,
            "best_validation_score_": best,
        }

    def _state(self):
        """The inner attribute that later chunks go on from."""
        state = {
            "mean": self.features.mean,
            "unit": self.features.unit,
            "moments": None,
            "declared_levels": self.data.declared_levels,
            "n_bits": self.hasher.n_bits,
        }
        return {"_training_state_": state}


@contextmanager
def _modes_of_torch_and_sklearn():
    """Context of a fit: torch has gradients, and both libraries get their modes back.

    A context within, such as ``torch.no_grad``, restores the mode itself, unless an
    interrupt comes while it does.
    """
    with torch.enable_grad(), config_context():
        yield
