"""Hashers of other papers that search among codes themselves, without gradients.

They have the API of :class:`~sklearn_talr.hashing.TALRHasher`. Other papers' losses, which
are trained by gradients, are in :mod:`sklearn_talr.losses`.
"""

from ._bre import BREHasher
from ._fasthash import FastHasher
from ._mac import MACHasher
from ._structhash import StructHasher

__all__ = ["BREHasher", "FastHasher", "MACHasher", "StructHasher"]
