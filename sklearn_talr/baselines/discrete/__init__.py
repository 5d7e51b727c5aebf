"""Hashers that search among codes themselves, without gradients."""

from ._bre import BREHasher
from ._fasthash import FastHasher
from ._mac import MACHasher
from ._structhash import StructHasher

__all__ = ["BREHasher", "FastHasher", "MACHasher", "StructHasher"]
