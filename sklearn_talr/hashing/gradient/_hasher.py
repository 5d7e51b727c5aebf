"""What all hashers fitted by gradients are."""

from numbers import Integral, Real

from ..._compat import CallbackSupportMixin, HasMethods, Interval, StrOptions
from ...codes._weighted import saturate
from .._base import BaseHasher, Encoder
from .._projections import PROJECTIONS

_AUTO = StrOptions({"auto"})


class _TorchModule(HasMethods):
    """Constraint that a parameter is a ``torch.nn.Module``; it loads no torch."""

    def __init__(self):
        super().__init__(["forward", "state_dict"])

    def is_satisfied_by(self, val):
        return not isinstance(val, type) and super().is_satisfied_by(val)

    def __str__(self):
        return "an instance of 'torch.nn.Module'"


class GradientHasher(CallbackSupportMixin, BaseHasher):
    """Base of hashers that minimize a loss of minibatches by gradients.

    Subclasses have the parameters that are constrained here, and others of their own.
    """

    _parameter_constraints: dict = {
        "n_bits": [Interval(Integral, 1, None, closed="left")],
        "hidden_layer_sizes": ["array-like", Interval(Integral, 1, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left"), "array-like", _AUTO],
        "module": [_TorchModule(), None],
        "init": [StrOptions(set(PROJECTIONS))],
        "bit_dropout": [Interval(Real, 0, 1, closed="left"), _AUTO],
        "solver": [StrOptions({"adam_mini", "adam", "auto"})],
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
        from ._functions import ModuleFunction  # only who has a module needs torch

        function = ModuleFunction(self.module, fitted["module_state_"])
        n_bits = fitted["_training_state_"]["n_bits"]
        return Encoder(function, n_bits, self.n_features_in_, has_threads=True)

    def _trains_in(self, space):
        return stays_on_device(space, self.device)

    def _weigh(self):
        by_distance = getattr(vars(self).get("affinity_"), "by_distance", False)
        return None if by_distance else saturate

    @property
    def _n_features_out(self):
        return self._training_state_["n_bits"]


def stays_on_device(space, device):
    """Whether training leaves features where they are: tensors on a CUDA device.

    Tensors on the CPU are trained on as NumPy arrays of the same memory. Under
    ``device="cpu"`` those of a CUDA device are copied to the host.
    """
    return space.is_torch and str(space.device).startswith("cuda") and device != "cpu"


def trains_on_chunks(hasher):
    """Whether there is a partial_fit, or AttributeError with the reason."""
    if hasher.early_stopping:
        raise AttributeError(
            "partial_fit does not support early_stopping=True, since a chunk holds no "
            "validation samples. Set early_stopping=False."
        )
    return True
