"""Estimators that turn features into binary codes."""

from ._bre import BREHasher
from ._class_hashers import CSQHasher, OrthoHasher
from ._export import export_onnx
from ._fasthash import FastHasher
from ._linear import ITQHasher, LSHHasher
from ._mac import MACHasher
from ._pairwise import DPSHHasher, DSHHasher, DTSHHasher, HashNetHasher, MIHasher
from ._structhash import StructHasher
from ._talr import TALRHasher

__all__ = [
    "BREHasher",
    "CSQHasher",
    "DPSHHasher",
    "DSHHasher",
    "DTSHHasher",
    "FastHasher",
    "HashNetHasher",
    "ITQHasher",
    "LSHHasher",
    "MACHasher",
    "MIHasher",
    "OrthoHasher",
    "StructHasher",
    "TALRHasher",
    "export_onnx",
]
