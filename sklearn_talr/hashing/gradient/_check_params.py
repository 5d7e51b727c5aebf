"""Parameters of learned hashers whose rules do not fit in a constraint."""

import numpy as np


def tanh_scales(tanh_scale):
    """First and last scale."""
    scales = np.atleast_1d(np.asarray(tanh_scale, dtype=float))
    if scales.shape not in ((1,), (2,)) or not np.all(scales > 0):
        raise ValueError(
            "tanh_scale must be a positive number or two of them (first, last), got "
            f"{tanh_scale!r}."
        )
    return float(scales[0]), float(scales[-1])


def layer_sizes(hidden_layer_sizes):
    """Sizes of the hidden layers, a list of int."""
    sizes = np.atleast_1d(np.asarray(hidden_layer_sizes, dtype=float))
    if np.any(sizes < 1) or np.any(sizes % 1):
        raise ValueError(
            f"hidden_layer_sizes must be positive integers, got {hidden_layer_sizes!r}."
        )
    return sizes.astype(int).tolist()


def is_auto(value):
    """Whether a parameter that may be an array is the word."""
    return isinstance(value, str) and value == "auto"


def dropout_rates(dropout):
    """Fractions of the features and of the hidden units to leave out."""
    rates = np.atleast_1d(np.asarray(dropout, dtype=float))
    if rates.shape not in ((1,), (2,)) or not np.all((rates >= 0) & (rates < 1)):
        raise ValueError(
            "dropout must be a number in [0, 1) or two of them (features, hidden units), "
            f"got {dropout!r}."
        )
    return (0.0, float(rates[0])) if len(rates) == 1 else (float(rates[0]), float(rates[1]))


def declared_levels(levels, before):
    """Levels of affinity for `partial_fit`: None, or those declared on its first call."""
    if levels is None:
        return before
    levels = np.atleast_1d(np.asarray(levels))
    ascending = levels.ndim == 1 and len(levels) > 1 and np.all(np.diff(levels) > 0)
    if levels.dtype.kind not in "iu" or not ascending or levels[0] != 0:
        raise ValueError(f"levels must be integers that ascend from 0, got {levels}.")
    if before is not None and not np.array_equal(levels, before):
        raise ValueError(
            f"levels={levels.tolist()} differ from those of the first call of partial_fit, "
            f"{before.tolist()}."
        )
    return levels
