"""Forms of tables of scores, read by the names of their columns and levels.

The name of a column declares its role: a column `task` or `query_id` has the names of rows,
`system` or `model` those of systems, `measure` those of measures, and `score` has scores.
The index can have the names of rows as well. Every other column has the scores of one
system, which must be numbers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from os import PathLike
from typing import NamedTuple

import numpy as np

from .._core.progress import warn_caller
from .._core.types import Any
from ..measures._base import MEASURES
from ._data import QUERY, one_of, without_splits
from ._result import import_pandas

_ROWS = *QUERY, "query", "topic", "task", "task_name", "dataset"
_SYSTEM = "system", "run", "model", "model_name", "name"
_ROWS_ARE_SYSTEMS = "system", "model", "model_name"
_VALUE = "value", "score", "main_score"
_MEASURE = "measure", "metric"
_REPETITION = "seed", "random_state", "trial", "fold", "repetition", "run_id", "iteration"
_DECLARED = {*_ROWS, *_SYSTEM, *_MEASURE}
# Names that pandas gives to a column without a header, such as a saved index, and that
# others give to a column of row numbers
_NO_HEAD = re.compile(r"Unnamed: \d+|index|level_\d+|id|#", re.IGNORECASE)
_RANK = re.compile(r"rank(ing)?( *\(.*\))?", re.IGNORECASE)
_N_NAMED = 3  # columns, in messages
# Columns that a long table gets if it has none of its own; no table has such names.
_MEASURE_COLUMN, _VALUE_COLUMN = "\0measure", "\0value"


class Place(NamedTuple):
    """The place of the names of rows, or of systems, in a table of scores.

    Parameters
    ----------
    axis : {"index", "columns", "cells"}
        Labels of rows, labels of columns, or the cells of a column.

    name : object
        Name of the column, or the level of the labels, or None if they have one level.
    """

    axis: str
    name: Any = None

    def line_without(self, label):
        """Line of code that leaves out the row or system of this name."""
        label = plain_label(label)
        if self.axis == "cells":
            return f"scores[scores[{self.name!r}] != {label!r}]"
        level = "" if self.name is None else f", level={self.name!r}"
        return f"scores.drop({self.axis}={label!r}{level})"

    def line_of_names(self):
        """Code that lists all names, each once."""
        if self.axis == "cells":
            return f"scores[{self.name!r}].unique()"
        if self.name is None:
            return f"scores.{self.axis}"
        return f"scores.{self.axis}.unique({self.name!r})"


@dataclass(frozen=True)
class ScoreTable:
    """Scores with a row for each query, and a column for each measure and system.

    Parameters
    ----------
    scores : DataFrame of shape (n_rows, n_measures * n_systems) of float
        Its columns have two levels, measure and system.

    row_place, system_place : Place
        Places of their names in the table that was passed.

    groups : Series of length n_rows, or None
        Group of each row, if a column or a level has it.

    group_place : Place or None
        Place of the groups.
    """

    scores: Any
    row_place: Place
    system_place: Place
    groups: Any = None
    group_place: Place | None = None


class _Fields(NamedTuple):
    """Columns of a table by the role that their names declare; None if there is none."""

    rows: Any
    system: Any
    measure: Any
    value: Any
    groups: Any


def read_table(scores, groups_name=None):
    """Read a table of scores in any of its forms.

    Parameters
    ----------
    scores : DataFrame, dict, table of Arrow or polars

    groups_name : str, default=None
        Name of the column, or the level of the index, that has the group of each row.

    Returns
    -------
    table : ScoreTable
    """
    frame = as_frame(scores)
    _refuse_equal_names(frame)
    if frame.columns.nlevels > 1:
        return _read_two_levels(frame, groups_name)
    flat, levels = _with_levels_as_columns(frame, groups_name)
    fields = _fields_of(flat, levels, groups_name)
    if fields.rows is not None and fields.system is not None:
        return _read_long(flat, fields, levels)
    if fields.measure is not None:
        raise ValueError(
            f"the column {fields.measure!r} names measures, and no column names systems. "
            "A long table has columns such as 'task', 'system', 'measure' and 'score'."
        )
    if fields.system is not None:
        return _read_turned(flat, fields, levels)
    return _read_wide(frame, fields, levels)


def plain_label(label):
    """A label as Python writes it: numbers of NumPy have their type in their repr."""
    return label.item() if isinstance(label, np.generic) else label


def as_frame(scores):
    """A table of any library, or a dict of columns, as a DataFrame of its own."""
    pd = import_pandas()
    scores = without_splits(scores, "compare_scores")
    if isinstance(scores, str | PathLike):
        raise TypeError(
            f"compare_scores takes a table, not a path, got {scores!r}: pass "
            "pd.read_csv(path)."
        )
    are_columns = hasattr(scores, "to_numpy") or hasattr(scores, "__array__")
    if not isinstance(scores, Mapping | Sequence) and not are_columns:
        raise TypeError(
            "compare_scores takes a DataFrame, a dict of columns or a table of Arrow or "
            f"polars, got {type(scores).__name__}."
        )
    if not isinstance(scores, pd.DataFrame) and hasattr(scores, "to_numpy"):
        names = getattr(scores, "columns", None)
        # A table of polars
        if names is not None:
            scores = {name: scores[name].to_numpy() for name in names}
    # In one piece, or pandas warns of many columns
    return pd.DataFrame(scores).copy()


def _plain(name):
    return str(name).strip().lower().replace(" ", "_")


def _refuse_equal_names(frame):
    repeated = list(frame.columns[frame.columns.duplicated(keep=False)])
    if repeated:
        raise ValueError(
            f"several columns have the same name: {repeated}. Rename them, or leave out "
            "some."
        )


# Roles of columns


def _with_levels_as_columns(frame, groups_name):
    """The table with those levels of its index as columns whose names declare a field.

    Returns
    -------
    frame : DataFrame

    levels : dict of str to Place
        Places of the levels, by their names.
    """
    names = [
        name
        for name in frame.index.names
        if name is not None and (_plain(name) in _DECLARED or name == groups_name)
    ]
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise ValueError(
            f"the index and a column are called {taken[0]!r}: pass "
            f"scores.drop(columns={taken[0]!r}), or scores.rename_axis(index=None)."
        )
    has_levels = frame.index.nlevels > 1
    levels = {name: Place("index", name if has_levels else None) for name in names}
    return frame.reset_index(names) if names else frame, levels


def _fields_of(frame, levels, groups_name):
    """The columns of rows, systems, measures, scores and groups."""
    if groups_name is not None and groups_name not in frame.columns:
        raise ValueError(
            f"groups must name a column of scores, got {groups_name!r}: the columns are "
            f"{list(frame.columns)}."
        )
    columns = [name for name in frame.columns if name != groups_name]
    rows = [name for name in columns if _plain(name) in _ROWS]
    if len(rows) > 1:
        first, second = rows[:2]
        raise ValueError(
            f"the columns {first!r} and {second!r} both name rows. To average the rows of "
            f"one of them, pass groups={first!r} or groups={second!r}; to ignore one of "
            f"them, pass scores.drop(columns={second!r})."
        )
    # Numbers with a point are scores of a system of this name, never its name.
    kinds = {name: _kind_of(frame[name]) for name in columns if _plain(name) in _DECLARED}
    no_reals = [name for name, kind in kinds.items() if name in levels or kind != "real"]
    texts = [name for name in no_reals if name in levels or kinds[name] == "text"]
    value = _column_of(_VALUE, columns)
    system = _column_of(_SYSTEM, no_reals)
    if not rows and groups_name is not None and _plain(groups_name) in _ROWS:
        _refuse_groups_as_rows(groups_name, system)
    if system is not None and system not in texts:
        _refuse_numbered_systems(system, is_long=bool(rows) and value is not None)
    return _Fields(
        rows=rows[0] if rows else None,
        system=system,
        measure=_column_of(_MEASURE, texts),
        value=value,
        groups=groups_name,
    )


def _refuse_groups_as_rows(groups_name, system):
    """Raise an error if a long table has names of groups, and none of their rows."""
    if system is not None:
        raise ValueError(
            f"groups={groups_name!r} is the only column that names rows. To average all "
            f"scores of each group, pass scores.groupby([{groups_name!r}, {system!r}], "
            "sort=False).mean(numeric_only=True) without groups; otherwise name the rows "
            "in a column 'query_id'."
        )


def _column_of(names, columns):
    """The column that has one of some names, or None."""
    by_name = {}
    for column in columns:
        by_name.setdefault(_plain(column), []).append(column)
    name = one_of(names, by_name)
    if name is None:
        return None
    if len(by_name[name]) > 1:
        raise ValueError(
            f"several columns have the same role: {by_name[name]}. Leave out some."
        )
    return by_name[name][0]


def _refuse_numbered_systems(system, *, is_long):
    """Raise an error if integers may be names of systems, or scores of one system."""
    if not is_long:
        raise ValueError(
            f"the column {system!r} holds integers, which may be names of systems, or "
            f"scores of the system {system!r}. If they are names, pass "
            f"scores.astype({{{system!r}: str}}); if they are scores, "
            f"scores.astype({{{system!r}: float}})."
        )


# Forms


def _read_wide(frame, fields, levels):
    """A row for each query, a column for each system."""
    row_place = Place("index")
    groups = None
    if fields.groups in levels:
        groups = frame.index.get_level_values(fields.groups)
    elif fields.groups is not None:
        groups = frame.pop(fields.groups)
    if fields.rows is not None and fields.rows not in levels:
        row_place = Place("cells", fields.rows)
        frame = frame.set_index(fields.rows)
    _refuse_what_is_no_score(frame, list(frame.columns), "a system")
    _refuse_missing_names(frame.index, row_place)
    if fields.groups is None:
        _refuse_repeated_rows(frame.index, row_place)
    columns = import_pandas().MultiIndex.from_product([["score"], frame.columns])
    scores = _as_numbers(frame).set_axis(columns, axis=1)
    table = ScoreTable(scores, row_place, Place("columns"))
    return _with_groups(table, groups, fields, levels)


def _read_turned(frame, fields, levels):
    """A row for each system, a column for each task."""
    system = fields.system
    is_declared = _plain(system) in _ROWS_ARE_SYSTEMS and fields.groups is None
    if not (is_declared and frame[system].is_unique):
        _refuse_two_readings(system, is_level=system in levels)
    frame = frame.set_index(system)
    _refuse_what_is_no_score(frame, list(frame.columns), "a task")
    place = levels.get(system, Place("cells", system))
    _refuse_missing_names(frame.index, place)
    scores = _as_numbers(frame).T.rename_axis("task")
    warn_caller(
        f"rows are systems because of the name {system!r}, so the table is transposed. Its "
        f"tasks are {', '.join(map(str, scores.index))}. Drop columns that are not scores."
    )
    columns = import_pandas().MultiIndex.from_product([["score"], scores.columns])
    return ScoreTable(scores.set_axis(columns, axis=1), Place("columns"), place)


def _refuse_two_readings(system, *, is_level):
    """Raise an error for a column or level that names queries, or systems."""
    if is_level:
        kind = "index"
        if_queries = "scores.rename_axis('query_id')"
        if_systems = "scores.T"
    else:
        kind = "column"
        if_queries = f"scores.rename(columns={{{system!r}: 'query_id'}})"
        if_systems = f"scores.set_index({system!r}).T"
    raise ValueError(
        f"the {kind} {system!r} may name queries or systems, each once. If each row is a "
        f"query, pass {if_queries}; if each row is a system, transpose the table with "
        f"{if_systems}; if each row is a score, name its query in a column 'query_id'."
    )


def _read_long(frame, fields, levels):
    """A row for each score, or for each query and system, with a column by measure."""
    names = [name for name in frame.index.names if name not in (None, *frame.columns)]
    frame = frame.reset_index(names) if names else frame
    if fields.value is None:
        scored = _columns_by_measure(frame, fields, names)
        _refuse_what_is_no_score(frame, scored, "a measure")
    else:
        scored = [fields.value]
        _refuse_what_is_no_score(frame, scored, None)
    for name in (fields.rows, fields.system, fields.measure):
        if name is not None:
            _refuse_missing_names(frame[name], levels.get(name, Place("cells", name)))
    _refuse_repeated_cells(frame, fields, scored)
    index = [name for name in (fields.groups, fields.rows) if name is not None]
    frame[scored] = _as_numbers(frame[scored])
    if fields.value is None:
        frame = frame.melt([*index, fields.system], scored, _MEASURE_COLUMN, _VALUE_COLUMN)
    elif fields.measure is None:
        frame = frame.assign(**{_MEASURE_COLUMN: "score"})
    measure = fields.measure or _MEASURE_COLUMN
    value = fields.value or _VALUE_COLUMN
    columns = import_pandas().MultiIndex.from_product(
        [frame[measure].unique(), frame[fields.system].unique()]
    )
    scores = frame.pivot(index=index, columns=[measure, fields.system], values=value)
    scores = scores.reindex(index=frame.set_index(index).index.unique(), columns=columns)
    groups = scores.index.get_level_values(0)
    if fields.groups is not None:
        scores = scores.droplevel(0)
    table = ScoreTable(
        scores,
        row_place=levels.get(fields.rows, Place("cells", fields.rows)),
        system_place=levels.get(fields.system, Place("cells", fields.system)),
    )
    return _with_groups(table, groups, fields, levels)


def _columns_by_measure(frame, fields, level_names):
    """Columns of a long table that has no column of scores, one for each measure."""
    no_scores = {fields.rows, fields.system, fields.measure, fields.groups, *level_names}
    names = [name for name in frame.columns if name not in no_scores]
    if fields.measure is not None or not names:
        raise ValueError(
            "a long table of scores has a column 'value', 'score' or 'main_score', got "
            f"{list(frame.columns)}: rename the column of the scores."
        )
    return names


def _with_groups(table, groups, fields, levels):
    """A table with the group of each of its rows, if there are groups."""
    if fields.groups is None:
        return table
    groups = import_pandas().Series(
        np.asarray(groups), table.scores.index, name=fields.groups
    )
    place = levels.get(fields.groups, Place("cells", fields.groups))
    return replace(table, groups=groups, group_place=place)


def _read_two_levels(frame, groups_name):
    """A table whose columns are systems of measures, in either order of the levels."""
    pd = import_pandas()
    row_names = [
        name
        for name in frame.columns
        if _plain(name[0]) in _ROWS and not any(map(bool, name[1:]))
    ]
    row_place = Place("index")
    if row_names:
        frame = frame.set_index(row_names).rename_axis([name[0] for name in row_names])
        row_place = Place("cells", row_names[0])
    if groups_name is not None and groups_name not in frame.index.names:
        raise ValueError(
            "groups must name a level of the index if columns have levels, got "
            f"{groups_name!r}: pass labels, or scores.set_index({groups_name!r}, "
            "append=True)."
        )
    measure_level = _level_of_measures(frame.columns)
    _refuse_what_is_no_score(frame, list(frame.columns), "a system")
    _refuse_missing_names(frame.index, row_place)
    measures = frame.columns.unique(measure_level)
    systems = frame.columns.unique(1 - measure_level)
    scores = _as_numbers(frame)
    if measure_level == 1:
        scores = scores.swaplevel(axis=1)
    scores = scores.reindex(columns=pd.MultiIndex.from_product([measures, systems]))
    table = ScoreTable(scores, row_place, Place("columns", 1 - measure_level))
    if groups_name is None:
        _refuse_repeated_rows(frame.index, row_place)
        return table
    groups = frame.index.get_level_values(groups_name).to_series(frame.index)
    return replace(table, groups=groups, group_place=Place("index", groups_name))


def _level_of_measures(columns):
    """Which of two levels of columns names measures, 0 or 1; an error if both may."""
    names = list(map(_plain, columns.names))
    are_measures = [
        _names_measures(names[level], names[1 - level], columns.unique(level))
        for level in (0, 1)
    ]
    if len(names) > 2 or sum(are_measures) != 1:
        raise ValueError(
            "columns of several levels must be measure and system. Name the levels: "
            "scores.columns.names = ['measure', 'system']."
        )
    return are_measures.index(True)


def _names_measures(name, name_of_other_level, labels):
    """Whether a level has measures, by its name, the other level's name, or its labels."""
    if name in _MEASURE or name_of_other_level in _SYSTEM:
        return True
    return all(map(_is_measure, labels))


