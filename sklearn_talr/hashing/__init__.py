"""Estimators that turn features into binary codes."""

from ._export import export_onnx
from ._linear import ITQHasher, LSHHasher
from ._talr import TALRHasher

__all__ = ["ITQHasher", "LSHHasher", "TALRHasher", "export_onnx"]
