"""Probabilities of scores, at the temperature that is most likely."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, softmax

__all__ = ["ClassCalibration", "LabelCalibration"]

_SLOPES = (1e-2, 1e4)  # above 0, since leaving out turns the ranking of pure noise round


class ClassCalibration:
    """Probabilities of exclusive classes: softmax of scores times a slope.

    Attributes
    ----------
    slope : float
        Reciprocal of the temperature.
    """

    def __init__(self, slope=1.0):
        self.slope = slope

    @classmethod
    def fit(cls, scores, Y, weights):
        """Choose the slope by likelihood. Return the calibration and the mean log loss."""
        shares = weights / weights.sum()

        def loss(log_slope):
            logs = log_softmax(np.exp(log_slope) * scores, axis=1)
            return -shares @ (Y * logs).sum(axis=1)

        best = minimize_scalar(loss, bounds=np.log(_SLOPES), method="bounded")
        return cls(float(np.exp(best.x))), float(best.fun)

    def logits(self, scores):
        """Scores whose softmax are the probabilities."""
        return self.slope * scores

    @staticmethod
    def probabilities(logits):
        """Softmax of each row."""
        return softmax(logits, axis=1)


class LabelCalibration:
    """Probabilities of labels, each for itself: sigmoids of a line, the same for all.

    Attributes
    ----------
    slope, offset : float
        Of the line.
    """

    def __init__(self, slope=1.0, offset=0.0):
        self.slope, self.offset = slope, offset

    @classmethod
    def fit(cls, scores, Y, weights):
        """Choose the line by likelihood. Return the calibration and the mean log loss."""
        shares = weights[:, None] / weights.sum()

        def loss(parameters):
            slope, offset = parameters
            logits = slope * scores + offset
            errors = shares * (expit(logits) - Y)
            value = (shares * (np.logaddexp(0, logits) - Y * logits)).sum()
            return value, np.array([(errors * scores).sum(), errors.sum()])

        bounds = (_SLOPES, (None, None))
        best = minimize(loss, [8.0, -4.0], jac=True, method="L-BFGS-B", bounds=bounds)
        return cls(*map(float, best.x)), float(best.fun)

    def logits(self, scores):
        """Scores whose sigmoids are the probabilities."""
        return self.slope * scores + self.offset

    @staticmethod
    def probabilities(logits):
        """Sigmoid of each score."""
        return expit(logits)
