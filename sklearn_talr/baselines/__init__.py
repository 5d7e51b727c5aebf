"""Hashers of other papers, which TALR is compared with."""

from ._class_hashers import CSQHasher, OrthoHasher
from ._pairwise import DPSHHasher, DSHHasher, DTSHHasher, HashNetHasher, MIHasher
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
