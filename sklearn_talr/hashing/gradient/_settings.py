"""Settings of a fit by gradients: every "auto" is resolved here, once."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import torch

# By kind of hash function. Features, weights and activations of linear and hidden layers
# have known sizes; modules come in all sizes, and are trained as networks usually are.
_SOLVER = {"linear": "adam_mini", "hidden layers": "adam_mini", "module": "adam"}
_LEARNING_RATE = {
    "adam_mini": {"linear": 0.025, "hidden layers": 0.014, "module": 0.003},
    "adam": {"linear": 0.005, "hidden layers": 0.005, "module": 0.003},
}
_WEIGHT_DECAY = {"linear": 0.6, "module": 0.01}
_FEW_FEATURES = 64  # so many, and probabilities of classes, leave little to overfit
_TANH_SCALE = {"linear": 8.0, "hidden layers": 8.0, "module": 2.0}
_WEIGHT_DECAY_OF_LAYERS = (
    2.4  # of all layers together: their decays multiply in the activations
)
_DROPOUT = {"linear": (0.0, 0.0), "hidden layers": (0.2, 0.5), "module": (0.0, 0.0)}


@dataclass(frozen=True)
class Settings:
    """Parameters of a hasher that training goes by, with nothing left to be resolved.

    Parameters
    ----------
    layer_sizes : tuple of int
        Units of each hidden layer.

    dropout : (float, float)
        Fractions of the features and of the hidden units that a step leaves out.

    tanh_scale : (float, float) or None
        Scale of tanh in the first and the last epoch; None where the loss has no tanh.

    n_kept_bits : tuple of int
        How many bits a step keeps of the leading n, at place n.

    solver : {"adam_mini", "adam"}
        What turns gradients into steps.

    learning_rate : {"cosine", "constant"}
        Schedule of the rate.

    learning_rate_init : float
        First rate.

    weight_decay : float
        Decoupled decay.

    batch_size : int
        Samples of a step.

    max_iter : int
        Epochs.

    n_held_out : int
        Samples held out for validation; 0 without early descent, or with a validation
        set of the user.

    device : torch.device
        Where to train.
    """

    layer_sizes: tuple
    dropout: tuple
    tanh_scale: tuple | None
    n_kept_bits: tuple
    solver: str
    learning_rate: str
    learning_rate_init: float
    weight_decay: float
    batch_size: int
    max_iter: int
    n_held_out: int
    device: torch.device

    @classmethod
    def of(cls, hasher, loss, data):
        """Resolve the parameters of a hasher for a loss and training data."""
        n_held_out = 0
        if hasher.early_descent and data.validation is None:
            n_held_out = math.ceil(hasher.validation_fraction * data.X.shape[0])
        goes_on = hasher.warm_start and hasattr(hasher, "n_iter_")
        params, by_distance = hasher.get_params(deep=False), data.affinity.by_distance
        return cls.resolve(params, loss, data.X, by_distance, n_held_out, goes_on)

    @classmethod
    def resolve(cls, params, loss, X, by_distance, n_held_out=0, goes_on=False):
        """Resolve parameters, a dict, for a loss and features.

        Parameters
        ----------
        params : dict
            All that a hasher by gradients has, see `SupervisedHasher`.

        loss : callable
            May want other defaults.

        X : ndarray, CSR or tensor of shape (n_samples, n_features)
            Features of the samples that an epoch runs over.

        by_distance : bool
            Whether similarity goes by the distance of features.

        n_held_out : int, default=0
            Samples held out for validation.

        goes_on : bool, default=False
            Whether training goes on from an earlier fit.
        """
        wanted = getattr(loss, "training_defaults", {})
        of_loss = {k: _or_auto(v, wanted.get(k, v)) for k, v in params.items()}
        given = SimpleNamespace(**of_loss)
        layer_sizes = _layer_sizes(given)
        kind = _kind(given.module, layer_sizes)
        solver = _or_auto(given.solver, _SOLVER[kind])
        n_samples = X.shape[0] - n_held_out
        return cls(
            layer_sizes=layer_sizes,
            dropout=_dropout(given.dropout, kind, by_distance),
            tanh_scale=_tanh_scale(given.tanh_scale, kind, goes_on),
            n_kept_bits=_n_kept_bits(given, kind, by_distance),
            solver=solver,
            learning_rate=given.learning_rate,
            learning_rate_init=_or_auto(
                given.learning_rate_init, _LEARNING_RATE[solver][kind]
            ),
            weight_decay=_weight_decay(given, kind, layer_sizes, X.shape[1], by_distance),
            batch_size=_or_auto(given.batch_size, min(max(n_samples // 20, 32), 256)),
            max_iter=given.max_iter,
            n_held_out=n_held_out,
            device=_choose_device(given.device, X),
        )

    def for_chunk(self):
        """Settings of one epoch over a chunk of data.

        The learning rate stays the first one, the scale of tanh is the last one.
        """
        scale = self.tanh_scale and (self.tanh_scale[1],) * 2
        return replace(self, max_iter=1, learning_rate="constant", tanh_scale=scale)


def _or_auto(value, automatic):
    return automatic if _is_auto(value) else value


def _is_auto(value):
    """Whether a parameter, which may be an array, is the word "auto"."""
    return isinstance(value, str) and value == "auto"


def _kind(module, layer_sizes):
    if module is not None:
        return "module"
    return "hidden layers" if layer_sizes else "linear"


def _layer_sizes(params):
    given = params.hidden_layer_sizes
    sizes = np.atleast_1d(np.asarray(given, dtype=float))
    if sizes.ndim > 1 or np.any(sizes < 1) or np.any(sizes % 1):
        raise ValueError(
            "hidden_layer_sizes must be a positive integer or a sequence of them, got "
            f"{given!r}."
        )
    if params.module is not None and sizes.size:
        raise ValueError(
            "module brings its own layers; leave hidden_layer_sizes=() with it, got "
            f"{given!r}."
        )
    return tuple(sizes.astype(int).tolist())


def _dropout(dropout, kind, by_distance):
    """Fractions of the features and of the hidden units to leave out."""
    if _is_auto(dropout):  # dropout would blur the fine order of distances
        return (0.0, 0.0) if by_distance else _DROPOUT[kind]
    rates = np.atleast_1d(np.asarray(dropout, dtype=float))
    if rates.shape not in ((1,), (2,)) or not np.all((rates >= 0) & (rates < 1)):
        raise ValueError(
            "dropout must be a number in [0, 1) or two of them (features, hidden units), "
            f"got {dropout!r}."
        )
    return (0.0, float(rates[0])) if len(rates) == 1 else (float(rates[0]), float(rates[1]))


def _tanh_scale(given, kind, goes_on):
    """Scales of tanh in the first and the last epoch; a warm start keeps the last one."""
    if given is None:
        return None
    scales = np.atleast_1d(np.asarray(_or_auto(given, _TANH_SCALE[kind]), dtype=float))
    if scales.shape not in ((1,), (2,)) or not np.all(scales > 0):
        raise ValueError(
            "tanh_scale must be a positive number or two of them (first, last), got "
            f"{given!r}."
        )
    return float(scales[-1 if goes_on else 0]), float(scales[-1])


def _n_kept_bits(params, kind, by_distance):
    """How many bits a step keeps of the leading n, for n from 0 to all."""
    numbers = range(params.n_bits + 1)
    if not _is_auto(params.bit_dropout):
        return tuple(max(1, round(n * (1 - params.bit_dropout))) for n in numbers)
    if by_distance:
        return tuple(numbers)
    # Half of 32 bits. Longer codes overfit more: keeping half of 64 was worse. Hidden
    # layers, whose units are left out as well, need more bits.
    more = 1.0 if kind == "linear" else 1.5
    return tuple(min(n, round(more * math.sqrt(8 * n))) for n in numbers)


def _weight_decay(given, kind, layer_sizes, n_features, by_distance):
    few = n_features < _FEW_FEATURES and not by_distance
    if kind == "linear" and few:
        return _or_auto(given.weight_decay, 0.0)
    layered = {"hidden layers": _WEIGHT_DECAY_OF_LAYERS / (len(layer_sizes) + 1)}
    return _or_auto(given.weight_decay, (_WEIGHT_DECAY | layered)[kind])


def _choose_device(device, X):
    """Return the torch device meant by `device`, or raise ValueError."""
    if device == "auto" and isinstance(X, torch.Tensor):
        return X.device
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.split(":")[0] not in ("cpu", "cuda"):  # soft counts need float64
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda[:index]', got {device!r}.")
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(
            f"device={device!r} was asked for, but torch finds no CUDA device. Use "
            "device='auto' or 'cpu'."
        )
    return torch.device(device)
