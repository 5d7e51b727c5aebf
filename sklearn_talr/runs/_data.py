"""Judgments and runs in memory: identifiers, rows in tables, forms of several libraries.

Identifiers are text that represents bytes of any encoding. Python hashes text with a secret
of the process, so files cannot be made whose identifiers collide in a dict.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from itertools import chain, count, pairwise, repeat
from numbers import Integral
from operator import attrgetter, itemgetter
from os import PathLike
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._core.types import Any, Self, Sequence
from .._core.validation import refuse_masked
from ..inference._resampling import refuse_unlike_rows
from ._orders import check_order
from ._text import number_of_queries

BYTES_OF_ID = 1024  # the longest identifier of a document
# Surrogates represent bytes that are not UTF-8, so that bytes of any encoding survive.
_ENCODING = "utf-8", "surrogateescape"
QUERY = "query_id", "query-id", "qid", "q_id"
DOCUMENT = "doc_id", "corpus-id", "docno", "corpus_id", "pid"
_GRADE = "relevance", "score", "label"
_SCORE = ("score",)
RANK = "rank"
_N_SHOWN = 3  # identifiers, in messages


class _Data:
    """Base of judgments and runs, whose data are in `table`."""

    @property
    def queries(self) -> list[str]:
        """Queries in the order of the data."""
        return list(self.table.queries)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict of dicts: the number of each document, by query and document.

        Documents of a run come by descending score, tied ones by descending identifier.
        """
        table = self.table
        values = table.values.tolist()
        return {
            query: dict(zip(table.documents[rows], values[rows]))
            for query, rows in zip(table.queries, table.rows_by_query())
        }

    def _size(self):
        n_queries = number_of_queries(self.table.queries)
        n_documents = number_of_queries(self.table.values, "documents")
        return f"{n_queries}, {n_documents}"


class Qrels(_Data):
    """Judgments of documents for queries (qrels).

    Parameters
    ----------
    data : dict of dict or of sets, table, ranx.Qrels, or iterable of records
        One of these forms. Identifiers are strings, or integers, which become strings.

        * A dict of dicts: ``data[query][document]`` is the relevance, an integer or a real
          gain from 0 on, which nDCG and DCG take.
        * A dict of sets: ``data[query]`` is the set of relevant documents, whose relevance
          is 1.
        * A table (DataFrame, one split of a Hugging Face data set, table of Arrow), or
          records (dicts, or named tuples of ir_measures and ir_datasets). The columns are
          ``query_id`` (or ``query-id``, ``qid``, ``q_id``), ``doc_id`` (or ``corpus-id``,
          ``docno``, ``corpus_id``, ``pid``) and ``relevance`` (or ``score``, ``label``). If
          the first name and others are there, the first counts.

    Attributes
    ----------
    queries : list of str
        Queries in the order of the data.

    Raises
    ------
    ValueError
        If a relevance is not a number, or below 0 among real gains, a query has a document
        twice, or several columns could be meant.

    TypeError
        If the data have none of these forms, or are a run by their type or columns.

    See Also
    --------
    read_qrels : Reads judgments from a file.

    Examples
    --------
    >>> from sklearn_talr.runs import Qrels
    >>> Qrels({"q1": {"d1": 1, "d2": 0}})
    Qrels of 1 query, 2 documents
    >>> records = [{"query-id": "q1", "corpus-id": "d1", "score": 1}]
    >>> Qrels(records).to_dict()
    {'q1': {'d1': 1}}
    """

    def __init__(self, data: Any) -> None:
        self.table = _table_of(data, Qrels)
        values = self.table.values
        if are_integers(values).all():
            self.table.values = values.astype(np.int64)
            return
        for wrong in values[~((values >= 0) & (values < 2**53))][:1]:
            raise ValueError(
                f"relevance must be integers, or real gains from 0 on, got {wrong}. "
                "Judgments come first, then the run: are they swapped?"
            )

    def __repr__(self) -> str:
        return f"Qrels of {self._size()}"

    def to_matrix(
        self, documents: Sequence[str | int], queries: Sequence[str | int] | None = None
    ) -> sp.csr_array:
        """Return the judgments as a sparse matrix with a row for each document.

        Hashers of two views take it as `y`, and
        :func:`~sklearn_talr.affinity.query_groups` groups its queries.

        Parameters
        ----------
        documents : sequence of str or int
            Identifiers of the rows, in the order of the features, without repetitions.

        queries : sequence of str or int, default=None
            Identifiers of the columns, without repetitions. None takes the attribute
            `queries`.

        Returns
        -------
        judgments : CSR array of shape (n_documents, n_queries)
            Relevance as int64, or as float64 if gains are real. A document that was judged
            irrelevant is a stored zero, even if its relevance is below 0. Unjudged
            documents are not stored.

        Raises
        ------
        ValueError
            If an identifier is repeated, a query is not judged, or a document that was
            judged for one of the queries is not among `documents`.

        Examples
        --------
        >>> from sklearn_talr.runs import Qrels
        >>> qrels = Qrels({"q1": {"d3": 2, "d1": 0}, "q2": {"d1": 1}})
        >>> judgments = qrels.to_matrix(["d1", "d2", "d3"])
        >>> judgments.toarray()
        array([[0, 1],
               [0, 0],
               [2, 0]])
        >>> judgments.nnz
        3
        """
        table = self.table
        documents = _distinct(document_identifiers, documents, "documents")
        queries = table.queries if queries is None else queries
        queries = _distinct(query_identifiers, queries, "queries")
        unjudged = set(queries) - set(table.queries)
        _refuse_identifiers(unjudged, "queries", "have no judgments; leave them out")
        column = places_among(queries, table.queries)[table.numbers]
        row = places_among(documents, table.documents)
        has_column = column >= 0
        without_row = np.flatnonzero(has_column & (row < 0)).tolist()
        remedy = "are not among documents; add them, or leave them out of the judgments"
        _refuse_identifiers(
            {table.documents[place] for place in without_row}, "judged documents", remedy
        )
        grades = table.values[has_column].clip(min=0)
        return sp.csr_array(
            (grades, (row[has_column], column[has_column])),
            shape=(len(documents), len(queries)),
        )


