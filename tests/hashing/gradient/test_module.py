"""A user's network in standard units: what it computes, and how far its steps go."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hashers import small
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential

from sklearn_talr.hashing._rows import mean_and_unit
from sklearn_talr.hashing.gradient._features import Features
from sklearn_talr.hashing.gradient._module import StandardUnits

X50 = 3 + 5 * np.random.default_rng(0).standard_normal((50, 6))


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def features_of(X=X50):
    return Features(X, *mean_and_unit(X), torch.device("cpu"), as_they_are=True)


def plain(*sizes, bias=True):
    layers = []
    for n_inputs, n_outputs in pairwise(sizes):
        layers += [ReLU(), Linear(n_inputs, n_outputs, bias)]
    return Sequential(*layers[1:]).eval()


def activations_of(module, X=X50):
    with torch.no_grad():
        return module(torch.tensor(X, dtype=torch.float32)).numpy()


def loaded(like, state):
    like.load_state_dict({name: torch.as_tensor(value) for name, value in state.items()})
    return like


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("sizes", [(6, 4), (6, 9, 4), (6, 9, 7, 4)])
def test_activations_begin_centered_and_of_unit_mean_square(sizes, bias):
    """Codes are those of the module with other thresholds, and `restored` says which."""
    module = plain(*sizes, bias=bias)
    before = activations_of(module)
    units = StandardUnits(module, features_of(), None)
    after = activations_of(module)
    center = before.mean(0) if bias else 0.0
    unit = np.sqrt(np.mean((before - center) ** 2))
    np.testing.assert_allclose(after, (before - center) / unit, atol=1e-5)
    restored = loaded(plain(*sizes, bias=bias), units.restored())
    np.testing.assert_allclose(activations_of(restored), after, atol=1e-4)


def test_the_first_layer_takes_standard_features():
    module, seen = plain(6, 9, 4), []
    StandardUnits(module, features_of(), None)
    module[0].register_forward_hook(lambda layer, given, made: seen.append(given[0]))
    activations_of(module)
    np.testing.assert_allclose(seen[0].mean(0), 0, atol=1e-5)
    assert seen[0].square().sum(1).mean() == pytest.approx(1, rel=1e-5)


def test_what_goes_on_is_not_standardized_again():
    module = plain(6, 9, 4)
    before = activations_of(module)
    steps = [(1.0, 1.0), (2.0, 0.0), (3.0, 1.0), (4.0, 0.0)]
    units = StandardUnits(module, features_of(), steps)
    assert units.steps == steps
    np.testing.assert_allclose(activations_of(module), before, atol=1e-5)


def test_steps_go_by_the_size_of_the_weights():
    module = plain(6, 9, 7, 4)
    given = torch.tensor(X50, dtype=torch.float32)
    hidden = torch.relu(module[0](given)).detach()
    middle = module[2].weight.detach().square().mean().sqrt().item()
    norm = hidden.square().sum(1).mean().sqrt().item()
    steps = StandardUnits(module, features_of(), None).steps
    first, last = (module[i].weight.detach().square().mean().sqrt().item() for i in (0, 4))
    np.testing.assert_allclose(
        steps,
        [
            (first, 1),
            (first, 30),
            (middle * math.sqrt(2), 1),
            (middle * norm, 30),
            (last * math.sqrt(7), 1),
            (1, 0),
        ],
        rtol=1e-5,
    )


def test_other_parameters():
    """Vectors do not decay; those that start at 0 go by the first of their layer."""
    module = Sequential(Linear(6, 5), BatchNorm1d(5), ReLU(), torch.nn.Bilinear(5, 5, 4))
    module.forward = lambda X: module[3](*[module[2](module[1](module[0](X)))] * 2)
    with torch.no_grad():
        module[3].weight.fill_(0.5)
        module[3].bias.fill_(0.0)
    steps = StandardUnits(module.eval(), features_of(), None).steps
    assert steps[2:] == [(1.0, 0.0), (1.0, 0.0), (0.5, 1.0), (0.5, 0.0)]


def test_layers_that_are_used_twice_or_computed_or_frozen_stay_as_they_are():
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.other = Linear(6, 6), Linear(6, 4)

        def forward(self, X):
            return self.other(self.layer(X) + self.layer(2 * X))

    normed = torch.nn.utils.parametrizations.weight_norm(Linear(6, 4))
    frozen = Linear(6, 6).requires_grad_(False)
    cases = [Twice(), Sequential(normed, Linear(4, 4)), Sequential(frozen, Linear(6, 4))]
    for module in cases:
        first = next(module.children())
        before = activations_of(first)
        units = StandardUnits(module.eval(), features_of(), None)
        np.testing.assert_allclose(activations_of(first), before, atol=1e-6)
        assert len(units.steps) == len(list(module.parameters()))
        assert np.isfinite(units.steps).all()


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_training_does_not_depend_on_the_scale_of_weights_and_features(
    few_digits, scale, learned
):
    """What goes into a layer 1 000 times larger, and weights as much smaller."""
    X, y = few_digits
    module, scaled = plain(64, 16, 8), plain(64, 16, 8)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    state["0.weight"] /= scale
    state["2.weight"] *= scale
    state["2.bias"] *= scale
    loaded(scaled, state)
    scores = [
        small(module=network, max_iter=8, random_state=learned.seed)
        .fit(features, y)
        .score(features, y)
        for network, features in ((module, X), (scaled, X * scale))
    ]
    learned.error(abs(scores[0] - scores[1]))


def test_chunks_go_on_with_the_steps_of_the_first(few_digits):
    X, y = few_digits
    hasher = small(module=plain(64, 16, 8)).partial_fit(X, y)
    steps = hasher._training_state_["steps"]
    before = hasher.decision_function(X)
    hasher.set_params(learning_rate_init=1e-12).partial_fit(5 * X, y)
    assert hasher._training_state_["steps"] == steps
    np.testing.assert_allclose(hasher.decision_function(X), before, rtol=1e-3, atol=1e-3)


def test_frozen_layers_neither_learn_nor_decay(few_digits):
    module = plain(64, 16, 8)
    module[0].requires_grad_(False)
    state = small(module=module).fit(*few_digits).module_state_
    weight = module[0].weight.numpy()
    np.testing.assert_allclose(state["0.weight"], weight, rtol=1e-5)
    assert np.abs(state["2.weight"] - module[2].weight.detach().numpy()).max() > 1e-3
