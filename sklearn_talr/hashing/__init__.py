"""Estimators that turn features into binary codes.

The hashers of other papers, which these are compared with, are in
:mod:`sklearn_talr.baselines`.
"""

from ._additive import AdditiveHasher
from ._class_probabilities import ClassProbabilities
from ._linear import ITQHasher, LSHHasher
from ._talr import TALRHasher

__all__ = ["AdditiveHasher", "ClassProbabilities", "ITQHasher", "LSHHasher", "TALRHasher"]
