"""The plan of a training: every parameter of a hasher, with "auto" resolved."""

import math
import sys
from ctypes.util import find_library
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ..._core.lazy import has_torch, require_torch
from ..._core.parameters import values_of_parameters
from ..._core.progress import warn_caller
from ..._core.types import Any, Callable
from ...losses import AveragePrecisionLoss, NDCGLoss

# Tables by kind of hash function. Features, weights and activations of linear and hidden
# layers have known sizes; modules come in all sizes, and are trained as networks usually
# are. The numbers were best on the benchmark sets of ten to 22 classes.
_SOLVER = {"linear": "adam_mini", "hidden layers": "adam_mini", "module": "adam"}
_LEARNING_RATE = {
    "adam_mini": {"linear": 0.025, "hidden layers": 0.014, "module": 0.003},
    "adam": {"linear": 0.005, "hidden layers": 0.005, "module": 0.003},
}
# Decay of all layers together, which they share, since decays multiply in the activations.
_WEIGHT_DECAY = {"linear": 0.6, "hidden layers": 2.4, "module": 0.01}
_TANH_SCALE = {"linear": 8.0, "hidden layers": 8.0, "module": 2.0}
# Linear functions of fewer features, such as class probabilities, hardly overfit, so their
# weights do not decay.
_MIN_FEATURES_TO_DECAY = 64
_MAX_BATCH = 256
# The largest batch if affinity goes by distance, whose default is that the nearest 0.2 % of
# pairs are similar: of this many samples that is one pair per row.
_MAX_BATCH_BY_DISTANCE = 512
# Linear functions train as fast on the host with minibatches below this size.
_MIN_BATCH_OF_DEVICE = 1024
# A random minibatch should hold this many samples that are similar to a sample.
_MIN_SIMILAR_PER_SAMPLE = 2.0
# Targets have many classes if a smaller share of pairs is similar. Classes of one size are
# then more than sixteen. The defaults for fewer classes were found on ten classes.
_SHARE_OF_MANY_CLASSES = 1 / 16
# The following numbers, for many classes, are from benchmarks/results/batches.csv, which
# bench_batches.py writes.
# A minibatch needs this many samples that are similar to a sample, if layers are hidden.
_ENOUGH_SIMILAR = 10.0
# The largest minibatch. Linear functions gain more by more steps than by larger batches.
_MAX_BATCH_OF_MANY_CLASSES = {"linear": 256, "hidden layers": 1024, "module": 256}
# Training should have at least this many steps, which bounds the minibatch.
_MIN_STEPS = 600
# The most epochs to reach these steps. Linear functions gain nothing by more epochs.
_MAX_EPOCHS_OF_MANY_CLASSES = {"linear": 100, "hidden layers": 150, "module": 100}
# If random minibatches hold too few similar samples, this many are drawn together: few for
# fewer than _MIN_SIMILAR_PER_SAMPLE, many for fewer than _ENOUGH_SIMILAR.
_FEW_TOGETHER = 4
_MANY_TOGETHER = 8
# If more than this share of the samples have no similar one, a warning says so.
_MAX_SHARE_ALONE = 0.9
# "auto" trains for this many epochs or steps, whichever ends first.
_MAX_EPOCHS = 100
_ENOUGH_STEPS = 8000
# Drivers of CUDA on Linux and Windows, and of ROCm
_DRIVERS = "cuda", "nvcuda", "amdhip64"
# Losses that the host engine knows. Classes that derive from them may be other functions.
LOSSES_ON_HOST = AveragePrecisionLoss, NDCGLoss


class Dropout(NamedTuple):
    """Fractions of the features and of the hidden units that a step leaves out."""

    features: float
    hidden_units: float


_DROPOUT = {
    "linear": Dropout(0.0, 0.0),
    "hidden layers": Dropout(0.2, 0.5),
    "module": Dropout(0.0, 0.0),
}


class TanhSchedule(NamedTuple):
    """Scales of tanh, which grows geometrically from the first epoch to the last one."""

    first_epoch: float
    last_epoch: float


