"""Evaluate a run against judgments."""

from dataclasses import dataclass, replace
from itertools import chain, repeat
from numbers import Integral
from operator import ne
from os import PathLike
from typing import NamedTuple

import numpy as np

from .._core.compat import Interval, StrOptions, independent_random_state, validated
from .._core.progress import warn_caller
from .._core.types import Any, Count, Literal, Seed
from ..measures import parse_measures
from ..measures._evaluation import evaluate_ties, group_by_cutoff
from ..measures._ties import Cells
from ._data import DocumentTable, Qrels, Run, places_among
from ._files import read_qrels, read_run
from ._result import RunEvaluation
from ._swapped import refuse_swapped_types, warn_if_swapped
from ._unmatched import (
    hint_of_alike,
    tell_of_unmatched_documents,
    tell_of_unmatched_queries,
)

DEFAULT_MEASURES = "AP", "nDCG@10", "RR@10"

# Rounding alone gives equal values a variance up to this one.
_ROUNDING_OF_VARIANCE = 1e-24


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
    measures: Any = DEFAULT_MEASURES,
    *,
    missing_queries: Literal["zero", "skip"] = "zero",
    judged_only: bool = False,
    ignore_identical_ids: bool = False,
    n_orders: Count = None,
    random_state: Seed = 0,
    name: str | None = None,
) -> RunEvaluation:
    """Evaluate a run: mean, worst and best value over all orders of tied documents.

    Parameters
    ----------
    qrels : Qrels, str or path-like, or any data that Qrels takes
        The judgments: an object, a file for :func:`read_qrels`, a dict of dicts, a table or
        records.

    run : Run, str or path-like, or any data that Run takes
        The retrieved documents and their scores, in one of the same forms.

    measures : str, Measure, object of ir_measures, or sequence of them, \
            default=("AP", "nDCG@10", "RR@10")
        Measures of :mod:`sklearn_talr.measures`, or their names:

        * ``AP``, ``RR``, with or without a cutoff; ``P@k``, ``R@k``, ``F1@k``,
          ``Success@k``; ``Rprec``. All take ``rel``, the least relevance that counts as
          relevant, as in ``"AP(rel=2)@100"``; the default is 1. ``AP`` also takes a
          ``denominator``.
        * ``nDCG`` and ``DCG``, with or without a cutoff. For runs their default is
          ``dcg="log2"``, trec_eval's gain, which is the relevance itself. With
          ``dcg="exp-log2"`` the gain is 2**relevance - 1. Only nDCG and DCG with
          ``dcg="log2"`` take judgments that are real numbers.
        * ``RBP(p=0.8)``, with or without a cutoff. With ``rel`` the gain of a relevant
          document is 1, without it the relevance divided by ``max_rel``. By default
          ``max_rel`` is the largest relevance of all judgments, so that all runs have the
          same scale.
        * ``ERR``, with or without a cutoff: the user stops at a document with probability
          (2**relevance - 1) / 2**max_rel, and ``max_rel=4`` is the default, as in TREC's
          gdeval.
        * ``EF@1%``, ``BEDROC``, ``RIE``, ``AUC``: early enrichment, and the area under the
          ROC curve.
        * ``Bpref``, of judged documents only.
        * ``Judged``, with or without a cutoff: the share of judged documents.

    missing_queries : {"zero", "skip"}, default="zero"
        Judged queries without documents in the run count 0 with "zero", as in ir_measures
        and with ``trec_eval -c``. With "skip" they are left out of the means, as in
        trec_eval without ``-c`` and in pytrec_eval. Queries without judgments are always
        left out.

    judged_only : bool, default=False
        Whether to leave unjudged documents out of the ranking and its ties, so that the
        ranking is a condensed list. With False they count as not relevant, as in trec_eval.

    ignore_identical_ids : bool, default=False
        Whether to leave out the document that has the identifier of the query, from the
        run and from the judgments. Set it to True if the queries are documents.

    n_orders : int, default=None
        Number of random orders of tied documents to draw, at least 2, for the variance of
        each value over orders. Intervals over queries *and* ties need it. None draws none.

    random_state : int, RandomState instance or None, default=0
        Seed of these orders.

    name : str, default=None
        Name of the system in results and pictures. None takes the name of the run.

    Returns
    -------
    evaluation : RunEvaluation
        Expected, worst and best values and the values of trec_eval's order, per query and
        as means. It prints as a table.

    Raises
    ------
    ValueError
        If a file is damaged, the data are not judgments or not a run, no query is in both,
        a measure is unknown or has no exact mean over orders of ties, or a measure does not
        take a relevance. Also if `qrels` has floats and `run` has integers, in dicts or in
        columns "score", so that they may be swapped: ``Qrels(qrels)`` and ``Run(run)``
        declare that they are not.

    TypeError
        If data have none of the forms, or `qrels` is a run by its type.

    Warns
    -----
    UserWarning
        If the values of judgments and run look as if these were swapped, or every query
        finds first the document of its own identifier, which is not judged. If no document
        of the run is judged, or many more documents or queries would match if identifiers
        were written in the same way, unlike "007" and 7.

    See Also
    --------
    compare_runs : Which of two runs is better, and whether ties decide it.
    sklearn_talr.metrics : The same measures of arrays.

    Notes
    -----
    Without ties the values equal trec_eval's:

    * Only retrieved documents are ranked.
    * Relevant documents that were not retrieved count in recall, in the denominator of AP
      and in the ideal gain.
    * Unjudged documents, and documents with a relevance below 1, are not relevant.
    * A query without relevant documents counts 0.

    trec_eval stores scores as float32, so different scores can tie there. The column
    ``trec_eval`` reproduces this.

    Examples
    --------
    Two documents share the second score, and one of them is relevant:

    >>> from sklearn_talr.runs import evaluate_run
    >>> qrels = {"q1": {"d1": 1, "d3": 1}, "q2": {"d2": 2}}
    >>> run = {"q1": {"d1": 2.0, "d2": 1.0, "d3": 1.0}, "q2": {"d2": 0.9, "d4": 0.1}}
    >>> result = evaluate_run(qrels, run, ["AP", "nDCG@10"])
    >>> print(result)
    run: 2 queries
              expected   worst    best  trec_eval  affected
    AP          0.9583  0.9167  1.0000     1.0000       50%
    nDCG@10     0.9799  0.9599  1.0000     1.0000       50%
    >>> float(result.expected[0, 0])
    0.9166...
    """
    measures = list(dict.fromkeys(parse_measures(measures)[0]))
    _refuse_missing_cutoffs(measures)
    refuse_swapped_types(qrels, run)
    qrels = (read_qrels if isinstance(qrels, str | PathLike) else Qrels)(qrels).table
    run = (read_run if isinstance(run, str | PathLike) else Run)(run)
    retrieved = run.table
    if ignore_identical_ids:
        qrels = _select_documents(qrels, ne)
        retrieved = _select_documents(retrieved, ne)
    if judged_only:
        retrieved = _judged_alone(retrieved, qrels)
    completed = _completed_measures(measures, qrels)
    warn_if_swapped(qrels, retrieved)
    _warn_if_queries_find_themselves(qrels, retrieved)
    numbers = _evaluated_queries(qrels, retrieved, missing_queries)
    queries = [qrels.queries[number] for number in numbers]
    only_relevant = not any(measure.of_runs_only for measure in measures)
    cells = _judged_cells(qrels, retrieved, numbers, only_relevant=only_relevant)
    tell_of_unmatched_documents(qrels, retrieved, queries, cells)
    groups = group_by_cutoff(completed)
    orders = _values_by_order(groups, cells)
    tie_variance = None
    if n_orders is not None:
        tie_variance = _variance_over_orders(groups, cells, n_orders, random_state)
    return RunEvaluation(
        name=run.name if name is None else name,
        measures=list(map(str, measures)),
        queries=queries,
        expected=orders.expected,
        worst=orders.worst,
        best=orders.best,
        trec_eval=orders.trec_eval,
        tie_variance=tie_variance,
    )


