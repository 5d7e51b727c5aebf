"""Estimators that turn features into binary codes.

Losses to train them by are in :mod:`sklearn_talr.losses`, and hashers of other papers that
are not trained by gradients in :mod:`sklearn_talr.baselines`.
"""

from ._additive import AdditiveHasher
from ._class_probabilities import ClassProbabilities
from ._cross_view import CrossViewHasher
from ._linear import ITQHasher, LSHHasher
from ._supervised import SupervisedHasher
from ._talr import TALRHasher

__all__ = [
    "AdditiveHasher",
    "ClassProbabilities",
    "CrossViewHasher",
    "ITQHasher",
    "LSHHasher",
    "SupervisedHasher",
    "TALRHasher",
]
