"""Settings and data shared by all tests."""

import os

import pytest
from sklearn.datasets import load_digits

os.environ.setdefault("MPLBACKEND", "agg")  # before anything imports matplotlib


@pytest.fixture(scope="session")
def digits():
    """Features and labels of 1797 digits, which no test can change."""
    X, y = load_digits(return_X_y=True)
    X.flags.writeable = y.flags.writeable = False
    return X, y


@pytest.fixture(scope="session")
def few_digits(digits):
    """The first 300 digits, about 30 of each class."""
    X, y = digits
    return X[:300], y[:300]
