"""Checks of codes, ids and names that the exports of all engines share."""

import re
import warnings

import numpy as np

from .._compat import validate_params
from ..codes import pack_codes

_GREATEST_ID = np.iinfo(np.int64).max
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


def validate_export(**constraints):
    """Decorate an export: check codes, ids, and parameters with these constraints."""
    constraints |= {"codes": ["array-like"], "ids": ["array-like", None]}
    return validate_params(constraints, prefer_skip_nested_validation=True)


def packed_bits(codes):
    """Pack codes in little bit order; refuse those whose scores need more than bits."""
    packed = pack_codes(codes)
    if packed[:1].terms is not None:
        raise ValueError(
            "codes have factors or addends, such as those of AdditiveHasher, and no other "
            "engine applies them. Search such codes by HashedNeighbors(hasher). Or export "
            "their bits, PackedCodes(codes.data, codes.n_bits, codes.bitorder), and order "
            "what the engine finds by weighted_scores(query_weights, codes)."
        )
    return packed


def check_codes(codes, ids):
    """Return codes as `packed_bits` does, and their ids: 0 to n - 1 if `ids` is None."""
    packed = packed_bits(codes)
    if ids is None:
        return packed, np.arange(len(packed))
    ids = np.asarray(ids)
    if ids.shape != (len(packed),) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"ids must be integers of shape ({len(packed)},), one for each code, and less "
            f"than 2**63, got {ids.dtype} of shape {ids.shape}."
        )
    if ids.max() > _GREATEST_ID:
        raise ValueError(
            f"ids must be less than 2**63, which is what engines take, got {ids.max()}. "
            "Number the codes instead, and keep your ids beside them."
        )
    if len(np.unique(ids)) < len(ids):
        raise ValueError("ids must differ, but some occur more than once.")
    return packed, ids.astype(np.int64)


def check_table_name(table):
    """Refuse a name that would have to be quoted, since it becomes part of statements."""
    if not _NAME.fullmatch(table):
        raise ValueError(
            "table must be a name of at most 63 letters, digits and underscores that "
            f"begins with no digit, got {table!r}."
        )


def warn_of_repeats(packed, n_links):
    """Warn if a graph index of these codes would lose items.

    A node of such a graph is linked to the `n_links` nearest nodes. If more nodes than that
    have its code, all of its links lead to these, and none to a node with another code.
    """
    _, counts = np.unique(packed.data, axis=0, return_counts=True)
    if counts.max() > n_links:
        warnings.warn(
            f"{len(packed)} items have only {len(counts)} distinct codes, and up to "
            f"{counts.max()} share one. In a graph index with {n_links} links to a node "
            "such items link to each other only, and searches miss others. Index the "
            "distinct codes and expand what is found, as HammingNeighbors does, or use an "
            "index that compares with all.",
            UserWarning,
            stacklevel=4,  # of whoever called the export, which is decorated
        )
