"""Binary codes: bits, packed bytes, and distances and scores of codes.

A *code* is a row of ``n_bits`` bits. It comes in two forms that every function of this
package accepts: an array of zeros and ones, shape (n_samples, n_bits), or the
:class:`PackedCodes` that :func:`pack_codes` returns, eight bits to the byte. A packed
array always says how many of its bits count and in which order they lie, so that 7 bits
are never taken for 8 and little-endian bytes are never compared with big-endian ones.
"""

from ._factors import CodeTerms
from ._packed import (
    PackedCodes,
    concatenate_codes,
    hamming_distances,
    pack_codes,
    unpack_codes,
)
from ._scores import maxsim_scores, weighted_scores

__all__ = [
    "CodeTerms",
    "PackedCodes",
    "concatenate_codes",
    "hamming_distances",
    "maxsim_scores",
    "pack_codes",
    "unpack_codes",
    "weighted_scores",
]
