"""What training goes by: checked data, and settings of which every "auto" is resolved."""

import copy
import math
import sys
from ctypes.util import find_library
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .._arrays import as_numpy, refuse_unlike_labels
from .._lazy import has_torch, require_torch
from .._parameters import values_of_parameters
from .._progress import warn_caller
from ..affinity import LabelAffinity, SharedLabelAffinity, fit_affinity, resolve_affinity
from ..affinity._excluded import within_groups
from ..affinity._similar_rows import SimilarRows
from ..losses import AveragePrecisionLoss, NDCGLoss
from ._base import check_features, errors_told

# By kind of hash function. Features, weights and activations of linear and hidden layers
# have known sizes; modules come in all sizes, and are trained as networks usually are.
_SOLVER = {"linear": "adam_mini", "hidden layers": "adam_mini", "module": "adam"}
_LEARNING_RATE = {
    "adam_mini": {"linear": 0.025, "hidden layers": 0.014, "module": 0.003},
    "adam": {"linear": 0.005, "hidden layers": 0.005, "module": 0.003},
}
# Of all layers together: decays multiply in the activations.
_WEIGHT_DECAY = {"linear": 0.6, "hidden layers": 2.4, "module": 0.01}
_FEW_FEATURES = 64  # so many, and probabilities of classes, leave little to overfit
_LARGEST_BATCH = 256
_LARGEST_BY_DISTANCE = 512  # of which the nearest .2 % are one pair for each row
_BATCH_OF_DEVICE = 1024  # smaller ones are as fast on the host
_FEW_SIMILAR = 2.0  # samples that a random minibatch holds for a sample
_MOST_ALONE = 0.9  # of all samples
_MOST_EPOCHS, _ENOUGH_STEPS = 100, 8000
_DRIVERS = "cuda", "nvcuda", "amdhip64"  # of CUDA on Linux and Windows, and of ROCm
_ON_HOST = AveragePrecisionLoss, NDCGLoss  # not classes that derive from them
_TANH_SCALE = {"linear": 8.0, "hidden layers": 8.0, "module": 2.0}
_DROPOUT = {"linear": (0.0, 0.0), "hidden layers": (0.2, 0.5), "module": (0.0, 0.0)}


class TrainingData(NamedTuple):
    """Checked features and targets, and who is similar to whom, fitted."""

    X: object
    targets: object
    affinity: object
    levels: np.ndarray  # values that the affinity takes, in ascending order, first 0
    seen: dict  # fitted attributes that say which features were seen
    declared_levels: np.ndarray | None = None  # by the user, for all chunks
    validation: tuple | None = None  # the user's features, their affinity and targets
    similar: SimilarRows | None = None  # None if the targets are the features themselves


def check_data(hasher, loss, X, y, X_val=None, y_val=None, groups=None, groups_val=None):
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
            y = as_numpy(y, "y")
            shape = y.shape if sp.issparse(y) else np.asarray(y, dtype=object).shape
            one_label = len(shape) == 1 or shape[1:] == (1,)
            affinity = LabelAffinity() if one_label else SharedLabelAffinity()
    refuse_unlike_labels(X, y, ("X", "y"))
    refuse_unlike_labels(X, groups, ("X", "groups"))
    refuse_unlike_labels(X_val, y_val, ("X_val", "y_val"))
    refuse_unlike_labels(X_val, groups_val, ("X_val", "groups_val"))
    X, seen = check_features(hasher, X)
    by_features = y is None
    if loss.needs_classes and groups is not None:
        raise ValueError(f"{loss!r} compares no pairs, which groups would leave out.")
    affinity, targets, levels = fit_affinity(affinity, X, y, groups)
    similar = None if by_features else SimilarRows(affinity, targets, levels)
    data = TrainingData(X, targets, affinity, levels, seen, similar=similar)
    if X_val is None and y_val is None and groups_val is None:
        return data
    # The user's validation set.
    affinity = getattr(affinity, "ungrouped", affinity)
    if not hasher.early_descent:
        raise ValueError(
            "X_val and y_val are passed to fit, but with early_descent=False nothing "
            "would look at them. Set early_descent=True."
        )
    if X_val is None:
        raise ValueError("y_val or groups_val is given, X_val is not. Pass both.")
    if y_val is None and not (by_features and affinity.by_distance):
        raise ValueError(
            "X_val is passed to fit, but y_val is not. Pass its targets, which have the "
            "form of y."
        )
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
    vars(fitted).update(seen)
    with errors_told("The validation set X_val, y_val cannot be used: {}"):
        X_val, _ = check_features(fitted, X_val, reset=False)
        targets = affinity.check_targets(X_val if y_val is None else y_val)
        if targets.shape[0] != X_val.shape[0]:
            raise ValueError(
                f"X_val has {X_val.shape[0]} samples, and y_val {targets.shape[0]}."
            )
        affinity, targets = within_groups(affinity, targets, groups_val, "groups_val")
        affinity.check_contrast(targets, affinity.levels_between(targets, targets))
    return data._replace(validation=(X_val, affinity, targets))


