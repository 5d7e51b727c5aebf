"""A user's network while it is trained: in the units that layers of ours are trained in."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import Linear

_MOST_ROWS = 512  # that tell the size of what goes into layers and comes out
_OFFSET_DECAY = 30.0


class Use(NamedTuple):
    """What a layer was given and what it made of it, tensors of shape (n_rows, ...)."""

    given: torch.Tensor
    made: torch.Tensor


class StandardUnits:
    """Brings layers of a module to standard units, and tells the steps of all.

    How far a step goes depends on the size of weights, and networks come in all sizes.
    Layers of ours take centered features of unit mean norm, and their activations start
    centered and of unit mean square. Linear layers of a module that take the features
    themselves are made to take those as well, which changes no output. One that gives the
    activations is made to give such, which moves the thresholds of bits to their means.
    The rate of any other parameter is multiplied by the size that it starts with.

    Parameters
    ----------
    module : torch.nn.Module
        In evaluation mode. It is changed, and gets hooks.

    features : Features
        As the module takes them; their mean and unit are those of the standard.

    steps : list of (float, float) or None
        Attribute of an earlier one, where training goes on from. None: it begins.

    Attributes
    ----------
    steps : list of (float, float)
        What the learning rate and the weight decay of each parameter are multiplied by.
    """

    def __init__(self, module, features, steps):
        self._module = module
        self._unit = features.unit
        mean = np.broadcast_to(features.mean, features.X.shape[1]).astype(np.float32)
        self._mean = torch.tensor(mean, device=features.device)
        rows = np.unique(np.linspace(0, features.X.shape[0] - 1, _MOST_ROWS, dtype=int))
        X = features.batch(rows)
        uses, activations = _watch(module, X)
        self._first = [layer for layer, use in uses.items() if use.given is X]
        last = [layer for layer, use in uses.items() if use.made is activations]
        for layer in self._first:
            self._standardize_input(layer)
        if steps is None:
            for layer in last:
                _standardize_output(layer, activations)
            steps = self._steps(uses, last)
        self.steps = steps

    @torch.no_grad()
    def restored(self):
        """The state of the module, as it is to be on features as they are."""
        state = dict(self._module.state_dict())
        names = {layer: name for name, layer in self._module.named_modules()}
        for layer in self._first:
            prefix = f"{names[layer]}." if names[layer] else ""
            weight = layer.weight / self._unit
            state[prefix + "weight"] = weight
            if layer.bias is not None:
                state[prefix + "bias"] = layer.bias - weight @ self._mean
        return state

    @torch.no_grad()
    def _standardize_input(self, layer):
        mean = 0.0
        if layer.bias is not None:
            mean = self._mean
            layer.bias += layer.weight @ mean
        layer.weight *= self._unit
        layer.register_forward_pre_hook(lambda _, X: ((X[0] - mean) / self._unit, *X[1:]))

    def _steps(self, uses, last):
        steps = {}
        for layer in self._module.modules():
            own = list(layer.parameters(recurse=False))
            if layer in uses:
                of_layer = self._steps_of_linear(layer, uses[layer], layer in last)
            else:
                sizes = [_size(parameter) or _size(own[0]) or 1.0 for parameter in own]
                of_layer = [(size, float(p.ndim > 1)) for size, p in zip(sizes, own)]
            steps |= dict(zip(own, of_layer))
        return [steps[parameter] for parameter in self._module.parameters()]

    def _steps_of_linear(self, layer, use, is_last):
        """Those of the weight and of the bias."""
        is_first = layer in self._first
        size, n_inputs = _size(layer.weight), layer.in_features
        if is_last:
            return [(size * (1.0 if is_first else math.sqrt(n_inputs)), 1.0), (1.0, 0.0)]
        norm = 1.0 if is_first else math.sqrt(n_inputs) * _size(use.given)
        rate = size if is_first else size * math.sqrt(2)
        return [(rate, 1.0), (size * norm, _OFFSET_DECAY)]


def _watch(module, X):
    """Uses of the linear layers that are used once, and the activations."""
    uses, shared = {}, set()

    def note(layer, given, made):
        if layer in uses:
            shared.add(layer)
        uses[layer] = Use(given[0], made)

    layers = [layer for layer in module.modules() if _is_plain(layer)]
    hooks = [layer.register_forward_hook(note) for layer in layers]
    try:
        with torch.no_grad():
            activations = module(X)
    finally:
        for hook in hooks:
            hook.remove()
    return {layer: use for layer, use in uses.items() if layer not in shared}, activations


def _is_plain(layer):
    """Whether a layer is linear, learns, and its weight is no function of others."""
    return (
        type(layer) is Linear
        and layer._parameters.keys() == {"weight", "bias"}
        and layer.weight.requires_grad
    )


@torch.no_grad()
def _standardize_output(layer, activations):
    mean = activations.mean(0) if layer.bias is not None else 0.0
    unit = (activations - mean).square().mean().sqrt()
    if unit > 0:
        layer.weight /= unit
        if layer.bias is not None:
            layer.bias.sub_(mean).div_(unit)


def _size(values):
    """Root mean square."""
    return float(values.detach().square().mean().sqrt())