def _refuse_missing_cutoffs(measures):
    for measure in measures:
        if measure.needs_cutoff and measure.cutoff is None:
            raise ValueError(f"{measure} needs a cutoff, such as {measure}@10.")


def _select_documents(table, is_selected):
    """All queries of a table, and the rows with ``is_selected(query, document)``."""
    queries = map(table.queries.__getitem__, table.numbers)
    rows = np.flatnonzero(list(map(is_selected, queries, table.documents)))
    return DocumentTable(
        table.queries,
        table.numbers[rows],
        [table.documents[row] for row in rows],
        table.values[rows],
        table.best_first,
    )


def _judged_alone(run, qrels):
    """The run without documents that are not judged for their query."""
    places = dict(zip(qrels.queries, qrels.places))
    return _select_documents(run, lambda query, document: document in places.get(query, ()))


def _completed_measures(measures, qrels):
    """Measures with trec_eval's gains, and the largest relevance as their `max_rel`.

    The largest of all judgments is the same for every run.
    """
    largest = int(qrels.values.max(initial=1))
    completed = [measure.completed(gains="log2", largest=largest) for measure in measures]
    _refuse_real_grades(qrels, completed)
    return completed


def _refuse_real_grades(qrels, measures):
    """Raise an error for real numbers as relevance if a measure takes integers alone."""
    if qrels.values.dtype.kind != "f":
        return
    for measure in measures:
        if not measure.takes_real_grades:
            raise ValueError(
                f"{measure} takes integers as relevance, got "
                f"{qrels.values[qrels.values % 1 > 0][0]}: make gains binary, such as "
                "int(gain >= 1), or use nDCG or DCG, which take real gains. Judgments come "
                "first, then the run: are they swapped?"
            )