def _is_measure(label):
    """Whether a label is the name of a measure, perhaps with a cutoff or parameters."""
    return re.split("[@(]", str(label))[0] in MEASURES


# Columns that are not scores


def _kind_of(column):
    """The kind of a column by its type: "real", "integer", "bool" or "text".

    In a column of objects each present cell has a type. Missing cells do not count.
    """
    pd = import_pandas()
    if pd.api.types.is_bool_dtype(column.dtype) and column.dtype != object:
        return "bool"
    if pd.api.types.is_numeric_dtype(column.dtype):
        if pd.api.types.is_complex_dtype(column.dtype):
            return "text"
        return "integer" if pd.api.types.is_integer_dtype(column.dtype) else "real"
    if column.dtype != object:
        return "text"
    present = column[column.notna()]
    if all(isinstance(cell, bool | np.bool_) for cell in present) and len(present):
        return "bool"
    return "real" if all(map(_is_number, present)) else "text"


def _is_number(cell):
    return isinstance(cell, Real | Decimal) and not isinstance(cell, bool)


def _refuse_what_is_no_score(frame, names, scored):
    """Raise an error for columns that are not numbers, or have names of other columns.

    Parameters
    ----------
    frame : DataFrame

    names : list
        Columns that would be scores.

    scored : str or None
        The kind of thing that a column has scores of. None: the name of the column declares
        its scores, so only its type is checked.
    """
    kinds = {name: _kind_of(frame[name]) for name in names}
    if scored is not None:
        _refuse_headless(names)
        _refuse_ranks_and_repetitions(names, kinds, scored)
    texts = [name for name, kind in kinds.items() if kind == "text"]
    if texts:
        _refuse_text(frame[texts[0]], texts, scored)
    flags = [name for name, kind in kinds.items() if kind == "bool"]
    if flags and len(flags) < len(names):
        raise ValueError(
            f"{_columns(flags)} {_holds(flags)} truth values beside columns of numbers. If "
            f"they are not scores, pass scores.drop(columns={flags}); if they are, "
            f"scores.astype(dict.fromkeys({flags}, float))."
        )


