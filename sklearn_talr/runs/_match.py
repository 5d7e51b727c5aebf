"""Which retrieved documents are judged, where they are ranked, and among which ties."""

from dataclasses import dataclass
from itertools import repeat

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
    judgment, row = _equal_rows(qrels, run)
    is_missing = query >= 0
    is_missing[judgment] = False
    is_kept = query[judgment] >= 0
    if only_relevant:
        is_missing &= grade > 0
        is_kept &= grade[judgment] > 0
    judgment, row = judgment[is_kept], row[is_kept]
    starts = run.tie_starts()
    tie = np.searchsorted(starts, row, side="right") - 1
    order = np.lexsort((grade[judgment], tie, query[judgment]))
    judgment, row, tie = judgment[order], row[order], tie[order]
    first = run.offsets[run.numbers[row]]
    n_items = dict(zip(run.queries, np.diff(run.offsets).tolist()))
    return JudgedDocuments(
        query=query[judgment],
        t=starts[tie] - first,
        n=np.diff(starts)[tie],
        place=row - first,
        grade=grade[judgment],
        missing_query=query[is_missing],
        missing_grade=grade[is_missing],
        n_items=np.array([n_items.get(qrels.queries[number], 0) for number in queries]),
        largest=int(grade.max(initial=1)),
    )


def _equal_rows(qrels, run):
    """Rows of the judgments and rows of the run that have one query and one document."""
    rows_of = dict(zip(run.queries, run.rows_by_query()))
    judgment = np.full(len(run), -1)
    for query, rows in zip(qrels.queries, qrels.rows_by_query()):
        retrieved = rows_of.get(query, slice(0))
        place = dict(zip(qrels.documents[rows], range(rows.start, rows.stop)))
        found = list(map(place.get, run.documents[retrieved], repeat(-1)))
        judgment[retrieved] = found
    row = np.flatnonzero(judgment >= 0)
    return judgment[row], row
