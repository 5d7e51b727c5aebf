"""What training goes by: checked data, and settings of which every "auto" is resolved."""

import copy
import math
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._arrays import as_numpy
from ..affinity import (
    LabelAffinity,
    SharedLabelAffinity,
    fit_affinity,
    resolve_affinity,
)
from ._base import check_features, check_more_features

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
_WEIGHT_DECAY_OF_LAYERS = 2.4  # of all together: decays multiply in the activations
_DROPOUT = {"linear": (0.0, 0.0), "hidden layers": (0.2, 0.5), "module": (0.0, 0.0)}


class TrainingData(NamedTuple):
    """Checked features and targets, and who is similar to whom, fitted."""

    X: object
    targets: object
    affinity: object
    levels: np.ndarray  # values that the affinity takes, in ascending order, first 0
    seen: dict  # fitted attributes that say which features were seen
    declared_levels: np.ndarray | None = None  # by the user, for all chunks
    validation: tuple | None = None  # features and targets of the user's validation set


def check_data(hasher, loss, X, y, X_val=None, y_val=None):
    """Check the features, targets and affinity that `fit` is given."""
    affinity = hasher.affinity
    if loss.needs_classes:
        # "auto" means labels or indicators: a square array is an indicator here, too.
        if y is None:
            raise ValueError(
                f"{type(hasher.loss).__name__} requires y to be passed, but the target y "
                "is None. Pass class labels or label indicators."
            )
        if isinstance(affinity, str):
            y = as_numpy(y)
            shape = y.shape if sp.issparse(y) else np.asarray(y, dtype=object).shape
            one_label = len(shape) == 1 or shape[1:] == (1,)
            affinity = LabelAffinity() if one_label else SharedLabelAffinity()
    X, seen = check_features(hasher, X)
    by_features = y is None
    affinity, targets, levels = fit_affinity(affinity, X, y)
    data = TrainingData(X, targets, affinity, levels, seen)
    if X_val is None and y_val is None:
        return data
    needs_no_targets = by_features and affinity.by_distance
    of_val = _checked_validation(hasher, data, X_val, y_val, needs_no_targets)
    return data._replace(validation=of_val)


def _checked_validation(hasher, data, X_val, y_val, needs_no_targets):
    """The user's validation set, features and targets, or ValueError if it does not fit."""
    if not hasher.early_descent:
        raise ValueError(
            "X_val and y_val are passed to fit, but with early_descent=False nothing "
            "would look at them. Set early_descent=True."
        )
    if X_val is None:
        raise ValueError("y_val is passed to fit, but X_val is not. Pass both.")
    if y_val is None and not needs_no_targets:
        raise ValueError(
            "X_val is passed to fit, but y_val is not. Pass its targets, which have the "
            "form of y."
        )
    affinity = data.affinity
    if affinity.comes_with_targets:
        # Ready affinities of these samples, of the same matrix or of another.
        affinity = y_val
        if not getattr(y_val, "comes_with_targets", False):
            raise ValueError(
                "y_val must be a PrecomputedAffinity, as y is a matrix of affinities: that "
                "of the validation samples, or a selection from that of all samples, such "
                f"as PrecomputedAffinity(matrix)[rows]. Got {type(y_val).__name__}."
            )
    fitted = copy.copy(hasher)
    vars(fitted).update(data.seen)
    try:
        X_val, _ = check_more_features(fitted, X_val)
        targets = affinity.check_targets(X_val if y_val is None else y_val)
        if targets.shape[0] != X_val.shape[0]:
            raise ValueError(
                f"X_val has {X_val.shape[0]} samples, and y_val {targets.shape[0]}."
            )
        affinity.check_contrast(targets, affinity.levels_between(targets, targets))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"The validation set X_val, y_val cannot be used: {error}"
        ) from error
    return X_val, targets


