"""Kernel ridge regression on numbers, with predictions for samples left out."""

import numpy as np

from ._kernel_functions import center_of, measured_from, typical_gammas
from ._model import Problem, fit_model, leave_out, sums_of_kernels
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

    mean_ : ndarray of shape (n_features,) or None
        Mean of the samples, which is subtracted from all; None if they are sparse.

    components_ : {ndarray, CSR} of shape (n_components, n_features)
        Samples that others are compared with, less the mean.

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
        self.mean_ = center_of(samples.X, _KERNEL)
        samples = samples._replace(X=measured_from(samples.X, self.mean_))
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
        return sums_of_kernels(X, vars(self), _KERNEL)


class SquaredError:
    """In the place of a calibration: predictions are what they are."""

    @classmethod
    def fit(cls, predictions, Y, weights):
        """Return the calibration and the mean squared error."""
        errors = np.square(predictions - Y).sum(axis=1)
        return cls(), float(weights @ errors / weights.sum())
