"""Estimators that turn features into binary codes."""

from ._linear import ITQHasher, LSHHasher
from ._talr import TALRHasher

__all__ = ["ITQHasher", "LSHHasher", "TALRHasher"]
