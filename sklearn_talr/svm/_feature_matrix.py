"""Products with a matrix of features, dense or sparse."""

import numpy as np
import scipy.sparse as sp

from .._threads import one_thread


class FeatureMatrix:
    """A matrix of features, with one more column of ones if there is an intercept.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float32 or float64
        The features.

    constant : bool
        Whether to add the column of ones.

    ranks : bool
        Whether scores matter up to a constant, so that dense features may be centered.
    """

    def __init__(self, X, constant, ranks):
        if ranks and not sp.issparse(X):
            X = X - X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        self._X = X
        self._constant = constant
        self.n_weights = X.shape[1] + constant

    def scores(self, w):
        """Return the features times `w`, one score per sample, as float64."""
        n_features = self._X.shape[1]
        scores = (self._X @ w[:n_features].astype(self._X.dtype)).astype(np.float64)
        return scores + w[-1] if self._constant else scores

    def gradient(self, weights):
        """Return the gradient, with respect to w, of ``weights @ scores(w)``."""
        gradient = self._X.T @ weights.astype(self._X.dtype)
        gradient = gradient.astype(np.float64)
        return np.append(gradient, weights.sum()) if self._constant else gradient


@one_thread()
def scores_of(X, coef, intercept):
    """Return the scores of samples by fitted coefficients, of shape (1, n_features).

    They are float64, or features far from the origin would lose digits.
    """
    return X @ coef[0].astype(np.float64) + intercept[0]