def _warn_if_queries_find_themselves(qrels, run):
    """Warn if all queries have the best score for a document of their own identifier.

    There is no warning if this document was judged for one of the queries.
    """
    judged = dict(zip(qrels.queries, qrels.places))
    find_themselves = []
    for query, places, first_row in zip(run.queries, run.places, run.offsets):
        if places:
            is_first = (
                query in places
                and run.values[first_row] == run.values[first_row + places[query]]
            )
            find_themselves.append(is_first and query not in judged.get(query, ()))
    if len(find_themselves) > 1 and all(find_themselves):
        warn_caller(
            "every query retrieves first the document with its own identifier, which is "
            "not judged. If the queries are documents, pass ignore_identical_ids=True.",
        )


def _evaluated_queries(qrels, run, missing_queries):
    """Numbers of the judged queries that are evaluated; an error if the run has none."""
    is_in_run = places_among(run.queries, qrels.queries) >= 0
    if not is_in_run.any():
        raise ValueError(
            "no query of the run is judged: the queries of the run are "
            f"{_first_queries(run.queries)}, those of the judgments "
            f"{_first_queries(qrels.queries)}."
            f"{hint_of_alike(qrels.queries, run.queries, 'query_id')}"
        )
    tell_of_unmatched_queries(qrels, run, is_in_run)
    numbers = np.arange(len(qrels.queries))
    return numbers[is_in_run] if missing_queries == "skip" else numbers


def _first_queries(queries):
    """The first identifiers, for a message."""
    if not len(queries):
        return "none"
    return ", ".join(map(repr, queries[:3])) + (", ..." if len(queries) > 3 else "")


@dataclass(frozen=True)
class Judgments:
    """Judgments of the evaluated queries, and the places of their documents in the run.

    Parameters
    ----------
    query : ndarray of shape (n_judgments,) of int64
        Number of the query among the evaluated ones.

    grade : ndarray of shape (n_judgments,) of int64 or float64
        Relevance.

    place : ndarray of shape (n_judgments,) of int64
        Place of the document among the rows of its query in the run, or -1.

    listed : ndarray of shape (n_judgments,) of int64
        Place in trec_eval's order, which sorts by scores as float32.

    first_row : ndarray of shape (n_judgments,) of int64
        First row of the query in the run.
    """

    query: np.ndarray
    grade: np.ndarray
    place: np.ndarray
    listed: np.ndarray
    first_row: np.ndarray

    @classmethod
    def from_tables(cls, qrels, run, queries):
        """All judgments. If their query is not evaluated, `query` is -1.

        Parameters
        ----------
        qrels, run : DocumentTable

        queries : ndarray of int64
            Numbers of the evaluated queries among all judged queries, ascending.
        """
        number_among_evaluated = np.full(len(qrels.queries), -1)
        number_among_evaluated[queries] = np.arange(len(queries))
        number_in_run = places_among(run.queries, qrels.queries)
        place = _places_of_judged(qrels, run, number_in_run)
        listed_run = _with_32_bits(run)
        listed = place
        if listed_run is not run:
            listed = _places_of_judged(qrels, listed_run, number_in_run)
        return cls(
            query=number_among_evaluated[qrels.numbers],
            grade=qrels.values,
            place=place,
            listed=listed,
            first_row=run.offsets[number_in_run][qrels.numbers],
        )

    def take(self, rows):
        """Some of the judgments, by numbers or by a mask."""
        return Judgments(
            query=self.query[rows],
            grade=self.grade[rows],
            place=self.place[rows],
            listed=self.listed[rows],
            first_row=self.first_row[rows],
        )