def check_chunk(hasher, X, y, levels, groups=None):
    """Check the arguments of `partial_fit`; pairs of one chunk may all be alike."""
    is_first = not hasattr(hasher, "n_iter_")
    X, seen = check_features(hasher, X, reset=is_first)
    # The affinity is that of the first chunk, but of a matrix each chunk brings its own.
    affinity, declared = hasher.affinity, None
    if not is_first:
        declared = hasher._training_state_["declared_levels"]
        if y is None or not getattr(hasher.affinity_, "comes_with_targets", False):
            affinity = hasher.affinity_
    affinity, targets = resolve_affinity(affinity, X, y)
    affinity = affinity.fit_clone(targets) if is_first else affinity
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
    levels = declared
    if hasattr(affinity, "levels_"):
        known = affinity.levels_between(targets, targets)
        levels = known if declared is None else declared
        lacking = np.setdiff1d(known, levels)
        if lacking.size:
            raise ValueError(
                f"levels={levels.tolist()} lacks {lacking.tolist()}, which the affinity "
                "of these targets may take."
            )
    elif declared is None:
        raise ValueError(
            f"affinity {affinity!r} does not tell its levels_. Pass them as levels on the "
            "first call of partial_fit: the values that it can take, first 0."
        )
    affinity, targets = within_groups(affinity.with_levels(levels), targets, groups)
    similar = None if y is None else SimilarRows(affinity, targets, levels)
    return TrainingData(X, targets, affinity, levels, seen, declared, similar=similar)


def settings_of(hasher, loss, data, is_chunk=False):
    """Resolve the parameters of a hasher by gradients for a loss and training data.

    A chunk is one epoch, in which the learning rate stays the first one, and the scale of
    tanh is the last one.
    """
    n_held_out, n_samples, similar = 0, data.X.shape[0], data.similar
    if hasher.early_descent and data.validation is None:
        n_held_out = min(math.ceil(hasher.validation_fraction * n_samples), n_samples - 1)
    goes_on = hasher.warm_start and hasattr(hasher, "n_iter_")
    params, by_distance = values_of_parameters(hasher), data.affinity.by_distance
    settings = resolve(params, loss, data.X, by_distance, similar, n_held_out, goes_on)
    if settings.few_similar and similar.n_alone > _MOST_ALONE * n_samples:
        warn_caller(
            f"{similar.n_alone} of {n_samples} samples have no similar one by y, "
            "and tell training little. Check y; merge its smallest classes, or pass "
            "affinity=ThresholdAffinity() if samples of near values are similar.",
            ConvergenceWarning,
        )
    elif settings.few_similar and not similar.has_groups:
        n_similar = similar.share * settings.batch_size
        warn_caller(
            f"A minibatch of {settings.batch_size} samples holds only {n_similar:.2g} "
            "samples that are similar to a sample, from which little can be learned. "
            "Pass class labels, label indicators or a sparse PrecomputedAffinity, "
            "of which batches that hold similar samples can be drawn, or a larger "
            "batch_size.",
            ConvergenceWarning,
        )
    if is_chunk:
        settings.max_iter, settings.learning_rate = 1, "constant"
        settings.tanh_scale = settings.tanh_scale and (settings.tanh_scale[1],) * 2
    return settings


