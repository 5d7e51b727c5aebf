"""Losses of hash functions: values that a hasher trains by, and the functions beneath.

:class:`~sklearn_talr.hashing.SupervisedHasher` minimizes any *loss*, a callable

    loss(bits, affinity) -> scalar tensor

of the relaxed bits of a minibatch, shape (n, n_bits), and of the affinity of each pair of
its samples, shape (n, n). A function will do, or an object with parameters. A loss may say
more about itself by these attributes, each of which is optional:

``training_defaults``
    A dict: what ``"auto"`` stands for in the hasher's `tanh_scale`, `bit_dropout` and
    `weight_decay`.
``measure``
    ``"AP"`` or ``"nDCG"``: what the hasher is scored by. Without it, AP.
``needs_classes``
    True if targets must be class labels or label indicators.
``bind(training)``
    Returns ``(step, fitted)`` for one fit, where a loss needs more than the affinities of
    a minibatch: ``step(batch)`` is the loss of a minibatch, and `fitted` a dict of
    attributes that the fitted hasher keeps.

A loss may also serve two views, as :class:`~sklearn_talr.hashing.CrossViewHasher` does,
where rows of one kind are queries and rows of another kind items:

``between(query_bits, item_bits, affinity, levels=None)``
    The loss of queries and items, whose affinities have shape (n, m). They are -1 where
    nothing is known. With `levels` they are places in this list of affinities.

Loss values load PyTorch when they are called, and the functions when they are first used.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names
from ._contrastive import ContrastiveLoss
from ._csq import CSQLoss
from ._dcmh import DCMHLoss
from ._dpsh import DPSHLoss
from ._dsh import DSHLoss
from ._dtsh import DTSHLoss
from ._hashnet import HashNetLoss
from ._mutual_information import MutualInformationLoss
from ._orthohash import OrthoHashLoss
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
    "CSQLoss",
    "ContrastiveLoss",
    "DCMHLoss",
    "DPSHLoss",
    "DSHLoss",
    "DTSHLoss",
    "HashNetLoss",
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
