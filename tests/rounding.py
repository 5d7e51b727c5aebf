"""A pytest plugin that lets training start from weights that are off by a millionth.

What is learned then ends in other digits, as on a processor that is not at hand:

    PYTHONPATH=tests python -m pytest -p rounding --rounding 1 docs/quickstart.rst
"""

import functools

import numpy as np

from sklearn_talr.hashing import _towers
from sklearn_talr.hashing.training import _fit


def pytest_addoption(parser):
    parser.addoption("--rounding", type=int, help="seed of the errors of first weights")


def pytest_configure(config):
    seed = config.getoption("--rounding")
    if seed is not None:
        _fit.train = _towers.train = with_errors(_fit.train, seed)


def with_errors(train, seed):
    """A training whose engine starts with errors, the same in every fit."""

    @functools.wraps(train)
    def train_with_errors(engine, *args, **kwargs):
        rng, weights = np.random.default_rng(seed), engine.weights()
        for each in weights.values() if isinstance(weights, dict) else weights:
            each = each if isinstance(each, np.ndarray) else each.numpy()  # the same memory
            if each.dtype.kind == "f":
                each *= 1 + 1e-6 * rng.standard_normal(each.shape).astype(np.float32)
        engine.restore(weights)
        return train(engine, *args, **kwargs)

    return train_with_errors