def _with_32_bits(run):
    """The run as trec_eval stores it, with scores as float32, which tie more often."""
    with np.errstate(over="ignore"):
        scores = run.values.astype(np.float32)
    is_tied = run.values[1:] == run.values[:-1]
    is_tied_by_32_bits = scores[1:] == scores[:-1]
    if np.array_equal(is_tied, is_tied_by_32_bits):
        return run
    return DocumentTable(run.queries, run.numbers, run.documents, scores, True)


def _places_of_judged(qrels, run, number_in_run):
    """Place of each judged document among the rows of its query in the run, or -1."""
    # A query that the run lacks has the number -1, and then the last, empty places.
    places_by_query = [*run.places, {}]
    places = chain.from_iterable(
        map(places_by_query[number].get, qrels.documents[rows], repeat(-1))
        for number, rows in zip(number_in_run, qrels.rows_by_query())
    )
    return np.fromiter(places, dtype=np.int64, count=len(qrels.values))


def _judged_cells(qrels, run, queries, *, only_relevant):
    """Cells of judged documents, with their places and ties in the run.

    Parameters
    ----------
    qrels, run : DocumentTable
        The rows of the run in trec_eval's order.

    queries : ndarray of shape (n_queries,) of int64
        Numbers of the queries of the judgments that are evaluated, ascending.

    only_relevant : bool
        Whether only documents of relevance 1 and above are needed.
    """
    judgments = Judgments.from_tables(qrels, run, queries)
    counts = judgments.query >= 0
    if only_relevant:
        counts &= judgments.grade > 0
    judgments = judgments.take(counts)
    number_in_run = places_among(run.queries, qrels.queries)[queries]
    n_items = np.append(np.diff(run.offsets), 0)[number_in_run]
    return _merge_missing(_cells_of_documents(judgments, run, n_items))


def _cells_of_documents(judgments, run, n_items):
    """Find the tie of each judged document, which is a cell, and sort the cells.

    Documents that the run lacks are one tie after the last rank.

    Parameters
    ----------
    judgments : Judgments

    run : DocumentTable

    n_items : ndarray of shape (n_queries,) of int64
        Number of documents that each evaluated query has in the run.
    """
    is_missing = judgments.place < 0
    n_missing = np.bincount(judgments.query[is_missing], minlength=len(n_items))
    row = judgments.first_row + judgments.place
    tie = np.searchsorted(run.tie_starts, row, side="right") - 1
    n_tied = np.diff(run.tie_starts, append=0)
    n_before = run.tie_starts[tie] - judgments.first_row
    t = np.where(is_missing, n_items[judgments.query], n_before)
    n = np.where(is_missing, n_missing[judgments.query], n_tied[tie])
    order = np.lexsort((judgments.grade, t, judgments.query))
    judgments = judgments.take(order)
    t = t[order]
    is_missing = is_missing[order]
    place = np.where(is_missing, t, judgments.listed)
    place[is_missing] += np.arange(is_missing.sum())
    return Cells(
        query=judgments.query,
        t=t,
        n=n[order],
        grade=judgments.grade,
        count=np.ones_like(t),
        n_items=n_items,
        place=place,
    )


