"""What every export checks."""

import re
import warnings

import numpy as np

from ..codes import pack_codes

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


def check_codes(codes, ids, bitorder="little"):
    """Return packed codes and their ids, 0 to n - 1 if none are given."""
    packed = pack_codes(codes, bitorder=bitorder)
    if ids is None:
        return packed, np.arange(len(packed))
    ids = np.asarray(ids)
    if ids.shape != (len(packed),) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"ids must be integers of shape ({len(packed)},), one for each code, got "
            f"{ids.dtype} of shape {ids.shape}."
        )
    if len(np.unique(ids)) < len(ids):
        raise ValueError("ids must differ, but some occur more than once.")
    return packed, ids.astype(np.int64)


def check_table_name(table):
    """Refuse names that would have to be quoted: they become part of SQL statements."""
    if not isinstance(table, str) or not _NAME.fullmatch(table):
        raise ValueError(
            "table must be a name of at most 63 letters, digits and underscores that "
            f"begins with no digit, got {table!r}."
        )
    return table


def warn_of_repeats(packed, n_links):
    """Warn if a graph index of these codes would lose items.

    A node of such a graph is linked to its nearest others. Where more items than it has
    links are equal to it, no link leads to anything else.
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
            stacklevel=3,
        )
