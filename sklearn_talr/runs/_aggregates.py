"""Rows and systems of a table of scores that are means, medians or sums of the others.

A leaderboard's row "Average" counts as one more task, and its column as one more system.
Such a row has the name of an aggregate, or its scores are those of all the others together.
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
# A row is taken for an aggregate if chance made one so near in fewer tables than this.
_RAREST = 1e-3
# No column makes chance rarer by more: scores that are made up may be equally spaced.
_RAREST_IN_COLUMN = 1e-4
_MOST_DECIMALS = 10


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
    if reasons:
        name, reason = next(iter(reasons.items()))
        lines = [place.line_without(name) for name in reasons]
        more = f" {len(lines) - 1} more are such: {', '.join(lines[1:])}." * (
            len(lines) > 1
        )
        raise ValueError(
            f"the {kind} {plain_label(name)!r} may be an aggregate of the others, as a "
            f"mean is: it {reason}. It would count as one more {counted}. Leave it out by "
            f"{lines[0]}; if it is no aggregate, pass aggregates='keep'.{more}"
        )


def _is_named_so(name):
    first = name[0] if isinstance(name, tuple) and name else name
    return isinstance(first, str) and _NAME.fullmatch(first.strip()) is not None


def _aggregates_by_value(names, values):
    """Which rows are the mean, the median or the sum of all others, and which of these.

    Parameters
    ----------
    names : list of length n_rows

    values : ndarray of shape (n_rows, n_columns)

    Returns
    -------
    reasons : dict
        Why, by name.
    """
    values = values[:, np.isfinite(values).all(axis=0)]
    n_rows, n_columns = values.shape
    if n_rows < 3 or n_columns < 2:
        return {}
    tolerance, total, reasons = _tolerances(values), values.sum(axis=0), {}
    others = {
        "mean": (total - values) / (n_rows - 1),
        "sum": total - values,
        "median": _medians_of_others(values),
    }
    for aggregate, of_others in others.items():
        is_near = (np.abs(values - of_others) <= tolerance[:, None]).all(axis=1)
        for row in np.flatnonzero(is_near).tolist():
            rest = np.delete(values, row, axis=0)
            # The median of an odd number of rows may be one of them, such as a copy.
            is_copy = (rest == values[row]).all(axis=1).any()
            if not is_copy and _is_no_chance(rest, tolerance[row]):
                reasons.setdefault(names[row], f"is the {aggregate} of all others")
    return reasons


def _medians_of_others(values):
    """The median of each column without each row, (n_rows, n_columns)."""
    n_others = len(values) - 1
    order = np.argsort(values, axis=0)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(len(values))[:, None], axis=0)
    ordered = np.take_along_axis(values, order, axis=0)
    middle = [
        np.take_along_axis(ordered, place + (ranks <= place), axis=0)
        for place in ((n_others - 1) // 2, n_others // 2)
    ]
    return (middle[0] + middle[1]) / 2


def _tolerances(values):
    """How far from an aggregate each row may be by rounding, (n_rows,).

    An aggregate has few decimals, or it is of scores that had more than are written.
    """
    scale = np.abs(values).max(initial=0)
    decimals = np.full(len(values), _MOST_DECIMALS)
    for n_decimals in reversed(range(_MOST_DECIMALS)):
        is_written = np.abs(values - values.round(n_decimals)).max(axis=1) <= 1e-12 * scale
        decimals[is_written] = n_decimals
    most = np.sort(decimals)[::-1]
    of_others = np.where(decimals == most[0], most[1], most[0])
    units = np.where(of_others > 0, 10.0**-of_others, 0.0) + 10.0**-decimals
    return 0.5 * units + 1e-9 * scale


def _is_no_chance(others, tolerance):
    """Whether a row of its own would hardly ever be so near to an aggregate of the others.

    Systems are alike in a row, so columns count by their differences to the first.
    """
    spread = np.std(
        np.column_stack([others[:, 0], (others.T - others[:, 0])[1:].T]), axis=0
    )
    shares = np.ones(len(spread))
    np.divide(tolerance, spread, out=shares, where=spread > tolerance)
    n_telling = np.count_nonzero(shares < 1)
    chance = (len(others) + 1) * shares.clip(min=_RAREST_IN_COLUMN).prod()
    return n_telling > 1 and chance < _RAREST
