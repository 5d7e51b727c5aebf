"""Constraints and cutoffs `k` of the functions of arrays."""

from numbers import Integral

from .._compat import Interval, validate_params
from ..measures._evaluation import OF_SCORES

_CUTOFFS = [Interval(Integral, 1, None, closed="left"), "array-like", None]


def checks_scores(**params):
    """Decorate a function of arrays, so that it checks its parameters.

    `params` are constraints of parameters that only some of the functions have.
    """
    constraints = OF_SCORES | {"k": _CUTOFFS} | params
    return validate_params(constraints, prefer_skip_nested_validation=True)


def at_cutoffs(measure, k):
    """The measure at the cutoff `k`, or a list of measures if `k` is a sequence.

    None stands for all ranks, by itself and in a sequence.
    """
    single = k is None or isinstance(k, Integral)
    given = [k] if single else list(k)
    if not given:
        raise ValueError("k must hold at least one cutoff, got an empty sequence.")
    for cutoff in given:
        is_integer = isinstance(cutoff, Integral) and not isinstance(cutoff, bool)
        if cutoff is not None and not (is_integer and 1 <= cutoff < 2**63):
            raise ValueError(
                "k must be a positive integer below 2**63, None for all ranks, or a "
                f"sequence of them, got {k!r}."
            )
    measures = [measure if c is None else measure @ c for c in given]
    return measures[0] if single else measures
