"""Ranking metrics in scikit-learn's forms: score functions, scorers, displays.

The functions ``tie_aware_*_score(y_true, y_score)`` have scikit-learn's signature and take
one cutoff k or several at once. They are measures of :mod:`sklearn_talr.measures`, where
the formulas are, and which have the same of a table of counts. Scorers, reports and
displays take a measure or its name.

All metrics treat a query with nothing relevant alike, also those that are 0 for it in any
order: by default (``zero_division=np.nan``) it is NaN and left out of means, so that all
means are over the same queries.
"""

from ._average_precision_score import (
    tie_aware_average_precision_score,
)
from ._dcg_scores import (
    tie_aware_dcg_score,
    tie_aware_ndcg_score,
)
from ._displays import (
    RadiusDisplay,
    RetrievalCurveDisplay,
    RunDifferencesDisplay,
    TieBreakingDisplay,
    TiersDisplay,
)
from ._first_relevant_scores import (
    tie_aware_hit_rate_score,
    tie_aware_reciprocal_rank_score,
)
from ._found_pairs import pair_precision, pair_recall, radius_at_precision
from ._precision_recall_scores import (
    tie_aware_f1_score,
    tie_aware_precision_score,
    tie_aware_recall_score,
)
from ._radius import (
    empty_lookup_fraction,
    lookup_cost,
    radius_aware_map,
    radius_precision,
    radius_recall,
)
from ._ranking_scorer import make_ranking_scorer
from ._report import retrieval_report, retrieval_report_from_estimator
from ._scorer import make_retrieval_scorer
from ._tie_breaking import tie_breaking_range

__all__ = [
    "RadiusDisplay",
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
