"""Warnings about identifiers that differ only in spelling, such as "007" and 7."""

import numpy as np

from .._core.progress import warn_caller

# If at most one of 20 identifiers matches, the two sides may differ in spelling.
_N_PER_MATCH = 20
# With fewer relevant or retrieved documents a good system can miss all.
_MIN_DOCUMENTS = 10
_N_SHOWN = 3  # identifiers, in messages


def likeness(identifier):
    """An identifier without leading zeros, ".0", blanks and capitals."""
    text = identifier.strip().casefold().removesuffix(".0")
    return text.lstrip("0") or text[-1:]


def hint_of_alike(judged, retrieved, column):
    """A sentence on identifiers that differ only in spelling, with the line to write.

    Parameters
    ----------
    judged, retrieved : list of str
        Identifiers in the judgments and in the run.

    column : str
        Name of their column.

    Returns
    -------
    hint : str
        Empty unless more identifiers match by likeness alone than as text.
    """
    as_written = set(retrieved)
    by_likeness = {likeness(text): text for text in as_written}
    unmatched = [text for text in judged if text not in as_written]
    alike = [
        (text, by_likeness[likeness(text)])
        for text in unmatched
        if likeness(text) in by_likeness
    ]
    if len(alike) <= len(judged) - len(unmatched):
        return ""
    in_qrels, in_run = alike[0]
    return (
        f" {len(alike)} would be with the same spelling, such as {in_qrels!r} in the "
        f"judgments and {in_run!r} in the run. Identifiers are compared as text: write "
        f"{_remedy(in_qrels, in_run, column)}."
    )


def _remedy(in_qrels, in_run, column):
    """Code that writes one identifier as the other is written."""
    side = "run" if len(in_run) < len(in_qrels) else "qrels"
    short, long = sorted((in_qrels, in_run), key=len)
    if long.endswith(".0") and not short.endswith(".0"):
        side = "run" if long == in_run else "qrels"
        change = ".astype(str).str.removesuffix('.0')"
    elif long.lstrip("0") == short.lstrip("0"):
        change = f".astype(str).str.zfill({len(long)})"
    else:
        return f"qrels[{column!r}].str.strip().str.lower(), and the same of run[{column!r}]"
    return f"{side}[{column!r}] = {side}[{column!r}]{change}"


def tell_of_unmatched_queries(qrels, run, is_found):
    """Warn if few queries of the run are judged, but more would be in another spelling.

    Parameters
    ----------
    qrels, run : DocumentTable

    is_found : ndarray of bool
        Whether each query of the judgments is in the run.
    """
    n_found = int(is_found.sum())
    if n_found * _N_PER_MATCH > len(run.queries):
        return
    hint = hint_of_alike(qrels.queries, run.queries, "query_id")
    if hint:
        warn_caller(
            f"{n_found} of the {len(run.queries)} queries of the run are judged.{hint}"
        )


def tell_of_unmatched_documents(qrels, run, queries, cells):
    """Warn if the run has no judged documents, or few in this spelling.

    Parameters
    ----------
    qrels, run : DocumentTable

    queries : list of str
        Those that are evaluated.

    cells : Cells
        Judged documents of these queries.
    """
    queries_of_run = set(run.queries)
    has_query = np.array([query in queries_of_run for query in queries], dtype=bool)
    is_relevant = has_query[cells.query] & (cells.grade > 0)
    is_ranked = is_relevant & (cells.t < cells.n_items[cells.query])
    n_relevant = int(cells.count[is_relevant].sum())
    n_ranked = int(cells.count[is_ranked].sum())
    if n_ranked * _N_PER_MATCH > n_relevant or not n_relevant:
        return
    judged, retrieved = _documents_of_both(qrels, run)
    hint = hint_of_alike(judged, retrieved, "doc_id")
    is_small = min(len(set(judged)), len(set(retrieved))) < _MIN_DOCUMENTS
    if not hint and (is_small or not set(retrieved).isdisjoint(qrels.documents)):
        return
    state = "none" if not n_ranked else str(n_ranked)
    if not hint:
        hint = (
            f" Documents of the judgments are {_first_identifiers(judged)}, of the run "
            f"{_first_identifiers(retrieved)}: do the identifiers have the same spelling?"
        )
    warn_caller(f"{state} of the {n_relevant} relevant documents are retrieved.{hint}")


def _documents_of_both(qrels, run):
    """Relevant documents and retrieved ones of the queries that are in both, by query."""
    rows_in_run = dict(zip(run.queries, run.rows_by_query()))
    judged = []
    retrieved = []
    for query, rows in zip(qrels.queries, qrels.rows_by_query()):
        if query in rows_in_run:
            grades = qrels.values[rows].tolist()
            documents = zip(qrels.documents[rows], grades)
            judged.extend(document for document, grade in documents if grade > 0)
            retrieved.extend(run.documents[rows_in_run[query]])
    return judged, retrieved


def _first_identifiers(texts):
    shown = ", ".join(map(repr, texts[:_N_SHOWN]))
    return shown + (", ..." if len(texts) > _N_SHOWN else "")
