"""Ranking SVM: a linear classifier that is trained on average precision or NDCG."""

from typing import TYPE_CHECKING

from .._core.lazy import lazy_names
from ._inference import loss_augmented_ranks
from ._ranking_svc import RankingSVC

if TYPE_CHECKING:
    from ._hinge import RankingHingeLoss

__all__ = ["RankingHingeLoss", "RankingSVC", "loss_augmented_ranks"]

# The loss loads torch, which the others do not need.
__getattr__, __dir__ = lazy_names(__name__, {"RankingHingeLoss": "_hinge"})
