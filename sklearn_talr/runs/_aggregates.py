"""Rows and systems of a table of scores that are means, medians or sums of the others.

If they were kept, a row "Average" of a leaderboard would count as one more task, and a
column as one more system. Such a row has the name of an aggregate, or its scores are the
aggregates of all others.
"""

import re

import numpy as np

from ._tables import plain_label

_BEFORE = "macro|micro|weighted|grand|overall|total|geometric|harmonic|arithmetic|task"
_KINDS = "mean|average|avg|median|sum|total|overall|all|std|margin"
_AFTER = r"\(.*\)|\[.*\]|scores?|all|tasks|queries|topics|overall"
_NAME = re.compile(
    # "Mean (Task)", "macro avg", "Overall average", "avg. score", "Average (56 datasets)"
    rf"(({_BEFORE})[ _-]*)?({_KINDS})\.?([ _-]*({_AFTER}))*"
    # "BEIR average", "Retrieval Avg.", "STS mean"; models may be called "bert_mean"
    r"|.*[ _-](average|avg\.?)|.* mean"
    # "Average of 7 tasks", "mean over languages"
    r"|(average|avg\.?|mean)[ _]+(of|over|across|on|for)[ _].*",
    re.IGNORECASE,
)
# A row counts as an aggregate if chance makes one as near in fewer tables than this.
_MAX_CHANCE = 1e-3
# No column makes chance rarer by more: made-up scores may be equally spaced.
_MIN_CHANCE_IN_COLUMN = 1e-4
# Scores with more decimals count as written in full.
_MAX_DECIMALS = 10


def refuse_aggregates(table):
    """Raise ValueError if a row, a group or a system is the mean, median or sum of others.

    Parameters
    ----------
    table : ScoreTable
    """
    scores = table.scores
    systems = scores.columns.unique(1)
    by_system = [
        scores.xs(name, axis=1, level=1).to_numpy().T.ravel(order="F") for name in systems
    ]
    if table.groups is not None:
        means = scores.groupby(table.groups.to_numpy(), sort=False).mean()
        _refuse("group", "group", means.index, means.to_numpy(), table.group_place)
    _refuse("row", "query or task", scores.index, scores.to_numpy(), table.row_place)
    _refuse("system", "system", systems, np.array(by_system), table.system_place)


def _refuse(kind, counted, names, values, place):
    reasons = {name: "has the name of one" for name in names if _is_named_so(name)}
    if not reasons:
        reasons = _aggregates_by_value(list(names), values)
    if not reasons:
        return
    name, reason = next(iter(reasons.items()))
    line, *other_lines = [place.line_without(name) for name in reasons]
    more_such = ""
    if other_lines:
        more_such = f" So may {len(other_lines)} more: {', '.join(other_lines)}."
    raise ValueError(
        f"the {kind} {plain_label(name)!r} may be an aggregate of the others, such as a "
        f"mean: it {reason}. It would count as one more {counted}. Leave it out with "
        f"{line}; if it is not an aggregate, pass aggregates='keep'.{more_such}"
    )


def _is_named_so(name):
    first = name[0] if isinstance(name, tuple) and name else name
    return isinstance(first, str) and _NAME.fullmatch(first.strip()) is not None


def _aggregates_by_value(names, values):
    """Rows that are the mean, the median or the sum of all others, with the reason.

    Parameters
    ----------
    names : list of length n_rows

    values : ndarray of shape (n_rows, n_columns)

    Returns
    -------
    reasons : dict
        Reason by name.
    """
    values = values[:, np.isfinite(values).all(axis=0)]
    n_rows, n_columns = values.shape
    if n_rows < 3 or n_columns < 2:
        return {}
    tolerance = _tolerances(values)
    total = values.sum(axis=0)
    aggregates = {
        "mean": (total - values) / (n_rows - 1),
        "sum": total - values,
        "median": _medians_of_others(values),
    }
    reasons = {}
    for kind, aggregate in aggregates.items():
        is_near = (np.abs(values - aggregate) <= tolerance[:, None]).all(axis=1)
        for row in np.flatnonzero(is_near).tolist():
            other_rows = np.delete(values, row, axis=0)
            # The median of an odd number of rows may be one of them, such as a copy.
            is_copy = (other_rows == values[row]).all(axis=1).any()
            if not is_copy and _is_no_chance(other_rows, tolerance[row]):
                reasons.setdefault(names[row], f"is the {kind} of all others")
    return reasons


def _medians_of_others(values):
    """The median of each column without each row, (n_rows, n_columns)."""
    n_others = len(values) - 1
    order = np.argsort(values, axis=0)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(len(values))[:, None], axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    # A row at or before the middle moves the rows after it forward.
    lower = (n_others - 1) // 2
    upper = n_others // 2
    below = np.take_along_axis(ordered, lower + (ranks <= lower), axis=0)
    above = np.take_along_axis(ordered, upper + (ranks <= upper), axis=0)
    return (below + above) / 2


def _tolerances(values):
    """Largest deviation of each row from an aggregate that rounding explains, (n_rows,).

    An aggregate has few decimals, or it was computed from scores with more decimals.
    """
    scale = np.abs(values).max(initial=0)
    decimals = np.full(len(values), _MAX_DECIMALS)
    for n_decimals in reversed(range(_MAX_DECIMALS)):
        is_written = np.abs(values - values.round(n_decimals)).max(axis=1) <= 1e-12 * scale
        decimals[is_written] = n_decimals
    second, most = np.sort(decimals)[-2:]
    decimals_of_others = np.where(decimals == most, second, most)
    unit_of_others = np.where(decimals_of_others > 0, 10.0**-decimals_of_others, 0.0)
    return 0.5 * (unit_of_others + 10.0**-decimals) + 1e-9 * scale


def _is_no_chance(others, tolerance):
    """Whether an independent row would rarely be as near to an aggregate of the others.

    The systems of a row are correlated, so columns are compared by their differences to the
    first column.
    """
    first = others[:, :1]
    spread = np.std(np.column_stack([first, others[:, 1:] - first]), axis=0)
    shares = np.ones(len(spread))
    np.divide(tolerance, spread, out=shares, where=spread > tolerance)
    n_telling = np.count_nonzero(shares < 1)
    chance = (len(others) + 1) * shares.clip(min=_MIN_CHANCE_IN_COLUMN).prod()
    return n_telling > 1 and chance < _MAX_CHANCE
