"""What all metrics do alike with weights, undefined queries and averages."""

import warnings
from numbers import Real

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from .._arrays import as_numpy
from .._compat import check_sample_weight


def check_weights(sample_weight, n_queries):
    """Return one non-negative weight for each of the queries, or None for equal ones."""
    if sample_weight is None:
        return None
    queries, weights = np.empty((n_queries, 0)), as_numpy(sample_weight)
    weights = check_sample_weight(weights, queries, ensure_non_negative=True)
    # In units of a power of two, so that no digit changes and no sum overflows.
    return np.ldexp(weights, -np.frexp(weights.max(initial=0))[1])


def fill_undefined(values, undefined, zero_division):
    """Put `zero_division` where a query has nothing relevant."""
    if isinstance(zero_division, bool) or not isinstance(zero_division, Real):
        raise ValueError(f"zero_division must be NaN or a number, got {zero_division!r}.")
    return np.where(undefined, float(zero_division), values)


def average_queries(values, sample_weight=None, stacklevel=3):
    """Weighted mean of the queries that have a value; NaN, with a warning, if none has.

    `values` has shape (n_queries,) or (n_queries, ...); queries are undefined in all of
    their values or in none. The mean of a vector is a float. The warning points as many
    frames up as `stacklevel` says: of a function under `validate_params`, 4 is the caller.
    """
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    defined = ~np.isnan(flat).any(axis=1)
    weights = np.ones(len(values)) if sample_weight is None else sample_weight
    if np.any(weights[defined] > 0):
        mean = np.average(values[defined], axis=0, weights=weights[defined])
    else:
        warnings.warn(
            "No query has a relevant item, so the metric is undefined. Pass "
            "zero_division=0.0 to count such queries as 0.",
            UndefinedMetricWarning,
            stacklevel=stacklevel,
        )
        mean = np.full(values.shape[1:], np.nan)
    return float(mean) if values.ndim == 1 else mean
