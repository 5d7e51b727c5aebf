"""Tables of scores: rows are queries or tasks, columns systems, or all is in one column."""

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
    """Compare systems by a table of their scores, such as a leaderboard.

    The tests and intervals are those of :func:`compare_runs`. Scores do not show ties, so
    nothing is said of them. It needs pandas.

    Parameters
    ----------
    scores : DataFrame or dict
        One of these forms, also as a table of Arrow or polars. The names of columns and of
        levels of the index declare what they are; :doc:`/user_guide/forms` has them all.

        * Rows are queries or tasks, columns systems. A column named ``query_id``,
          ``query``, ``topic``, ``task`` or the like has the names of the rows, or the index
          has. All other columns are numbers. The measure is called "score".
        * A dict of columns, one for each system.
        * Columns of two levels, measure and system.
        * Rows are systems, which a column or level named ``model``, ``system`` or
          ``model_name`` says, and columns tasks. The table is turned.
        * A long table with a row for each score: columns ``query_id`` (or another name as
          above), ``system`` (or ``run``, ``model``, ``model_name``, ``name``), ``value``
          (or ``score``, ``main_score``) and perhaps ``measure`` (or ``metric``). Without a
          column of values every other column is one, and its name is the measure.

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
        or level of the index that has them. Each group is averaged, and then is one row, so
        means, intervals and tests are of groups: other groups could have been drawn, with
        other rows. In a long table a row is a query (of its group, if a column has the
        groups), in the order in which they first appear.

    stratify : array-like of shape (n_rows,), default=None
        Label of each row's stratum, for intervals, the tests "bootstrap" and "t", and
        "max-t". Rows of one group must have one label.

    missing : {"raise", "drop"}, default="raise"
        What to do with missing cells: refuse them, or leave out each row that has one.

    aggregates : {"raise", "keep"}, default="raise"
        What to do with rows, groups and systems that look like aggregates of the others, as
        those named "Average", "Mean (Task)", "Overall" or "all", and those whose scores are
        the mean, the median or the sum of all others: refuse them, or take them for data.

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
        row, a group or a system is an aggregate of the others, a table has two values of
        one cell, two rows or two columns have one name, a column may be read in two ways,
        or labels are not one for each row, in the order of the rows if they have an index.
        Messages name the column, and the line of code for each way to read it.

    TypeError
        If `scores` is no table, such as a path.

    ImportError
        If pandas is not installed.

    Warns
    -----
    UserWarning
        If rows or columns were left out, the table was turned, or `test` with `adjust`
        could find no significant pair.

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
        raise ValueError("groups has missing labels: give each row that of its group.")
    word = _word_for_rows(frame.index.name, default="rows")
    evaluations = _evaluations(frame[is_complete], word)
    if groups is None:
        return evaluations, stratify
    word = _word_for_rows(getattr(groups, "name", None), default="groups")
    labels = np.asarray(groups)[is_complete]
    return average_groups(evaluations, labels, stratify, rows=word)


def _table_of(scores, groups_name, aggregates):
    """The table that scores are, without aggregates unless they are kept.

    Errors have lines of code for a DataFrame, so they say how to make one of other forms.
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
            f"{error} For these lines make a table: scores = {line}."
        ) from error
    return table


def _word_for_rows(name, *, default):
    """What rows are called, by the name of the column or level of their names."""
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
            f"{name} must have one label for each of the {len(names)} rows, in their "
            f"order, got a dict: pass [{name}[row] for row in {line_of_names}]."
        )
    if np.shape(labels) != (len(names),):
        raise ValueError(
            f"{name} must have one label for each of the {len(names)} rows, got shape "
            f"{np.shape(labels)}."
        )
    # A column of the table itself has its index, whatever has the names of the rows.
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
        raise ValueError("scores have no row without a missing cell: leave out systems.")
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
            # Scores say nothing of ties.
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
