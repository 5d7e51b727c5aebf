"""Kernel ridge regression on numbers, with predictions for samples left out."""

import numpy as np

from ._kernel_functions import kernel_between, typical_gammas
from ._model import Problem, fit_model, kernel_blocks, leave_out
from ._samples import distinct_samples

__all__ = ["LeftOutRegression"]

_KERNEL = "rbf"


class LeftOutRegression:
    """Regression of several numbers by the Gaussian kernel.

    Width and penalty are chosen by the squared error of samples left out, as
    KernelRidgeClassifierCV chooses them by likelihood.

    Attributes
    ----------
    gamma_ : float
        Coefficient of the kernel.

    components_ : {ndarray, CSR} of shape (n_components, n_features)
        Samples that others are compared with.

    dual_coef_ : ndarray of shape (n_components, n_outputs)
        Weight of each component.

    intercept_ : ndarray of shape (n_outputs,)
        Added to the sums.
    """

    def fit_left_out(self, X, Y, rng):
        """Fit, and predict each sample as if it had not been there.

        Parameters
        ----------
        X : {ndarray, CSR} of shape (n_samples, n_features)
            Checked features, not all rows equal.

        Y : ndarray of shape (n_samples, n_outputs)
            Numbers to predict.

        rng : RandomState
            Draws samples, where there are too many to use all.

        Returns
        -------
        predictions : ndarray of shape (n_samples, n_outputs), float64
            Copies of a sample are left out together.
        """
        samples = distinct_samples(X, Y, np.ones(X.shape[0]), None)
        gammas = typical_gammas(samples.X, _KERNEL, rng)
        problem = Problem(samples, _KERNEL, gammas, None, None, SquaredError)
        model = fit_model(problem, rng)
        self.gamma_ = float(model.gamma)
        self.components_ = model.components
        self.dual_coef_ = model.ridge.coef
        self.intercept_ = model.ridge.intercept
        return leave_out(problem, model)[samples.index]

    def transform(self, X):
        """Predict the numbers of samples, shape (n_samples, n_outputs), float64."""
        predictions = np.empty((X.shape[0], self.dual_coef_.shape[1]))
        for rows in kernel_blocks(X.shape[0], len(self.dual_coef_)):
            K = kernel_between(X[rows], self.components_, _KERNEL, self.gamma_)
            predictions[rows] = K @ self.dual_coef_.astype(K.dtype, copy=False)
        return predictions + self.intercept_


class SquaredError:
    """In the place of a calibration: predictions are what they are."""

    @classmethod
    def fit(cls, predictions, Y, weights):
        """Return the calibration and the mean squared error."""
        errors = np.square(predictions - Y).sum(axis=1)
        return cls(), float(weights @ errors / weights.sum())
