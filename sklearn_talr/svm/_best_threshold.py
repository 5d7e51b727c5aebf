"""The threshold that cuts a ranking in two classes."""

import numpy as np


def best_threshold(scores, positive, sample_weight):
    """Find the threshold above which predicting "positive" makes the least weighted error.

    It lies in the middle between two neighboring scores. If it is best to predict no
    positives it is the highest score, and if it is best to predict only positives it lies 1
    below the lowest. Of equally good thresholds it is the highest.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Scores of the samples.

    positive : ndarray of shape (n_samples,) of bool
        Which samples are positive.

    sample_weight : ndarray of shape (n_samples,)
        What an error on each sample costs.

    Returns
    -------
    threshold : float
        Scores above it are to be predicted as positive.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    signed = np.where(positive, -sample_weight, sample_weight)[order]
    error = np.append(0.0, np.cumsum(signed))  # minus the error of predicting no positives
    splits_tie = np.append(ranked[1:] == ranked[:-1], False)
    error[1:][splits_tie] = np.inf
    n_above = int(np.argmin(error))
    if n_above == 0:
        return ranked[0]
    if n_above == len(ranked):
        return ranked[-1] - 1.0
    return (ranked[n_above - 1] + ranked[n_above]) / 2