def _refuse_headless(names):
    for name in names:
        if _NO_HEAD.fullmatch(str(name).strip()):
            raise ValueError(
                f"the column {name!r} may be an index that was saved without a name. If it "
                f"has the names of the rows, pass scores.set_index({name!r}), or read the "
                "file with pd.read_csv(path, index_col=0), or write 'task' into the header "
                f"of the file; if it has row numbers, pass scores.drop(columns={name!r}); "
                "if it has scores, rename it."
            )


def _refuse_ranks_and_repetitions(names, kinds, scored):
    ranks = [name for name in names if _RANK.fullmatch(str(name).strip())]
    if ranks:
        raise ValueError(
            f"{_columns(ranks)} {_holds(ranks)} ranks by {_its(ranks)} name, which are not "
            f"scores: pass scores.drop(columns={ranks}); if it is the name of {scored}, "
            "rename it."
        )
    numbers = [
        name
        for name, kind in kinds.items()
        if kind == "integer"
        and (_plain(name) in _REPETITION or scored == "a measure")
        and not _is_measure(name)
    ]
    if numbers:
        raise ValueError(
            f"{_columns(numbers)} {_holds(numbers)} integers, which may be numbers of "
            f"repetitions, or scores of {scored}. If they are not scores, pass "
            f"scores.drop(columns={numbers}); if they are, "
            f"scores.astype(dict.fromkeys({numbers}, float))."
        )


