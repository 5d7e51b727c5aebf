"""Estimators that turn features into binary codes.

The hashers of other papers, which these are compared with, are in
:mod:`sklearn_talr.baselines`.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names
from ._additive import AdditiveHasher
from ._class_probabilities import ClassProbabilities
from ._linear import ITQHasher, LSHHasher

if TYPE_CHECKING:
    from ._talr import TALRHasher

__all__ = ["AdditiveHasher", "ClassProbabilities", "ITQHasher", "LSHHasher", "TALRHasher"]

# Torch is loaded where training is asked for.
__getattr__, __dir__ = lazy_names(__name__, {"TALRHasher": "_talr"})
