"""Ranking SVM: a linear classifier that is trained on average precision or NDCG."""

from typing import TYPE_CHECKING

from .._lazy import lazy_names
from ._inference import loss_augmented_ranks

if TYPE_CHECKING:
    from ._hinge import RankingHingeLoss
    from ._ranking_svc import RankingSVC

__all__ = ["RankingHingeLoss", "RankingSVC", "loss_augmented_ranks"]

# The loss loads torch, and the classifier loads the metrics. The inference needs neither.
__getattr__, __dir__ = lazy_names(
    __name__, {"RankingHingeLoss": "_hinge", "RankingSVC": "_ranking_svc"}
)
