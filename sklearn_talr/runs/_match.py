"""Which retrieved documents are judged, where they are ranked, and among which ties."""

from dataclasses import dataclass
from itertools import chain, repeat

import numpy as np


@dataclass(frozen=True)
class JudgedDocuments:
    """Judged documents of the queries that are evaluated.

    Parameters
    ----------
    query, t, n, place, grade : ndarray of shape (n_retrieved,) of int64
        Retrieved documents: number of the query, documents ranked before the tie, size of
        the tie, documents before it in trec_eval's order, and relevance. Sorted by query,
        then t, then grade.

    missing_query, missing_grade : ndarray of shape (n_missing,) of int64
        Judged documents that were not retrieved.

    n_items : ndarray of shape (n_queries,) of int64
        Number of retrieved documents, judged or not.

    largest : int
        The greatest relevance of all judgments, at least 1. Judgments of queries that are
        not evaluated count too, so that it is the same for every run.
    """

    query: np.ndarray
    t: np.ndarray
    n: np.ndarray
    place: np.ndarray
    grade: np.ndarray
    missing_query: np.ndarray
    missing_grade: np.ndarray
    n_items: np.ndarray
    largest: int


def match(qrels, run, queries, only_relevant):
    """Look the documents of a run up among the judgments.

    Parameters
    ----------
    qrels, run : DocumentTable
        The rows of the run in trec_eval's order.

    queries : ndarray of shape (n_queries,) of int64
        Numbers of the queries of the judgments that are evaluated, ascending.

    only_relevant : bool
        Whether to look for documents of relevance 1 and above alone.

    Returns
    -------
    judged : JudgedDocuments
    """
    evaluated = np.full(len(qrels.queries), -1)
    evaluated[queries] = np.arange(len(queries))
    query, grade = evaluated[qrels.numbers], qrels.values
    is_wanted = query >= 0
    if only_relevant:
        is_wanted &= grade > 0
    row = _rows_of_judgments(qrels, run)
    is_missing = is_wanted & (row < 0)
    judgment = np.flatnonzero(is_wanted & (row >= 0))
    tie = np.searchsorted(run.tie_starts, row[judgment], side="right") - 1
    order = np.lexsort((grade[judgment], tie, query[judgment]))
    judgment, tie = judgment[order], tie[order]
    row = row[judgment]
    first = run.offsets[run.numbers[row]]
    n_items = dict(zip(run.queries, np.diff(run.offsets).tolist()))
    return JudgedDocuments(
        query=query[judgment],
        t=run.tie_starts[tie] - first,
        n=np.diff(run.tie_starts)[tie],
        place=row - first,
        grade=grade[judgment],
        missing_query=query[is_missing],
        missing_grade=grade[is_missing],
        n_items=np.array([n_items.get(qrels.queries[number], 0) for number in queries]),
        largest=int(grade.max(initial=1)),
    )


def _rows_of_judgments(qrels, run):
    """Row of the run that has the query and the document of each judgment; -1 for none."""
    number_of = dict(zip(run.queries, range(len(run.queries))))
    numbers = [number_of.get(query, -1) for query in qrels.queries]
    places = [*run.places, {}]  # the last, of number -1, is of queries that the run lacks
    found = chain.from_iterable(
        map(places[number].get, qrels.documents[rows], repeat(-1))
        for number, rows in zip(numbers, qrels.rows_by_query())
    )
    place = np.fromiter(found, dtype=np.int64, count=len(qrels))
    first = run.offsets[numbers][qrels.numbers]
    return np.where(place < 0, -1, first + place)
