"""What users have in memory, as judgments and runs."""

from itertools import chain
from numbers import Integral
from operator import attrgetter, itemgetter

import numpy as np

from ._fields import encoded, texts_of, words_of
from ._tables import by_score, make_table

__all__ = ["Qrels", "Run"]

_QUERY = "query_id", "query-id", "qid"
_DOCUMENT = "doc_id", "corpus-id", "docno"
_GRADE = "relevance", "score", "label"
_SCORE = ("score",)
_NUMBERS = np.integer, np.floating, np.bool_


class Qrels:
    """Judgments of documents, query by query.

    Parameters
    ----------
    data : dict of dict, DataFrame, ranx.Qrels, or iterable of records
        ``data[query][document]`` is the relevance, an integer. Or a DataFrame, or records
        (dicts as in data sets of Hugging Face, or named tuples as those of ir_measures),
        with columns ``query_id`` (or ``query-id``, ``qid``), ``doc_id`` (or ``corpus-id``,
        ``docno``) and ``relevance`` (or ``score``, ``label``). Identifiers are strings, or
        integers, which become strings.

    Attributes
    ----------
    queries : list of str
        Queries in the order of the data.

    Raises
    ------
    ValueError
        If a relevance is no integer, or a query has a document twice.

    TypeError
        If the data have none of these forms.

    See Also
    --------
    read_qrels : Judgments in a file.

    Examples
    --------
    >>> from sklearn_talr.runs import Qrels
    >>> Qrels({"q1": {"d1": 1, "d2": 0}})
    Qrels of 1 query, 2 documents
    >>> records = [{"query-id": "q1", "corpus-id": "d1", "score": 1}]
    >>> Qrels(records).to_dict()
    {'q1': {'d1': 1}}
    """

    def __init__(self, data):
        labels, starts, documents, values = _rows(data, "Qrels", _GRADE)
        if np.any(values != np.floor(values)) or np.any(np.abs(values) >= 2**53):
            wrong = values[(values != np.floor(values)) | (np.abs(values) >= 2**53)][0]
            raise ValueError(f"relevance must be an integer, got {wrong}.")
        self._set(make_table(labels, starts, documents, values))

    @classmethod
    def from_table(cls, table):
        """Make judgments of rows that have been checked."""
        qrels = cls.__new__(cls)
        qrels._set(table)
        return qrels

    def _set(self, table):
        table.values = table.values.astype(np.int64)
        self.table = table

    @property
    def queries(self):
        """Queries in the order of the data."""
        return list(self.table.queries)

    def to_dict(self):
        """Return a dict of dicts: relevance by query and document."""
        return _nested(self.table)

    def __repr__(self):
        return f"Qrels of {_size(self.table)}"


class Run:
    """Documents that a system retrieved, with their scores, query by query.

    Parameters
    ----------
    data : dict of dict, DataFrame, ranx.Run, or iterable of records
        ``data[query][document]`` is the score. Or a DataFrame, or records (dicts, or named
        tuples as those of ir_measures), with columns ``query_id`` (or ``query-id``,
        ``qid``), ``doc_id`` (or ``corpus-id``, ``docno``) and ``score``. Identifiers are
        strings, or integers, which become strings.

    name : str, default=None
        What results and pictures call the system. None takes the name that a run of ranx
        has, or "run".

    Attributes
    ----------
    queries : list of str
        Queries in the order of the data.

    name : str
        Name of the system.

    Raises
    ------
    ValueError
        If a score is no finite number, or a query has a document twice.

    TypeError
        If the data have none of these forms.

    See Also
    --------
    read_run : A run in a file.

    Notes
    -----
    Scores are compared as 64-bit floats. trec_eval keeps 32 bits of a score, so that it
    ties scores that differ in the others. To see its ties, round the scores first, by
    ``float(numpy.float32(score))``.

    Examples
    --------
    >>> from sklearn_talr.runs import Run
    >>> run = Run({"q1": {"d1": 0.5, "d2": 2, "d3": 2}}, name="ours")
    >>> run
    Run 'ours' of 1 query, 3 documents
    >>> run.to_dict()
    {'q1': {'d2': 2.0, 'd3': 2.0, 'd1': 0.5}}
    """

    def __init__(self, data, name=None):
        labels, starts, documents, values = _rows(data, "Run", _SCORE)
        if not np.all(np.isfinite(values)):
            wrong = values[~np.isfinite(values)][0]
            raise ValueError(f"scores must be finite numbers, got {wrong}.")
        if name is None:
            name = getattr(data, "name", None) if hasattr(data, "to_dict") else None
        self._set(make_table(labels, starts, documents, values), name)

    @classmethod
    def from_table(cls, table, name):
        """Make a run of rows that have been checked."""
        run = cls.__new__(cls)
        run._set(table, name)
        return run

    def _set(self, table, name):
        self.table = by_score(table)
        self.name = name if isinstance(name, str) and name else "run"

    @property
    def queries(self):
        """Queries in the order of the data."""
        return list(self.table.queries)

    def to_dict(self):
        """Return a dict of dicts: score by query and document, best first."""
        return _nested(self.table)

    def __repr__(self):
        return f"Run {self.name!r} of {_size(self.table)}"


