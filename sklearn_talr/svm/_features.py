"""Products with the features, whatever holds them."""

import numpy as np


class Features:
    """A matrix of features, with a constant one more if there is an intercept.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features), float32 or float64

    constant : bool
    """

    def __init__(self, X, constant):
        self._X = X
        self._constant = constant
        self.n_weights = X.shape[1] + constant

    def scores(self, w):
        """One score per sample, float64."""
        n_features = self._X.shape[1]
        scores = (self._X @ w[:n_features].astype(self._X.dtype)).astype(np.float64)
        return scores + w[-1] if self._constant else scores

    def gradient(self, weights):
        """Gradient by w of the scores, weighted and summed."""
        gradient = self._X.T @ weights.astype(self._X.dtype)
        gradient = gradient.astype(np.float64)
        return np.append(gradient, weights.sum()) if self._constant else gradient
