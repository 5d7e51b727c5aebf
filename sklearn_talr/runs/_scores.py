"""Tables of scores: rows are queries or tasks, columns systems, or all is in one column."""

import re

import numpy as np

from .._arrays import refuse_masked
from .._compat import StrOptions, validated
from .._progress import warn_caller
from .._types import Any, Column, Literal, Seed
from ..measures._base import MEASURES
from ._comparison import OPTIONS, RunComparison, compare_evaluations
from ._data import QUERY, one_of, without_splits
from ._result import RunEvaluation, import_pandas

_QUERY = *QUERY, "query", "topic", "task", "task_name", "dataset"
_CALLED = {"topic": "topics", "dataset": "datasets"}
_CALLED |= dict.fromkeys(("task", "task_name"), "tasks")
_CALLED |= dict.fromkeys((*QUERY, "query"), "queries")
_SYSTEM = "system", "run", "model", "model_name", "name"
_ROWS_ARE_SYSTEMS = "system", "model", "model_name"
_VALUE = "value", "score", "main_score"
_MEASURE = "measure", "metric"
_INDEX = re.compile(r"Unnamed: \d+")  # which pandas has saved
_RANK = re.compile(r"rank(ing)?( *\(.*\))?", re.IGNORECASE)
_MOST_NAMED = 3  # missing cells


@validated(
    groups=["array-like", str, None], missing=[StrOptions({"raise", "drop"})], **OPTIONS
)
def compare_scores(
    scores: Any,
    *,
    test: Literal["randomization", "bootstrap", "t", "wilcoxon"] = "randomization",
    adjust: Literal["auto", "max-t", "holm", "bh"] = "auto",
    alpha: float = 0.05,
    greater_is_better: bool = True,
    groups: Any = None,
    stratify: Column = None,
    missing: Literal["raise", "drop"] = "raise",
    n_resamples: int = 10_000,
    random_state: Seed = 0,
) -> RunComparison:
    """Compare systems by a table of their scores, such as a leaderboard.

    All is as in :func:`compare_runs`, but for ties, of which scores tell nothing. It needs
    pandas.

    Parameters
    ----------
    scores : DataFrame or dict
        One of these forms, also as a table of Arrow or polars:

        * Rows are queries or tasks, columns systems. A column named ``query_id``,
          ``query``, ``topic``, ``task`` or the like, or one column of text, has the names
          of the rows; else the index has. The measure is called "score". Ranks, and
          columns of bool beside others, are left out.
        * A dict of columns, one for each system.
        * Columns of two levels, measure and system.
        * Rows are systems, which a column of text or the index ``model``, ``system`` or
          ``model_name`` tells, and columns tasks. The table is turned.
        * A long table with a row for each score: columns ``query_id`` (or another name as
          above), ``system`` (or ``run``, ``model``, ``model_name``, ``name``), ``value``
          (or ``score``, ``main_score``) and perhaps ``measure`` (or ``metric``). Without a
          column of values every column of numbers is one, and its name is the measure.

    test : {"randomization", "bootstrap", "t", "wilcoxon"}, default="randomization"
        The paired test; see :func:`~sklearn_talr.inference.paired_test`.

    adjust : {"auto", "max-t", "holm", "bh"}, default="auto"
        How p-values of a measure are adjusted for the number of pairs, as in
        :func:`compare_runs`.

    alpha : float, default=0.05
        Level of the tests. The intervals have the confidence level ``1 - alpha``. Above 0
        and below 1.

    greater_is_better : bool, default=True
        Set it to False where the least mean is the best, as of seconds and errors.

    groups : str or array-like of shape (n_rows,), default=None
        Label of each row's group, for rows that are not independent, such as queries of
        one task, languages of one task or variants of one query; or the name of the column
        that has them. Each group is averaged, and then is one row, so means, intervals and
        tests are of groups: other groups could have been drawn, with other rows. In a long
        table a row is a query (of its group, if a column has the groups), in the order in
        which they first appear.

    stratify : array-like of shape (n_rows,), default=None
        Label of each row's stratum, for intervals, the tests "bootstrap" and "t", and
        "max-t". Rows of one group must have one label.

    missing : {"raise", "drop"}, default="raise"
        What to do with missing cells: refuse them, or leave out each row that has one.

    n_resamples : int, default=10_000
        Number of samples of rows, at least 100, for intervals, the test "bootstrap" and the
        adjustment "max-t".

    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    comparison : RunComparison
        It prints as tables. Rows of the table are its `queries`, and are called what the
        column or index of their names is, such as tasks.

    Raises
    ------
    ValueError
        If there are fewer than two systems, a cell is missing, infinite or no number, a
        long table has two values of one cell, two columns have one name, nobody knows what
        a column or a level is, or labels are not one for each row.

    ImportError
        If pandas is not installed.

    Warns
    -----
    UserWarning
        If rows or columns were left out, the table was turned, or `test` with `adjust`
        could separate no pair.

    See Also
    --------
    compare_runs : The same of evaluated runs, with what ties can do.
    read_mteb_results : Tables of what mteb has kept.

    Examples
    --------
    >>> from sklearn_talr.runs import compare_scores
    >>> scores = {
    ...     "large": [0.61, 0.72, 0.55, 0.83, 0.47, 0.90, 0.66, 0.58],
    ...     "base": [0.58, 0.70, 0.51, 0.80, 0.46, 0.88, 0.61, 0.57],
    ...     "random": [0.10, 0.22, 0.09, 0.31, 0.02, 0.25, 0.18, 0.11],
    ... }
    >>> comparison = compare_scores(scores)
    >>> comparison.to_frame(per_run=True)[["mean", "rank_low", "rank_high"]].round(3)
                     mean  rank_low  rank_high
    measure run
    score   large   0.665         1          1
            base    0.639         2          2
            random  0.160         3          3
    """
    labels = {"groups": groups, "stratify": stratify}
    evaluations, stratify = evaluations_of_scores(scores, missing, **labels)
    options = alpha, greater_is_better, stratify, n_resamples, random_state
    return compare_evaluations(evaluations, test, adjust, *options)


