"""Evaluate a run against judgments."""

from dataclasses import replace
from itertools import chain, repeat
from numbers import Integral
from operator import ne
from os import PathLike

import numpy as np

from .._compat import Interval, StrOptions, independent_random_state, validated
from .._progress import warn_caller
from .._types import Any, Count, Literal, Seed
from ..measures import parse_measures
from ..measures._evaluation import evaluate_ties, group_by_cutoff
from ..measures._ties import Cells
from ._data import DocumentTable, Qrels, Run, places_among
from ._files import read_qrels, read_run
from ._result import RunEvaluation
from ._unmatched import (
    hint_of_alike,
    tell_of_unmatched_documents,
    tell_of_unmatched_queries,
)

_ORDERS = "expected", "worst", "best", "listed"  # the last is trec_eval's
_MOST_GRADES = 5  # of people who judge: 0 to 4
_ROUNDING = 1e-24  # the variance of equal values may be so much


@validated(
    missing_queries=[StrOptions({"zero", "skip"})],
    judged_only=["boolean"],
    ignore_identical_ids=["boolean"],
    n_orders=[Interval(Integral, 2, None, closed="left"), None],
    random_state=["random_state"],
    name=[str, None],
)
def evaluate_run(
    qrels: Any,
    run: Any,
    measures: Any = ("AP", "nDCG@10", "RR@10"),
    *,
    missing_queries: Literal["zero", "skip"] = "zero",
    judged_only: bool = False,
    ignore_identical_ids: bool = False,
    n_orders: Count = None,
    random_state: Seed = 0,
    name: str | None = None,
) -> RunEvaluation:
    """Evaluate a run: the mean over all orders of tied documents, the worst, and the best.

    Parameters
    ----------
    qrels : Qrels, str or path-like, or any data that Qrels takes
        The judgments: an object, a file for :func:`read_qrels`, a dict of dicts, ....

    run : Run, str or path-like, or any data that Run takes
        The retrieved documents and their scores, in the same forms.

    measures : str, Measure, object of ir_measures, or sequence of them, \
            default=("AP", "nDCG@10", "RR@10")
        Measures of :mod:`sklearn_talr.measures`, or their names:

        * ``AP``, ``RR``, with or without a cutoff; ``P@k``, ``R@k``, ``F1@k``,
          ``Success@k``; ``Rprec``. All take ``rel``, the least relevance that counts as
          relevant, as in ``"AP(rel=2)@100"``; 1 is the default. ``AP`` takes a
          ``denominator``, too.
        * ``nDCG`` and ``DCG``, with or without a cutoff. Of runs they have trec_eval's
          gain, the relevance itself, which is ``nDCG(dcg="log2")``, unless they are given
          ``dcg="exp-log2"``, the gain 2**relevance - 1. With trec_eval's gain they take
          judgments that are real numbers, which no other measure does.
        * ``RBP(p=0.8)``, with or without a cutoff. With ``rel`` the gain of what is
          relevant is 1, without it the relevance over ``max_rel``. By default that is the
          largest of all judgments, those of queries that are left out included, so that
          all runs have one scale.
        * ``ERR``, with or without a cutoff: the user stops at a document with probability
          (2**relevance - 1) / 2**max_rel, and ``max_rel=4`` is the default, as in TREC's
          gdeval.
        * ``EF@1%``, ``BEDROC``, ``RIE``, ``AUC``: early enrichment, and the ROC curve.
        * ``Bpref``, of judged documents alone.
        * ``Judged``, with or without a cutoff: the share of judged documents.

    missing_queries : {"zero", "skip"}, default="zero"
        What queries do that are judged, but of which the run has no document: count 0, as
        in ir_measures and under ``trec_eval -c``, or be left out of the means, as in
        trec_eval without that option and in pytrec_eval. Queries that are not judged are
        left out always.

    judged_only : bool, default=False
        Whether documents that nobody has judged for a query do not count for it, so that
        the ranking is condensed to those judged, and ties with it. False: they are not
        relevant, as in trec_eval.

    ignore_identical_ids : bool, default=False
        Whether the document that has the identifier of the query does not count for it,
        retrieved or judged, where queries are documents.

    n_orders : int, default=None
        Number of random orders of tied documents to draw, at least 2, for the variance of
        each value over them. Intervals over queries *and* ties need it. None draws none.

    random_state : int, RandomState instance or None, default=0
        Seed of these orders.

    name : str, default=None
        What results and pictures call the system. None takes the name of the run.

    Returns
    -------
    evaluation : RunEvaluation
        Expected, worst and best values, and those of trec_eval's order, of each query and
        as means. It prints as a table.

    Raises
    ------
    ValueError
        If a file is damaged, the data are no judgments or no run, no query is in both, a
        measure is unknown or has no exact mean over orders of ties, or a relevance is
        beyond what it takes.

    TypeError
        If data have none of the forms.

    Warns
    -----
    UserWarning
        If judgments and run seem to be swapped, or every query finds first the document of
        its own identifier, which nobody has judged. If no document of the run is judged,
        or if far more documents or queries of the judgments would be in the run if their
        identifiers were written alike, as "007" and 7 are not.

    See Also
    --------
    compare_runs : Which of two runs is better, and whether ties decide it.
    sklearn_talr.metrics : The same measures of arrays.

    Notes
    -----
    Without ties the values are trec_eval's: only retrieved documents are ranked; relevant
    ones that were not retrieved count in recall, in the denominator of AP and in the ideal
    gain; what is not judged, and what has a relevance below 1, is not relevant; a query
    with nothing relevant counts 0. trec_eval keeps 32 bits of a score, so for it scores are
    tied that differ in the others. The column ``trec_eval`` has its values then, too.

    Examples
    --------
    Two documents share the second score, and one of them is relevant:

    >>> from sklearn_talr.runs import evaluate_run
    >>> qrels = {"q1": {"d1": 1, "d3": 1}, "q2": {"d2": 2}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0, "d3": 1.0}, "q2": {"d2": 0.9, "d4": 0.1}}
    >>> result = evaluate_run(qrels, run, ["AP", "nDCG@10"])
    >>> print(result)
    run: 2 queries
              expected   worst    best  trec_eval  moved
    AP          0.9583  0.9167  1.0000     1.0000    50%
    nDCG@10     0.9799  0.9599  1.0000     1.0000    50%
    >>> float(result.expected[0, 0])
    0.9166...
    """
    measures = list(dict.fromkeys(parse_measures(measures)[0]))
    for measure in measures:
        if measure.needs_cutoff and measure.cutoff is None:
            raise ValueError(f"{measure} needs a cutoff, such as {measure}@10.")
    qrels = (read_qrels if isinstance(qrels, str | PathLike) else Qrels)(qrels).table
    run = (read_run if isinstance(run, str | PathLike) else Run)(run)
    table = run.table
    if ignore_identical_ids:
        qrels, table = (_kept(each, ne) for each in (qrels, table))
    judged = dict(zip(qrels.queries, qrels.places))
    if judged_only:
        table = _kept(table, lambda query, document: document in judged.get(query, ()))

    largest = int(qrels.values.max(initial=1))  # the same for every run
    completed = [m.completed(gains="log2", largest=largest) for m in measures]
    are_real = qrels.values.dtype.kind == "f"
    for measure in completed if are_real else []:
        if not measure.takes_real_grades:
            raise ValueError(
                f"{measure} takes integers as relevance, got "
                f"{qrels.values[qrels.values % 1 > 0][0]}: say what is relevant, as by "
                "int(gain >= 1). nDCG and DCG take real gains. Judgments come first, then "
                "the run: are they swapped?"
            )

    # Warn where the judgments look like scores, and the scores like judgments
    most = np.diff(qrels.offsets).max(initial=0)
    pairs = np.stack([qrels.numbers, qrels.values], axis=1)
    are_scores = are_real or most > _MOST_GRADES
    are_scores &= len(np.unique(pairs, axis=0)) == len(pairs)
    if are_scores and np.isin(table.values, np.arange(_MOST_GRADES)).all():
        warn_caller(
            "qrels has another relevance for every document of a query, and run has the "
            f"scores {np.unique(table.values).tolist()} alone. Judgments come first, "
            "then the run: are they swapped?",
        )

    # Warn of queries that are documents: each finds itself
    are_own = [
        query in places
        and table.values[start] == table.values[start + places[query]]
        and query not in judged.get(query, ())
        for query, places, start in zip(table.queries, table.places, table.offsets)
        if places
    ]
    if len(are_own) > 1 and all(are_own):
        warn_caller(
            "every query finds first the document of its own identifier, which is not "
            "judged. If the queries are documents, pass ignore_identical_ids=True.",
        )

    # Queries: those in both, and perhaps those that the run lacks
    is_found = places_among(table.queries, qrels.queries) >= 0
    if not is_found.any():
        raise ValueError(
            "no query of the run is judged: the queries of the run are "
            f"{_some(table.queries)}, those of the judgments {_some(qrels.queries)}."
            f"{hint_of_alike(qrels.queries, table.queries, 'query_id')}"
        )
    tell_of_unmatched_queries(qrels, table, is_found)
    evaluated = np.arange(len(qrels.queries))
    if missing_queries == "skip":
        evaluated = evaluated[is_found]

    # Judged documents, and all measures in the orders of their ties
    of_relevance = not any(measure.of_runs_only for measure in measures)
    cells = _match(qrels, table, evaluated, of_relevance)
    queries = [qrels.queries[number] for number in evaluated]
    tell_of_unmatched_documents(qrels, table, queries, cells)
    groups = group_by_cutoff(completed)
    expected = evaluate_ties(groups, cells)
    values = np.stack([expected] * len(_ORDERS))
    is_ranked = cells.t < cells.n_items[cells.query]
    is_tied = is_ranked & (cells.n > 1)
    is_listed = is_tied | is_ranked & (cells.place != cells.t)  # perhaps by 32 bits alone
    tied = np.unique(cells.query[is_tied])
    for place, order in enumerate(_ORDERS[1:], start=1):
        some = np.unique(cells.query[is_listed]) if order == "listed" else tied
        if len(some):
            values[place, some] = evaluate_ties(groups, cells.select(some), order=order)

    # Variance over random orders, one at a time: all of them would take much memory
    variance = None if n_orders is None else np.zeros(expected.shape)
    if n_orders is not None and len(tied):
        cells = cells.select(tied)
        random_state = independent_random_state(random_state)
        places = _random_places(cells, n_orders, random_state)
        orders = (replace(cells, place=place) for place in places)
        drawn = [evaluate_ties(groups, each, order="listed") for each in orders]
        drawn = np.var(drawn, axis=0, ddof=1)
        variance[tied] = np.where(drawn > _ROUNDING, drawn, 0.0)
    name = run.name if name is None else name
    return RunEvaluation(name, list(map(str, measures)), queries, *values, variance)


