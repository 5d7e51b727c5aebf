"""A pytest plugin that lets training start from weights that are off by a millionth.

What is learned then ends in other digits, as on a processor that is not at hand:

    PYTHONPATH=tests python -m pytest -p rounding --rounding 1 docs/quickstart.rst
"""

import functools

import torch

from sklearn_talr.hashing import _towers, _training


def pytest_addoption(parser):
    parser.addoption("--rounding", type=int, help="seed of the errors of first weights")


def pytest_configure(config):
    seed = config.getoption("--rounding")
    if seed is not None:
        _training.minimize = _towers.minimize = with_errors(_training.minimize, seed)


def with_errors(minimize, seed):
    """A training whose module starts with errors, the same in every fit."""

    @functools.wraps(minimize)
    def minimize_with_errors(module, *args, **kwargs):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weights in module.parameters():
                errors = torch.randn(weights.shape, generator=generator)
                weights *= 1 + 1e-6 * errors.to(weights)
        return minimize(module, *args, **kwargs)

    return minimize_with_errors