class Run(_Data):
    """Documents that a system retrieved for queries, with their scores.

    Parameters
    ----------
    data : dict of dict, table, ranx.Run, or iterable of records
        A dict of dicts, in which ``data[query][document]`` is the score. Or a table or
        records as for :class:`Qrels`, with the same names of columns and ``score``. If
        there is a column ``rank`` but no ``score``, scores are minus the ranks.

    name : str, default=None
        Name of the system in results and pictures. None takes the name of a run of ranx,
        or "run".

    Attributes
    ----------
    queries : list of str
        Queries in the order of the data.

    name : str
        Name of the system.

    Raises
    ------
    ValueError
        If a score is not a finite number, a query has a document twice, or scores rise with
        the column ``rank``, so that the first rank has the lowest score.

    TypeError
        If the data have none of these forms.

    Warns
    -----
    UserWarning
        If the documents of all queries are stored by rising scores, like ranks and
        distances. A higher score is better.

    See Also
    --------
    read_run : Reads a run from a file.

    Notes
    -----
    Scores are compared as 64-bit floats. trec_eval stores scores as float32, so different
    scores can tie there (1700000001 and 1700000000). The column ``trec_eval`` of an
    evaluation reproduces this.

    Examples
    --------
    >>> from sklearn_talr.runs import Run
    >>> run = Run({"q1": {"d1": 0.5, "d2": 2, "d3": 2}}, name="ours")
    >>> run
    Run 'ours' of 1 query, 3 documents
    >>> run.to_dict()
    {'q1': {'d3': 2.0, 'd2': 2.0, 'd1': 0.5}}
    """

    def __init__(self, data: Any, name: str | None = None) -> None:
        table = _table_of(data, Run)
        for wrong in table.values[~np.isfinite(table.values)][:1]:
            raise ValueError(f"scores must be finite numbers, got {wrong}.")
        if name is None and hasattr(data, "to_dict"):
            name = getattr(data, "name", None)
        self.table = table
        self.name = name if isinstance(name, str) and name else "run"

    def __repr__(self) -> str:
        return f"Run {self.name!r} of {self._size()}"

    @classmethod
    def from_neighbors(
        cls,
        distances: Any,
        indices: Any,
        queries: Sequence[str | int],
        documents: Sequence[str | int],
        name: str | None = None,
    ) -> Self:
        """Make a run from the neighbors that an index has found.

        Parameters
        ----------
        distances : array-like of shape (n_queries, n_neighbors), or sequence of arrays
            Distances, as `kneighbors`, `radius_neighbors` or `rank` of an index return
            them. The score of a document is minus its distance, so that equal distances
            are ties. For inner products, where larger is nearer, pass ``-distances``.

        indices : array-like of shape (n_queries, n_neighbors), or sequence of arrays
            Indices of the items found.

        queries : sequence of str or int of length n_queries
            Identifiers of the queries, without repetitions.

        documents : sequence of str or int
            Identifiers of all items of the index, in their order and without repetitions:
            item i is ``documents[i]``.

        name : str, default=None
            Name of the system in results and pictures. None means "run".

        Returns
        -------
        run : Run
            The run.

        Raises
        ------
        ValueError
            If the arguments differ in their number of queries, an identifier is repeated,
            an index has no document, or a query finds an item twice.

        Examples
        --------
        Two documents are equally near to the query:

        >>> from sklearn_talr.neighbors import HammingNeighbors
        >>> from sklearn_talr.runs import Run, evaluate_run
        >>> index = HammingNeighbors().fit([[0, 0], [0, 1], [1, 0]])
        >>> ranking = index.rank([[0, 0]])
        >>> run = Run.from_neighbors(
        ...     ranking.distances, ranking.indices, ["q1"], ["d1", "d2", "d3"]
        ... )
        >>> run.to_dict()
        {'q1': {'d1': 0.0, 'd3': -1.0, 'd2': -1.0}}
        >>> float(evaluate_run({"q1": {"d2": 1}}, run, "RR").expected[0, 0])
        0.4166...
        """
        refuse_masked(distances=distances, indices=indices)
        queries = _distinct(query_identifiers, queries, "queries")
        documents = _distinct(document_identifiers, documents, "documents")
        refuse_unlike_rows(distances, "distances", queries, "queries")
        refuse_unlike_rows(indices, "indices", queries, "queries")
        index_rows = _rows_of_neighbors(indices)
        distance_rows = _rows_of_neighbors(distances, dtype=float)
        n_neighbors = [row.shape for row in index_rows]
        is_alike = n_neighbors == [row.shape for row in distance_rows]
        if not is_alike or len(index_rows) != len(queries):
            raise ValueError(
                "distances and indices must have one row per query, and rows of equal "
                f"length: there are {len(queries)} queries, "
                f"{len(distance_rows)} rows of distances and {len(index_rows)} of indices."
            )
        # Rows without neighbors may have any type.
        no_indices = np.empty(0, dtype=np.int64)
        indices = np.concatenate([no_indices, *filter(np.size, index_rows)])
        _refuse_wrong_indices(indices, len(documents))
        table = DocumentTable(
            queries,
            np.repeat(np.arange(len(queries)), list(map(len, index_rows))),
            [documents[index] for index in indices.tolist()],
            0.0 - np.concatenate([np.empty(0), *distance_rows]),
            True,
        )
        return cls(table, name)


