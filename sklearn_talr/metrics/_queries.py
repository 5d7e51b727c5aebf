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


def ranks_within(n, t, k):
    """How many ranks of ties of size `n`, each after `t` items, are at most `k`."""
    return n if k is None else np.clip(k - t, 0, n)


def fill_zero_relevant(values, undefined, zero_relevant):
    """Put NaN ("skip") or the given number where a query has nothing relevant."""
    if zero_relevant == "skip":
        stand_in = np.nan
    elif isinstance(zero_relevant, Real) and not isinstance(zero_relevant, bool):
        stand_in = float(zero_relevant)
    else:
        raise ValueError(
            f"zero_relevant must be 'skip' or a number, got {zero_relevant!r}."
        )
    return np.where(undefined, stand_in, values)


def average_queries(values, sample_weight=None, stacklevel=3):
    """Weighted mean of the queries that have a value; NaN, with a warning, if none has."""
    defined = ~np.isnan(values)
    weights = np.ones(len(values)) if sample_weight is None else sample_weight
    if not np.any(weights[defined] > 0):
        warnings.warn(
            "No query has a relevant item, so the metric is undefined. Pass "
            "zero_relevant=0.0 to count such queries as 0.",
            UndefinedMetricWarning,
            stacklevel=stacklevel,
        )
        return float("nan")
    return float(np.average(values[defined], weights=weights[defined]))