def _kept(table, wanted):
    """All queries of a table, and those rows of which ``wanted(query, document)``."""
    pairs = zip(map(table.queries.__getitem__, table.numbers), table.documents)
    rows = np.flatnonzero([wanted(*pair) for pair in pairs])
    documents = [table.documents[row] for row in rows]
    of_rows = table.numbers[rows], documents, table.values[rows]
    return DocumentTable(table.queries, *of_rows, table.best_first)


def _some(queries):
    if not len(queries):
        return "none"
    return ", ".join(map(repr, queries[:3])) + (", ..." if len(queries) > 3 else "")


def _match(qrels, run, queries, only_relevant):
    """Cells of judged documents: where they are ranked, and among which ties.

    Parameters
    ----------
    qrels, run : DocumentTable
        The rows of the run in trec_eval's order.

    queries : ndarray of shape (n_queries,) of int64
        Numbers of the queries of the judgments that are evaluated, ascending.

    only_relevant : bool
        Whether to look for documents of relevance 1 and above alone.
    """
    # The run as trec_eval holds it, which 32 bits of scores tie more often
    with np.errstate(over="ignore"):
        scores = run.values.astype(np.float32)
    ties = [each[1:] == each[:-1] for each in (run.values, scores)]
    rows = run.queries, run.numbers, run.documents, scores, True
    listed = run if np.array_equal(*ties) else DocumentTable(*rows)

    # The place in both of the document of each judgment, or -1
    numbers, both = places_among(run.queries, qrels.queries), []
    for table in (run, listed):
        places = [*table.places, {}]  # the last, of number -1, is of queries that it lacks
        found = chain.from_iterable(
            map(places[number].get, qrels.documents[rows], repeat(-1))
            for number, rows in zip(numbers, qrels.rows_by_query())
        )
        both.append(np.fromiter(found, dtype=np.int64, count=len(qrels.values)))
    place, listed = both

    # Judgments that count
    evaluated = np.full(len(qrels.queries), -1)
    evaluated[queries] = np.arange(len(queries))
    query, grade = evaluated[qrels.numbers], qrels.values
    wanted = (query >= 0) & (grade > 0) if only_relevant else query >= 0
    first_row = run.offsets[numbers][qrels.numbers]
    columns = query, grade, place, listed, first_row
    query, grade, place, listed, first_row = (column[wanted] for column in columns)

    # Their ties; what was not retrieved is one tie after the last rank
    n_items = np.append(np.diff(run.offsets), 0)[numbers][queries]
    is_missing = place < 0
    n_missing = np.bincount(query[is_missing], minlength=len(queries))
    tie = np.searchsorted(run.tie_starts, first_row + place, side="right") - 1
    n_tied = np.diff(run.tie_starts, append=0)
    t = np.where(is_missing, n_items[query], run.tie_starts[tie] - first_row)
    n = np.where(is_missing, n_missing[query], n_tied[tie])
    order = np.lexsort((grade, t, query))
    columns = query, grade, t, n, is_missing, listed
    query, grade, t, n, is_missing, listed = (column[order] for column in columns)
    place = np.where(is_missing, t, listed)
    place[is_missing] += np.arange(is_missing.sum())

    # Missing documents of one grade are one cell
    begins = np.ones(len(query), dtype=bool)
    begins[1:] = ~(is_missing[1:] & is_missing[:-1])
    begins[1:] |= (query[1:] != query[:-1]) | (grade[1:] != grade[:-1])
    first = np.flatnonzero(begins)
    count = np.diff(first, append=len(query))
    columns = (column[first] for column in (query, t, n, grade))
    return Cells(*columns, count, n_items, place[first])


def _random_places(cells, n_orders, random_state):
    """Yield places of documents, so that all orders of tied ones are equally likely.

    Documents of a tie that are not among the cells take places, too.
    """
    is_ranked = cells.t < cells.n_items[cells.query]
    first = cells.starts[is_ranked[cells.starts]]
    size = cells.n[first]
    n_judged = np.diff(cells.starts, append=len(cells.t))[is_ranked[cells.starts]]
    tie = np.repeat(np.arange(len(first)), size)
    start = np.cumsum(size) - size
    # The first documents of each tie stand for its cells, the others for what is not judged
    is_judged = np.arange(len(tie)) - start[tie] < n_judged[tie]
    before = np.repeat(cells.t[first] - start, n_judged)
    for _ in range(n_orders):
        # Halves, lest the sum be rounded up to the next tie
        order = np.argsort(tie + random_state.random_sample(len(tie)) / 2)
        drawn = np.empty_like(order)
        drawn[order] = np.arange(len(tie))
        place = cells.place.copy()
        place[is_ranked] = drawn[is_judged] + before
        yield place