def _rows_of_neighbors(table, dtype=None):
    """An array for each query, of a table of any library or a sequence of arrays."""
    rows = table.to_numpy() if hasattr(table, "to_numpy") else table
    return [np.atleast_1d(np.asarray(row, dtype=dtype)) for row in rows]


def _refuse_wrong_indices(indices, n_documents):
    """Raise an error for indices that are not integers, or have no document."""
    if indices.dtype.kind not in "iu":
        raise ValueError(
            f"indices must be integers, got {indices.dtype}. If the index returns ids, "
            "pass Run({query: dict(zip(ids, -distances)), ...})."
        )
    if indices.size and not 0 <= indices.min() <= indices.max() < n_documents:
        raise ValueError(
            f"indices must be from 0 to {n_documents - 1}, as there are "
            f"{n_documents} documents, got {indices.min()} to {indices.max()}."
        )


def are_integers(values):
    """Whether each float is an integer that int64 and float64 both hold."""
    return (values == np.floor(values)) & (np.abs(values) < 2**53)


def places_among(reference, identifiers):
    """Place of each identifier among the reference identifiers, or -1."""
    place_of = dict(zip(reference, count()))
    places = map(place_of.get, identifiers, repeat(-1))
    return np.fromiter(places, dtype=np.int64, count=len(identifiers))


