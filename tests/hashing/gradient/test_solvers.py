"""Solvers: Adam-mini against its definition, and the symmetry it is there for."""

import numpy as np
import pytest
import torch

from sklearn_talr.hashing.training._host import Solver
from sklearn_talr.hashing.training._torch import AdamMini, make_solver


def adam_mini_by_definition(weights, grads, lr, decay, square_decay, eps):
    """Loop over steps and units."""
    weights = weights.copy()
    mean, square = np.zeros_like(weights), np.zeros(len(weights))
    for step, grad in enumerate(grads, start=1):
        mean = decay * mean + (1 - decay) * grad
        for unit in range(len(weights)):
            square[unit] = square_decay * square[unit] + (1 - square_decay) * np.mean(
                grad[unit] ** 2
            )
            size = np.sqrt(square[unit] / (1 - square_decay**step)) + eps
            weights[unit] -= lr * mean[unit] / (1 - decay**step) / size
    return weights


def solver_at(name, parameters, rate, factors=None):
    parameters = list(parameters)
    solver = make_solver(name, parameters, factors or [1.0] * len(parameters))
    for group in solver.param_groups:
        group["lr"] = rate * group["factor"]
    return solver


def step(solver, weights, grad):
    weights.grad = torch.tensor(grad, dtype=weights.dtype)
    solver.step()


@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 2, 2)])
def test_adam_mini_follows_its_definition(shape):
    rng = np.random.default_rng(0)
    start, grads = rng.normal(size=shape), rng.normal(size=(7, *shape))
    weights = torch.nn.Parameter(torch.tensor(start))
    solver = AdamMini([weights], lr=0.1, betas=(0.8, 0.95), eps=1e-3)
    for grad in grads:
        step(solver, weights, grad)
    expected = adam_mini_by_definition(start, grads, 0.1, 0.8, 0.95, 1e-3)
    np.testing.assert_allclose(weights.detach().numpy(), expected, rtol=1e-6)


def test_parameters_without_gradient_stay():
    used, unused = (torch.nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    used.grad = torch.ones(2, 2)
    solver_at("adam_mini", [used, unused], 0.1).step()
    assert torch.all(used < 1)
    assert torch.all(unused == 1)


@pytest.mark.parametrize("name", ["adam_mini", "adam"])
def test_each_parameter_has_its_share_of_the_rate(name):
    first, second = (torch.nn.Parameter(torch.zeros(2, 3)) for _ in range(2))
    solver = solver_at(name, [first, second], 0.1, [1.0, 0.25])
    first.grad = second.grad = torch.ones(2, 3)
    solver.step()
    torch.testing.assert_close(first.detach(), torch.full((2, 3), -0.1))
    torch.testing.assert_close(second.detach(), first.detach() / 4)


@pytest.mark.parametrize("name", ["adam_mini", "adam"])
def test_solver_of_the_host_follows_its_definition(name):
    """Each unit has one divisor, or each weight; offsets have one; weights decay."""
    rng = np.random.default_rng(0)
    start, grads = rng.normal(size=(3, 5)), rng.normal(size=(7, 3, 5))
    weights, offsets = start.copy(), start[0].copy()
    solver = Solver(name, [weights, offsets], [(0.5, 0.0), (1.0, 0.0)])
    for grad in grads:
        solver.step([grad, grad[0]], 0.1)
    rows = start.reshape(-1, 1) if name == "adam" else start
    of_rows = grads.reshape(7, *rows.shape)
    how = 0.9, 0.999, 1e-8
    expected = adam_mini_by_definition(rows, of_rows, 0.05, *how).reshape(3, 5)
    np.testing.assert_allclose(weights, expected, rtol=1e-9)
    row = start[:1].T if name == "adam" else start[:1]
    of_row = grads[:, :1].transpose(0, 2, 1) if name == "adam" else grads[:, :1]
    expected = adam_mini_by_definition(row, of_row, 0.1, *how).ravel()
    np.testing.assert_allclose(offsets, expected, rtol=1e-9)


@pytest.mark.parametrize(("decay", "kept"), [(0.5, 0.95**3), (20.0, 0.0)])
def test_weights_decay_without_a_gradient_and_change_no_sign(decay, kept):
    weights = np.full((2, 3), -2.0)
    solver = Solver("adam", [weights], [(1.0, decay)])
    for _ in range(3):
        solver.step([np.zeros((2, 3))], 0.1)
    np.testing.assert_allclose(weights, -2 * kept)