def check_chunk(hasher, X, y, levels):
    """Check the arguments of `partial_fit`; pairs of one chunk may all be alike."""
    # The affinity is that of the first chunk, but of a matrix each chunk brings its own.
    if not hasattr(hasher, "n_iter_"):
        X, seen = check_features(hasher, X)
        affinity, targets = resolve_affinity(hasher.affinity, X, y)
        affinity, declared = affinity.fit_clone(targets), None
    else:
        X, seen = check_more_features(hasher, X)
        affinity = hasher.affinity_
        if getattr(affinity, "comes_with_targets", False) and y is not None:
            affinity = hasher.affinity
        affinity, targets = resolve_affinity(affinity, X, y)
        declared = hasher._training_state_["declared_levels"]
    # Levels are those that the first call has declared, or that the oracle tells.
    if levels is not None:
        levels, before = np.atleast_1d(np.asarray(levels)), declared
        ascending = levels.ndim == 1 and len(levels) > 1 and np.all(np.diff(levels) > 0)
        if levels.dtype.kind not in "iu" or not ascending or levels[0] != 0:
            raise ValueError(f"levels must be integers that ascend from 0, got {levels}.")
        if before is not None and not np.array_equal(levels, before):
            raise ValueError(
                f"levels={levels.tolist()} differ from those of the first call of "
                f"partial_fit, {before.tolist()}."
            )
        declared = levels
    known = None
    if hasattr(affinity, "levels_"):
        known = affinity.levels_between(targets, targets)
    elif declared is None:
        raise ValueError(
            f"affinity {affinity!r} does not tell its levels_. Pass them as levels on the "
            "first call of partial_fit: the values that it can take, first 0."
        )
    if declared is not None and known is not None:
        lacking = np.setdiff1d(known, declared)
        if lacking.size:
            raise ValueError(
                f"levels={declared.tolist()} lacks {lacking.tolist()}, which the affinity "
                "of these targets may take."
            )
    levels = known if declared is None else declared
    affinity = affinity.with_levels(levels)
    return TrainingData(X, targets, affinity, levels, seen, declared)


def settings_of(hasher, loss, data, is_chunk=False):
    """Resolve the parameters of a hasher by gradients for a loss and training data.

    A chunk is one epoch, in which the learning rate stays the first one, and the scale of
    tanh is the last one.
    """
    n_held_out = 0
    if hasher.early_descent and data.validation is None:
        n_held_out = math.ceil(hasher.validation_fraction * data.X.shape[0])
    goes_on = hasher.warm_start and hasattr(hasher, "n_iter_")
    params, by_distance = hasher.get_params(deep=False), data.affinity.by_distance
    settings = resolve(params, loss, data.X, by_distance, n_held_out, goes_on)
    if is_chunk:
        settings.max_iter, settings.learning_rate = 1, "constant"
        settings.tanh_scale = settings.tanh_scale and (settings.tanh_scale[1],) * 2
    return settings


def resolve(params, loss, X, by_distance, n_held_out=0, goes_on=False):
    """Resolve parameters, a dict, for a loss and the features that an epoch runs over.

    Returns
    -------
    settings : SimpleNamespace
        The parameters, with nothing left to be resolved: ``layer_sizes`` and ``dropout``,
        tuples; ``tanh_scale`` of the first and the last epoch, or None; ``n_kept_bits``,
        how many bits a step keeps of the leading n, at place n; ``n_held_out`` samples;
        and a torch ``device``.
    """
    wanted = loss.training_defaults
    of_loss = {k: _or_auto(v, wanted.get(k, v)) for k, v in params.items()}
    given = SimpleNamespace(**of_loss, n_held_out=n_held_out)
    given.layer_sizes = _layer_sizes(given)
    # What "auto" stands for depends on the kind of hash function.
    kind = "hidden layers" if given.layer_sizes else "linear"
    kind = kind if given.module is None else "module"
    given.dropout = _dropout(given.dropout, kind, by_distance)
    given.tanh_scale = _tanh_scale(given.tanh_scale, kind, goes_on)
    given.n_kept_bits = _n_kept_bits(given, kind, by_distance)
    given.solver = _or_auto(given.solver, _SOLVER[kind])
    rate = _LEARNING_RATE[given.solver][kind]
    given.learning_rate_init = _or_auto(given.learning_rate_init, rate)
    decays = _WEIGHT_DECAY | {
        "hidden layers": _WEIGHT_DECAY_OF_LAYERS / (len(given.layer_sizes) + 1)
    }
    if kind == "linear" and X.shape[1] < _FEW_FEATURES and not by_distance:
        decays = {"linear": 0.0}
    given.weight_decay = _or_auto(given.weight_decay, decays[kind])
    n_samples = X.shape[0] - n_held_out
    given.batch_size = _or_auto(given.batch_size, min(max(n_samples // 20, 32), 256))
    given.device = _choose_device(given.device, X)
    return given


def _or_auto(value, automatic):
    return automatic if _is_auto(value) else value


def _is_auto(value):
    """Whether a parameter, which may be an array, is the word "auto"."""
    return isinstance(value, str) and value == "auto"


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


def _choose_device(device, X):
    """Return the torch device meant by `device`, or raise ValueError."""
    import torch

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
