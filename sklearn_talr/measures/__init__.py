"""Measures of rankings as values, exact under ties.

A measure is written as in ir_measures, ``nDCG @ 10`` or ``AP(denominator="min") @ 10``, and
applies to a table of counts (``measure.of(histogram)``), to affinities and scores
(``measure.score(y_true, y_score)``) and to a run
(:func:`~sklearn_talr.runs.evaluate_run`). Scorers, reports, displays, runs and losses also
take its name, in any case, or one of its other names:

=======  ======================  ================================================
measure  other names             function of :mod:`sklearn_talr.metrics`
=======  ======================  ================================================
AP       map, average_precision  `tie_aware_average_precision_score`
nDCG                             `tie_aware_ndcg_score`
DCG                              `tie_aware_dcg_score`
P        precision               `tie_aware_precision_score`
R        recall                  `tie_aware_recall_score`
F1                               `tie_aware_f1_score`
RR       mrr, reciprocal_rank    `tie_aware_reciprocal_rank_score`
Success  hit_rate, hr            `tie_aware_hit_rate_score`
=======  ======================  ================================================

For example, ``"Success@10"``, ``"hit_rate@10"`` and ``"HR@10"`` are the same measure.

All measures treat a query without relevant items in the same way, also measures that would
be 0 for it in any order. For tables and arrays its value is NaN by default and is left out
of means, so that all means are over the same queries. For runs its value is 0, as in
trec_eval.
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
