"""Ranking metrics that are exact under ties.

Two forms of each metric: on a :class:`~sklearn_talr.histogram.RankingHistogram`, fast and
per query, and as ``*_score(y_true, y_score)`` for any real scores.
"""

from ._average_precision import tie_aware_average_precision
from ._dcg import tie_aware_dcg, tie_aware_ndcg
from ._scorer import make_retrieval_scorer
from ._scores import (
    tie_aware_average_precision_score,
    tie_aware_dcg_score,
    tie_aware_ndcg_score,
)
from ._tie_breaking import TieBreakingRange, tie_breaking_range

__all__ = [
    "TieBreakingRange",
    "make_retrieval_scorer",
    "tie_aware_average_precision",
    "tie_aware_average_precision_score",
    "tie_aware_dcg",
    "tie_aware_dcg_score",
    "tie_aware_ndcg",
    "tie_aware_ndcg_score",
    "tie_breaking_range",
]
