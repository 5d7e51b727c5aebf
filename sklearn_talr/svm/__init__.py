"""Ranking SVM for average precision and NDCG (NumPy)."""

from ._inference import interleaving_loss, loss_augmented_ranks

__all__ = ["interleaving_loss", "loss_augmented_ranks"]
