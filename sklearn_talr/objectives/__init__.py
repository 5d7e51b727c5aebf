"""Soft counts and the training objectives on them (torch).

Everything here is a differentiable function of one table, counts[query, level,
distance]. Objectives are to be maximised.
"""

from ._average_precision import average_precision, average_precision_simplified
from ._loss import TieAwareLoss
from ._ndcg import ndcg, ndcg_simplified
from ._soft_counts import soft_counts

__all__ = [
    "TieAwareLoss",
    "average_precision",
    "average_precision_simplified",
    "ndcg",
    "ndcg_simplified",
    "soft_counts",
]
