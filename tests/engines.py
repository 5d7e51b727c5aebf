"""Engines of training by gradients: both, and one that only notes its steps."""

from types import SimpleNamespace

import numpy as np
import torch

from sklearn_talr._core.progress import Progress
from sklearn_talr.affinity import LabelAffinity
from sklearn_talr.features._scaling import Scaling
from sklearn_talr.hashing._linear import start_weights
from sklearn_talr.hashing.training._data import TrainingData
from sklearn_talr.hashing.training._host import HostEngine
from sklearn_talr.hashing.training._loop import train
from sklearn_talr.hashing.training._monitor import Monitor
from sklearn_talr.hashing.training._plan import Dropout, plan_training
from sklearn_talr.hashing.training._torch import TorchEngine
from sklearn_talr.losses import LossContext
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


def noted_steps(hasher, n_samples=10, monitor=None):
    """The steps that a hasher would take, and the losses of its epochs."""
    data = TrainingData(np.empty((n_samples, 3)), None, LabelAffinity(), levels=None)
    plan = plan_training(hasher, loss_of(hasher.loss), data)
    engine = NotedSteps()
    monitor = monitor or Monitor()
    train(
        engine,
        np.arange(n_samples),
        plan,
        rng=np.random.RandomState(0),
        monitor=monitor,
        progress=Progress(),
    )
    return engine.steps, monitor.losses


def engine_of(
    Engine, loss, X, targets, affinity, sizes=(), n_bits=8, dtype=np.float64, **settings
):
    """An engine at ITQ's weights, in double precision by default; and its function."""
    default = {"weight_decay": 0.0, "solver": "adam_mini"}
    dropout = Dropout(*settings.pop("dropout", (0.0, 0.0)))
    plan = SimpleNamespace(**default | settings, dropout=dropout, device="cpu", module=None)
    targets = affinity.fit_clone(targets).check_targets(targets)
    affinity = affinity.fit_clone(targets)
    levels = affinity.levels_between(targets, targets)
    context = LossContext(
        affinity=affinity,
        targets=targets,
        levels=levels,
        gain_levels=affinity.gain_levels(levels),
        n_bits=n_bits,
        is_relaxed=True,
        device="cpu",
        rng=np.random.RandomState(0),
        fitted_before={},
    )
    scaling = Scaling.from_rows(X, np.arange(len(X)), similar=None)
    features = Engine.features(X, scaling, plan)
    weights = start_weights(
        features, np.arange(len(X)), sizes, n_bits, "itq", np.random.RandomState(0)
    )
    function = Engine.layers(*weights, features, plan, np.random.RandomState(0))
    if dtype == np.float64:
        features._resident = np.float64(scaling.apply(X))
        if Engine is TorchEngine:
            features._resident = torch.from_numpy(features._resident)
            function.module.double()
        else:
            rng = np.random.RandomState(0)
            function = Engine.layers(*weights, features, plan, rng, dtype)
    engine = Engine([function], [features], loss, context, plan)
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