@dataclass(frozen=True)
class TrainingParameters:
    """Parameters of a hasher that its training depends on; many may be "auto".

    Hashers of two views lack the parameters that have a default here.
    """

    n_bits: int
    hidden_layer_sizes: Any
    dropout: Any
    tanh_scale: Any
    bit_dropout: Any
    batch_size: Any
    max_iter: Any
    learning_rate_init: Any
    weight_decay: Any
    device: str
    module: Any = None
    nested: bool = False
    solver: str = "auto"
    learning_rate: str = "cosine"

    @classmethod
    def from_hasher(cls, hasher, loss):
        """Parameters of a hasher; a loss may have values of its own for "auto"."""
        values = values_of_parameters(hasher)
        resolved = {}
        for field in fields(cls):
            if field.name in values:
                value = values[field.name]
                default = loss.training_defaults.get(field.name, value)
                resolved[field.name] = _or_auto(value, default)
        return cls(**resolved)


@dataclass(frozen=True)
class TrainingPlan:
    """All settings of a training, with nothing left to be resolved."""

    n_bits: int
    module: object  # module of the user, or None
    layer_sizes: tuple[int, ...]  # units of hidden layers
    dropout: Dropout
    tanh_scale: TanhSchedule | None  # None if the loss has no tanh
    nested: bool  # whether each step takes leading bits
    n_kept_bits: tuple[int, ...]  # entry n: number of the leading n bits that a step keeps
    solver: str  # "adam_mini" or "adam"
    learning_rate: str  # "cosine" or "constant"
    learning_rate_init: float
    weight_decay: float
    batch_size: int
    max_iter: int  # epochs
    few_similar: bool  # whether random minibatches hold fewer than two similar samples each
    shuffle: Callable  # (samples, rng) -> samples, in a random order for an epoch
    shuffle_to_split: Callable  # the same, before samples are held out or scored
    n_held_out: int
    device: str
    on_host: bool  # whether training needs no torch


def plan_training(hasher, loss, data, *, is_chunk=False):
    """Plan the training of a hasher by gradients for a loss and training data.

    A chunk is one epoch, in which the learning rate stays the first one, and the scale of
    tanh is the last one.

    Parameters
    ----------
    hasher : TALRHasher
        Has the parameters.

    loss : BaseLoss
        The loss to be minimized.

    data : TrainingData
        Features and targets.

    is_chunk : bool, default=False
        Whether the data are a chunk of `partial_fit`.

    Returns
    -------
    plan : TrainingPlan
        The plan.
    """
    parameters = TrainingParameters.from_hasher(hasher, loss)
    if is_chunk:
        parameters = replace(parameters, max_iter=1)
    n_samples = data.X.shape[0]
    n_held_out = 0
    if hasher.early_stopping and data.validation is None:
        n_held_out = min(math.ceil(hasher.validation_fraction * n_samples), n_samples - 1)
    plan = resolve_plan(
        parameters,
        loss,
        data.X,
        by_distance=data.affinity.by_distance,
        similar=data.similar,
        n_held_out=n_held_out,
        goes_on=hasher.warm_start and hasattr(hasher, "n_iter_"),
    )
    _warn_of_few_similar(plan, data)
    if is_chunk:
        scale = plan.tanh_scale
        if scale is not None:
            scale = TanhSchedule(scale.last_epoch, scale.last_epoch)
        plan = replace(plan, learning_rate="constant", tanh_scale=scale)
    return plan


def _warn_of_few_similar(plan, data):
    if not plan.few_similar:
        return
    n_samples = data.X.shape[0]
    if data.similar.n_alone > _MAX_SHARE_ALONE * n_samples:
        warn_caller(
            f"{data.similar.n_alone} of {n_samples} samples have no similar sample, "
            "so training learns little from them. Merge small classes of y, or pass "
            "affinity=ThresholdAffinity() if samples with near values of y are similar.",
            ConvergenceWarning,
        )
    elif not data.similar.has_groups:
        n_similar = data.similar.share * plan.batch_size
        warn_caller(
            f"A batch of {plan.batch_size} samples has on average only {n_similar:.2g} "
            "samples that are similar to a given sample, so training learns little. Pass a "
            "larger batch_size, or pass class labels, label indicators or a sparse "
            "PrecomputedAffinity, so that similar samples are drawn together.",
            ConvergenceWarning,
        )


