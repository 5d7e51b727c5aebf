"""Engines of training by gradients: both, and one that only notes its steps."""

from types import SimpleNamespace

import numpy as np
import torch

from sklearn_talr._progress import Progress
from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.hashing._base import mean_and_unit
from sklearn_talr.hashing._host_engine import HostEngine
from sklearn_talr.hashing._linear import start_weights
from sklearn_talr.hashing._settings import TrainingData, settings_of
from sklearn_talr.hashing._torch_engine import TorchEngine
from sklearn_talr.hashing._training import Keeper, minimize
from sklearn_talr.losses import Training
from sklearn_talr.losses._tie_aware import loss_of

ENGINES = [HostEngine, TorchEngine]


class NotedSteps:
    """An engine with one weight, whose loss is the number of samples of a minibatch."""

    def __init__(self):
        self.steps, self.weight = [], -1

    def step(self, rows, kept, scale, rate):
        self.steps.append(SimpleNamespace(rows=rows, kept=kept, scale=scale, rate=rate))
        return float(len(rows))

    def weights(self):
        return self.weight

    def restore(self, weights):
        self.weight = weights

    def is_finite(self):
        return True


def noted_steps(hasher, n_samples=10, keeper=None):
    """The steps that a hasher would take, and the losses of its epochs."""
    data = TrainingData(np.empty((n_samples, 3)), None, LabelAffinity(), None, {})
    settings, engine = settings_of(hasher, loss_of(hasher.loss), data), NotedSteps()
    how = np.arange(n_samples), settings, np.random.RandomState(0)
    losses = minimize(engine, *how, keeper or Keeper(), Progress())
    return engine.steps, losses


def engine_of(
    Engine, loss, X, targets, affinity, sizes=(), n_bits=8, dtype=np.float64, **settings
):
    """An engine at ITQ's weights, in double precision by default; and its function."""
    default = {"dropout": (0.0, 0.0), "weight_decay": 0.0, "solver": "adam_mini"}
    settings = SimpleNamespace(**default | settings, device="cpu", module=None)
    targets = affinity.fit_clone(targets).check_targets(targets)
    affinity = affinity.fit_clone(targets)
    levels, unit = affinity.levels_between(targets, targets), mean_and_unit(X)
    of_data = affinity, targets, levels, affinity.gain_levels(levels)
    training = Training(*of_data, n_bits, True, "cpu", np.random.RandomState(0), {})
    features = Engine.features(X, unit, settings)
    how = np.arange(len(X)), sizes, n_bits, "itq", np.random.RandomState(0)
    weights = start_weights(features, *how)
    function = Engine.layers(*weights, features, settings, np.random.RandomState(0))
    if dtype == np.float64:
        features._resident = np.float64((X - unit[0]) / unit[1])
        if Engine is TorchEngine:
            features._resident = torch.from_numpy(features._resident)
            function.module.double()
        else:
            rng = np.random.RandomState(0)
            function = Engine.layers(*weights, features, settings, rng, dtype)
    engine = Engine([function], [features], loss, training, settings)
    if dtype == np.float64 and Engine is TorchEngine:  # in float32 until now
        linear = [each for each in function.module if isinstance(each, torch.nn.Linear)]
        for layer, coef, intercept in zip(linear, *weights):
            layer.weight.data = torch.from_numpy(np.array(coef.T))
            layer.bias.data = torch.from_numpy(np.array(intercept))
    return engine


def parameters_of(engine):
    """Weights and offsets of an engine, as arrays of a row a unit."""
    weights = engine.weights()
    weights = weights.values() if isinstance(weights, dict) else weights
    return [np.asarray(each) for each in weights]
