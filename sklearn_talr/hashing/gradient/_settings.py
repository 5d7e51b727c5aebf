"""What "auto" stands for in parameters that depend on the hash function and the data."""

import math

from ...affinity import ThresholdAffinity
from ._check_params import dropout_rates, is_auto, layer_sizes

# Kinds of hash functions. A user's module gets torch's usual weight decay.
_LEARNING_RATE_OF_ADAM_MINI = {"linear": 0.025, "hidden layers": 0.014, "module": 0.005}
_LEARNING_RATE = 0.005
_WEIGHT_DECAY = {"linear": 0.6, "hidden layers": 1.2, "module": 0.01}
_DROPOUT = {"linear": (0.0, 0.0), "hidden layers": (0.2, 0.5), "module": (0.0, 0.0)}


def batch_size(hasher, n_samples):
    """Samples per step."""
    if hasher.batch_size != "auto":
        return hasher.batch_size
    return min(max(n_samples // 20, 32), 256)


def learning_rate(hasher):
    """First learning rate."""
    if hasher.learning_rate_init != "auto":
        return hasher.learning_rate_init
    if hasher.solver == "adam_mini":
        return _LEARNING_RATE_OF_ADAM_MINI[_kind(hasher)]
    return _LEARNING_RATE


def weight_decay(hasher):
    """Decoupled weight decay."""
    if hasher.weight_decay != "auto":
        return hasher.weight_decay
    return _WEIGHT_DECAY[_kind(hasher)]


def dropout(hasher):
    """Fractions of the features and of the hidden units to leave out."""
    if not is_auto(hasher.dropout):
        return dropout_rates(hasher.dropout)
    if isinstance(hasher.affinity_, ThresholdAffinity):  # noise to the fine order
        return (0.0, 0.0)
    return _DROPOUT[_kind(hasher)]


def kept_bits(hasher, n_bits):
    """How many bits of a code of this length a step keeps."""
    if hasher.bit_dropout != "auto":
        return max(1, round(n_bits * (1 - hasher.bit_dropout)))
    if isinstance(hasher.affinity_, ThresholdAffinity):
        return n_bits
    # Half of 32 bits. Longer codes overfit more: keeping half of 64 was worse. Hidden
    # layers, whose units are left out as well, need more bits.
    n_kept = math.sqrt(8 * n_bits)
    if _kind(hasher) == "hidden layers":
        n_kept *= 1.5
    return min(n_bits, round(n_kept))


def _kind(hasher):
    if hasher.module is not None:
        return "module"
    return "hidden layers" if layer_sizes(hasher.hidden_layer_sizes) else "linear"
