"""What all metrics do alike with cutoffs, undefined queries and averages."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning


def check_cutoff(k):
    """Return `k` as an int or None, or raise ValueError."""
    if k is None:
        return None
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a positive integer or None, got {k!r}.")
    return int(k)


def check_cutoffs(k):
    """Return the cutoffs as an array, or None for all ranks, and whether `k` is single."""
    single = k is None or np.ndim(k) == 0
    if k is None:
        return None, single
    cutoffs = np.atleast_1d(np.asarray(k))
    if not cutoffs.size:
        raise ValueError("k must hold at least one cutoff, got an empty sequence.")
    if cutoffs.dtype.kind not in "iu" or cutoffs.ndim > 1 or np.any(cutoffs < 1):
        raise ValueError(
            f"k must be a positive integer or None, or a sequence of them, got {k!r}."
        )
    return cutoffs.astype(np.int64), single


def fill_zero_relevant(values, undefined, zero_relevant):
    """Put NaN ("skip") or the given number where a query has nothing relevant."""
    if isinstance(zero_relevant, str) and zero_relevant == "skip":
        stand_in = np.nan
    elif isinstance(zero_relevant, Real) and not isinstance(zero_relevant, bool):
        stand_in = float(zero_relevant)
    else:
        raise ValueError(
            f"zero_relevant must be 'skip' or a number, got {zero_relevant!r}."
        )
    return np.where(undefined, stand_in, values)


def average_queries(values, sample_weight=None, stacklevel=3):
    """Weighted mean of the queries that have a value; NaN, with a warning, if none has.

    `values` has shape (n_queries,) or (n_queries, ...); queries are undefined in all of
    their values or in none. The mean of a vector is a float.
    """
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    defined = ~np.isnan(flat).any(axis=1)
    weights = np.ones(len(values)) if sample_weight is None else sample_weight
    if np.any(weights[defined] > 0):
        mean = np.average(values[defined], axis=0, weights=weights[defined])
    else:
        warnings.warn(
            "No query has a relevant item, so the metric is undefined. Pass "
            "zero_relevant=0.0 to count such queries as 0.",
            UndefinedMetricWarning,
            stacklevel=stacklevel,
        )
        mean = np.full(values.shape[1:], np.nan)
    return float(mean) if values.ndim == 1 else mean