def _size(table):
    n_queries = len(table.queries)
    return (
        f"{n_queries} quer{'y' if n_queries == 1 else 'ies'}, "
        f"{len(table)} document{'' if len(table) == 1 else 's'}"
    )


def _nested(table):
    documents, values = texts_of(table.documents), table.values.tolist()
    return {
        query: dict(zip(documents[start:end], values[start:end]))
        for query, start, end in zip(table.queries, table.offsets, table.offsets[1:])
    }


def _rows(data, caller, value_names):
    """Labels and starts of stretches of rows, and documents and values of rows."""
    if isinstance(data, Qrels | Run) and type(data).__name__ != caller:
        raise TypeError(
            f"{caller} takes no {type(data).__name__}. Judgments come first, then the run."
        )
    if isinstance(data, dict):
        return _rows_of_dicts(data, caller)
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        columns = [
            _column(data.columns, names) for names in (_QUERY, _DOCUMENT, value_names)
        ]
        return _rows_of_columns(*(data[column].to_numpy() for column in columns))
    if hasattr(data, "to_dict") and not hasattr(data, "column_names"):  # ranx
        return _rows_of_dicts(data.to_dict(), caller)
    return _rows_of_columns(*_columns_of_records(data, caller, value_names))


def _rows_of_dicts(data, caller):
    if not all(isinstance(of_query, dict) for of_query in data.values()):
        raise TypeError(
            f"{caller} takes a dict of dicts: data[query][document] is a number."
        )
    sizes = np.array([len(of_query) for of_query in data.values()], dtype=np.int64)
    documents = words_of(chain.from_iterable(data.values()))
    numbers = chain.from_iterable(of_query.values() for of_query in data.values())
    values = _as_floats(numbers, sizes.sum())
    return [_label(query) for query in data], np.cumsum(sizes) - sizes, documents, values


def _rows_of_columns(query, document, value):
    query = np.asarray(query)
    changes = np.ones(len(query), dtype=bool)
    try:
        changes[1:] = query[1:] != query[:-1]
    except TypeError as error:  # of pandas' NA
        raise TypeError(f"queries must be strings or integers: {error}.") from error
    labels = [_label(label) for label in query[changes].tolist()]
    document = document.tolist() if hasattr(document, "tolist") else document
    return (
        labels,
        np.flatnonzero(changes),
        words_of(document),
        _as_floats(value, len(query)),
    )


def _columns_of_records(data, caller, value_names):
    try:
        records = list(data)
    except TypeError as error:
        raise TypeError(
            f"{caller} takes a dict of dicts, a DataFrame, or records of query, document "
            f"and number, got {type(data).__name__}."
        ) from error
    if not records:
        return [], [], []
    first = records[0]
    is_dict = isinstance(first, dict)
    names = list(first) if is_dict else getattr(first, "_fields", None)
    if names is None:
        raise TypeError(
            f"{caller} takes records that are dicts or named tuples, got {first!r}."
        )
    chosen = [_column(names, wanted) for wanted in (_QUERY, _DOCUMENT, value_names)]
    get = itemgetter if is_dict else attrgetter
    try:
        return [list(map(get(name), records)) for name in chosen]
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            f"all records must be like the first, with {', '.join(chosen)}: {error}."
        ) from error


def _column(names, wanted):
    for name in wanted:
        if name in names:
            return name
    raise ValueError(
        f"a column {' or '.join(map(repr, wanted))} is needed, got {list(names)}."
    )


def _label(query):
    if isinstance(query, str):
        encoded(query)
        return query
    if isinstance(query, Integral) and not isinstance(query, bool):
        return str(query)
    raise TypeError(f"queries must be strings or integers, got {query!r}.")


def _as_floats(values, count):
    if getattr(values, "dtype", np.dtype(object)).kind in "biuf":
        return np.array(values, dtype=np.float64)
    values = list(values)
    for kind in set(map(type, values)):
        if issubclass(kind, str | bytes | np.generic) and not issubclass(kind, _NUMBERS):
            wrong = next(value for value in values if type(value) is kind)
            raise ValueError(
                f"relevance and scores must be numbers, got {wrong!r}. Convert it "
                "first, as by float."
            )
    try:
        return np.fromiter(values, dtype=np.float64, count=count)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"relevance and scores must be numbers: {error}.") from error
