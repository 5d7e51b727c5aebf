"""What `fit` and `partial_fit` of a trained hasher are made of."""

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..._threads import one_thread
from ...affinity import PrecomputedAffinity, SharedLabelAffinity
from ...affinity._resolve import len_targets, level_values
from .._affinity_hasher import AffinityHasher
from .._base import independent_random_state
from . import _settings
from ._callbacks import CallbackSupportMixin
from ._check_params import (
    declared_levels,
    dropout_rates,
    is_auto,
    layer_sizes,
    tanh_scales,
)
from ._device import choose_device
from ._early_stopping import EarlyStopping, HeldOutScore, LastEpoch, split_samples
from ._features import Features, mean_and_unit
from ._functions import FeedForward, UserModule, apply_module
from ._start import start_weights
from ._weights import to_standard_units


class LearnedHasher(CallbackSupportMixin, AffinityHasher):
    """Base of hashers trained by gradients; their parameters are those of `TALRHasher`."""

    _trains_on_chunks = True

    def _check_params(self):
        """Raise what would otherwise be found out late."""
        self._scales(False)
        if not is_auto(self.dropout):
            dropout_rates(self.dropout)
        choose_device(self.device)
        sizes = layer_sizes(self.hidden_layer_sizes)
        if self.module is not None and sizes:
            raise ValueError(
                "module brings its own layers; leave hidden_layer_sizes=() with it, got "
                f"{self.hidden_layer_sizes!r}."
            )

    def _chunk_affinity(self, X, y, levels, first):
        """The same for a chunk of data, whose pairs may all be alike."""
        known = None if first else self.affinity_
        if known is None or (isinstance(known, PrecomputedAffinity) and y is not None):
            affinity, targets = self._resolve(self.affinity, X, y)
            if first and isinstance(affinity, BaseEstimator):
                with one_thread():
                    affinity = clone(affinity).fit(targets)
        else:
            affinity, targets = self._resolve(known, X, y)
        self._declared_levels = declared_levels(
            levels, None if first else getattr(self, "_declared_levels", None)
        )
        levels = _levels_of_chunk(affinity, targets, self._declared_levels)
        if isinstance(affinity, SharedLabelAffinity):  # more may be shared than before
            affinity.levels_ = max(affinity.levels_, levels, key=len)
        self.affinity_ = affinity
        return targets, levels

    def _split(self, targets, levels, rng):
        """Row indices to train on, and what keeps the best weights by the others."""
        if not self.early_stopping:
            return np.arange(len_targets(targets)), None
        return split_samples(targets, self.validation_fraction, self.affinity_, levels, rng)

    def _make_keeper(self, features, targets, held_out):
        if held_out is None:
            return LastEpoch()
        score = HeldOutScore(self, features, targets, held_out)
        return EarlyStopping(score, self.n_iter_no_change, self.tol)

    def _features(self, X, continues=False):
        """Features as the hash function takes them, in their first unit if `continues`."""
        if self.module is not None:
            unit = 0.0, 1.0
        elif continues and hasattr(self, "_mean_and_unit"):
            unit = self._mean_and_unit
        else:
            unit = mean_and_unit(X)
        return Features(X, *unit, choose_device(self.device))

    def _make_function(self, features, samples, rng, continues):
        """The hash function to be trained."""
        if not continues:
            self._forget()
        if self.module is not None:
            state = getattr(self, "module_state_", None)
            return UserModule(self.module, state, self.n_bits, features, rng)
        sizes = layer_sizes(self.hidden_layer_sizes)
        if continues:
            weights = to_standard_units(
                self.coefs_, self.intercepts_, features.mean, features.unit
            )
        else:
            with one_thread():
                weights = start_weights(
                    features, samples, sizes, self.n_bits, self.init, rng
                )
        return FeedForward(*weights, features, _settings.dropout(self), rng)

    def _forget(self):
        for name in ("coefs_", "intercepts_", "module_state_"):
            vars(self).pop(name, None)
        self.loss_curve_, self.validation_scores_ = [], None

    def _is_fitted_like_now(self, what):
        """Whether there are weights to go on from; they must have kept their shape."""
        if hasattr(self, "module_state_" if self.module is None else "coefs_"):
            raise ValueError(f"{what} cannot change module. Call fit to start anew.")
        if self.module is not None:
            return hasattr(self, "module_state_")
        if not hasattr(self, "coefs_"):
            return False
        shape = [len(coef) for coef in self.coefs_] + [self.coefs_[-1].shape[1]]
        asked = [self.n_features_in_, *layer_sizes(self.hidden_layer_sizes), self.n_bits]
        if shape != asked:
            raise ValueError(
                f"{what} cannot change the layer sizes from {shape} to {asked}. Call fit "
                "with warm_start=False to start anew."
            )
        return True

    def _random_state_of_chunk(self):
        """A generator that goes on where an integer seed alone would start again."""
        n_done = getattr(self, "n_iter_", 0)
        if n_done and isinstance(self.random_state, Integral):
            return np.random.RandomState([self.random_state, n_done])
        return independent_random_state(self.random_state)

    def _record(self, losses, keeper, function):
        """Set the attributes that a fitted hasher has."""
        self.loss_curve_ = self.loss_curve_ + losses
        self.n_iter_ = len(self.loss_curve_)
        self.best_validation_score_ = None
        if isinstance(keeper, EarlyStopping):
            self.validation_scores_ = (self.validation_scores_ or []) + keeper.scores
            self.best_validation_score_ = max(keeper.scores, default=None)
        vars(self).update(function.fitted())

    def _training_params(self, n_samples):
        names = "solver", "learning_rate", "momentum", "max_iter", "verbose"
        return {name: getattr(self, name) for name in names} | {
            "learning_rate_init": _settings.learning_rate(self),
            "weight_decay": _settings.weight_decay(self),
            "batch_size": _settings.batch_size(self, n_samples),
        }

    def _scales(self, continues):
        """Scale of tanh in the first and the last epoch."""
        first, last = tanh_scales(self.tanh_scale)
        return (last if continues else first), last

    def _activations(self, X):
        if hasattr(self, "module_state_"):
            return apply_module(self.module, self.module_state_, X)
        return super()._activations(X)


def trains_on_chunks(hasher):
    """Whether there is a partial_fit, or AttributeError with the reason."""
    if not hasher._trains_on_chunks:
        raise AttributeError(
            f"{type(hasher).__name__} has no partial_fit: all classes must be known from "
            "the start. Use fit."
        )
    if hasher.early_stopping:
        raise AttributeError(
            "partial_fit does not support early_stopping=True, since a chunk holds no "
            "validation samples. Set early_stopping=False."
        )
    return True


def _levels_of_chunk(affinity, targets, declared):
    if not hasattr(affinity, "levels_") and declared is None:
        raise ValueError(
            f"affinity {affinity!r} does not tell its levels_. Pass them as levels on the "
            "first call of partial_fit: the values that it can take, first 0."
        )
    if declared is None:
        return level_values(affinity, targets, targets)
    if hasattr(affinity, "levels_"):
        lacking = np.setdiff1d(level_values(affinity, targets, targets), declared)
        if lacking.size:
            raise ValueError(
                f"levels={declared.tolist()} lacks {lacking.tolist()}, which the affinity "
                "of these targets may take."
            )
    return declared