def evaluations_of_scores(scores, missing, groups=None, stratify=None):
    """Evaluations of the systems of a table, and the stratum of each of their rows."""
    frame, groups = _by_measure_and_system(scores, groups)
    pd, labels = import_pandas(), {"groups": groups, "stratify": stratify}
    refuse_masked(**labels)
    for name, given in labels.items():
        if given is not None and np.shape(given) != (len(frame),):
            raise ValueError(
                f"{name} must have one label for each of the {len(frame)} rows, got shape "
                f"{np.shape(given)}."
            )
    if groups is not None and pd.isna(groups).any():
        raise ValueError("groups has missing labels: give each row that of its group.")
    try:
        values = frame.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}.") from error
    _refuse_cells(frame, np.isinf(values), "infinite")
    is_missing = np.isnan(values)
    if missing == "raise":
        advice = ", which missing='drop' leaves out with their rows"
        _refuse_cells(frame, is_missing, "missing", advice)
    kept = ~is_missing.any(axis=1)
    if not kept.any():
        raise ValueError("scores have no row without a missing cell: leave out systems.")
    if not kept.all():
        warn_caller(
            f"{(~kept).sum()} of {len(kept)} rows have missing cells and are left out.",
        )
    frame = pd.DataFrame(values, frame.index, frame.columns)[kept]
    if stratify is not None:
        stratify = pd.Series(np.asarray(stratify)[kept], frame.index)
    name = frame.index.name if groups is None else getattr(groups, "name", None)
    rows = _CALLED.get(_plain(name), "rows" if groups is None else "groups")
    if groups is not None:
        groups = np.asarray(groups)[kept]
        frame = frame.groupby(groups, sort=False).mean()
        if stratify is not None:
            of_groups = stratify.groupby(groups, sort=False)
            if (of_groups.nunique() > 1).any():
                raise ValueError("rows of one group must have one label in stratify.")
            stratify = of_groups.first()
    measures, queries = list(frame.columns.unique(0)), list(map(str, frame.index))
    evaluations = []
    for system in frame.columns.unique(1):
        values = frame.xs(system, axis=1, level=1).to_numpy()
        columns = list(map(str, measures)), queries, *[values] * 4
        evaluations.append(RunEvaluation(str(system), *columns, rows=rows))
    return evaluations, stratify