def _distinct(read, identifiers, name):
    """Return identifiers as texts, or raise an error if one comes twice."""
    if isinstance(identifiers, str | bytes):
        raise TypeError(f"{name} must be a sequence of identifiers, got {identifiers!r}.")
    texts = read(identifiers)
    repeated = {text for text, n_times in Counter(texts).items() if n_times > 1}
    _refuse_identifiers(repeated, name, "come more than once")
    return texts


def _refuse_identifiers(wrong, name, problem):
    """Raise ValueError that shows the first wrong identifiers unless there are none."""
    if wrong:
        shown = list(map(repr, sorted(wrong)[:_N_SHOWN]))
        if len(wrong) > _N_SHOWN:
            shown.append("...")
        raise ValueError(f"{len(wrong)} of the {name} {problem}: {', '.join(shown)}.")


class ChosenColumns(NamedTuple):
    """Names of the columns that hold query, document, number and rank.

    Parameters
    ----------
    query, document : str

    value : str or None
        Relevance or score. None: the score is minus the rank.

    rank : str or None
        Of runs, if they have a column of ranks.
    """

    query: str
    document: str
    value: str | None
    rank: str | None


def chosen_columns(names, form):
    """The columns of query, document and number; an error if one is missing."""
    value_names = _SCORE if form is Run else _GRADE
    chosen = ChosenColumns(
        query=one_of(QUERY, names),
        document=one_of(DOCUMENT, names),
        value=one_of(value_names, names),
        rank=RANK if form is Run and RANK in names else None,
    )
    if form is Qrels and RANK in names and chosen.value == "score":
        raise TypeError(
            "the columns 'rank' and 'score' are those of a run. Judgments come first, then "
            "the run. If these are judgments, rename 'score' to 'relevance'."
        )
    if chosen.query is None:
        _refuse_missing_column(QUERY, names)
    if chosen.document is None:
        _refuse_missing_column(DOCUMENT, names)
    # Scores are minus the ranks if there are no others.
    if chosen.value is None and chosen.rank is None:
        _refuse_missing_column(value_names, names)
    return chosen


def _refuse_missing_column(wanted_names, names):
    """Raise ValueError: there is no column of any of the wanted names."""
    hint = ""
    if wanted_names is _SCORE and "distance" in names:
        hint = " For distances pass data.assign(score=-data['distance'])."
    raise ValueError(
        f"a column {' or '.join(map(repr, wanted_names))} is needed, got "
        f"{list(names)}.{hint}"
    )


def _table_of(data, form):
    """Table of the data that are passed to `form`, which is `Qrels` or `Run`.

    Readers of files pass a `DocumentTable`.
    """
    caller = form.__name__
    if isinstance(data, DocumentTable | form):
        return getattr(data, "table", data)
    # Classes of ranx have the same names.
    if type(data).__name__ in {Qrels.__name__, Run.__name__} - {caller}:
        raise TypeError(
            f"{caller} takes no {type(data).__name__}. Judgments come first, then the run."
        )
    if isinstance(data, str | bytes | PathLike):
        raise TypeError(
            f"{caller} takes data, not a path, got {data!r}. Use "
            f"read_{caller.lower()}(path)."
        )
    data = without_splits(data, caller)
    is_frame = hasattr(data, "columns") and hasattr(data, "to_numpy")
    if hasattr(data, "to_frame") and not is_frame:
        raise TypeError(
            f"{caller} takes no Series: pass data.rename("
            f"'{'score' if form is Run else 'relevance'}').reset_index()."
        )
    # Qrels and Run of ranx
    if not is_frame and hasattr(data, "to_dict"):
        data = data.to_dict()
    if isinstance(data, Mapping):
        return _table_of_dict(data, form)
    if not is_frame:
        return _table_of_records(data, form)
    chosen = chosen_columns(data.columns, form)
    columns = [None if name is None else data[name].to_numpy() for name in chosen]
    return table_of_columns(ChosenColumns(*columns), form)


def _table_of_dict(data, form):
    """Table of a dict of dicts, or of the sets of each query's relevant documents."""
    by_query = [_values_by_document(documents, form) for documents in data.values()]
    numbers = np.repeat(np.arange(len(data)), list(map(len, by_query)))
    documents = document_identifiers(chain.from_iterable(by_query))
    values = _numbers(chain.from_iterable(values.values() for values in by_query))
    queries = query_identifiers(data)
    return DocumentTable(queries, numbers, documents, values, form is Run)


