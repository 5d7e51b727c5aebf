"""Fitted state of estimators: checked aside, and replaced in one step."""

import numpy as np
from sklearn.utils.validation import validate_data

from .validation import read_features, refuse_masked

# All numbers of an array of at most this size are looked at, which takes little time.
_FEW_NUMBERS = 2**16


def validate_aside(estimator, X, **options):
    """Check features without touching the estimator.

    Parameters
    ----------
    estimator : estimator
        The estimator that the features are passed to.

    X : array-like of shape (n_samples, n_features)
        Features.

    **options : dict
        Passed to scikit-learn's `validate_data`.

    Returns
    -------
    X : ndarray or sparse matrix
        Checked features.

    seen : dict
        Attributes that `fit` has to set: ``n_features_in_`` and, if columns have names,
        ``feature_names_in_``.
    """
    refuse_masked(X=X)
    X = read_features(X)
    stand_in = object.__new__(type(estimator))
    stand_in.__dict__.update(vars(estimator))
    X = validate_data(stand_in, X, **options)
    names = "n_features_in_", "feature_names_in_"
    return X, {name: vars(stand_in)[name] for name in names if name in vars(stand_in)}


def validate_seen(estimator, X, *, dtype="numeric", **options):
    """Check features like those of `fit`, as scikit-learn's `validate_data` does.

    A small array in which nothing can be wrong is returned as it is, since scikit-learn's
    checks would take longer than the use of the array.

    Parameters
    ----------
    estimator : estimator
        The fitted estimator.

    X : array-like of shape (n_samples, n_features)
        Features.

    dtype : tuple of types, default="numeric"
        Types of numbers that are taken as they are; other types become the first of them.
        "numeric" means all types of real numbers.

    **options : dict
        Passed to `validate_data`.

    Returns
    -------
    X : ndarray or sparse matrix
        Checked features.
    """
    if _is_sound(X, vars(estimator), dtype):
        return X
    refuse_masked(X=X)
    X = read_features(X)
    return validate_data(estimator, X, dtype=dtype, reset=False, **options)


def _is_sound(X, fitted, dtype):
    """Whether `validate_data` would return a small array as it is, without a warning."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and 0 < X.size <= _FEW_NUMBERS
        and (X.dtype.kind in "biuf" if dtype == "numeric" else X.dtype in dtype)
        and X.shape[1] == fitted.get("n_features_in_")
        and "feature_names_in_" not in fitted
        and bool(np.isfinite(X).all())
    )


def take_snapshot(estimator):
    """The estimator as it is now, whatever `replace_fitted` does to it later.

    The two share parameters and fitted attributes until then.
    """
    snapshot = object.__new__(type(estimator))
    snapshot.__dict__ = vars(estimator)
    return snapshot


def replace_fitted(estimator, fitted):
    """Replace all fitted attributes by the entries of a dict, and return the estimator.

    Readers in other threads, and an interrupt at any time, find all of the old state or
    all of the new one. Fitted attributes are those whose names end with an underscore.
    """
    estimator.__dict__ = {
        name: value for name, value in vars(estimator).items() if not is_fitted_name(name)
    } | fitted
    return estimator


def is_fitted_name(name):
    """Whether an attribute is set by `fit`, by scikit-learn's convention."""
    return name.endswith("_") and not name.startswith("__")