def resolve(params, loss, X, by_distance, similar=None, n_held_out=0, goes_on=False):
    """Resolve parameters, a dict, for a loss and the features that an epoch runs over.

    Returns
    -------
    settings : SimpleNamespace
        The parameters, with nothing left to be resolved: ``layer_sizes`` and ``dropout``,
        tuples; ``tanh_scale`` of the first and the last epoch, or None; ``n_kept_bits``,
        how many bits a step keeps of the leading n, at place n; ``n_held_out`` samples;
        ``few_similar``, whether a random minibatch has few similar samples;
        ``shuffle(samples, rng)``, which puts them into a random order, in which similar
        ones then come into one minibatch if possible; a ``device``; and ``on_host``,
        whether training needs no torch.
    """
    wanted = loss.training_defaults
    of_loss = {k: _or_auto(v, wanted.get(k, v)) for k, v in params.items()}
    given = SimpleNamespace(**of_loss, n_held_out=n_held_out)
    # What "auto" stands for depends on the kind of hash function.
    sizes = np.atleast_1d(np.asarray(given.hidden_layer_sizes, dtype=float))
    if sizes.ndim > 1 or np.any(sizes < 1) or np.any(sizes % 1):
        raise ValueError(
            "hidden_layer_sizes must be a positive integer or a sequence of them, got "
            f"{given.hidden_layer_sizes!r}."
        )
    if given.module is not None and sizes.size:
        raise ValueError(
            "module brings its own layers; leave hidden_layer_sizes=() with it, got "
            f"{given.hidden_layer_sizes!r}."
        )
    given.layer_sizes = tuple(sizes.astype(int).tolist())
    kind = "hidden layers" if given.layer_sizes else "linear"
    kind = kind if given.module is None else "module"
    # Fractions of the features and of the hidden units to leave out; of distances, whose
    # fine order dropout would blur, nothing.
    rates = _or_auto(given.dropout, (0.0, 0.0) if by_distance else _DROPOUT[kind])
    rates = np.atleast_1d(np.asarray(rates, dtype=float))
    if rates.shape not in ((1,), (2,)) or not np.all((rates >= 0) & (rates < 1)):
        raise ValueError(
            "dropout must be a number in [0, 1) or two of them (features, hidden units), "
            f"got {given.dropout!r}."
        )
    given.dropout = (0.0, *rates.tolist())[-2:]
    # Scales of tanh in the first and the last epoch; a warm start keeps the last one.
    if given.tanh_scale is not None:
        scales = _or_auto(given.tanh_scale, _TANH_SCALE[kind])
        scales = np.atleast_1d(np.asarray(scales, dtype=float))
        if scales.shape not in ((1,), (2,)) or not np.all(scales > 0):
            raise ValueError(
                "tanh_scale must be a positive number or two of them (first, last), got "
                f"{given.tanh_scale!r}."
            )
        given.tanh_scale = float(scales[-1 if goes_on else 0]), float(scales[-1])
    # Bits that a step keeps of the leading n: half of 32. Longer codes overfit more, and
    # keeping half of 64 was worse. Hidden layers, whose units are left out, need more bits.
    numbers = range(given.n_bits + 1)
    if _or_auto(given.bit_dropout, None) is not None:
        kept = (max(1, round(n * (1 - given.bit_dropout))) for n in numbers)
    elif by_distance:
        kept = numbers
    else:
        more = 1.0 if kind == "linear" else 1.5
        kept = (min(n, round(more * math.sqrt(8 * n))) for n in numbers)
    given.n_kept_bits = tuple(kept)
    given.solver = _or_auto(given.solver, _SOLVER[kind])
    rate = _LEARNING_RATE[given.solver][kind]
    given.learning_rate_init = _or_auto(given.learning_rate_init, rate)
    decay = _WEIGHT_DECAY[kind] / (len(given.layer_sizes) + 1)
    if kind == "linear" and X.shape[1] < _FEW_FEATURES and not by_distance:
        decay = 0.0
    given.weight_decay = _or_auto(given.weight_decay, decay)
    n_samples = X.shape[0] - n_held_out
    # Where random minibatches hold few similar samples, these are brought together.
    size = min(max(n_samples // 20, 32), _LARGEST_BATCH)
    if by_distance:
        size = min(max(n_samples // 5, 32), _LARGEST_BY_DISTANCE)
    share = np.inf if similar is None else similar.share
    given.few_similar = share * _or_auto(given.batch_size, size) < _FEW_SIMILAR
    size = _LARGEST_BATCH if given.few_similar else size
    given.batch_size = _or_auto(given.batch_size, size)
    is_grouped = given.few_similar and similar.has_groups
    given.shuffle = similar.shuffle if is_grouped else _shuffled
    # As many epochs as make enough steps.
    most = math.ceil(_ENOUGH_STEPS * given.batch_size / n_samples)
    given.max_iter = _or_auto(given.max_iter, min(most, _MOST_EPOCHS))
    # Where to train. Soft counts need float64, which other devices than CUDA lack.
    device, is_tensor = given.device, not (isinstance(X, np.ndarray) or sp.issparse(X))
    if device == "auto" and is_tensor:
        device = str(X.device)
    elif device == "auto":  # steps of small work take longer to start there than to do here
        pays = kind != "linear" or given.batch_size >= _BATCH_OF_DEVICE
        device = "cuda" if pays and _has_cuda() else "cpu"
    elif device.split(":")[0] not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda[:index]', got {device!r}.")
    elif device.startswith("cuda") and has_torch() and not _has_cuda():
        raise ValueError(
            f"device={device!r} was asked for, but torch finds no CUDA device. Use "
            "device='auto' or 'cpu'."
        )
    given.on_host = device == "cpu" and given.module is None and type(loss) in _ON_HOST
    given.device = device
    if not given.on_host:
        own = f"device={device!r}" if device != "cpu" else f"loss={loss!r}"
        require_torch(own if given.module is None else f"module={given.module!r}")
    return given


def _has_cuda():
    """Whether torch finds a CUDA device; it is not imported where there is no driver."""
    if not has_torch():
        return False
    if "torch" not in sys.modules and not any(map(find_library, _DRIVERS)):
        return False
    import torch

    return torch.cuda.is_available()


def _shuffled(samples, rng):
    return samples[rng.permutation(len(samples))]


def _or_auto(value, automatic):
    """A parameter, which may be an array, or what it stands for if it is "auto"."""
    return automatic if isinstance(value, str) and value == "auto" else value
