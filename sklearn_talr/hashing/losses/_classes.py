"""Losses that draw each sample to the code of its class or classes.

All take activations u and codes c of -1 and +1, and are means over the samples. Samples of
no class have no say.
"""

import math

import numpy as np
import torch
from torch.nn.functional import normalize, softplus

from ..gradient._features import to_device
from ._minibatch import BatchLoss, keep_bits


class OrthogonalLoss(BatchLoss):
    """`orthogonal_loss` of a minibatch.

    Parameters
    ----------
    classes : ClassCodes
        Codes of the classes, which may be drawn when training begins, and memberships.

    margin, cosine_scale : float
        Of the cosine.

    settings : Settings
        How many bits a step keeps, and the device.
    """

    def __init__(self, classes, margin, cosine_scale, settings):
        super().__init__(settings)
        self.classes = classes
        self.margin = margin
        self.cosine_scale = cosine_scale

    def begin(self, rng):
        super().begin(rng)
        self.class_codes = _on_device(self.classes.draw(rng), self.device)

    def __call__(self, activations, samples, progress):
        kept = self.draw_bits(activations.shape[1])
        memberships = self.classes.memberships[samples].toarray()
        return orthogonal_loss(
            keep_bits(activations, kept),
            keep_bits(self.class_codes, kept),
            to_device(memberships, self.device),
            self.margin,
            self.cosine_scale,
        )


class CentralLoss(BatchLoss):
    """`central_similarity_loss` of a minibatch.

    Parameters
    ----------
    classes : ClassCodes
        Codes of the classes, which may be drawn when training begins, and memberships.

    quantization_weight : float
        Weight of the quantization error.

    settings : Settings
        How many bits a step keeps, the scale of tanh, and the device.
    """

    def __init__(self, classes, quantization_weight, settings):
        super().__init__(settings, settings.tanh_scale)
        self.classes = classes
        self.quantization_weight = quantization_weight

    def begin(self, rng):
        super().begin(rng)
        self.classes.draw(rng)
        self.codes = _on_device(self.classes.draw_majority(rng), self.device)

    def __call__(self, activations, samples, progress):
        kept = self.draw_bits(activations.shape[1])
        scaled = self.scale(keep_bits(activations, kept), progress)
        codes = keep_bits(self.codes[to_device(samples, self.device)], kept)
        return central_similarity_loss(scaled, codes, self.quantization_weight)


def orthogonal_loss(activations, class_codes, memberships, margin, cosine_scale):
    """Cross entropy of classes by their cosine with the activations, less a margin.

    A sample of several classes shares its probability among them equally, and each of them
    has the margin.
    """
    cosines = normalize(activations) @ class_codes.T / math.sqrt(class_codes.shape[1])
    logits = cosine_scale * (cosines - margin * memberships)
    n_own = memberships.sum(1)
    own_logs = (memberships * logits.log_softmax(1)).sum(1) / n_own.clamp(min=1)
    return -own_logs.sum() / (n_own > 0).sum().clamp(min=1)


def central_similarity_loss(scaled, codes, quantization_weight):
    """Cross entropy of each bit with its target, plus a quantization error.

    A bit is 1 with probability (1 + tanh(x)) / 2, x the scaled activation; the error is
    the mean of ln cosh(abs(tanh(x)) - 1).
    """
    has_target = codes.abs()  # 0 in samples of no class
    n_targets = has_target.sum().clamp(min=1)
    entropy = (softplus(-2 * scaled * codes) * has_target).sum() / n_targets
    error = torch.log(torch.cosh(torch.tanh(scaled).abs() - 1)) * has_target
    return entropy + quantization_weight * error.sum() / n_targets


def _on_device(array, device):
    return to_device(array.astype(np.float32), device)