def _refuse_text(column, names, scored):
    """Raise an error that shows the first cell that is not a number, and the remedies."""
    row = _row_of_text(column)
    cell = plain_label(column.iloc[row])
    label = plain_label(column.index[row])
    name = names[0]
    if column.dtype == "category":
        as_numbers = f"scores[{name!r}].astype(float)"
    elif str(cell).endswith("%"):
        as_numbers = f"scores[{name!r}].str.rstrip('%').astype(float) / 100"
    else:
        as_numbers = f"pd.to_numeric(scores[{name!r}], errors='coerce')"
    readings = [f"if they are numbers, set scores[{name!r}] = {as_numbers}"]
    if scored is not None and isinstance(name, str):
        readings.append(f"if they name the rows, pass scores.set_index({name!r})")
    if scored is not None:
        readings.append(f"if they are neither, pass scores.drop(columns={names})")
    like_it = f", and so do {_columns(names[1:])}" if len(names) > 1 else ""
    raise ValueError(
        f"scores must be numbers, but the column {name!r} holds {cell!r} of type "
        f"{column.dtype} in row {label!r}{like_it}. Choose a reading: "
        f"{'; '.join(readings)}."
    )


def _row_of_text(column):
    """Number of the first row that has text, preferably text that is not a number."""
    is_text = column.notna().to_numpy()
    if column.dtype == object:
        is_text = is_text & [not _is_number(cell) for cell in column]
    is_readable = np.array([_is_number_in_text(cell) for cell in column], dtype=bool)
    is_wrong = is_text & ~is_readable
    return int(np.argmax(is_wrong if is_wrong.any() else is_text))


