"""The list of all tie-aware metrics, by the names that users give them."""

from .._compat import StrOptions, validate_parameter_constraints
from ._average_precision import AVERAGE_PRECISION
from ._dcg import DCG, NDCG
from ._first_relevant import HIT_RATE, RECIPROCAL_RANK
from ._precision_recall import F1, PRECISION, RECALL

METRICS = {
    metric.name: metric
    for metric in (
        PRECISION,
        RECALL,
        F1,
        AVERAGE_PRECISION,
        RECIPROCAL_RANK,
        HIT_RATE,
        DCG,
        NDCG,
    )
}
METRIC_NAME = [StrOptions(set(METRICS))]
PARAMS = {
    name: constraint
    for metric in METRICS.values()
    for name, constraint in metric.params.items()
}


def check_params(metric, params, caller):
    """Raise unless the metric of this name takes these parameters with these values."""
    unknown = set(params) - set(METRICS[metric].params)
    if unknown:
        raise TypeError(f"{metric} takes no parameter {', '.join(sorted(unknown))}.")
    validate_parameter_constraints(METRICS[metric].params, params, caller)
