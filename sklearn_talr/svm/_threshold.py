"""Where to cut a ranking in two."""

import numpy as np


def best_threshold(scores, positive, sample_weight):
    """Threshold above which predicting "positive" makes the least weighted error.

    In the middle between two scores of the training samples, or at the highest score if it
    is best to predict no positives. Of equally good ones the highest.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    signed = np.where(positive, -sample_weight, sample_weight)[order]
    error = np.append(0.0, np.cumsum(signed))  # less that of predicting no positives
    splits_tie = np.append(ranked[1:] == ranked[:-1], False)
    error[1:][splits_tie] = np.inf
    n_above = int(np.argmin(error))
    if n_above == 0:
        return ranked[0]
    if n_above == len(ranked):
        return ranked[-1] - 1.0
    return (ranked[n_above - 1] + ranked[n_above]) / 2
