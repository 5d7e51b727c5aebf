"""Fitted state of estimators: checked aside, and replaced in one step."""

from sklearn.utils.validation import validate_data


def validate_aside(estimator, X, **options):
    """Check features without touching the estimator.

    Parameters
    ----------
    estimator : estimator
        Whose features they are.

    X : array-like of shape (n_samples, n_features)
        Features.

    **options : dict
        Passed to scikit-learn's `validate_data`.

    Returns
    -------
    X : ndarray or sparse matrix
        Checked features.

    seen : dict
        What `fit` will have to set: ``n_features_in_`` and, where columns have names,
        ``feature_names_in_``.
    """
    stand_in = object.__new__(type(estimator))
    stand_in.__dict__.update(vars(estimator))
    X = validate_data(stand_in, X, **options)
    names = "n_features_in_", "feature_names_in_"
    return X, {name: vars(stand_in)[name] for name in names if name in vars(stand_in)}


def replace_fitted(estimator, fitted):
    """Let these be the fitted attributes, and no others; return the estimator.

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
