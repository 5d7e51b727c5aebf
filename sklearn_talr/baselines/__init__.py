"""Hashers of other papers, which TALR is compared with.

They have the API of :class:`~sklearn_talr.hashing.TALRHasher`, and those that are trained
by gradients its training.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_names
from .discrete import BREHasher, FastHasher, MACHasher, StructHasher

if TYPE_CHECKING:
    from ._csq import CSQHasher
    from ._dpsh import DPSHHasher
    from ._dsh import DSHHasher
    from ._dtsh import DTSHHasher
    from ._hashnet import HashNetHasher
    from ._mihash import MIHasher
    from ._orthohash import OrthoHasher

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

# Torch is loaded where training by gradients is asked for.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CSQHasher": "_csq",
        "DPSHHasher": "_dpsh",
        "DSHHasher": "_dsh",
        "DTSHHasher": "_dtsh",
        "HashNetHasher": "_hashnet",
        "MIHasher": "_mihash",
        "OrthoHasher": "_orthohash",
    },
)
