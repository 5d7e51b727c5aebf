"""Soft counts and the training objectives on them (torch).

Everything here is a differentiable function of one table, counts[query, level,
distance]. Objectives are to be maximized.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names

if TYPE_CHECKING:
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

# Torch is loaded where an objective is asked for.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "TieAwareLoss": "_loss",
        "average_precision": "_average_precision",
        "average_precision_simplified": "_average_precision",
        "ndcg": "_ndcg",
        "ndcg_simplified": "_ndcg",
        "soft_counts": "_soft_counts",
    },
)
