"""Fits a hasher, alone or behind the steps of a Pipeline, and encodes the same rows."""

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from .._hashers import FittedHasher


class _Recorder(BaseEstimator):
    """Last step of a Pipeline that is fitted: keeps codes of the rows that reach it."""

    def __init__(self, hasher):
        self.hasher = hasher

    def fit(self, X, y=None, **fit_params):
        self.hasher.fit(X, y, **fit_params)
        self.codes_ = self.hasher.encode(X)
        return self

    def get_metadata_routing(self):
        return self.hasher.get_metadata_routing()


def fit_hasher(estimator, X, y, fit_params):
    """Fit a hasher, or a Pipeline that ends in one; return it and the codes of the rows."""
    if isinstance(estimator, Pipeline):
        name, hasher = estimator.steps[-1]
        estimator.steps[-1] = name, _Recorder(_checked_hasher(hasher))
        estimator.fit(X, y, **fit_params)
        codes = estimator[-1].codes_
        estimator.steps[-1] = name, hasher
        return FittedHasher.of(estimator), codes
    hasher = FittedHasher.of(estimator.fit(X, y, **fit_params))
    _checked_hasher(hasher.hasher)
    return hasher, hasher.encode(X)


def _checked_hasher(hasher):
    """Return a hasher; raise TypeError where an estimator makes no codes."""
    if not hasattr(hasher, "encode"):
        raise TypeError(
            f"hasher must be a hasher, with a method `encode`, or a Pipeline that ends in "
            f"one, got {hasher!r}."
        )
    return hasher
