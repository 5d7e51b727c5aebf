"""Which retrieved documents are judged, where they are ranked, and among which ties."""

from dataclasses import dataclass

import numpy as np

from ..histogram._rankings import padded_rows
from ._tables import next_slots, slots

_CELLS_PER_BLOCK = 2**15
_PASS = 2**15  # rows, whose slots stay in cache


@dataclass(frozen=True)
class Judged:
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
        The greatest relevance of all judgments, at least 1. Those of queries that are not
        evaluated count too, so that it is the same for every run.
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
    qrels, run : Table
        The rows of the run by descending score.

    queries : ndarray of shape (n_queries,) of int64
        Numbers of the queries of the judgments that are evaluated.

    only_relevant : bool
        Whether to look for documents of relevance 1 and above alone.

    Returns
    -------
    judged : Judged
    """
    numbers = {query: number for number, query in enumerate(run.queries)}
    run_of = np.array([numbers.get(query, -1) for query in qrels.queries], dtype=np.int64)
    evaluated = np.full(len(qrels.queries), -1)
    evaluated[queries] = np.arange(len(queries))
    judgment, row = _equal_rows(qrels, run, run_of)
    missing = evaluated[qrels.query_of(slice(None))] >= 0
    missing[judgment] = False
    kept = evaluated[qrels.query_of(judgment)] >= 0
    if only_relevant:
        kept &= qrels.values[judgment] > 0
        missing &= qrels.values > 0
    judgment, row = judgment[kept], row[kept]
    start, end = _ties(run.values, run.offsets, row)
    query = evaluated[qrels.query_of(judgment)]
    columns = _sorted(qrels, query, judgment, row, start, end)
    query, judgment, row, start, end = columns
    first = run.offsets[run_of[queries[query]]]
    return Judged(
        query=query,
        t=start - first,
        n=end - start,
        place=_places(run, row, start, end) - first,
        grade=qrels.values[judgment],
        missing_query=evaluated[qrels.query_of(missing)],
        missing_grade=qrels.values[missing],
        n_items=np.append(run.sizes, 0)[run_of[queries]],
        largest=int(qrels.values.max(initial=1)),
    )


def _sorted(qrels, query, judgment, row, start, end):
    """Sort rows by query, then by tie, then by grade; most often they are."""
    grade = qrels.values[judgment]
    same_tie = (query[1:] == query[:-1]) & (start[1:] == start[:-1])
    falls = (query[1:] < query[:-1]) | (same_tie & (grade[1:] < grade[:-1]))
    columns = query, judgment, row, start, end
    if not falls.any():
        return columns
    order = np.lexsort((grade, start, query))
    return tuple(part[order] for part in columns)


def _equal_rows(qrels, run, run_of):
    """Pairs of rows of the same query and document, sorted by those of the run.

    Most slots of the judgments are empty, so that few rows of the run are looked at twice.
    """
    n_bits, table, is_used = qrels.lookup
    rows = np.concatenate(
        [np.zeros(0, dtype=np.int64)]
        + [
            first + np.flatnonzero(is_used[slots(run.keys[first : first + _PASS], n_bits)])
            for first in range(0, len(run), _PASS)
        ]
    )
    slot = slots(run.keys[rows], n_bits)
    found = []
    while len(rows):
        judgments = table[slot]
        same = qrels.keys[judgments] == run.keys[rows]
        found.append(_confirmed(qrels, run, run_of, judgments[same], rows[same]))
        slot = next_slots(slot, n_bits)
        more = is_used[slot] & ~same
        rows, slot = rows[more], slot[more]
    judgments, rows = np.concatenate([np.zeros((2, 0), int), *found], axis=1)
    order = np.argsort(rows, kind="stable")  # of a few sorted parts
    return judgments[order], rows[order]


def _confirmed(qrels, run, run_of, judgments, rows):
    """Keep the pairs of rows that are equal, not only in their keys."""
    ours, theirs = qrels.documents, run.documents
    width = min(ours.shape[1], theirs.shape[1])
    equal = np.all(ours[judgments, :width] == theirs[rows, :width], axis=1)
    equal &= ~np.any(ours[judgments, width:], axis=1) & ~np.any(
        theirs[rows, width:], axis=1
    )
    equal &= run_of[qrels.query_of(judgments)] == run.query_of(rows)
    return judgments[equal], rows[equal]


def _ties(scores, offsets, rows):
    """First row, and row after the last, of the ties that rows are in."""
    begins = np.ones(len(scores) + 1, dtype=bool)
    np.not_equal(scores[1:], scores[:-1], out=begins[1:-1])
    begins[offsets[:-1]] = True
    tied = ~(begins[rows] & begins[rows + 1])
    start, end = rows.copy(), rows + 1
    if tied.any():
        starts = np.flatnonzero(begins)
        tie = np.searchsorted(starts, rows[tied], side="right") - 1
        start[tied], end[tied] = starts[tie], starts[tie + 1]
    return start, end


def _places(run, rows, start, end):
    """Rows where trec_eval has documents: it orders ties by descending identifier."""
    places = rows.copy()
    tied = np.flatnonzero(end - start > 1)
    first, of_tie = np.unique(start[tied], return_inverse=True)
    size = np.zeros(len(first), dtype=np.int64)
    size[of_tie] = (end - start)[tied]
    rank = np.zeros(size.sum(), dtype=np.int64)
    base = np.cumsum(size) - size
    for ties, row, inside in padded_rows(first, size, _CELLS_PER_BLOCK):
        order = _falling(run.documents, row, inside)
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.arange(row.shape[1])[None], axis=1)
        cell = base[ties, None] + np.arange(row.shape[1])
        rank[cell[inside]] = ranks[inside]
    places[tied] = start[tied] + rank[base[of_tie] + rows[tied] - start[tied]]
    return places


def _falling(documents, row, inside):
    """Order of each row by descending identifier; what is outside comes last."""
    order = np.argsort(np.where(inside, ~documents[row, -1], np.uint64(2**64 - 1)), axis=1)
    for i in reversed(range(documents.shape[1] - 1)):
        ranked = np.take_along_axis(row, order, axis=1)
        falling = ~documents[ranked, i]
        falling[~np.take_along_axis(inside, order, axis=1)] = np.uint64(2**64 - 1)
        again = np.argsort(falling, axis=1, kind="stable")
        order = np.take_along_axis(order, again, axis=1)
    return order
