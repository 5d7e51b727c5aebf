"""Ranking metrics in scikit-learn's forms: score functions, scorers, displays.

The functions ``tie_aware_*_score(y_true, y_score)`` have scikit-learn's signature and take
one cutoff k or several at once. Each computes a measure of :mod:`sklearn_talr.measures`,
which lists the measures with their names and formulas. Scorers, reports and displays take
a measure or its name.

All metrics treat a query without relevant items in the same way, also metrics that would be
0 for it in any order. By default (``zero_division=np.nan``) its value is NaN and is left
out of means, so that all means are over the same queries.
"""

from ._displays import RadiusDisplay, RetrievalCurveDisplay, TieBreakingDisplay
from ._lookup import (
    empty_lookup_fraction,
    lookup_cost,
    pair_precision,
    pair_recall,
    radius_at_precision,
    radius_aware_map,
    radius_precision,
    radius_recall,
)
from ._report import retrieval_report, retrieval_report_from_estimator, tie_breaking_range
from ._run_displays import RanksDisplay, RunDifferencesDisplay, TiersDisplay
from ._scorers import make_ranking_scorer, make_retrieval_scorer
from ._scores import (
    tie_aware_average_precision_score,
    tie_aware_dcg_score,
    tie_aware_f1_score,
    tie_aware_hit_rate_score,
    tie_aware_ndcg_score,
    tie_aware_precision_score,
    tie_aware_recall_score,
    tie_aware_reciprocal_rank_score,
)

__all__ = [
    "RadiusDisplay",
    "RanksDisplay",
    "RetrievalCurveDisplay",
    "RunDifferencesDisplay",
    "TieBreakingDisplay",
    "TiersDisplay",
    "empty_lookup_fraction",
    "lookup_cost",
    "make_ranking_scorer",
    "make_retrieval_scorer",
    "pair_precision",
    "pair_recall",
    "radius_at_precision",
    "radius_aware_map",
    "radius_precision",
    "radius_recall",
    "retrieval_report",
    "retrieval_report_from_estimator",
    "tie_aware_average_precision_score",
    "tie_aware_dcg_score",
    "tie_aware_f1_score",
    "tie_aware_hit_rate_score",
    "tie_aware_ndcg_score",
    "tie_aware_precision_score",
    "tie_aware_recall_score",
    "tie_aware_reciprocal_rank_score",
    "tie_breaking_range",
]
