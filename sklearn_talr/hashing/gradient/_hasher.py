"""What all hashers fitted by gradients are."""

from numbers import Integral, Real

import torch
from sklearn.utils._param_validation import Interval, StrOptions

from ..._compat import CallbackSupportMixin
from ...affinity import ThresholdAffinity
from ...codes._weighted import saturate
from .._base import BaseHasher, Encoder
from .._projections import PROJECTIONS
from ._features import stays_on_device
from ._functions import ModuleFunction

_AUTO = StrOptions({"auto"})


class GradientHasher(CallbackSupportMixin, BaseHasher):
    """Base of hashers that minimize a loss of minibatches by gradients.

    Subclasses have the parameters that are constrained here, and others of their own.
    """

    _parameter_constraints: dict = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left"), "array-like", _AUTO],
        "module": [torch.nn.Module, None],
        "init": [StrOptions(set(PROJECTIONS))],
        "bit_dropout": [Interval(Real, 0, 1, closed="left"), _AUTO],
        "solver": [StrOptions({"adam_mini", "adam"})],
        "learning_rate": [StrOptions({"constant", "cosine"})],
        "learning_rate_init": [Interval(Real, 0, None, closed="neither"), _AUTO],
        "weight_decay": [Interval(Real, 0, None, closed="left"), _AUTO],
        "batch_size": [Interval(Integral, 2, None, closed="left"), _AUTO],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "device": [str],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def _encoder(self):
        fitted = vars(self)
        if "module_state_" not in fitted:
            return super()._encoder()
        function = ModuleFunction(self.module, fitted["module_state_"])
        return Encoder(function, fitted["_training_state_"]["n_bits"], self.n_features_in_)

    def _trains_in(self, space):
        return stays_on_device(space, self.device)

    def _weigh(self):
        by_distance = isinstance(vars(self).get("affinity_"), ThresholdAffinity)
        return None if by_distance else saturate

    @property
    def _n_features_out(self):
        return self._training_state_["n_bits"]


def trains_on_chunks(hasher):
    """Whether there is a partial_fit, or AttributeError with the reason."""
    if hasher.early_stopping:
        raise AttributeError(
            "partial_fit does not support early_stopping=True, since a chunk holds no "
            "validation samples. Set early_stopping=False."
        )
    return True