def _merge_missing(cells):
    """Make one cell of all documents of a query and grade that the run lacks."""
    is_missing = ~_is_ranked(cells)
    begins = np.ones(len(cells.query), dtype=bool)
    begins[1:] = ~(is_missing[1:] & is_missing[:-1])
    begins[1:] |= cells.query[1:] != cells.query[:-1]
    begins[1:] |= cells.grade[1:] != cells.grade[:-1]
    first = np.flatnonzero(begins)
    return Cells(
        query=cells.query[first],
        t=cells.t[first],
        n=cells.n[first],
        grade=cells.grade[first],
        count=np.diff(first, append=len(cells.query)),
        n_items=cells.n_items,
        place=cells.place[first],
    )


class _ValuesByOrder(NamedTuple):
    """Values of all measures in orders of tied documents."""

    expected: np.ndarray  # (n_queries, n_measures)
    worst: np.ndarray  # (n_queries, n_measures)
    best: np.ndarray  # (n_queries, n_measures)
    trec_eval: np.ndarray  # (n_queries, n_measures)


def _values_by_order(groups, cells):
    """Evaluate all orders; queries without ties have one value in all of them."""
    expected = evaluate_ties(groups, cells)
    tied = _tied_queries(cells)
    return _ValuesByOrder(
        expected=expected,
        worst=_replaced(expected, tied, groups, cells, "worst"),
        best=_replaced(expected, tied, groups, cells, "best"),
        trec_eval=_replaced(
            expected, _queries_of_other_lists(cells), groups, cells, "listed"
        ),
    )


def _replaced(expected, queries, groups, cells, order):
    """Expected values, in which some queries have the values of another order of ties."""
    values = expected.copy()
    if len(queries):
        values[queries] = evaluate_ties(groups, cells.select(queries), order=order)
    return values


def _is_ranked(cells):
    """Whether the run has the documents of each cell."""
    return cells.t < cells.n_items[cells.query]


def _tied_queries(cells):
    """Queries that have a judged document among ranked ties."""
    return np.unique(cells.query[_is_ranked(cells) & (cells.n > 1)])


def _queries_of_other_lists(cells):
    """Queries that trec_eval may rank in another order, perhaps because of float32."""
    is_moved = (cells.n > 1) | (cells.place != cells.t)
    return np.unique(cells.query[_is_ranked(cells) & is_moved])


def _variance_over_orders(groups, cells, n_orders, random_state):
    """Variance of each value over random orders of ties, (n_queries, n_measures)."""
    n_measures = sum(len(group.places) for group in groups)
    variance = np.zeros((len(cells.n_items), n_measures))
    tied = _tied_queries(cells)
    if not len(tied):
        return variance
    tied_cells = cells.select(tied)
    random_state = independent_random_state(random_state)
    # One order at a time: all of them would take much memory.
    values = [
        evaluate_ties(groups, replace(tied_cells, place=place), order="listed")
        for place in _random_places(tied_cells, n_orders, random_state)
    ]
    variance_of_tied = np.var(values, axis=0, ddof=1)
    is_real = variance_of_tied > _ROUNDING_OF_VARIANCE
    variance[tied] = np.where(is_real, variance_of_tied, 0.0)
    return variance


def _random_places(cells, n_orders, random_state):
    """Yield places of documents, so that all orders of tied ones are equally likely.

    Documents of a tie that are not among the cells also take places.
    """
    is_ranked = _is_ranked(cells)
    is_ranked_tie = is_ranked[cells.starts]
    first = cells.starts[is_ranked_tie]  # (n_ties,), the first cell of each
    size = cells.n[first]
    n_judged = np.diff(cells.starts, append=len(cells.t))[is_ranked_tie]
    tie = np.repeat(np.arange(len(first)), size)  # (n_documents,)
    start = np.cumsum(size) - size
    # The first documents of each tie are its cells, the others are not judged.
    is_judged = np.arange(len(tie)) - start[tie] < n_judged[tie]
    before = np.repeat(cells.t[first] - start, n_judged)
    for _ in range(n_orders):
        # Numbers below a half: rounding would bring larger ones to the next tie.
        order = np.argsort(tie + random_state.random_sample(len(tie)) / 2)
        drawn = np.empty_like(order)
        drawn[order] = np.arange(len(tie))
        place = cells.place.copy()
        place[is_ranked] = drawn[is_judged] + before
        yield place
