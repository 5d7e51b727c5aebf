"""Hashers of other papers, which TALR is compared with.

They have the API of :class:`~sklearn_talr.hashing.TALRHasher`, and those that are trained
by gradients its training.
"""

from ._csq import CSQHasher
from ._dpsh import DPSHHasher
from ._dsh import DSHHasher
from ._dtsh import DTSHHasher
from ._hashnet import HashNetHasher
from ._mihash import MIHasher
from ._orthohash import OrthoHasher
from .discrete import BREHasher, FastHasher, MACHasher, StructHasher

__all__ = [
    "BREHasher",
    "CSQHasher",
    "DPSHHasher",
    "DSHHasher",
    "DTSHHasher",
    "FastHasher",
    "HashNetHasher",
    "MACHasher",
    "MIHasher",
    "OrthoHasher",
    "StructHasher",
]