def _values_by_document(documents, form):
    """The number of each document of a query, or an error with the line to write."""
    if isinstance(documents, Mapping):
        return documents
    if form is Qrels and isinstance(documents, Set):
        return dict.fromkeys(sorted(documents, key=str), 1)
    caller = form.__name__
    form_of_data = f"{caller} takes a dict of dicts: data[query][document] is a number"
    if isinstance(documents, str | bytes):
        raise TypeError(f"{form_of_data}, got {documents!r}.")
    if hasattr(documents, "to_dict"):
        raise TypeError(
            f"{form_of_data}. For Series pass {{query: documents.to_dict() for query, "
            "documents in data.items()}."
        )
    try:
        has_hits = all(isinstance(hit, Mapping) for hit in documents) and len(documents) > 0
    except TypeError:
        raise TypeError(f"{form_of_data}, got {documents!r}.") from None
    if has_hits:
        raise TypeError(f"{form_of_data}. {_line_of_hits('data.items()')}")
    if form is Run:
        remedy = (
            "with the best first, pass {query: {document: -rank for rank, document "
            "in enumerate(documents)} for query, documents in data.items()}"
        )
    else:
        remedy = (
            "all relevant, pass {query: dict.fromkeys(documents, 1) for query, "
            "documents in data.items()}"
        )
    raise TypeError(f"{form_of_data}. For lists of documents, {remedy}.")


def _line_of_hits(pairs):
    """Code that makes a table from lists of hits, dicts of a document and its score."""
    return (
        "For lists of hits make a table: pd.DataFrame([{'query_id': query, **hit} for "
        f"query, hits in {pairs} for hit in hits])."
    )


def table_of_columns(columns, form):
    """Table of arrays or lists of queries, documents, numbers and ranks.

    Parameters
    ----------
    columns : ChosenColumns of sequences of length n_rows
        The values of the columns. Without scores, these are minus the ranks.

    form : type
        `Qrels` or `Run`.

    Returns
    -------
    table : DocumentTable
    """
    ranks = None
    if columns.value is None:
        values = 0.0 - _numbers(columns.rank)
    else:
        values = _numbers(columns.value)
        ranks = _ranks_if_any(columns.rank)
    documents = document_identifiers(columns.document)
    queries = query_identifiers(columns.query)
    numbers = np.arange(len(queries))
    return DocumentTable(queries, numbers, documents, values, form is Run, ranks=ranks)


def _numbers(values):
    """Relevance or scores as float64."""
    # An array of the standard library refuses text, also text of numbers.
    try:
        return np.array(array("d", values))
    except (OverflowError, TypeError) as error:
        raise ValueError(
            f"relevance and scores must be numbers: {error}. Convert them with float(), or "
            "a column with pd.to_numeric."
        ) from error


def _ranks_if_any(values):
    """Ranks as float64, or None if they are not numbers, since they are only checked."""
    if values is None:
        return None
    try:
        ranks = np.array(array("d", values))
    except (OverflowError, TypeError):
        return None
    return ranks if np.isfinite(ranks).all() else None


def without_splits(data, caller):
    """Data sets of Hugging Face and tables of Arrow as DataFrames; other data as they are.

    Raises TypeError for several splits.
    """
    names = getattr(data, "column_names", None)
    if isinstance(names, dict):
        raise TypeError(
            f"{caller} takes one split of a data set, got the splits {', '.join(names)}: "
            f"pass data[{next(iter(names), '')!r}]."
        )
    return data.to_pandas() if names and hasattr(data, "to_pandas") else data


def _table_of_records(data, form):
    """Table of records, which are like the first."""
    caller = form.__name__
    try:
        records = list(data)
    except TypeError as error:
        raise TypeError(
            f"{caller} takes a dict of dicts, a DataFrame, or records of query, document "
            f"and number, got {type(data).__name__}."
        ) from error
    if not records:
        return table_of_columns(ChosenColumns([], [], [], None), form)
    first = records[0]
    is_dict = isinstance(first, dict)
    if not is_dict and not hasattr(first, "_fields"):
        raise TypeError(_message_of_no_record(first, form))
    if form is Qrels and type(first).__name__.endswith("ScoredDoc"):
        raise TypeError(
            f"Qrels takes no {type(first).__name__}, which is a document of a run. "
            "Judgments come first, then the run."
        )
    chosen = chosen_columns(first if is_dict else first._fields, form)
    names = [name for name in chosen if name is not None]
    get = itemgetter(*names) if is_dict else attrgetter(*names)
    try:
        columns = dict(zip(names, zip(*map(get, records))))
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            f"all records must be like the first, with {', '.join(names)}: {error}."
        ) from error
    return table_of_columns(ChosenColumns(*map(columns.get, chosen)), form)