def resolve_plan(
    parameters, loss, X, *, by_distance, similar=None, n_held_out=0, goes_on=False
):
    """Resolve parameters for a loss and the features that an epoch runs over.

    Parameters
    ----------
    parameters : TrainingParameters
        Parameters of the hasher.

    loss : BaseLoss
        The loss to be minimized.

    X : {ndarray, CSR, tensor} of shape (n_samples, n_features)
        Features.

    by_distance : bool
        Whether the affinity is one of distances.

    similar : SimilarRows, default=None
        Similar rows; None if they are not known.

    n_held_out : int, default=0
        Samples that are not trained on.

    goes_on : bool, default=False
        Whether training goes on from an earlier fit.

    Returns
    -------
    plan : TrainingPlan
        The plan.
    """
    layer_sizes = _resolve_layer_sizes(parameters)
    if parameters.module is not None:
        kind = "module"
    else:
        kind = "hidden layers" if layer_sizes else "linear"
    solver = _or_auto(parameters.solver, _SOLVER[kind])
    batches = plan_batches(
        parameters.batch_size,
        parameters.max_iter,
        n_samples=X.shape[0] - n_held_out,
        by_distance=by_distance,
        kind=kind,
        similar=similar,
    )
    decay = _weight_decay(kind, len(layer_sizes), X.shape[1], by_distance=by_distance)
    device = _resolve_device(parameters.device, X, kind=kind, batch_size=batches.batch_size)
    is_host_loss = type(loss) in LOSSES_ON_HOST
    on_host = device == "cpu" and parameters.module is None and is_host_loss
    if not on_host:
        _require_torch(parameters, loss, device)
    return TrainingPlan(
        n_bits=parameters.n_bits,
        module=parameters.module,
        layer_sizes=layer_sizes,
        dropout=_resolve_dropout(parameters.dropout, kind, by_distance=by_distance),
        tanh_scale=_resolve_tanh_scale(parameters.tanh_scale, kind, goes_on=goes_on),
        nested=parameters.nested,
        n_kept_bits=_numbers_of_kept_bits(parameters, kind, by_distance=by_distance),
        solver=solver,
        learning_rate=parameters.learning_rate,
        learning_rate_init=_or_auto(
            parameters.learning_rate_init, _LEARNING_RATE[solver][kind]
        ),
        weight_decay=_or_auto(parameters.weight_decay, decay),
        batch_size=batches.batch_size,
        max_iter=batches.max_iter,
        few_similar=batches.few_similar,
        shuffle=batches.shuffle,
        shuffle_to_split=batches.shuffle_to_split,
        n_held_out=n_held_out,
        device=device,
        on_host=on_host,
    )


def _resolve_layer_sizes(parameters):
    sizes = np.atleast_1d(np.asarray(parameters.hidden_layer_sizes, dtype=float))
    if sizes.ndim > 1 or np.any(sizes < 1) or np.any(sizes % 1):
        raise ValueError(
            "hidden_layer_sizes must be a positive integer or a sequence of them, got "
            f"{parameters.hidden_layer_sizes!r}."
        )
    if parameters.module is not None and sizes.size:
        raise ValueError(
            "module brings its own layers; leave hidden_layer_sizes=() with it, got "
            f"{parameters.hidden_layer_sizes!r}."
        )
    return tuple(sizes.astype(int).tolist())


def _resolve_dropout(dropout, kind, *, by_distance):
    """Fractions to leave out: 0 for distances, whose fine order dropout would blur."""
    automatic = Dropout(0.0, 0.0) if by_distance else _DROPOUT[kind]
    rates = np.atleast_1d(np.asarray(_or_auto(dropout, automatic), dtype=float))
    if rates.shape not in ((1,), (2,)) or not np.all((rates >= 0) & (rates < 1)):
        raise ValueError(
            "dropout must be a number in [0, 1) or two of them (features, hidden units), "
            f"got {dropout!r}."
        )
    # One number is the rate of the hidden units.
    rate_of_features = float(rates[0]) if len(rates) == 2 else 0.0
    return Dropout(rate_of_features, float(rates[-1]))


