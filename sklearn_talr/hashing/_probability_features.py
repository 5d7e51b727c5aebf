"""What is made of probabilities before they are hashed."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

from .._arrays import as_numpy

__all__ = ["BesideScores", "softened"]

_LEAST = 1e-12  # probability, so that logarithms stay finite


def softened(probabilities, temperature, exclusive):
    """Probabilities whose logits are divided by a temperature.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_outputs)
        Of classes or labels. A probability of 0 or 1 stays what it is.

    temperature : float
        Above 1 makes them less sure.

    exclusive : bool
        Whether they are of classes that exclude each other, or of labels, each for itself.

    Returns
    -------
    softer : ndarray of shape (n_samples, n_outputs)
        In the same precision.
    """
    if temperature == 1:
        return probabilities
    with np.errstate(divide="ignore"):
        logs = np.log(probabilities) / temperature
        if exclusive:
            return softmax(logs, axis=1)
        return np.exp(logs - np.logaddexp(logs, np.log1p(-probabilities) / temperature))


class BesideScores(NamedTuple):
    """Features side by side with scores of classes, both centered.

    Rows of features have unit length. Scores are log-probabilities of classes, or log-odds
    of labels. They are divided by one number, so that sure samples stay far from others.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        Mean of the training features.

    offset : ndarray of shape (n_outputs,)
        Mean of the scores of training samples.

    unit : float
        Root mean square length of these scores.

    exclusive : bool
        Whether they are of classes that exclude each other, or of labels, each for itself.
    """

    center: np.ndarray
    offset: np.ndarray
    unit: float
    exclusive: bool

    @classmethod
    def fit(cls, X, probabilities, exclusive):
        """Learn means and the unit from training samples."""
        X = _dense(X)
        scores = _scores(probabilities, exclusive)
        offset = scores.mean(axis=0)
        unit = float(np.sqrt(np.square(scores - offset).sum(axis=1).mean()))
        return cls(X.mean(axis=0, dtype=np.float64), offset, unit or 1.0, exclusive)

    def join(self, X, probabilities):
        """Features and scores, of shape (n_samples, n_features + n_outputs)."""
        X = _dense(X)
        X = (X - self.center).astype(X.dtype, copy=False)
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        scores = (_scores(probabilities, self.exclusive) - self.offset) / self.unit
        beside = X / np.where(lengths > 0, lengths, 1), scores.astype(X.dtype, copy=False)
        return np.concatenate(beside, axis=1)


def _dense(X):
    if sp.issparse(X):
        raise ValueError(
            "passthrough=True needs dense features beside the scores, but X is sparse. "
            "Pass X.toarray(), reduce X by TruncatedSVD, or take passthrough=False."
        )
    X = np.asarray(as_numpy(X))
    return X if X.dtype == np.float32 else X.astype(np.float64)


def _scores(probabilities, exclusive):
    bounded = np.clip(probabilities, _LEAST, 1 - _LEAST)
    if not exclusive:
        return np.log(bounded) - np.log1p(-bounded)
    logs = log_softmax(np.log(bounded), axis=1)
    return logs - logs.mean(axis=1, keepdims=True)
