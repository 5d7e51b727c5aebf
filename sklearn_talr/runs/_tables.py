"""Judgments and runs in one form: rows of query, document and number."""

import numpy as np

from ._identifiers import decoded


class DocumentTable:
    """Rows (query, document, value), query after query.

    Parameters
    ----------
    queries : list of str
        Identifiers of the queries, each once. A query may have no rows.

    numbers : ndarray of shape (n_rows,) of int64
        Place of each row's query in `queries`, ascending.

    documents : ndarray of shape (n_rows,) of object
        Identifiers of the documents, as bytes.

    values : ndarray of shape (n_rows,)
        Relevance or score.
    """

    def __init__(self, queries, numbers, documents, values):
        self.queries = queries
        self.numbers = numbers
        self.documents = documents
        self.values = values

    def __len__(self):
        return len(self.values)

    @property
    def offsets(self):
        """First row of each query, and the number of rows, (n_queries + 1,) of int64."""
        return np.searchsorted(self.numbers, np.arange(len(self.queries) + 1))

    def rows_by_query(self):
        """Yield the rows of each query as a slice."""
        offsets = self.offsets.tolist()
        return map(slice, offsets[:-1], offsets[1:])

    def tie_starts(self):
        """First row of each tie, and the number of rows: (n_ties + 1,) of int64.

        A tie is a stretch of rows of one query and one value.
        """
        begins = np.ones(len(self) + 1, dtype=bool)
        begins[1:-1] = self.values[1:] != self.values[:-1]
        begins[self.offsets] = True
        return np.flatnonzero(begins)

    def in_order_of_trec_eval(self):
        """Sort the rows of each query by descending value, then by descending document."""
        by_value = [
            rows.start + np.argsort(-self.values[rows], kind="stable")
            for rows in self.rows_by_query()
        ]
        order = np.concatenate([np.zeros(0, dtype=np.int64), *by_value])
        starts = self._take(order).tie_starts()
        long = np.flatnonzero(np.diff(starts) > 1)
        document, rows = self.documents.tolist().__getitem__, order.tolist()
        for start, end in zip(starts[long].tolist(), starts[long + 1].tolist()):
            rows[start:end] = sorted(rows[start:end], key=document, reverse=True)
        return self._take(np.array(rows, dtype=np.int64))

    def _take(self, order):
        """Return the table with the rows of each query in another order."""
        rows = self.documents[order], self.values[order]
        return DocumentTable(self.queries, self.numbers, *rows)


def make_table(queries, numbers, documents, values):
    """Bring the rows of each query together.

    Parameters
    ----------
    queries : iterable of str
        Identifiers of queries, of which one may come several times.

    numbers : array-like of shape (n_rows,) of int
        Place of each row's query in `queries`.

    documents : list of bytes of length n_rows

    values : ndarray of shape (n_rows,)

    Returns
    -------
    table : DocumentTable
        Queries in the order of `queries`, and the rows of each in the given order.

    Raises
    ------
    RepeatedDocumentError
        If a query has a document twice.
    """
    places = {}
    merged = [places.setdefault(query, len(places)) for query in queries]
    numbers = np.array(merged, dtype=np.int64)[numbers]
    order = np.argsort(numbers, kind="stable")
    documents = np.array(documents, dtype=object)[order]
    table = DocumentTable(list(places), numbers[order], documents, values[order])
    for query, rows in zip(table.queries, table.rows_by_query()):
        if len(set(documents[rows])) < rows.stop - rows.start:
            repeated = _first_repeated(documents[rows])
            document, row = documents[rows][repeated], order[rows][repeated]
            raise RepeatedDocumentError(query, decoded(document), int(row))
    return table


def _first_repeated(documents):
    """Place of the first document that is equal to one before it."""
    seen = set()
    for place, document in enumerate(documents):
        if document in seen:
            return place
        seen.add(document)


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