def _resolve_tanh_scale(tanh_scale, kind, *, goes_on):
    """Scales of tanh in the first and the last epoch; a warm start keeps the last one."""
    if tanh_scale is None:
        return None
    scales = np.atleast_1d(np.asarray(_or_auto(tanh_scale, _TANH_SCALE[kind]), dtype=float))
    if scales.shape not in ((1,), (2,)) or not np.all(scales > 0):
        raise ValueError(
            "tanh_scale must be a positive number or two of them (first, last), got "
            f"{tanh_scale!r}."
        )
    return TanhSchedule(float(scales[-1 if goes_on else 0]), float(scales[-1]))


def _numbers_of_kept_bits(parameters, kind, *, by_distance):
    """Number of bits that a step keeps of the leading n, for n from 0 to n_bits.

    Of 32 bits a step keeps half. Longer codes overfit more, so it keeps less than half of
    them; keeping half of 64 was worse. Hidden layers, whose units are left out, need more
    bits.
    """
    numbers = range(parameters.n_bits + 1)
    if _or_auto(parameters.bit_dropout, None) is not None:
        share = 1 - parameters.bit_dropout
        return tuple(max(1, round(n * share)) for n in numbers)
    if by_distance:
        return tuple(numbers)
    factor = 1.0 if kind == "linear" else 1.5
    return tuple(min(n, round(factor * math.sqrt(8 * n))) for n in numbers)


def _weight_decay(kind, n_hidden_layers, n_features, *, by_distance):
    if kind == "linear" and n_features < _MIN_FEATURES_TO_DECAY and not by_distance:
        return 0.0
    return _WEIGHT_DECAY[kind] / (n_hidden_layers + 1)


def _resolve_device(device, X, *, kind, batch_size):
    """Device of training: the host or CUDA, since soft counts need float64."""
    is_tensor = not (isinstance(X, np.ndarray) or sp.issparse(X))
    if device == "auto" and is_tensor:
        return str(X.device)
    if device == "auto":
        # A device takes longer to start a small step than the host takes to do it.
        pays = kind != "linear" or batch_size >= _MIN_BATCH_OF_DEVICE
        return "cuda" if pays and _has_cuda() else "cpu"
    if device.split(":")[0] not in ("cpu", "cuda"):
        raise ValueError(f"device must be 'auto', 'cpu' or 'cuda[:index]', got {device!r}.")
    if device.startswith("cuda") and has_torch() and not _has_cuda():
        raise ValueError(
            f"device={device!r} is set, but torch finds no CUDA device. Set "
            "device='auto' or 'cpu'."
        )
    return device


def _require_torch(parameters, loss, device):
    if parameters.module is not None:
        require_torch(f"module={parameters.module!r}")
    elif device != "cpu":
        require_torch(f"device={device!r}")
    else:
        require_torch(f"loss={loss!r}")


class Batches(NamedTuple):
    """Minibatches and epochs of a training, see `TrainingPlan`."""

    batch_size: int
    max_iter: int  # epochs
    few_similar: bool
    shuffle: Callable
    shuffle_to_split: Callable


