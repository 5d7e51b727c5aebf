"""Ranking SVM for average precision and NDCG (NumPy)."""

from ._inference import interleaving_loss, loss_augmented_ranks
from ._ranking_svc import RankingSVC

__all__ = ["RankingSVC", "interleaving_loss", "loss_augmented_ranks"]
