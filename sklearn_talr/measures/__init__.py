"""Measures of rankings as values, exact under ties.

A measure is written as in ir_measures, ``nDCG @ 10`` or ``AP(denominator="min") @ 10``, and
applies to a table of counts (``measure.of(histogram)``), to affinities and scores
(``measure.score(y_true, y_score)``) and to a run
(:func:`~sklearn_talr.runs.evaluate_run`). Wherever a measure is named its name will do.

All measures treat a query with nothing relevant alike, also those that are 0 for it in any
order: of tables and arrays it is NaN by default and left out of means, so that all means
are over the same queries; of runs it is 0, as in trec_eval.
"""

from ._base import Measure, parse_measure, parse_measures
from ._enrichment import AUC, BEDROC, EF, RIE
from ._evaluation import TieBreakingRange
from ._measures import AP, DCG, ERR, F1, RBP, RR, Bpref, Judged, P, R, Rprec, Success, nDCG

__all__ = [  # noqa: RUF022
    "AP",
    "AUC",
    "BEDROC",
    "Bpref",
    "DCG",
    "EF",
    "ERR",
    "F1",
    "Judged",
    "Measure",
    "P",
    "R",
    "RBP",
    "RIE",
    "RR",
    "Rprec",
    "Success",
    "TieBreakingRange",
    "nDCG",
    "parse_measure",
    "parse_measures",
]