def plan_batches(batch_size, max_iter, *, n_samples, by_distance, kind, similar=None):
    """Plan minibatches and epochs, by the share of samples that are similar to each other.

    Parameters
    ----------
    batch_size, max_iter : int or "auto"
        Parameters of the hasher.

    n_samples : int
        Samples of an epoch.

    by_distance : bool
        Whether the affinity is one of distances.

    kind : {"linear", "hidden layers", "module"}
        Kind of the hash function.

    similar : SimilarRows, default=None
        Similar rows; None if the features are the targets.

    Returns
    -------
    batches : Batches
        The plan.
    """
    share = np.inf if similar is None else similar.share
    size = _size_of_random_batch(n_samples, by_distance)
    n_similar = share * _or_auto(batch_size, size)
    few_similar = n_similar < _MIN_SIMILAR_PER_SAMPLE
    shuffle_to_split = _shuffle_of(
        similar, n_similar, _MIN_SIMILAR_PER_SAMPLE, _FEW_TOGETHER
    )
    shuffle = shuffle_to_split
    size = _MAX_BATCH if few_similar else size
    n_epochs = _number_of_epochs(n_samples, _or_auto(batch_size, size))
    if share < _SHARE_OF_MANY_CLASSES and not by_distance:
        most_epochs = _or_auto(max_iter, _MAX_EPOCHS_OF_MANY_CLASSES[kind])
        enough = _enough_samples(share, _MAX_BATCH_OF_MANY_CLASSES[kind])
        size = max(size, min(enough, n_samples * most_epochs // _MIN_STEPS))
        if kind == "hidden layers":
            n_similar = share * _or_auto(batch_size, size)
            shuffle = _shuffle_of(similar, n_similar, _ENOUGH_SIMILAR, _MANY_TOGETHER)
        if isinstance(batch_size, str):
            n_epochs = _number_of_epochs_of_many_classes(n_samples, size, most_epochs)
    return Batches(
        _or_auto(batch_size, size),
        _or_auto(max_iter, n_epochs),
        few_similar,
        shuffle,
        shuffle_to_split,
    )


def _size_of_random_batch(n_samples, by_distance):
    """Samples of a minibatch if there are few classes, or an affinity of distances."""
    if by_distance:
        return min(max(n_samples // 5, 32), _MAX_BATCH_BY_DISTANCE)
    return min(max(n_samples // 20, 32), _MAX_BATCH)


def _enough_samples(share, most):
    """Samples of a minibatch of many classes: at least 256, and at most `most`."""
    if share * most <= _ENOUGH_SIMILAR:
        return most
    return max(math.ceil(_ENOUGH_SIMILAR / share), _MAX_BATCH)


def _number_of_epochs(n_samples, batch_size):
    """Epochs of training: _ENOUGH_STEPS steps, but at most _MAX_EPOCHS."""
    return min(math.ceil(_ENOUGH_STEPS * batch_size / n_samples), _MAX_EPOCHS)


def _number_of_epochs_of_many_classes(n_samples, batch_size, most_epochs):
    """Epochs over minibatches of many classes.

    With many samples there are as many epochs as with smaller minibatches, since the cost
    per sample is the same. With few samples there are more epochs, so that steps do not
    become too few.
    """
    n_epochs = _number_of_epochs(n_samples, _MAX_BATCH)
    fewest = math.ceil(_MIN_STEPS * batch_size / n_samples)
    return max(n_epochs, min(fewest, most_epochs))


def _shuffle_of(similar, n_similar, n_enough, n_together):
    """The function that puts samples into a random order, to be cut into minibatches.

    Parameters
    ----------
    similar : SimilarRows or None
        Similar rows; None if they are not known.

    n_similar : float
        Number of samples in a random minibatch that are similar to one of its samples.

    n_enough : float
        With at least this many of them, similar samples are not drawn together.

    n_together : int
        Number of similar samples that are drawn together otherwise, if the affinity has
        groups of similar rows.

    Returns
    -------
    shuffle : callable
        ``shuffle(samples, rng)``, the samples in another order.
    """
    if n_similar < n_enough and similar.has_groups:
        return partial(similar.shuffle, n_together=n_together)
    return _shuffled


def _has_cuda():
    """Whether torch finds a CUDA device; without a driver torch is not imported."""
    if not has_torch():
        return False
    if "torch" not in sys.modules and not any(map(find_library, _DRIVERS)):
        return False
    import torch

    return torch.cuda.is_available()


def _shuffled(samples, rng):
    return samples[rng.permutation(len(samples))]


def _or_auto(value, automatic):
    """The value of a parameter, which may be an array, or `automatic` if it is "auto"."""
    return automatic if isinstance(value, str) and value == "auto" else value