def _message_of_no_record(first, form):
    message = (
        f"{form.__name__} takes records that are dicts or named tuples, got {first!r}."
    )
    if isinstance(first, list) and first and isinstance(first[0], dict):
        return f"{message} {_line_of_hits('zip(queries, data)')}"
    value = "score" if form is Run else "relevance"
    if not isinstance(first, str | bytes) and np.ndim(first) == 1 and len(first) == 3:
        return (
            f"{message} Name their columns: pd.DataFrame(data, columns=['query_id', "
            f"'doc_id', {value!r}])."
        )
    return message


def one_of(wanted, names):
    """The wanted name that is among the names, or None; of several the very first."""
    matches = [name for name in wanted if name in names]
    if len(matches) > 1 and matches[0] != wanted[0]:
        raise ValueError(
            f"the columns {' and '.join(map(repr, matches))} could both be meant: rename "
            f"one to {wanted[0]!r}, or leave out the other."
        )
    return matches[0] if matches else None


def query_identifiers(queries):
    """Return the text of each query's identifier, or raise an error for a wrong one."""
    texts = [query if isinstance(query, str) else _text_of(query) for query in queries]
    encoded("".join(texts))
    return texts


def _text_of(identifier):
    if isinstance(identifier, str):
        return identifier
    if isinstance(identifier, Integral) and not isinstance(identifier, bool):
        return str(identifier)
    raise TypeError(
        f"documents and queries must be strings or integers, got {identifier!r}."
    )


def encoded(text):
    """Return the bytes of a text: its UTF-8, or the bytes of a file that were not UTF-8."""
    try:
        return text.encode(*_ENCODING)
    except UnicodeEncodeError as error:
        wrong = text[error.start]
        raise ValueError(f"identifiers must be text, got {wrong!r}.") from error


def decoded(identifier):
    """Return the text of bytes, also of bytes that are not UTF-8."""
    return identifier.decode(*_ENCODING)


def document_identifiers(documents):
    """Return the text of each document's identifier, or raise an error for a wrong one.

    Parameters
    ----------
    documents : iterable of str or int

    Returns
    -------
    identifiers : list of str
        Equal where the bytes are equal.
    """
    texts = list(documents)
    if not texts:
        return []
    try:
        joined = "\0".join(texts)
    except TypeError:
        texts = list(map(_text_of, texts))
        joined = "\0".join(texts)
    as_bytes = encoded(joined)
    ends = np.flatnonzero(np.frombuffer(b"%b\0" % as_bytes, dtype=np.uint8) == 0)
    if len(ends) > len(texts):
        raise ValueError("identifiers must not contain the character NUL.")
    width = np.diff(ends, prepend=-1) - 1
    if not width.min():
        raise ValueError("identifiers must not be empty.")
    if width.max() > BYTES_OF_ID:
        raise ValueError(
            f"identifiers must have {BYTES_OF_ID} bytes at most, got one of {width.max()}."
        )
    # Surrogates may represent the bytes of a character, and NumPy's strings are not str.
    if not joined.isascii() or set(map(type, texts)) != {str}:
        texts = decoded(as_bytes).split("\0")
    return texts


