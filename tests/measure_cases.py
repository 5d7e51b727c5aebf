"""Measures of the package under the names of their oracles in :mod:`reference`."""

from functools import partial

import numpy as np
import reference

from sklearn_talr.measures import AP, DCG, F1, RR, P, R, Success, nDCG
from sklearn_talr.metrics import tie_breaking_range

MEASURES = {
    "average_precision": AP,
    "dcg": DCG,
    "f1": F1,
    "hit_rate": Success,
    "ndcg": nDCG,
    "precision": P,
    "recall": R,
    "reciprocal_rank": RR,
}


def named(metric, k=None, *, log_base=None, **params):
    """The measure at a cutoff, or a list of measures for several; of no cutoff for None."""
    if log_base is not None and metric == "dcg":  # of NDCG it cancels
        params["log_base"] = log_base
    measure = MEASURES[metric](**params)
    if k is not None and np.ndim(k):
        return [measure if cutoff is None else measure @ cutoff for cutoff in k]
    return measure if k is None else measure @ k


def range_of(
    histogram, metric="average_precision", k=None, *, zero_division=np.nan, **params
):
    """Worst, expected and best values of a table."""
    measure = named(metric, k, **params)
    return tie_breaking_range(histogram, measure, zero_division=zero_division)


def of_histogram(metric, histogram, k=None, *, zero_division=np.nan, **params):
    """Expected values of a table, a column for each cutoff if `k` is a sequence."""
    measure = named(metric, k, **params)
    if isinstance(measure, list):
        return range_of(histogram, metric, k, zero_division=zero_division, **params)[1]
    return measure.of(histogram, zero_division=zero_division)


TABLES = {name: partial(of_histogram, name) for name in reference.METRICS}