def _is_number_in_text(cell):
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _columns(names):
    """Some columns by name, for a message."""
    shown = ", ".join(map(repr, names[:_N_NAMED])) + (
        ", ..." if len(names) > _N_NAMED else ""
    )
    return f"the column {shown}" if len(names) == 1 else f"the columns {shown}"


def _holds(names):
    return "holds" if len(names) == 1 else "hold"


def _its(names):
    return "its" if len(names) == 1 else "their"


def _as_numbers(frame):
    """The same table of float64."""
    pd = import_pandas()
    columns = []
    for place in range(frame.shape[1]):
        column = frame.iloc[:, place]
        if column.dtype == object:
            column = column.where(column.notna(), np.nan)
        columns.append(column.to_numpy(dtype=float, na_value=np.nan))
    values = np.stack(columns, axis=1) if columns else np.empty(frame.shape)
    return pd.DataFrame(values, frame.index, frame.columns)


def _refuse_missing_names(names, place):
    is_missing = names.to_frame().isna().any(axis=1)
    if is_missing.any():
        line = "scores[scores.index.notna()]"
        if place.axis == "cells":
            line = f"scores.dropna(subset={[place.name]})"
        raise ValueError(
            f"{int(is_missing.sum())} rows have no name in "
            f"{'the index' if place.name is None else repr(place.name)}: leave them out "
            f"with {line}."
        )


