"""Evaluate a run against judgments."""

import warnings
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from numbers import Integral

import numpy as np

from .._compat import Interval, StrOptions, validate_params
from .._random import independent_random_state
from ..measures import parse_measures
from ..measures._door import RaggedTies, RankedItems, together
from ._files import load_qrels, load_run
from ._match import match
from ._random_orders import random_places
from ._result import ORDERS, RunEvaluation

__all__ = ["evaluate_run"]

_MOST_GRADES = 5  # of people who judge: 0 to 4
_ROUNDING = 1e-24  # the variance of equal values may be so much


@validate_params(
    {
        "qrels": "no_validation",
        "run": "no_validation",
        "measures": "no_validation",
        "missing_queries": [StrOptions({"zero", "skip"})],
        "n_orders": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def evaluate_run(
    qrels,
    run,
    measures=("AP", "nDCG@10", "RR@10"),
    *,
    missing_queries="zero",
    n_orders=None,
    random_state=0,
):
    """Evaluate a run: the mean over all orders of tied documents, the worst, and the best.

    Parameters
    ----------
    qrels : Qrels, str or path-like, or any data that Qrels takes
        The judgments: an object, a file in TREC's format, a dict of dicts, ....

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
          ``dcg="exp-log2"``, the gain 2**relevance - 1.
        * ``RBP(p=0.8)``, with or without a cutoff. With ``rel`` the gain of what is
          relevant is 1, without it the relevance over ``max_rel``. By default that is the
          largest of all judgments, those of queries that are left out included, so that
          all runs have one scale.
        * ``ERR``, with or without a cutoff: the user stops at a document with probability
          (2**relevance - 1) / 2**max_rel, and ``max_rel=4`` is the default, as in TREC's
          gdeval.
        * ``Judged``, with or without a cutoff: the share of judged documents.

    missing_queries : {"zero", "skip"}, default="zero"
        What queries do that are judged, but of which the run has no document: count 0, as
        in ir_measures and under ``trec_eval -c``, or be left out of the means, as in
        trec_eval without that option and in pytrec_eval. Queries that are not judged are
        left out always.

    n_orders : int, default=None
        Number of random orders of tied documents to draw, at least 2, for the variance of
        each value over them. Intervals over queries *and* ties need it. None draws none.

    random_state : int, RandomState instance or None, default=0
        Seed of these orders.

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
        If judgments and run seem to be swapped.

    See Also
    --------
    compare_runs : Which of two runs is better, and whether ties decide it.
    sklearn_talr.metrics : The same measures of arrays.

    Notes
    -----
    Without ties the values are trec_eval's: only retrieved documents are ranked; relevant
    ones that were not retrieved count in recall, in the denominator of AP and in the ideal
    gain; what is not judged, and what has a relevance below 1, is not relevant; a query
    with nothing relevant counts 0.

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
    measures = _of_runs(measures)
    qrels = load_qrels(qrels).table
    run = load_run(run)
    found = set(run.table.queries)
    _warn_if_swapped(qrels, run.table)
    is_found = np.array([query in found for query in qrels.queries], dtype=bool)
    if not is_found.any():
        raise ValueError(
            f"no query of the run is judged: the run has {_some(run.table.queries)}, the "
            f"judgments have {_some(qrels.queries)}."
        )
    evaluated = np.arange(len(qrels.queries))
    if missing_queries == "skip":
        evaluated = evaluated[is_found]
    only_relevant = not any(measure.of_runs_only for measure in measures)
    judged = match(qrels, run.table, evaluated, only_relevant)
    random_state = independent_random_state(random_state)
    orders = cache(partial(_ties_in_orders, judged, n_orders or 0, random_state))
    values = np.zeros((len(ORDERS), len(evaluated), len(measures)))
    variance = None if n_orders is None else np.zeros(values.shape[1:])
    settled = [m.settled(gains="log2", largest=judged.largest) for m in measures]
    for measure, places, cutoffs in together(settled):
        ties = orders(None if measure.of_runs_only else measure.rel or 1)
        in_orders = _values(measure, cutoffs, *ties)
        values[..., places] = in_orders[: len(ORDERS)]
        if n_orders is not None:
            drawn = in_orders[len(ORDERS) :].var(axis=0, ddof=1)
            variance[:, places] = np.where(drawn > _ROUNDING, drawn, 0.0)
    queries = [qrels.queries[number] for number in evaluated]
    return RunEvaluation(run.name, list(map(str, measures)), queries, *values, variance)


def _warn_if_swapped(qrels, run):
    """Warn where the judgments look like scores, and the scores like judgments."""
    most = np.diff(qrels.offsets).max(initial=0)
    pairs = np.stack([qrels.numbers, qrels.values], axis=1)
    are_scores = most > _MOST_GRADES and len(np.unique(pairs, axis=0)) == len(pairs)
    if are_scores and np.isin(run.values, np.arange(_MOST_GRADES)).all():
        warnings.warn(
            "qrels has another relevance for every document of a query, and run has the "
            f"scores {np.unique(run.values).tolist()} alone. Judgments come first, then "
            "the run: are they swapped?",
            stacklevel=4,  # past the check of parameters
        )


def _of_runs(measures):
    """Measures by their names, without repetitions; or an error if one is not of runs."""
    parsed = list(dict.fromkeys(parse_measures(measures)[0]))
    for measure in parsed:
        if measure.needs_cutoff and measure.cutoff is None:
            raise ValueError(f"{measure} needs a cutoff, such as {measure}@10.")
    return parsed


def _some(queries):
    return ", ".join(map(repr, queries[:3])) + (", ..." if len(queries) > 3 else "")


def _values(measure, cutoffs, expected, tied, broken, drawn):
    """Values in all orders, (1 + n_broken + n_drawn, n_queries, n_cutoffs)."""
    value = measure.kernel(expected.cut_at(measure.ranks(expected, cutoffs)))
    values = np.repeat(value[None], 1 + len(broken) + len(drawn), axis=0)
    # One drawn order at a time: all of them would take much memory.
    orders = chain(broken, (RaggedTies(items.in_order("listed")) for items in drawn))
    for place, ties in enumerate(orders if len(tied) else [], start=1):
        values[place, tied] = measure.kernel(ties.cut_at(measure.ranks(ties, cutoffs)))
    return values


def _ties_in_orders(judged, n_orders, random_state, rel):
    """Ties of relevant documents, and the other orders of queries with ties.

    Parameters
    ----------
    judged : JudgedDocuments

    n_orders : int
        Number of random orders.

    random_state : RandomState

    rel : int or None
        The least relevance; None means all that is judged.

    Returns
    -------
    expected : RaggedTies

    tied : ndarray of shape (n_tied,) of int64
        Queries whose relevant documents are tied with others.

    broken : list of RaggedTies
        The tied queries in the orders after the first of `ORDERS`.

    drawn : list of RankedItems
        The tied queries with the places of random orders.
    """
    kept, missing = slice(None), slice(None)
    if rel is not None:
        kept, missing = judged.grade >= rel, judged.missing_grade >= rel
    items = RankedItems(
        query=judged.query[kept],
        t=judged.t[kept],
        n=judged.n[kept],
        grade=judged.grade[kept],
        n_items=judged.n_items,
        missing_query=judged.missing_query[missing],
        missing_grade=judged.missing_grade[missing],
        place=judged.place[kept],
    )
    expected = RaggedTies(items)
    tied = np.unique(items.query[items.n > 1])
    if not len(tied):
        return expected, tied, [expected] * (len(ORDERS) - 1), [items] * n_orders
    some = items if len(tied) == len(items.n_items) else items.select(tied)
    broken = [RaggedTies(some.in_order(order)) for order in ORDERS[1:]]
    places = random_places(some, n_orders, random_state)
    return expected, tied, broken, [replace(some, place=place) for place in places]
