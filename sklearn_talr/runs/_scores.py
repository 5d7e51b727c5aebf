"""Comparisons of systems by tables of scores, such as leaderboards."""

from collections.abc import Mapping

import numpy as np

from .._core.compat import StrOptions, validated
from .._core.progress import warn_caller
from .._core.types import Any, Column, Literal, Seed
from .._core.validation import axis_labels, refuse_masked
from ..inference._resampling import refuse_unlike_rows
from ._aggregates import refuse_aggregates
from ._comparison import OPTIONS, RunComparison, compare_evaluations
from ._data import QUERY
from ._result import RunEvaluation, average_groups, import_pandas
from ._tables import plain_label, read_table

# The word for rows, by the name of the column of their names
_WORDS_FOR_ROWS = {
    "topic": "topics",
    "dataset": "datasets",
    "task": "tasks",
    "task_name": "tasks",
    "query": "queries",
    **dict.fromkeys(QUERY, "queries"),
}
_N_NAMED = 3  # missing cells, in messages


@validated(
    groups=["array-like", str, dict, None],
    missing=[StrOptions({"raise", "drop"})],
    aggregates=[StrOptions({"raise", "keep"})],
    **OPTIONS,
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
    aggregates: Literal["raise", "keep"] = "raise",
    n_resamples: int = 10_000,
    random_state: Seed = 0,
) -> RunComparison:
    """Test which systems of a table of scores, such as a leaderboard, are better.

    Tests and intervals are the same as in :func:`compare_runs`, without the tie analysis.
    It needs pandas.

    Parameters
    ----------
    scores : DataFrame or dict
        One of these forms, also as a table of Arrow or polars. The names of columns and of
        index levels declare the form; :doc:`/user_guide/forms` lists all names.

        * Rows are queries or tasks, and columns are systems. The names of the rows are in
          the index, or in a column named ``query_id``, ``query``, ``topic``, ``task`` or
          similarly. All other columns are numbers. The measure is called "score".
        * A dict of columns, one for each system.
        * Columns of two levels, measure and system.
        * Rows are systems, and columns are tasks. The names of the systems are in a column
          or index level named ``model``, ``system`` or ``model_name``. The table is
          transposed.
        * A long table with a row for each score: columns ``query_id`` (or another name as
          above), ``system`` (or ``run``, ``model``, ``model_name``, ``name``), ``value``
          (or ``score``, ``main_score``) and optionally ``measure`` (or ``metric``). Without
          a column of values every other column holds the values of one measure, which has
          the name of the column.

    test : {"randomization", "bootstrap", "t", "wilcoxon"}, default="randomization"
        The paired test; see :func:`~sklearn_talr.inference.paired_test`.

    adjust : {"auto", "max-t", "holm", "bh"}, default="auto"
        Adjustment of the p-values of a measure for the number of pairs, as in
        :func:`compare_runs`.

    alpha : float, default=0.05
        Level of the tests. The intervals have the confidence level ``1 - alpha``. Above 0
        and below 1.

    greater_is_better : bool, default=True
        Set it to False if the least mean is the best, as for times and errors.

    groups : str or array-like of shape (n_rows,), default=None
        Label of each row's group, for rows that are not independent, such as queries of
        one task, languages of one task or variants of one query; or the name of the column
        or index level with these labels. Each group is averaged and then counts as one row,
        so means, intervals and tests are of groups. In a long table a row is a query
        (within its group, if a column has the groups), in the order of first appearance.

    stratify : array-like of shape (n_rows,), default=None
        Label of each row's stratum, for intervals, the tests "bootstrap" and "t", and
        "max-t". Rows of one group must have one label.

    missing : {"raise", "drop"}, default="raise"
        Treatment of missing cells: raise an error, or drop each row that has one.

    aggregates : {"raise", "keep"}, default="raise"
        Treatment of rows, groups and systems that look like aggregates of the others: raise
        an error, or keep them as data. They have a name such as "Average", "Mean (Task)",
        "Overall" or "all", or their scores are the mean, the median or the sum of all
        others.

    n_resamples : int, default=10_000
        Number of samples of rows, at least 100, for intervals, the test "bootstrap" and the
        adjustment "max-t".

    random_state : int, RandomState instance or None, default=0
        Seed of the samples.

    Returns
    -------
    comparison : RunComparison
        It prints as tables. Its `queries` are the rows of the table. The printed tables
        call them by the name of their column or index, such as "tasks".

    Raises
    ------
    ValueError
        If there are fewer than two systems; if a cell is missing, infinite or not a number;
        if a row, a group or a system is an aggregate of the others; if a long table has two
        values for one cell; if two rows or two columns have the same name; if a column can
        be read in two ways; or if there is not one label for each row, in the order of the
        rows if they have an index. The message names the column, and the line of code for
        each reading.

    TypeError
        If `scores` is not a table, such as a path.

    ImportError
        If pandas is not installed.

    Warns
    -----
    UserWarning
        If rows or columns were left out, if the table was transposed, or if no pair could
        be significant with `test` and `adjust`.

    See Also
    --------
    compare_runs : Compares runs, with an analysis of their ties.
    read_mteb_results : Reads a table of scores from mteb's results.

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
    evaluations, stratify = evaluations_of_scores(
        scores, missing, groups=groups, stratify=stratify, aggregates=aggregates
    )
    return compare_evaluations(
        evaluations,
        test=test,
        adjust=adjust,
        alpha=alpha,
        greater_is_better=greater_is_better,
        stratify=stratify,
        n_resamples=n_resamples,
        random_state=random_state,
    )


def evaluations_of_scores(
    scores, missing, *, groups=None, stratify=None, aggregates="raise"
):
    """Evaluations of the systems of a table, and the stratum of each of their rows."""
    groups_name = groups if isinstance(groups, str) else None
    table = _table_of(scores, groups_name, aggregates)
    frame = table.scores
    if groups_name is not None:
        groups = table.groups
    else:
        _refuse_unlike_labels(scores, table, "groups", groups)
    _refuse_unlike_labels(scores, table, "stratify", stratify)
    is_complete = _complete_rows(frame, missing)
    if stratify is not None:
        stratify = np.asarray(stratify)[is_complete]
    if groups is not None and import_pandas().isna(np.asarray(groups, dtype=object)).any():
        raise ValueError("groups has missing labels: give each row the label of its group.")
    word = _word_for_rows(frame.index.name, default="rows")
    evaluations = _evaluations(frame[is_complete], word)
    if groups is None:
        return evaluations, stratify
    word = _word_for_rows(getattr(groups, "name", None), default="groups")
    labels = np.asarray(groups)[is_complete]
    return average_groups(evaluations, labels, stratify, rows=word)


def _table_of(scores, groups_name, aggregates):
    """The checked table of scores.

    Errors have lines of code for a DataFrame, so for other forms they add the line that
    makes one.
    """
    try:
        table = read_table(scores, groups_name)
        if aggregates == "raise":
            refuse_aggregates(table)
    except ValueError as error:
        has_lines = "scores." in str(error) or "scores[" in str(error)
        if isinstance(scores, import_pandas().DataFrame) or not has_lines:
            raise
        line = "pd.DataFrame(scores)"
        if hasattr(scores, "to_pandas"):
            line = "scores.to_pandas()"
        raise ValueError(
            f"{error} These lines need a DataFrame: scores = {line}."
        ) from error
    return table


def _word_for_rows(name, *, default):
    """Word for the rows, from the name of the column or level that has their names."""
    return _WORDS_FOR_ROWS.get(str(name).strip().lower().replace(" ", "_"), default)


def _refuse_unlike_labels(scores, table, name, labels):
    """Raise an error unless there is a label for each row, by position and by index."""
    if labels is None:
        return
    refuse_masked(**{name: labels})
    names = list(table.scores.index)
    line_of_names = table.row_place.line_of_names()
    if isinstance(labels, Mapping):
        raise ValueError(
            f"{name} must have one label per row, {len(names)} in all, in the order of the "
            f"rows, got a dict: pass [{name}[row] for row in {line_of_names}]."
        )
    if np.shape(labels) != (len(names),):
        raise ValueError(
            f"{name} must have one label per row, {len(names)} in all, got shape "
            f"{np.shape(labels)}."
        )
    # A column of the table itself has its index, even if a column names the rows.
    has_index_of_table = isinstance(scores, import_pandas().DataFrame) and np.array_equal(
        axis_labels(labels)[0], axis_labels(scores)[0]
    )
    if not has_index_of_table:
        refuse_unlike_rows(labels, name, names, line_of_names)


def _complete_rows(frame, missing):
    """Whether each row has all its scores; by `missing` an error if one lacks some."""
    values = frame.to_numpy()
    _refuse_cells(frame, np.isinf(values), "infinite")
    is_missing = np.isnan(values)
    if missing == "raise":
        advice = ", which missing='drop' leaves out with their rows"
        _refuse_cells(frame, is_missing, "missing", advice)
    is_complete = ~is_missing.any(axis=1)
    if not is_complete.any():
        raise ValueError("every row of scores has a missing cell: leave out some systems.")
    if not is_complete.all():
        n_left_out = (~is_complete).sum()
        warn_caller(
            f"{n_left_out} of {len(is_complete)} rows have missing cells and are left out.",
        )
    return is_complete


def _evaluations(frame, rows):
    """Evaluations of the systems of a frame whose columns are of measures and systems."""
    measures = list(map(str, frame.columns.unique(0)))
    queries = list(map(str, frame.index))
    evaluations = []
    for system in frame.columns.unique(1):
        values = frame.xs(system, axis=1, level=1).to_numpy()
        evaluation = RunEvaluation(
            name=str(system),
            measures=measures,
            queries=queries,
            # Scores have no information about ties.
            expected=values,
            worst=values,
            best=values,
            trec_eval=values,
            rows=rows,
        )
        evaluations.append(evaluation)
    return evaluations


def _refuse_cells(frame, is_wrong, kind, advice=""):
    """Raise an error that counts wrong cells and names the first of them."""
    rows, columns = np.nonzero(is_wrong)
    if not len(rows):
        return
    names = [
        f"{frame.columns[column][1]!r} of {plain_label(frame.index[row])!r}"
        for row, column in zip(rows[:_N_NAMED], columns)
    ]
    if len(rows) > _N_NAMED:
        names.append("...")
    cells = "1 cell is" if len(rows) == 1 else f"{len(rows)} cells are"
    raise ValueError(f"{cells} {kind}{advice}: {', '.join(names)}.")
