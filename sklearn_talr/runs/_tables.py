"""Judgments and runs in one form: rows of query, document and number."""

from collections import defaultdict
from functools import cached_property
from itertools import count

import numpy as np

from ._identifiers import encoded


class DocumentTable:
    """Rows (query, document, value), query after query.

    Parameters
    ----------
    queries : list of str
        Identifiers of the queries, each once. A query may have no rows.

    numbers : ndarray of shape (n_rows,) of int64
        Place of each row's query in `queries`, ascending.

    documents : list of str of length n_rows
        Identifiers of the documents.

    values : ndarray of shape (n_rows,)
        Relevance or score.

    Attributes
    ----------
    offsets : ndarray of shape (n_queries + 1,) of int64
        First row of each query, and the number of rows.

    places : list of dict of length n_queries
        Of each query the place of a document among the query's rows.
    """

    def __init__(self, queries, numbers, documents, values):
        self.queries = queries
        self.numbers = numbers
        self.documents = documents
        self.values = values
        self.offsets = np.searchsorted(numbers, np.arange(len(queries) + 1))
        places = list(range(np.diff(self.offsets).max(initial=0)))  # objects to share
        by_query = self.rows_by_query()
        self.places = [dict(zip(documents[rows], places)) for rows in by_query]

    def __reduce__(self):
        """Leave out of a pickle what the constructor finds again."""
        return DocumentTable, (self.queries, self.numbers, self.documents, self.values)

    def __len__(self):
        return len(self.values)

    def rows_by_query(self):
        """Yield the rows of each query as a slice."""
        offsets = self.offsets.tolist()
        return map(slice, offsets[:-1], offsets[1:])

    @cached_property
    def tie_starts(self):
        """First row of each tie, and the number of rows: (n_ties + 1,) of int64."""
        return _tie_starts(self.numbers, self.values)


def make_table(queries, numbers, documents, values, best_first):
    """Bring the rows of each query together.

    Parameters
    ----------
    queries : iterable of str
        Identifiers of queries, of which one may come several times.

    numbers : array-like of shape (n_rows,) of int
        Place of each row's query in `queries`.

    documents : list of str of length n_rows

    values : ndarray of shape (n_rows,)

    best_first : bool
        Whether the rows of a query come in trec_eval's order, by descending value and then
        by descending document, or in the given order.

    Returns
    -------
    table : DocumentTable
        Queries in the order of `queries`.

    Raises
    ------
    RepeatedDocumentError
        If a query has a document twice.
    """
    merged = defaultdict(count().__next__)
    numbers = np.array([merged[query] for query in queries], dtype=np.int64)[numbers]
    rows = numbers, documents, values
    falls = numbers[1:] < numbers[:-1]
    if best_first:
        falls |= (numbers[1:] == numbers[:-1]) & (values[1:] > values[:-1])
    if falls.any():
        rows = _sorted_rows(*rows, best_first)
    if best_first:
        rows = _with_sorted_ties(*rows)
    ordered_numbers, *others = rows
    table = DocumentTable(list(merged), ordered_numbers, *others)
    if sum(map(len, table.places)) < len(table):
        raise _first_repeated(table.queries, numbers, documents)
    return table


def _sorted_rows(numbers, documents, values, best_first):
    """Sort rows by query, and by descending value if `best_first`."""
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    if best_first:
        falling = -values[order]
        edges = np.append(0, np.flatnonzero(np.diff(numbers)) + 1).tolist()
        for start, end in zip(edges, [*edges[1:], len(order)]):
            order[start:end] = order[start + np.argsort(falling[start:end])]
    documents = list(map(documents.__getitem__, order.tolist()))
    return numbers, documents, values[order]


def _with_sorted_ties(numbers, documents, values):
    """Sort the documents of each tie as trec_eval does: their bytes, descending."""
    starts = _tie_starts(numbers, values)
    is_tied = np.diff(starts) > 1
    if not is_tied.any():
        return numbers, documents, values
    documents = documents.copy()
    for start, end in zip(starts[:-1][is_tied].tolist(), starts[1:][is_tied].tolist()):
        tied = documents[start:end]
        key = None if "".join(tied).isascii() else encoded
        documents[start:end] = sorted(tied, key=key, reverse=True)
    return numbers, documents, values + 0.0  # which makes -0.0 and 0.0 one


def _tie_starts(numbers, values):
    """First row of each stretch of one query and one value, and the number of rows."""
    begins = np.ones(len(values) + 1, dtype=bool)
    begins[1:-1] = (values[1:] != values[:-1]) | (numbers[1:] != numbers[:-1])
    return np.flatnonzero(begins) if len(values) else np.zeros(1, dtype=np.int64)


def _first_repeated(queries, numbers, documents):
    """Return the error of the first query, in their order, that has a document twice."""
    seen = set()
    for row in np.argsort(numbers, kind="stable").tolist():
        pair = int(numbers[row]), documents[row]
        if pair in seen:
            return RepeatedDocumentError(queries[pair[0]], pair[1], row)
        seen.add(pair)


class RepeatedDocumentError(ValueError):
    """A query has a document twice.

    Parameters
    ----------
    query, document : str
        Their identifiers.

    row : int
        The row of the second, among the rows that :func:`make_table` was given.
    """

    def __init__(self, query, document, row):
        super().__init__(query, document, row)
        self.row = row

    def __str__(self):
        return "query {!r} has document {!r} twice.".format(*self.args)
