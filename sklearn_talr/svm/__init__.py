"""Ranking SVM for average precision and NDCG (NumPy)."""

from typing import TYPE_CHECKING

from ._inference import loss_augmented_ranks

if TYPE_CHECKING:
    from ._ranking_svc import RankingSVC

__all__ = ["RankingSVC", "loss_augmented_ranks"]


def __getattr__(name):
    # RankingSVC scores by sklearn_talr.metrics, which those who come for the inference
    # (sklearn_talr.objectives) must not load.
    if name == "RankingSVC":
        from ._ranking_svc import RankingSVC

        return RankingSVC
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
