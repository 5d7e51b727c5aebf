"""A pytest plugin that lets training start from weights that are off by a millionth.

What is learned then ends in other digits, as on a processor that is not at hand:

    PYTHONPATH=tests python -m pytest -p rounding --rounding 1 docs/quickstart.rst
"""

import functools

import torch

from sklearn_talr.hashing.gradient._trainer import Trainer


def pytest_addoption(parser):
    parser.addoption("--rounding", type=int, help="seed of the errors of first weights")


def pytest_configure(config):
    seed = config.getoption("--rounding")
    if seed is not None:
        Trainer.__init__ = with_errors(Trainer.__init__, seed)


def with_errors(make, seed):
    """A trainer whose module has errors, the same in every fit."""

    @functools.wraps(make)
    def make_with_errors(self, *args, **kwargs):
        make(self, *args, **kwargs)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weights in self.module.parameters():
                errors = torch.randn(weights.shape, generator=generator)
                weights *= 1 + 1e-6 * errors.to(weights)

    return make_with_errors
