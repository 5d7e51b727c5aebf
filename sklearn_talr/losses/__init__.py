"""Losses of hash functions: values that a hasher trains by, and the functions beneath.

:class:`~sklearn_talr.hashing.TALRHasher` minimizes any *loss*: one of those here, a
:class:`BaseLoss` of your own, or a function

    loss(bits, affinity) -> scalar tensor

of the relaxed bits of a minibatch, shape (n, n_bits), and of the affinity of each pair of
its samples, shape (n, n). :class:`~sklearn_talr.hashing.CrossViewHasher`, where rows of one
kind are queries and rows of another kind items, minimizes losses that know two views, or a
function

    loss(query_bits, item_bits, affinity) -> scalar tensor

of affinities of shape (n, m), which are -1 where nothing is known.

Loss values load PyTorch when they are called, and the functions when they are first used.
"""

from typing import TYPE_CHECKING

from .._core.lazy import lazy_names
from ._base import BaseLoss, Batch, LossContext
from ._classes import CSQLoss, OrthoHashLoss
from ._pairs import (
    ContrastiveLoss,
    DCMHLoss,
    DPSHLoss,
    DSHLoss,
    DTSHLoss,
    HashNetLoss,
    MutualInformationLoss,
)
from ._tie_aware import AveragePrecisionLoss, NDCGLoss

if TYPE_CHECKING:
    from ._module import TieAwareLoss
    from ._soft_counts import soft_counts
    from ._soft_measures import (
        simplified_average_precision,
        simplified_ndcg,
        soft_average_precision,
        soft_ndcg,
    )

__all__ = [
    "AveragePrecisionLoss",
    "BaseLoss",
    "Batch",
    "CSQLoss",
    "ContrastiveLoss",
    "DCMHLoss",
    "DPSHLoss",
    "DSHLoss",
    "DTSHLoss",
    "HashNetLoss",
    "LossContext",
    "MutualInformationLoss",
    "NDCGLoss",
    "OrthoHashLoss",
    "TieAwareLoss",
    "simplified_average_precision",
    "simplified_ndcg",
    "soft_average_precision",
    "soft_counts",
    "soft_ndcg",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "TieAwareLoss": "_module",
        "simplified_average_precision": "_soft_measures",
        "simplified_ndcg": "_soft_measures",
        "soft_average_precision": "_soft_measures",
        "soft_counts": "_soft_counts",
        "soft_ndcg": "_soft_measures",
    },
)
