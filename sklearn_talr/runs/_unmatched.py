"""Identifiers of judgments that a run never has, such as "007" and 7."""

from itertools import chain

import numpy as np

from .._progress import warn_caller

# If fewer match than one of so many, identifiers may be written in two ways.
_FEWEST = 20
# Relevant and retrieved documents; if there are fewer, any system may miss all.
_MANY = 10


def likeness(identifier):
    """What is left of an identifier without zeros in front, ".0", blanks and capitals."""
    text = identifier.strip().casefold().removesuffix(".0")
    return text.lstrip("0") or text[-1:]


def hint_of_alike(judged, retrieved, column):
    """Say how identifiers that differ as text are alike, and how to write them in one way.

    Parameters
    ----------
    judged, retrieved : list of str
        Identifiers in the judgments and in the run.

    column : str
        Name of their column.

    Returns
    -------
    hint : str
        Empty unless more match by their likeness alone than as they are written.
    """
    as_written = set(retrieved)
    alike = {likeness(text): text for text in as_written}
    others = [text for text in judged if text not in as_written]
    unlike = [(text, alike[likeness(text)]) for text in others if likeness(text) in alike]
    if len(unlike) <= len(judged) - len(others):
        return ""
    of_qrels, of_run = unlike[0]
    return (
        f" {len(unlike)} would be if they were written alike, as {of_qrels!r} of the "
        f"judgments and {of_run!r} of the run. Identifiers are compared as text: write "
        f"{_remedy(of_qrels, of_run, column)}."
    )


def _remedy(of_qrels, of_run, column):
    side = "run" if len(of_run) < len(of_qrels) else "qrels"
    short, long = sorted((of_qrels, of_run), key=len)
    if long.endswith(".0") and not short.endswith(".0"):
        side = "run" if long == of_run else "qrels"
        change = ".astype(str).str.removesuffix('.0')"
    elif long.lstrip("0") == short.lstrip("0"):
        change = f".astype(str).str.zfill({len(long)})"
    else:
        return f"qrels[{column!r}].str.strip().str.lower(), and the same of run[{column!r}]"
    return f"{side}[{column!r}] = {side}[{column!r}]{change}"


def tell_of_unmatched_queries(qrels, run, is_found):
    """Warn if hardly any query of the run is judged, and others are but for their writing.

    Parameters
    ----------
    qrels, run : DocumentTable

    is_found : ndarray of bool
        Whether each query of the judgments is in the run.
    """
    n_found = int(is_found.sum())
    if n_found * _FEWEST > len(run.queries):
        return
    hint = hint_of_alike(qrels.queries, run.queries, "query_id")
    if hint:
        warn_caller(
            f"{n_found} of the {len(run.queries)} queries of the run are judged.{hint}"
        )


def tell_of_unmatched_documents(qrels, run, queries, cells):
    """Warn if the run has no document that is judged, or hardly any as they are written.

    Parameters
    ----------
    qrels, run : DocumentTable

    queries : list of str
        Those that are evaluated.

    cells : Cells
        Judged documents of these queries.
    """
    of_run = set(run.queries)
    in_both = np.array([query in of_run for query in queries], dtype=bool)[cells.query]
    is_relevant = in_both & (cells.grade > 0)
    is_ranked = is_relevant & (cells.t < cells.n_items[cells.query])
    n_relevant, n_ranked = (
        int(cells.count[some].sum()) for some in (is_relevant, is_ranked)
    )
    if n_ranked * _FEWEST > n_relevant or not n_relevant:
        return
    judged, retrieved = _documents_of_both(qrels, run)
    hint = hint_of_alike(judged, retrieved, "doc_id")
    is_small = min(len(set(judged)), len(set(retrieved))) < _MANY
    if not hint and (is_small or not set(retrieved).isdisjoint(qrels.documents)):
        return
    state = "none" if not n_ranked else str(n_ranked)
    if not hint:
        hint = (
            f" Documents of the judgments are {_some(judged)}, of the run "
            f"{_some(retrieved)}: are their identifiers written alike?"
        )
    warn_caller(f"{state} of the {n_relevant} relevant documents is retrieved.{hint}")


def _documents_of_both(qrels, run):
    """Relevant documents and retrieved ones of the queries that are in both, by query."""
    of_run = dict(zip(run.queries, run.rows_by_query()))
    judged, retrieved = [], []
    for query, rows in zip(qrels.queries, qrels.rows_by_query()):
        if query in of_run:
            documents = zip(qrels.documents[rows], qrels.values[rows].tolist())
            judged.append(document for document, grade in documents if grade > 0)
            retrieved.append(run.documents[of_run[query]])
    return list(chain.from_iterable(judged)), list(chain.from_iterable(retrieved))


def _some(texts):
    return ", ".join(map(repr, texts[:3])) + ", ..." * (len(texts) > 3)