def _refuse_repeated_rows(index, place):
    repeated = index[index.duplicated()]
    if len(repeated):
        by = repr(place.name) if place.axis == "cells" else "scores.index"
        raise ValueError(
            f"several rows have the name {plain_label(repeated[0])!r}. If they are "
            f"repetitions, average them with scores.groupby({by}, sort=False).mean(); if "
            "they are different queries, give them different names."
        )


def _refuse_repeated_cells(frame, fields, scored):
    """Raise an error if a long table has several scores of one cell."""
    names = fields.groups, fields.rows, fields.measure, fields.system
    key = [name for name in names if name is not None]
    repeated = frame[frame.duplicated(key, keep=False)]
    if not len(repeated):
        return
    first = repeated.iloc[0]
    same_cell = repeated[(repeated[key] == first[key]).all(axis=1)]
    cell = {plain_label(name): plain_label(first[name]) for name in key}
    differing_columns = [
        name
        for name in frame.columns
        if name not in (*key, *scored) and same_cell[name].astype(str).nunique() > 1
    ]
    differing = ""
    if differing_columns:
        name = differing_columns[0]
        first_value, second_value = list(dict.fromkeys(map(plain_label, same_cell[name])))[
            :2
        ]
        differing = (
            f", which differ in {name!r}: {first_value!r} and {second_value!r}. To take "
            f"one, pass scores[scores[{name!r}] == {first_value!r}]"
        )
    raise ValueError(
        f"scores have two values or more of {cell}{differing}. To average them, pass "
        f"scores.groupby({key}, sort=False)[{scored}].mean()."
    )
