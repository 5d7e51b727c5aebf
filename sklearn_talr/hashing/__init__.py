"""Estimators that turn features into binary codes.

Losses to train them by are in :mod:`sklearn_talr.losses`, and hashers of other papers that
are not trained by gradients in :mod:`sklearn_talr.baselines`.
"""

from ._additive import AdditiveHasher
from ._base import BaseHasher
from ._class_probabilities import ClassProbabilities
from ._cross_view import CrossViewHasher
from ._function import HashFunction, Layers
from ._gradient import TALRHasher
from ._linear import ITQHasher, LSHHasher

__all__ = [
    "AdditiveHasher",
    "BaseHasher",
    "ClassProbabilities",
    "CrossViewHasher",
    "HashFunction",
    "ITQHasher",
    "LSHHasher",
    "Layers",
    "TALRHasher",
]