def _by_measure_and_system(scores, groups):
    """The table by query, with columns of a measure and a system each, and its groups."""
    pd = import_pandas()
    scores = without_splits(scores, "compare_scores")
    if not isinstance(scores, pd.DataFrame) and hasattr(scores, "to_numpy"):
        names = getattr(scores, "columns", None)  # of polars
        scores = scores if names is None else {n: scores[n].to_numpy() for n in names}
    frame = pd.DataFrame(scores).copy()  # in one piece, or pandas warns of many columns
    repeated = list(frame.columns[frame.columns.duplicated(keep=False)])
    if repeated:
        raise ValueError(
            f"columns of one name: {repeated}. Rename them, or leave out some."
        )
    if frame.columns.nlevels > 1:
        return _of_two_levels(frame), groups
    known = {*_QUERY, *_SYSTEM, *_MEASURE}
    named = [name for name in frame.index.names if _plain(name) in known]
    frame = frame.reset_index(named) if named else frame
    has_groups = isinstance(groups, str)
    if has_groups and groups not in frame:
        raise ValueError(f"groups must name a column of scores, got {groups!r}.")
    columns = frame.columns.drop(groups) if has_groups else frame.columns
    plain = {_plain(name): name for name in columns[::-1]}
    are_numbers = frame.dtypes.map(pd.api.types.is_numeric_dtype)
    texts = [name for name in plain if not are_numbers[plain[name]]]
    query, measure = (next(filter(plain.get, names), None) for names in (_QUERY, _MEASURE))
    value, system = one_of(_VALUE, plain), one_of(_SYSTEM, texts) or one_of(_SYSTEM, plain)
    has_names, may_turn = system in texts, system in _ROWS_ARE_SYSTEMS and not has_groups
    query, system, value, measure = map(plain.get, (query, system, value, measure))
    index = [groups, query] if has_groups else [query]
    is_long = None not in (query, system) and (
        value is not None or has_names or frame.duplicated(index).any()
    )
    if value is None or not is_long:
        scored = columns[are_numbers[columns]].difference([*index, system], sort=False)
        frame = frame.drop(columns=_no_scores(frame[scored]))
    if is_long and value is None:
        values = [name for name in scored if name in frame]
        if measure or not values:
            raise ValueError(
                "a long table of scores has a column 'value', 'score' or 'main_score', got "
                f"{list(columns)}: rename that of the scores."
            )
        value, measure = "value", "measure"
        frame = frame.melt([*index, system], values, measure, value)
    if is_long:
        frame = frame if measure else frame.assign(measure="score")
        key = [*index, measure or "measure", system]
        repeated = frame[frame.duplicated(key)]
        if len(repeated):
            cell = repeated.iloc[0][key].to_dict()
            raise ValueError(f"scores have two values or more of {cell}.")
        measures, systems = (frame[name].unique() for name in key[-2:])
        table = frame.pivot(index=index, columns=key[-2:], values=value)
        columns = pd.MultiIndex.from_product([measures, systems])
        rows = frame.set_index(index).index.unique()
        groups = rows.get_level_values(0) if has_groups else groups
        return table.reindex(index=rows, columns=columns), groups
    if has_names and not (may_turn and frame[system].is_unique):
        raise ValueError(
            f"the column {system!r} may name queries or systems, each once. Rename it to "
            "'query_id'; or, if each row is a system, turn the table by "
            f"scores.set_index({system!r}).T."
        )
    if has_names:
        frame = frame.set_index(system).T.rename_axis("task")
        warn_caller(
            f"rows are systems, as the column {system!r} says: the table is turned. Its "
            f"tasks are {', '.join(map(str, frame.index))}; leave out what is no score."
        )
    groups = frame.pop(groups) if has_groups else groups
    if query is None and len(texts) == 1 and not has_names:
        query = plain[texts[0]] if frame[plain[texts[0]]].is_unique else None
    frame = frame if query is None else frame.set_index(query)
    columns = pd.MultiIndex.from_product([["score"], frame.columns])
    return frame.set_axis(columns, axis=1), groups


def _plain(name):
    return str(name).strip().lower().replace(" ", "_")


def _no_scores(numbers):
    """Saved indexes, ranks, and truth values beside numbers; the last two are told."""
    are_bool = [dtype.kind == "b" for dtype in numbers.dtypes]
    told = [
        name
        for name, is_bool in zip(numbers, are_bool)
        if _RANK.fullmatch(str(name)) or (is_bool and not all(are_bool))
    ]
    if told:
        names = ", ".join(map(repr, told))
        warn_caller(f"ranks and truth values are no scores and are left out: {names}.")
    return told + [name for name in numbers if _INDEX.fullmatch(str(name))]


def _of_two_levels(frame):
    """A table whose columns are systems of measures, the measure first."""
    names = list(map(_plain, frame.columns.names))
    levels = [frame.columns.unique(level) for level in (0, 1)]
    are_measures = [
        name in _MEASURE
        or other in _SYSTEM
        or all(re.split("[@(]", str(each))[0] in MEASURES for each in level)
        for name, other, level in zip(names, names[::-1], levels)
    ]
    if len(names) > 2 or sum(are_measures) != 1:
        raise ValueError(
            "columns of several levels must be measure and system, and say which is which: "
            "scores.columns.names = ['measure', 'system']."
        )
    if are_measures[1]:
        frame, levels = frame.swaplevel(axis=1), levels[::-1]
    return frame.reindex(columns=import_pandas().MultiIndex.from_product(levels))


def _refuse_cells(frame, are_wrong, kind, advice=""):
    """Raise an error that counts wrong cells and names the first of them."""
    if are_wrong.any():
        rows, columns = np.nonzero(are_wrong)
        named = [
            f"{frame.columns[column][1]!r} of {frame.index[row]!r}"
            for row, column in zip(rows[:_MOST_NAMED], columns)
        ]
        more = ", ..." if len(rows) > _MOST_NAMED else ""
        cells = f"{len(rows)} cell{' is' if len(rows) == 1 else 's are'} {kind}"
        raise ValueError(f"{cells}{advice}: {', '.join(named)}{more}.")