class DocumentTable:
    """Rows (query, document, value), query after query.

    Parameters
    ----------
    queries : iterable of str
        Identifiers of queries, which may be repeated. A query may have no rows.

    numbers : array-like of shape (n_rows,) of int
        Place of each row's query in `queries`.

    documents : list of str of length n_rows
        Identifiers of the documents.

    values : ndarray of shape (n_rows,)
        Relevance or score.

    best_first : bool
        Whether the rows of a query come in trec_eval's order, by descending value and then
        by descending document, or in the given order.

    ranks : ndarray of shape (n_rows,), default=None
        Ranks that a run declares, which scores may not contradict.

    Attributes
    ----------
    queries, numbers, documents, values
        The parameters for the sorted rows. Each query comes once, and `numbers` ascend.

    offsets : ndarray of shape (n_queries + 1,) of int64
        First row of each query, and the number of rows.

    tie_starts : ndarray of int64
        First row of each tie, and the number of rows.

    places : list of dict of length n_queries
        For each query, the place of a document among the query's rows.

    Raises
    ------
    RepeatedDocumentError
        If a query has a document twice.
    """

    def __init__(self, queries, numbers, documents, values, best_first, *, ranks=None):
        number_of_query = defaultdict(count().__next__)
        merged = np.array([number_of_query[query] for query in queries], dtype=np.int64)
        given_numbers = merged[numbers]
        self.queries = list(number_of_query)
        self.best_first = best_first
        self.numbers = given_numbers
        self.documents = documents
        self.values = values
        if best_first:
            check_order(given_numbers, values, ranks)
        self._sort_rows()
        self.tie_starts = self._first_rows_of_ties()
        if best_first:
            self._sort_ties()
        n_queries = len(self.queries)
        self.offsets = np.searchsorted(self.numbers, np.arange(n_queries + 1))
        self.places = self._places_by_query()
        if sum(map(len, self.places)) < len(values):
            self._refuse_repeated_documents(given_numbers, documents)

    def _sort_rows(self):
        """Sort the rows by query, and then by descending value if the best come first."""
        numbers = self.numbers
        is_unsorted = numbers[1:] < numbers[:-1]
        if self.best_first:
            values = self.values
            is_unsorted |= (numbers[1:] == numbers[:-1]) & (values[1:] > values[:-1])
        if not is_unsorted.any():
            return
        order = np.argsort(numbers, kind="stable")
        if self.best_first:
            n_queries = len(self.queries)
            offsets = np.searchsorted(numbers[order], np.arange(n_queries + 1)).tolist()
            for start, end in pairwise(offsets):
                rows = order[start:end]
                order[start:end] = rows[np.argsort(-self.values[rows])]
        self.numbers = numbers[order]
        self.values = self.values[order]
        self.documents = list(map(self.documents.__getitem__, order.tolist()))

    def _first_rows_of_ties(self):
        """First row of each tie, and the number of rows."""
        begins = np.ones(len(self.values) + 1, dtype=bool)
        begins[1:-1] = self.values[1:] != self.values[:-1]
        begins[1:-1] |= self.numbers[1:] != self.numbers[:-1]
        return np.flatnonzero(begins)

    def _sort_ties(self):
        """Sort the documents of each tie by their bytes, descending."""
        is_tied = np.diff(self.tie_starts) > 1
        if not is_tied.any():
            return
        # Adding 0.0 turns -0.0 into 0.0.
        self.values = self.values + 0.0
        self.documents = self.documents.copy()
        # Text in ASCII has the order of its bytes.
        key = None if "".join(self.documents).isascii() else encoded
        starts = self.tie_starts[:-1][is_tied].tolist()
        ends = self.tie_starts[1:][is_tied].tolist()
        for start, end in zip(starts, ends):
            tied = self.documents[start:end]
            self.documents[start:end] = sorted(tied, key=key, reverse=True)

    def _places_by_query(self):
        """The place of each document among the rows of its query, as a dict by query."""
        # All dicts share the objects of the same places.
        places = list(range(np.diff(self.offsets).max(initial=0)))
        return [dict(zip(self.documents[rows], places)) for rows in self.rows_by_query()]

    def _refuse_repeated_documents(self, numbers, documents):
        """Raise an error for the first given row whose document its query has twice."""
        seen = set()
        for row, pair in enumerate(zip(numbers.tolist(), documents)):
            if pair in seen:
                number, document = pair
                raise RepeatedDocumentError(self.queries[number], document, row)
            seen.add(pair)

    def __reduce__(self):
        """Pickle only the arguments of the constructor, which computes the rest."""
        return DocumentTable, (
            self.queries,
            self.numbers,
            self.documents,
            self.values,
            self.best_first,
        )

    def rows_by_query(self):
        """Yield the rows of each query as a slice."""
        offsets = self.offsets.tolist()
        return map(slice, offsets[:-1], offsets[1:])


class RepeatedDocumentError(ValueError):
    """A query has a document twice.

    Parameters
    ----------
    query, document : str
        Their identifiers.

    row : int
        The row of the second, among the rows that a table was given.
    """

    def __str__(self):
        return "query {!r} has document {!r} twice.".format(*self.args)
