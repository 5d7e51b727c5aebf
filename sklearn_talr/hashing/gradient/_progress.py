"""State of a fitted hasher that a warm start or the next chunk goes on from."""

from numbers import Integral
from typing import NamedTuple

import numpy as np

from ..._random import independent_random_state


class Progress(NamedTuple):
    """Weights and history of an earlier fit.

    Parameters
    ----------
    weights : tuple of two lists of ndarray, or dict of ndarray
        Coefficients and intercepts of the layers, or the state of a user's module.

    loss_curve : list of float
        Losses of all epochs.

    validation_scores : list of float or None
        Scores of all epochs.

    mean_and_unit : (ndarray, float) or None
        Mean and unit that features of all chunks are scaled by; None: to be found anew.

    moments : tuple or None
        Name of the solver, and its moments of the gradients of earlier chunks.
    """

    weights: object
    loss_curve: list
    validation_scores: list | None
    mean_and_unit: tuple | None = None
    moments: tuple | None = None


def progress_of_fit(hasher, n_features, layer_sizes):
    """Progress to warm-start from, or None if there is none."""
    weights = _weights(hasher, n_features, layer_sizes, "warm_start=True")
    if weights is None:
        return None
    return Progress(weights, hasher.loss_curve_, hasher.validation_scores_)


def progress_of_chunks(hasher, n_features, layer_sizes):
    """Progress that the next chunk goes on from, or None before the first one."""
    weights = _weights(hasher, n_features, layer_sizes, "partial_fit")
    if weights is None:
        return None
    state = hasher._training_state_
    return Progress(
        weights,
        hasher.loss_curve_,
        hasher.validation_scores_,
        (state["mean"], state["unit"]),
        state["moments"],
    )


def random_state_of_chunk(hasher):
    """A generator that goes on where an integer seed alone would start again."""
    n_done = getattr(hasher, "n_iter_", 0)
    if n_done and isinstance(hasher.random_state, Integral):
        return np.random.RandomState([hasher.random_state, n_done])
    return independent_random_state(hasher.random_state)


def _weights(hasher, n_features, layer_sizes, what):
    """Fitted weights, which must have kept their shape."""
    if not hasattr(hasher, "n_iter_"):
        return None
    if hasattr(hasher, "module_state_") != (hasher.module is not None):
        raise ValueError(f"{what} cannot change module. Call fit to start anew.")
    if hasher.module is not None:
        return hasher.module_state_
    shape = [len(coef) for coef in hasher.coefs_] + [hasher.coefs_[-1].shape[1]]
    asked = [n_features, *layer_sizes, hasher.n_bits]
    if shape != asked:
        raise ValueError(
            f"{what} cannot change n_bits, hidden_layer_sizes or the number of features, "
            f"and so the layer sizes from {shape} to {asked}. Call fit with "
            "warm_start=False to start anew."
        )
    return hasher.coefs_, hasher.intercepts_
